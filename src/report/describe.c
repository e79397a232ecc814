/* SPDX-License-Identifier: MIT */
/* Describes the host and its clocks in a line each, as all commands print them. */
#include "report.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/platform.h"
#include "base/text.h"

void strbuf_add_clocksource(const struct evidence *evidence, struct strbuf *sb)
{
	const struct clocksource_evidence *clocksource = &evidence->clocksource;
	struct span reason = text_span(clocksource->current_fact.reason);
	unsigned others = 0;

	text_take_prefix(&reason, CLOCKSOURCE_FOLDER "/");
	if (fact_is_known(&clocksource->current_fact))
		strbuf_add(sb, "%s", clocksource->current);
	else if (clocksource->current_fact.state == FACT_ABSENT)
		strbuf_add(sb, "unknown (no current_clocksource in /sys)");
	else
		strbuf_add(sb, "unknown: %s", reason.at);
	if (*clocksource->changed_to)
		strbuf_add(sb, ", changed to %s", clocksource->changed_to);
	if (clocksource->changes > 1)
		strbuf_add(sb, ", %u changes", clocksource->changes);
	for (size_t i = 0; i < clocksource->available_count; i++) {
		if (strcmp(clocksource->available[i], clocksource->current) != 0 &&
			strcmp(clocksource->available[i], clocksource->changed_to) != 0)
			strbuf_add(sb, "%s %s",
				others++ ? "" : " (also available:", clocksource->available[i]);
	}
	if (others)
		strbuf_add(sb, ")");
}

/* The words of host->hypervisor, and its names for people. */
static const struct {
	const char *word, *name;
} hypervisors[] = {
	{"amazon", "Nitro"},
	{"google", "KVM"},
	{"kvm", "KVM"},
	{"microsoft", "Hyper-V"},
	{"oracle", "VirtualBox"},
	{"qemu", "QEMU"},
	{"uml", "User-Mode Linux"},
	{"acrn", "ACRN"},
	{"apple", "Apple"},
	{"bochs", "Bochs"},
	{"parallels", "Parallels"},
	{"powervm", "PowerVM"},
	{"qnx", "QNX"},
	{"sre", "SRE"},
	{"zvm", "z/VM"},
	{"vmware", "VMware"},
	{"xen", "Xen"},
};

/* "Xen guest on Amazon EC2", "KVM guest (Firecracker)", "guest of an unknown hypervisor" */
static void add_machine(const struct host_evidence *host, struct strbuf *sb)
{
	bool is_guest =
		fact_is_known(&host->hypervisor.fact) && !fact_is_text(&host->platform, "xen-dom0");
	const struct platform *platform =
		fact_is_known(&host->platform.fact) ? platform_find(host->platform.value) : NULL;
	const char *hypervisor = host->hypervisor.value, *title = platform ? platform->title : NULL;
	bool on_cloud = title && platform->is_cloud;

	for (size_t i = 0; i < ARRAY_SIZE(hypervisors); i++) {
		if (fact_is_text(&host->hypervisor, hypervisors[i].word))
			hypervisor = hypervisors[i].name;
	}
	if (is_guest && fact_is_text(&host->hypervisor, "vm-other"))
		strbuf_add(sb, on_cloud ? "guest" : "guest of an unknown hypervisor");
	else if (is_guest)
		strbuf_add(sb, "%s guest", hypervisor);
	if (on_cloud)
		strbuf_add(sb, "%s on %s", is_guest ? "" : "bare metal", title);
	else if (title)
		strbuf_add(sb, is_guest ? " (%s)" : "%s", title);
}

/* "Intel Core2 Duo E8400" of "Intel(R) Core(TM)2 Duo CPU     E8400  @ 3.00GHz" */
static void add_cpu(const char *brand, struct strbuf *sb)
{
	static const char *const noise[] = {"(R)", "(TM)", "(tm)", " CPU", " Processor"};

	while (*brand && *brand != '@') {
		bool is_spare = *brand == ' ' && strchr(" @", brand[1]);
		size_t skip = is_spare ? 1 : 0;

		for (size_t i = 0; i < ARRAY_SIZE(noise); i++) {
			if (strncmp(brand, noise[i], strlen(noise[i])) == 0)
				skip = strlen(noise[i]);
		}
		if (!skip)
			strbuf_add(sb, "%c", *brand);
		brand += skip ? skip : 1;
	}
}

static void add_text(
	struct strbuf *sb, const char *before, const struct text_fact *text, const char *after)
{
	if (fact_is_known(&text->fact))
		strbuf_add(sb, "%s%s%s%s", sb->used ? ", " : "", before, text->value, after);
}

/* Adds "docker container"; WSL is in the name of the platform. */
static void add_container(const struct text_fact *container, struct strbuf *sb)
{
	if (fact_is_text(container, "container-other"))
		strbuf_add(sb, "%sin a container", sb->used ? ", " : "");
	else if (!fact_is_text(container, "wsl"))
		add_text(sb, "", container, " container");
}

void strbuf_add_host(const struct evidence *evidence, size_t most, struct strbuf *sb)
{
	const struct host_evidence *host = &evidence->host;
	struct strbuf cpu = {.used = 0};

	/* An emulator of programs shows parts of another machine. */
	if (!fact_is_known(&host->emulator.fact))
		add_machine(host, sb);
	add_container(&host->container, sb);
	add_text(sb, "Linux ", &host->kernel, "");
	if (most == SIZE_MAX)
		add_text(sb, "", &host->arch, "");
	if (fact_is_known(&host->cpu.fact))
		add_cpu(host->cpu.value, &cpu);
	if (cpu.used && sb->used + 2 + cpu.used <= most)
		strbuf_add(sb, "%s%s", sb->used ? ", " : "", cpu.text);
	if (!sb->used)
		strbuf_add(sb, "unknown: %s", host->kernel.fact.reason);
}

void strbuf_add_ntp(const struct ntp_evidence *ntp, struct strbuf *sb)
{
	if (!fact_is_known(&ntp->fact))
		strbuf_add(sb, "not known (%s)", ntp->fact.reason);
	else if (!ntp->synchronized)
		strbuf_add(sb, "not synchronized");
	else
		strbuf_add(sb, "synchronized, offset %.1f us, maximum error %.1f ms%s",
			(double)ntp->offset_ns / 1e3, (double)ntp->max_error_us / 1e3,
			ntp->leap_pending ? ", leap second pending" : "");
}
