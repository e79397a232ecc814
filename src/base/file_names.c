/* SPDX-License-Identifier: MIT */
/*
 * A file is named by the part of its path that no other file has. clocks/web-1.json and
 * clocks/web-2.json are web-1 and web-2; so are clocks/web-1/document.json and
 * clocks/web-2/document.json.
 */
#include "base/file_names.h"

#include <stdlib.h>
#include <string.h>

static struct span without_extension(const char *file)
{
	struct span path = text_span(file), stem = path;

	return text_take_suffix(&stem, ".json") && stem.length && file[stem.length - 1] != '/'
	               ? stem
	               : path;
}

/* The byte this far from the end. Each component has a '/' before it, also the first; then -1. */
static int byte_from_end(struct span path, size_t at)
{
	if (at < path.length)
		return (unsigned char)path.at[path.length - 1 - at];
	return at == path.length ? '/' : -1;
}

/* How many bytes both paths end with. */
static size_t common_end(const struct file_name *one, const struct file_name *other)
{
	struct span path = without_extension(one->file), another = without_extension(other->file);
	size_t common = 0;

	while (byte_from_end(path, common) >= 0 &&
		byte_from_end(path, common) == byte_from_end(another, common))
		common++;
	return common;
}

/* It may have been given twice. */
static bool is_same_file(const struct file_name *one, const struct file_name *other)
{
	return strcmp(one->file, other->file) == 0;
}

/*
 * The order of qsort(3) that puts those with the longest common end next to each other, and those
 * of one file before one that differs by its extension alone.
 */
static int compare_ends(const void *first, const void *second)
{
	const struct file_name *one = *(struct file_name *const *)first;
	const struct file_name *other = *(struct file_name *const *)second;
	size_t common = common_end(one, other);
	int order = byte_from_end(without_extension(one->file), common) -
	            byte_from_end(without_extension(other->file), common);

	return order ? order : strcmp(one->file, other->file);
}

/*
 * The length of the last components, each with its '/', that all of these paths have, since they
 * distinguish nothing; of the shortest path something is left.
 */
static size_t common_components(struct file_name *const *names, size_t count)
{
	struct span path = without_extension(names[0]->file);
	size_t length = common_end(names[0], names[count - 1]);
	size_t shortest = path.length;

	if (is_same_file(names[0], names[count - 1]))
		return 0;
	for (size_t i = 1; i < count; i++) {
		size_t other = without_extension(names[i]->file).length;

		shortest = other < shortest ? other : shortest;
	}
	while (length && (length >= shortest || byte_from_end(path, length - 1) != '/'))
		length--;
	return length;
}

/* `common` is the longest end that the path of another file has, too. */
static struct span name_file(const char *file, size_t common, size_t tail)
{
	struct span path = without_extension(file);
	size_t length = common > tail ? common : tail + 1;

	while (length < path.length && byte_from_end(path, length) != '/')
		length++;
	length = length < path.length ? length : path.length;
	path.at += path.length - length;
	path.length = length - tail;
	return path;
}

bool file_names_find(struct file_name *names, size_t count)
{
	struct file_name **sorted = reallocarray(NULL, count + 1, sizeof(struct file_name *));
	size_t before = 0, tail;

	if (!sorted)
		return false;
	for (size_t i = 0; i < count; i++)
		sorted[i] = &names[i];
	qsort(sorted, count, sizeof(struct file_name *), compare_ends);
	tail = count ? common_components(sorted, count) : 0;
	/* Those of one file are neighbours and have one name. */
	for (size_t i = 0, end; i < count; i = end) {
		size_t after = 0;

		for (end = i + 1; end < count && is_same_file(sorted[end], sorted[i]); end++)
			;
		if (end < count)
			after = common_end(sorted[i], sorted[end]);
		for (size_t one = i; one < end; one++)
			sorted[one]->name =
				name_file(sorted[one]->file, before > after ? before : after, tail);
		before = after;
	}
	free(sorted);
	return true;
}
