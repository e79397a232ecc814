/* SPDX-License-Identifier: MIT */
#include "collect/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include "base/number.h"

#define STATUS_SIZE 8192

static void collect_libc(struct host_evidence *host)
{
	char name[FACT_TEXT_SIZE];

#if defined(__GLIBC__)
	snprintf(name, sizeof(name), "glibc %s", gnu_get_libc_version());
#else
	/* musl has no way to ask: it is the one libc that names itself nowhere. */
	snprintf(name, sizeof(name), "musl or another libc");
#endif
	fact_set_text(&host->libc, name);
	/* The kernel gives the base of the dynamic loader, and 0 if it loaded none. */
	fact_set_flag(&host->libc_static, getauxval(AT_BASE) == 0);
}

/* It preloads its own library, and replaces CPU, system calls and auxiliary vector. */
static void collect_emulator(struct text_fact *emulator)
{
	const char *preload = getenv("LD_PRELOAD");

	if (preload && strstr(preload, "/vgpreload_core"))
		fact_set_text(emulator, "valgrind");
	else
		fact_set(&emulator->fact, FACT_ABSENT, "nothing points to an emulator");
}

static void collect_counter_off(struct flag_fact *counter_off)
{
#if defined(__x86_64__) || defined(__i386__)
	int mode = PR_TSC_ENABLE;

	if (prctl(PR_GET_TSC, &mode, 0, 0, 0) < 0)
		fact_set_errno(&counter_off->fact, errno, "prctl(PR_GET_TSC)");
	else
		fact_set_flag(counter_off, mode == PR_TSC_SIGSEGV);
#else
	fact_set(&counter_off->fact, FACT_ABSENT, "only x86 can switch its counter off");
#endif
}

static void take_number(struct span status, const char *key, struct number_fact *number)
{
	struct span text;
	uint64_t value;

	if (text_find_value(status, key, &text) && number_parse(text, &value) && value <= INT32_MAX)
		fact_set_number(number, (int64_t)value);
	else
		fact_set(&number->fact, FACT_ABSENT, "/proc/self/status: no number for %s", key);
}

static void collect_status(const struct root *root, struct host_evidence *host)
{
	char buffer[STATUS_SIZE];
	struct span status;

	if (!root_read(root, "/proc/self/status", buffer, sizeof(buffer), &status,
		    &host->tracer.fact)) {
		host->seccomp.fact = host->tracer.fact;
		return;
	}
	take_number(status, "TracerPid", &host->tracer);
	take_number(status, "Seccomp", &host->seccomp);
}

static void set_absent(struct host_evidence *host)
{
	struct fact *facts[] = {&host->emulator.fact, &host->libc.fact, &host->libc_static.fact,
		&host->counter_off.fact, &host->tracer.fact, &host->seccomp.fact};

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		fact_set(facts[i], FACT_ABSENT, "a captured tree has no process of ours");
}

void process_collect(const struct root *root, struct host_evidence *host)
{
	if (!root->live) {
		set_absent(host);
		return;
	}
	collect_emulator(&host->emulator);
	collect_libc(host);
	collect_counter_off(&host->counter_off);
	collect_status(root, host);
}
