/* SPDX-License-Identifier: MIT */
#include "collect/host.h"

#include "collect/container.h"
#include "collect/cpu.h"
#include "collect/hypervisor.h"
#include "collect/kernel.h"
#include "collect/platform.h"
#include "collect/process.h"

void host_collect(const struct root *root, struct host_evidence *host)
{
	kernel_collect(root, host);
	cpu_collect(root, host);
	hypervisor_collect(root, &host->hypervisor);
	container_collect(root, &host->container);
	platform_collect(root, host);
	process_collect(root, host);
}
