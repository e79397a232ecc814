/* SPDX-License-Identifier: MIT */
/*
 * The names of hosts that their documents do not name: of the file's path the part that no other
 * file has. clocks/web-1.json and clocks/web-2.json are web-1 and web-2; so are
 * clocks/web-1/document.json and clocks/web-2/document.json.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model.h"

/* A path and the number of a line. */
#define NAME_SIZE (PATH_MAX + 32)

static struct span without_extension(const char *file)
{
	struct span path = text_span(file);

	if (path.length > 5 && memcmp(file + path.length - 5, ".json", 5) == 0 &&
		file[path.length - 6] != '/')
		path.length -= 5;
	return path;
}

/* The byte this far from the end. Each component has a '/' before it, also the first; then -1. */
static int byte_from_end(struct span path, size_t at)
{
	if (at < path.length)
		return (unsigned char)path.at[path.length - 1 - at];
	return at == path.length ? '/' : -1;
}

/* How many bytes both paths end with. */
static size_t common_end(const struct fleet_host *one, const struct fleet_host *other)
{
	struct span path = without_extension(one->file), another = without_extension(other->file);
	size_t common = 0;

	while (byte_from_end(path, common) >= 0 &&
		byte_from_end(path, common) == byte_from_end(another, common))
		common++;
	return common;
}

/* The order of qsort(3) that puts those with the longest common end next to each other. */
static int compare_ends(const void *first, const void *second)
{
	const struct fleet_host *one = *(struct fleet_host *const *)first;
	const struct fleet_host *other = *(struct fleet_host *const *)second;
	size_t common = common_end(one, other);

	return byte_from_end(without_extension(one->file), common) -
	       byte_from_end(without_extension(other->file), common);
}

/*
 * The length of the last components, each with its '/', that all of these paths have, since they
 * distinguish nothing; of the shortest path something is left.
 */
static size_t common_components(struct fleet_host *const *hosts, size_t count)
{
	struct span path = without_extension(hosts[0]->file);
	size_t length = common_end(hosts[0], hosts[count - 1]);
	size_t shortest = path.length;

	if (hosts[0]->file == hosts[count - 1]->file)
		return 0;
	for (size_t i = 1; i < count; i++) {
		size_t other = without_extension(hosts[i]->file).length;

		shortest = other < shortest ? other : shortest;
	}
	while (length && (length >= shortest || byte_from_end(path, length - 1) != '/'))
		length--;
	return length;
}

/* `common` is the longest end that the path of another file has, too. */
static bool name_host(struct fleet *fleet, struct fleet_host *host, size_t common, size_t tail)
{
	struct span path = without_extension(host->file);
	size_t length = common > tail ? common : tail + 1;
	char name[NAME_SIZE];

	while (length < path.length && byte_from_end(path, length) != '/')
		length++;
	length = length < path.length ? length : path.length;
	path.at += path.length - length;
	path.length = length - tail;
	snprintf(name, sizeof(name), host->line ? "%.*s:%lu" : "%.*s", (int)path.length, path.at,
		host->line);
	host->name = fleet_keep(fleet, name);
	return host->name;
}

bool fleet_name_hosts(struct fleet *fleet)
{
	struct fleet_host **hosts = reallocarray(NULL, fleet->count + 1, sizeof(*hosts));
	size_t count = 0, before = 0, tail;
	bool named = hosts;

	for (size_t i = 0; named && i < fleet->count; i++) {
		if (fleet->hosts[i].file)
			hosts[count++] = &fleet->hosts[i];
	}
	if (!count) {
		free(hosts);
		return named;
	}
	qsort(hosts, count, sizeof(*hosts), compare_ends);
	tail = common_components(hosts, count);
	/* Those of one file are neighbours and have one name. */
	for (size_t i = 0, end; named && i < count; i = end) {
		size_t after = 0;

		for (end = i + 1; end < count && hosts[end]->file == hosts[i]->file; end++)
			;
		if (end < count)
			after = common_end(hosts[i], hosts[end]);
		for (size_t one = i; named && one < end; one++)
			named = name_host(fleet, hosts[one], before > after ? before : after, tail);
		before = after;
	}
	free(hosts);
	return named;
}
