/* SPDX-License-Identifier: MIT */
/*
 * Takes a kernel command line apart, and finds the parameters that concern clocks as the kernel's
 * parser finds them: each is registered in one of four ways, which match differently.
 */
#include "base/parameter.h"

#include <string.h>

#include "base/memory.h"

enum registered {
	EARLY,      /* early_param(): the name, with a value or without */
	SETUP,      /* __setup("name"): each word that begins so, such as notsc=1 and notscx */
	SETUP_EQUAL /* __setup("name="): the name with a value */
};

/*
 * All that concern clocks, by 3.10 to 7.3; tests/lore/parameters.txt has their versions, and why
 * others are left out. Those of modules are matched as an early_param() is.
 */
static const struct {
	const char *name;
	enum registered how;
} parameters[] = {
	{"acpi", EARLY},              /* arch/x86/kernel/acpi/boot.c */
	{"acpi_pm_good", SETUP},      /* drivers/clocksource/acpi_pm.c */
	{"clearcpuid", EARLY},        /* arch/x86/kernel/cpu/common.c */
	{"clock", SETUP_EQUAL},       /* kernel/time/clocksource.c */
	{"clocksource", SETUP_EQUAL}, /* kernel/time/clocksource.c */
	{"clocksource.arm_arch_timer.evtstrm", EARLY},
	{"clocksource.arm_arch_timer.fsl-a008585", EARLY},
	{"clocksource.max_cswd_read_retries", EARLY}, {"clocksource.verify_n_cpus", EARLY},
	{"clocksource_failover", EARLY},                          /* of RHEL 6 */
	{"highres", SETUP_EQUAL},                                 /* kernel/time/hrtimer.c */
	{"hpet", SETUP_EQUAL},                                    /* arch/x86/kernel/hpet.c */
	{"idle", EARLY},                                          /* arch/x86/kernel/process.c */
	{"intel_idle.max_cstate", EARLY}, {"no-kvmclock", EARLY}, /* arch/x86/kernel/kvmclock.c */
	{"no-kvmclock-vsyscall", EARLY},                          /* arch/x86/kernel/kvmclock.c */
	{"no-vmw-sched-clock", EARLY},                            /* arch/x86/kernel/cpu/vmware.c */
	{"nohpet", SETUP},                                        /* arch/x86/kernel/hpet.c */
	{"nohz", SETUP_EQUAL},                                    /* kernel/time/tick-sched.c */
	{"nopv", EARLY},        /* arch/x86/kernel/cpu/hypervisor.c */
	{"notsc", SETUP},       /* arch/x86/kernel/tsc.c */
	{"pmtmr", SETUP_EQUAL}, /* drivers/clocksource/acpi_pm.c */
	{"processor.max_cstate", EARLY}, {"tsc", SETUP_EQUAL}, /* arch/x86/kernel/tsc.c */
	{"tsc_early_khz", EARLY},                              /* arch/x86/kernel/tsc.c */
	{"vdso", SETUP_EQUAL},                                 /* arch/x86/entry/vdso/vma.c, s390 */
	{"vdso32", SETUP_EQUAL},   /* arch/x86/entry/vdso/vdso32-setup.c */
	{"vsyscall", EARLY},       /* arch/x86/entry/vsyscall/vsyscall_64.c */
	{"xen_nopv", EARLY},       /* arch/x86/xen/enlighten_hvm.c */
	{"xen_timer_slop", EARLY}, /* arch/x86/xen/time.c */
};

static bool parameter_is_blank(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r') || byte == '\0';
}

/* Finds the end of the word, and the first "=" in it, but not as its first byte. */
static size_t find_end(struct span line, const char **equals)
{
	bool in_quotes = false;
	size_t length = 0;

	*equals = NULL;
	for (; length < line.length && (in_quotes || !parameter_is_blank(line.at[length]));
		length++) {
		if (line.at[length] == '"')
			in_quotes = !in_quotes;
		if (line.at[length] == '=' && length && !*equals)
			*equals = line.at + length;
	}
	return length;
}

bool parameter_next(struct span *line, struct parameter *parameter)
{
	struct span left = *line, name;
	const char *equals;
	size_t length;

	while (left.length && parameter_is_blank(*left.at))
		left = (struct span){left.at + 1, left.length - 1};
	length = find_end(left, &equals);
	*line = text_skip(left, length);
	name = (struct span){left.at, length};
	*parameter = (struct parameter){.word = name, .has_value = equals};
	if (text_take_prefix(&name, "\""))
		text_take_suffix(&name, "\"");
	if (equals) {
		const char *end = name.at + name.length;

		name.length = (size_t)(equals - name.at);
		parameter->value = (struct span){equals + 1, (size_t)(end - equals - 1)};
		if (text_take_prefix(&parameter->value, "\""))
			text_take_suffix(&parameter->value, "\"");
	}
	parameter->name = name;
	return length && !text_equals(parameter->word, "--");
}

/* A "-" is as good as a "_" (parameqn() of kernel/params.c). */
static bool is_dash(char byte)
{
	return byte == '-' || byte == '_';
}

static bool parameter_is_same(struct span name, const char *other)
{
	for (size_t i = 0; i < name.length; i++) {
		if (name.at[i] != other[i] && !(is_dash(name.at[i]) && is_dash(other[i])))
			return false;
	}
	return true;
}

static bool is_row(const struct parameter *parameter, size_t row)
{
	const char *name = parameters[row].name;
	size_t length = strlen(name);

	if (parameter->name.length < length ||
		!parameter_is_same((struct span){parameter->name.at, length}, name))
		return false;
	return parameters[row].how == SETUP ||
	       (parameter->name.length == length &&
		       (parameters[row].how == EARLY || parameter->has_value));
}

bool parameter_is_of_clocks(const struct parameter *parameter)
{
	for (size_t i = 0; i < ARRAY_SIZE(parameters); i++) {
		if (is_row(parameter, i))
			return true;
	}
	return false;
}

bool parameter_is(const struct parameter *parameter, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(parameters); i++) {
		if (strcmp(parameters[i].name, name) == 0)
			return is_row(parameter, i);
	}
	return false;
}
