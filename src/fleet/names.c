/* SPDX-License-Identifier: MIT */
/* The names of hosts that their documents do not name: those of their files. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file_names.h"
#include "model.h"

/* A path and the number of a line. */
#define NAME_SIZE (PATH_MAX + 32)

static bool name_host(struct fleet *fleet, struct fleet_host *host, struct span file)
{
	char name[NAME_SIZE];

	snprintf(name, sizeof(name), host->line ? "%.*s:%lu" : "%.*s", (int)file.length, file.at,
		host->line);
	host->name = fleet_keep(fleet, name);
	return host->name;
}

bool fleet_name_hosts(struct fleet *fleet)
{
	struct file_name *names = reallocarray(NULL, fleet->count + 1, sizeof(*names));
	size_t count = 0;
	bool named = names;

	for (size_t i = 0; named && i < fleet->count; i++) {
		if (fleet->hosts[i].file)
			names[count++].file = fleet->hosts[i].file;
	}
	named = named && file_names_find(names, count);
	count = 0;
	for (size_t i = 0; named && i < fleet->count; i++) {
		if (fleet->hosts[i].file)
			named = name_host(fleet, &fleet->hosts[i], names[count++].name);
	}
	free(names);
	return named;
}
