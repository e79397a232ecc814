/* SPDX-License-Identifier: MIT */
#include "measure/statistics.h"

#include <stdlib.h>

double statistics_minimum(const double *values, size_t count)
{
	double least = count ? values[0] : 0;

	for (size_t i = 1; i < count; i++)
		least = values[i] < least ? values[i] : least;
	return least;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left;
	double b = *(const double *)right;

	return (a > b) - (a < b);
}

double statistics_median(double *values, size_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), compare);
	if (count % 2)
		return values[count / 2];
	return (values[count / 2 - 1] + values[count / 2]) / 2;
}
