/* SPDX-License-Identifier: MIT */
/* Measures this host before anything is counted on it: each would disturb the other. */
#include <fcntl.h>
#include <unistd.h>

#include "base/child.h"
#include "base/privileges.h"
#include "base/text.h"
#include "collect.h"
#include "count.h"
#include "judge.h"
#include "measure.h"

/* Limits the measurement, which the program waits for. About 0.1 s is usual. */
#define MEASURING_NS 3000000000

/* The child that measures is killed this time after its own limit. */
#define MEASURING_REST_NS NS_PER_SECOND

struct host_measurement {
	const struct root *root;
	struct evidence host;
};

static void measure_in_child(void *argument)
{
	struct host_measurement *measurement = argument;
	struct evidence *host = &measurement->host;
	struct deadline deadline = deadline_after(MEASURING_NS);
	struct vdso_image image;
	struct call_table calls;

	privileges_keep(PRIVILEGES_NONE);
	host->live = measurement->root->live;
	clocksource_collect(measurement->root, &host->clocksource);
	vdso_collect(measurement->root, &host->vdso, &image);
	call_table_make(&host->vdso, &image, &calls, &deadline);
	call_table_name(&calls, host);
	proof_take(&calls, PROOF_SPREAD, &host->proof, host->calls, &deadline);
	timing_measure(&calls, TIMING_WHOLE, &host->timing, host->calls, &deadline);
	if (counts_deciding(host).entered > 0)
		copy_measure(&image, &calls, &host->vclock, &host->copy, &deadline);
}

void trace_host_measure(const struct root *root, struct evidence *host)
{
	struct deadline deadline = deadline_after(MEASURING_NS + MEASURING_REST_NS);
	struct host_measurement measurement = {.root = root};
	struct fact why;

	if (child_call(measure_in_child, &measurement, sizeof(measurement), &deadline, &why))
		*host = measurement.host;
	else
		fact_set(
			&host->proof.fact, why.state, "measuring this host failed: %s", why.reason);
}

/* sysconf(3) of musl counts the CPUs that this process may run on. */
size_t trace_host_cpus(void)
{
	int file = open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC);
	uint64_t count, last;
	size_t length = 0;
	char text[4096];

	if (file < 0 || file_read_all(file, text, sizeof(text), &length) != 0)
		length = 0;
	if (file >= 0)
		close(file);
	if (number_parse_cpus(text_trim((struct span){text, length}), &count, &last))
		return (size_t)last + 1;
	return (size_t)sysconf(_SC_NPROCESSORS_CONF);
}
