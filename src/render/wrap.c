/* SPDX-License-Identifier: MIT */
#include "render/wrap.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

#define MARGIN 2

void wrap_text(FILE *out, int column, int indent, const char *text)
{
	struct span rest = text_span(text);
	struct span word;

	for (bool first = true; text_next_word(&rest, &word); first = false) {
		int width = (int)word.length;

		if (!first && column + 1 + width > WRAP_COLUMNS) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
		} else if (!first) {
			fputc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", width, word.at);
		column += width;
	}
	fputc('\n', out);
}

void wrap_print(FILE *out, const char *label, int indent, const char *text)
{
	fprintf(out, "%*s%-*s", MARGIN, "", indent - MARGIN, label);
	wrap_text(out, indent, indent, text);
}

char *wrap_count(uint64_t count, char buffer[32])
{
	char digits[24];
	size_t length, out = 0;

	snprintf(digits, sizeof(digits), "%" PRIu64, count);
	length = strlen(digits);
	for (size_t i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			buffer[out++] = ',';
		buffer[out++] = digits[i];
	}
	buffer[out] = '\0';
	return buffer;
}

char *wrap_ns(double ns, char buffer[32])
{
	snprintf(buffer, 32, ns < 9999.95 ? "%.1f" : "%.0f", ns);
	return buffer;
}
