/* SPDX-License-Identifier: MIT */
#include "collect/identity.h"

void identity_collect(const struct root *root, struct host_evidence *host)
{
	char buffer[FACT_TEXT_SIZE];
	struct span name;

	if (root_read(root, "/proc/sys/kernel/hostname", buffer, sizeof(buffer), &name,
		    &host->name.fact))
		text_copy_span(host->name.value, sizeof(host->name.value), text_trim(name));
}
