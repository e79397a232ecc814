/* SPDX-License-Identifier: MIT */
/*
 * Collects the kernel, by /proc and uname(2), and how it was booted. The other files of this folder
 * collect the CPU, the hypervisor, the platform and this process.
 */
#include "parts.h"

#include <jansson.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/utsname.h>

#include "base/memory.h"
#include "base/parameter.h"

/* Files of a page fit, and the longest command line of any architecture (s390: 4097 bytes). */
#define FILE_SIZE 8192

/* Since sos 3; the link "uname" in the report's root leads there. */
#define UNAME_OF_SOSREPORT "/sos_commands/kernel/uname_-a"

bool kernel_pick_parameters(struct span line, char *picked, size_t size)
{
	struct parameter parameter;
	size_t used = 0;
	bool fits = true;

	picked[0] = '\0';
	while (parameter_next(&line, &parameter)) {
		struct span word = parameter.word;

		if (!parameter_is_of_clocks(&parameter))
			continue;
		/* Half of a parameter would mislead. */
		if (used + word.length + 2 > size) {
			fits = false;
			continue;
		}
		if (used)
			picked[used++] = ' ';
		text_clean_span(picked + used, size - used, word);
		used += word.length;
	}
	return fits;
}

static void set_unless_known(struct text_fact *text, struct span value)
{
	if (!fact_is_known(&text->fact))
		fact_set_span(text, value);
}

/* Cuts "x86_64 x86_64 x86_64 GNU/Linux", of which some systems have fewer, off uname(1)'s line. */
static struct span take_machine(struct span *line)
{
	struct span rest = *line, word, last = {0}, machine = {0};
	const char *first;

	while (text_next_word(&rest, &word)) {
		machine = last;
		last = word;
	}
	if (!machine.length)
		return machine;
	first = memmem(line->at, line->length, machine.at - 1, machine.length + 1);
	line->length = (size_t)(first - line->at);
	return machine;
}

/*
 * Reads "Linux version 6.1.0-28-amd64 (builder) (compiler) #1 SMP ..." or, `by_uname`, what
 * `uname -a` prints, "Linux NAME 6.1.0-28-amd64 #1 SMP ... x86_64 GNU/Linux".
 */
static void collect_version_line(
	const struct root *root, const char *path, bool by_uname, struct host_evidence *host)
{
	char buffer[FILE_SIZE];
	struct span content, build, machine, word;
	struct fact why;
	const char *hash;

	if (!root_read(root, path, buffer, sizeof(buffer), &content, &why) ||
		!text_starts(content, "Linux "))
		return;
	hash = memmem(content.at, content.length, " #", 2);
	if (hash) {
		build = (struct span){hash, content.length - (size_t)(hash - content.at)};
		machine = by_uname ? take_machine(&build) : (struct span){0};
		if (machine.length)
			set_unless_known(&host->arch, machine);
		set_unless_known(&host->kernel_build, text_trim(build));
	}
	for (int i = 0; i < 3 && text_next_word(&content, &word); i++) {
		if (i == 2)
			set_unless_known(&host->kernel, word);
	}
}

/* Calls uname() without the personality by which `setarch linux32` names a 64-bit machine i686. */
static bool uname_of_kernel(struct utsname *names)
{
	int current = personality(0xffffffff); /* which changes nothing */
	bool changed = current >= 0 && (current & PER_MASK) == PER_LINUX32 &&
	               personality((unsigned long)current & ~(unsigned long)PER_MASK) >= 0;
	bool done = uname(names) == 0;

	if (changed)
		personality((unsigned long)current);
	return done;
}

/* Reads PRETTY_NAME="Debian GNU/Linux 12 (bookworm)", see os-release(5). */
static void collect_distribution(const struct root *root, struct text_fact *distribution)
{
	char buffer[FILE_SIZE];
	struct span content, line;

	if (!root_read(
		    root, "/etc/os-release", buffer, sizeof(buffer), &content, &distribution->fact))
		return;
	fact_set(&distribution->fact, FACT_ABSENT, "/etc/os-release: no PRETTY_NAME");
	while (text_next_line(&content, &line)) {
		if (!text_take_prefix(&line, "PRETTY_NAME="))
			continue;
		line = text_trim(line);
		if (line.length > 1 && (*line.at == '"' || *line.at == '\'') &&
			line.at[line.length - 1] == *line.at)
			line = (struct span){line.at + 1, line.length - 2};
		fact_set_span(distribution, line);
	}
}

