/* SPDX-License-Identifier: MIT */
#include "base/number.h"

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

static bool parse_in_base(struct span text, unsigned base, uint64_t *value)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < text.length; i++) {
		unsigned digit = (unsigned)digit_of(text.at[i]);

		if (digit >= base)
			return false;
		if (__builtin_mul_overflow(sum, base, &sum) ||
			__builtin_add_overflow(sum, digit, &sum))
			return false;
	}
	if (text.length == 0)
		return false;
	*value = sum;
	return true;
}

bool number_parse(struct span text, uint64_t *value)
{
	return parse_in_base(text, 10, value);
}

bool number_parse_hex(struct span text, uint64_t *value)
{
	return parse_in_base(text, 16, value);
}
