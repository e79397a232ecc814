/* SPDX-License-Identifier: MIT */
/*
 * Collects this process's libc, and what was done to it that bears on the measurement, such as a
 * counter that was disabled, a tracer, a seccomp filter or an emulator.
 */
#include "parts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include "base/memory.h"

#define STATUS_SIZE 8192

/*
 * Emulators of another CPU show a program its own name in /proc/self/exe, but not through the
 * thread's link, which names the emulator.
 */
static const char *emulator_by_link(void)
{
	static const struct {
		const char *prefix;
		const char *word;
	} emulators[] = {
		{"qemu-", "qemu-user"},
		{"box64", "box64"},
		{"box86", "box86"},
		{"FEX", "fex"},
		{"rosetta", "rosetta"},
	};
	char target[PATH_MAX];
	ssize_t length = readlink("/proc/thread-self/exe", target, sizeof(target));
	const char *slash = length > 0 ? memrchr(target, '/', (size_t)length) : NULL;
	struct span name;

	if (!slash)
		return NULL;
	name = (struct span){slash + 1, (size_t)(target + length - slash - 1)};
	for (size_t i = 0; i < ARRAY_SIZE(emulators); i++) {
		if (text_starts(name, emulators[i].prefix))
			return emulators[i].word;
	}
	return NULL;
}

/* x86 always had it; arm64 has it since 6.12 and refuses it as unknown before. */
static void collect_counter_disabled(struct flag_fact *counter_disabled)
{
	int mode = PR_TSC_ENABLE;

	if (prctl(PR_GET_TSC, &mode, 0, 0, 0) == 0)
		fact_set_flag(counter_disabled, mode == PR_TSC_SIGSEGV);
	else if (errno == EINVAL)
		fact_set(&counter_disabled->fact, FACT_ABSENT,
			"processes cannot disable the counter here");
	else
		fact_set_errno(&counter_disabled->fact, errno, "prctl(PR_GET_TSC)");
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

void process_collect(const struct root *root, struct host_evidence *host)
{
	struct fact *facts[] = {&host->emulator.fact, &host->libc.fact, &host->libc_static.fact,
		&host->pointer_bits.fact, &host->counter_disabled.fact, &host->tracer.fact,
		&host->seccomp.fact};
	const char *preload = getenv("LD_PRELOAD");
	/* musl does not name itself, and is the only such libc. */
	char libc[FACT_TEXT_SIZE] = "musl or another libc";

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		fact_set(facts[i], FACT_ABSENT, "a captured tree contains no process of vdsocheck");
	if (!root->live)
		return;
	/* valgrind preloads a library and replaces CPU, system calls and auxiliary vector. */
	fact_set_found(&host->emulator,
		preload && strstr(preload, "/vgpreload_core") ? "valgrind" : emulator_by_link(),
		"no sign of an emulator");
	fact_set_number(&host->pointer_bits, (int64_t)(sizeof(void *) * CHAR_BIT));
#if defined(__GLIBC__)
	snprintf(libc, sizeof(libc), "glibc %s", gnu_get_libc_version());
#endif
	fact_set_text(&host->libc, libc);
	/* The kernel sets the base of the dynamic loader, and 0 if it loaded none. */
	fact_set_flag(&host->libc_static, getauxval(AT_BASE) == 0);
	collect_counter_disabled(&host->counter_disabled);
	collect_status(root, host);
}
