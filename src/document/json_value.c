/* SPDX-License-Identifier: MIT */
/*
 * Values of the documents that are written only. A value that could not be made looks like one
 * that is null, so that the allocations are watched instead: after one has failed no document
 * is written.
 */
#include "document/json_value.h"

#include <math.h>
#include <stdlib.h>

/* A double holds 15 digits whatever they are: no 596.10000000000002. */
#define REAL_DIGITS 15

static bool is_exhausted;

static void *allocate(size_t size)
{
	void *memory = malloc(size);

	is_exhausted |= !memory;
	return memory;
}

json_t *json_value_root(void)
{
	is_exhausted = false;
	json_set_alloc_funcs(allocate, free);
	return json_object();
}

void json_value_set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value ? value : json_null());
}

json_t *json_value_text(const char *text)
{
	return text && *text ? json_string(text) : NULL;
}

json_t *json_value_reason(const struct fact *fact)
{
	char text[FACT_REASON_SIZE + 16];

	if (fact_is_known(fact))
		return NULL;
	fact_describe(fact, text, sizeof(text));
	return json_string(text);
}

json_t *json_value_integer(bool known, int64_t value)
{
	return known ? json_integer(value) : NULL;
}

json_t *json_value_real(bool known, double value, int decimals)
{
	double unit = pow(10, decimals);

	return known ? json_real(round(value * unit) / unit) : NULL;
}

void json_value_set_moment(json_t *root, const struct moment_evidence *moment)
{
	bool dated = fact_is_known(&moment->time.fact);

	json_value_set(root, "time", dated ? json_string(moment->time.value) : NULL);
	json_value_set(root, "time_reason", json_value_reason(&moment->time.fact));
	json_value_set(root, "uptime_s",
		json_value_real(fact_is_known(&moment->uptime_fact), moment->uptime_s, 1));
	json_value_set(root, "uptime_reason", json_value_reason(&moment->uptime_fact));
}

bool json_value_write(json_t *root, FILE *out)
{
	bool written = root && json_dumpf(root, out,
				       JSON_INDENT(2) | JSON_REAL_PRECISION(REAL_DIGITS)) == 0;

	json_decref(root);
	return written && !is_exhausted && fputc('\n', out) != EOF;
}