void kernel_collect(const struct root *root, struct host_evidence *host)
{
	struct utsname names;
	char line[FILE_SIZE];
	struct span content;

	root_read_line(root, "/proc/sys/kernel/osrelease", &host->kernel);
	root_read_line(root, "/proc/sys/kernel/version", &host->kernel_build);
	collect_version_line(root, "/proc/version", false, host);
	root_read_line(root, "/proc/sys/kernel/arch", &host->arch);
	if (root->live && uname_of_kernel(&names)) {
		set_unless_known(&host->kernel, text_span(names.release));
		set_unless_known(&host->kernel_build, text_span(names.version));
		set_unless_known(&host->arch, text_span(names.machine));
	} else {
		collect_version_line(root, UNAME_OF_SOSREPORT, true, host);
	}
	/*
	 * Causes rest on absent parameters, too: without all of them none is known. A container may
	 * have /dev/null in the place of this file.
	 */
	if (root_read(root, "/proc/cmdline", line, sizeof(line), &content, &host->boot.fact)) {
		if (!text_trim(content).length)
			fact_set(&host->boot.fact, FACT_ABSENT, "/proc/cmdline is empty");
		else if (!kernel_pick_parameters(
				 content, host->boot.value, sizeof(host->boot.value)))
			fact_set(&host->boot.fact, FACT_FAILED,
				"/proc/cmdline: more parameters concern the clock than can be kept");
	}
	collect_distribution(root, &host->distribution);
}

/*
 * The marks of the tools that keep the kernel command line, a word of evidence.h each. Those of
 * the second half serve GRUB, whose `linux` command puts BOOT_IMAGE= before the parameters
 * (grub-core/loader/i386/linux.c); a host of the first half may have them installed, too.
 */
static const struct mark boot_tools[] = {
	/* pve-docs, system-booting.adoc: systemd-boot on a root on ZFS */
	{"/etc/kernel/proxmox-boot-uuids", "", "proxmox-boot-tool"},
	{"/boot/firmware/cmdline.txt", "", "cmdline.txt"},
	{"/etc/kernel/cmdline", "", "kernel-install"},
	{"/usr/sbin/grubby", "", "grubby"},
	{"/sbin/grubby", "", "grubby"},
	{"/usr/sbin/update-grub", "", "update-grub"},
	{"/usr/sbin/grub2-mkconfig", "", "grub2-mkconfig"},
};

#define BOOT_TOOLS_WITHOUT_GRUB 3

/* A container's files do not show how the machine boots. */
static void collect_boot_tool(const struct root *root, struct host_evidence *host)
{
	bool grub = root_contains(root, "/proc/cmdline", "BOOT_IMAGE=");
	size_t first = grub ? BOOT_TOOLS_WITHOUT_GRUB : 0;
	const char *word = mark_find(root, boot_tools + first, ARRAY_SIZE(boot_tools) - first);

	if (fact_is_known(&host->container.fact))
		fact_set(&host->boot_tool.fact, FACT_ABSENT, "in a container");
	else
		fact_set_found(&host->boot_tool, word, "none of those known here");
}

void host_collect(const struct root *root, struct host_evidence *host)
{
	kernel_collect(root, host);
	cpu_collect(root, host);
	hypervisor_collect(root, &host->hypervisor);
	container_collect(root, &host->container);
	collect_boot_tool(root, host);
	platform_collect(root, host);
	process_collect(root, host);
}

#define CLOUD_INIT "/run/cloud-init/instance-data.json"

/* On AWS it has some ten kilobytes; a larger one is refused. */
#define CLOUD_INIT_SIZE (1024 * 1024)

/*
 * No firmware table names the region. cloud-init keeps what the cloud told it at boot in a file
 * that every user may read; v1.region is the same on each cloud (cloudinit/sources/__init__.py).
 */
static void collect_region(const struct root *root, struct text_fact *region)
{
	char *bytes = xmalloc(CLOUD_INIT_SIZE);
	const json_t *value;
	json_error_t error;
	struct span content;
	json_t *data;

	if (root_read(root, CLOUD_INIT, bytes, CLOUD_INIT_SIZE, &content, &region->fact)) {
		data = json_loadb(content.at, content.length, JSON_REJECT_DUPLICATES, &error);
		value = json_object_get(json_object_get(data, "v1"), "region");
		if (json_string_length(value) > 0)
			fact_set_text(region, json_string_value(value));
		else if (data)
			fact_set(&region->fact, FACT_ABSENT, CLOUD_INIT ": no region");
		else
			fact_set(&region->fact, FACT_FAILED, CLOUD_INIT ": not JSON");
		json_decref(data);
	}
	free(bytes);
}

void host_collect_identity(const struct root *root, struct host_evidence *host)
{
	static const char unknown[] = "not available on this kind of host";

	root_read_line(root, "/proc/sys/kernel/hostname", &host->name);
	collect_region(root, &host->region);
	fact_set(&host->instance_type.fact, FACT_ABSENT, "%s", unknown);
	fact_set(&host->instance_id.fact, FACT_ABSENT, "%s", unknown);
	if (strcmp(host->platform.value, "aws-nitro") == 0) {
		root_read_line(root, "/sys/class/dmi/id/product_name", &host->instance_type);
		root_read_line(root, "/sys/class/dmi/id/board_asset_tag", &host->instance_id);
	} else if (strcmp(host->hypervisor.value, "xen") == 0) {
		root_read_line(root, "/sys/hypervisor/uuid", &host->instance_id);
	}
}
