/* SPDX-License-Identifier: MIT */
/* Puts text together, wraps it between words, and describes clocksource, host and calls. */
#include "cli/text.h"

#include <stdarg.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

#define MARGIN 2
#define COLUMNS_LEAST 50
#define COLUMNS_MOST 100

static int columns = WRAP_COLUMNS;
static const char *label_style = "", *text_style = "";

int wrap_columns(void)
{
	return columns;
}

void wrap_set_columns(int number)
{
	columns = number < COLUMNS_LEAST  ? COLUMNS_LEAST
	          : number > COLUMNS_MOST ? COLUMNS_MOST
	                                  : number;
}

void wrap_set_styles(const char *label, const char *text)
{
	label_style = label;
	text_style = text;
}

static int start_line(FILE *out, int indent)
{
	fprintf(out, "\n%*s", indent, "");
	return indent;
}

static void write_words(FILE *out, int column, int indent, const char *text)
{
	struct span rest = text_span(text);
	struct span word;

	for (bool first = true; text_next_word(&rest, &word); first = false) {
		if (!first && column + 1 + (int)word.length > wrap_columns()) {
			column = start_line(out, indent);
		} else if (!first) {
			fputc(' ', out);
			column++;
		}
		column += fprintf(out, "%.*s", (int)word.length, word.at);
	}
}

void wrap_text(FILE *out, int column, int indent, const char *text)
{
	write_words(out, column, indent, text);
	fputc('\n', out);
}

void wrap_answer(FILE *out, const char *word, const char *color, const char *text)
{
	int column = (int)strlen(word) + 2;

	fprintf(out, "%s%s%s: ", color ? color : "", word, color ? COLOR_RESET : "");
	wrap_text(out, column, column, text);
}

void wrap_label(FILE *out, const char *label, int indent)
{
	const char *style = *label ? label_style : "";

	fprintf(out, "%*s%s%s%s%*s", MARGIN, "", style, label, *style ? COLOR_RESET : "",
		indent - MARGIN - (int)strlen(label), "");
}

void wrap_print(FILE *out, const char *label, int indent, const char *text)
{
	wrap_label(out, label, indent);
	fputs(text_style, out);
	write_words(out, indent, indent, text);
	fprintf(out, "%s\n", *text_style ? COLOR_RESET : "");
}

void wrap_format(FILE *out, const char *label, int indent, const char *format, ...)
{
	char text[STRBUF_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	wrap_print(out, label, indent, text);
}

/*
 * Returns the length up to the next blank at which the shell lets a backslash end the line, which
 * it does anywhere but between single quotes.
 */
static size_t command_word(const char *command)
{
	bool quoted = false;
	size_t length = 0;

	for (; command[length] && (quoted || command[length] != ' '); length++)
		quoted ^= command[length] == '\'';
	return length;
}

/* Commands of a list begin a line each where they fit one. */
static bool begins_line(const char *command, int column, int indent)
{
	const char *end = strstr(command, " &&");
	int length = (int)(end ? (size_t)(end - command) + strlen(" && \\") : strlen(command));

	return column + length > wrap_columns() && indent + length <= wrap_columns();
}

void wrap_command(FILE *out, int column, int indent, const char *command)
{
	bool after_and = false;

	for (bool first = true; *command; first = false) {
		size_t length = command_word(command);
		/* All but the last word leave room for the backslash. */
		int room = wrap_columns() - column - 1 - (command[length] ? 2 : 0);

		if (!first && ((int)length > room ||
				      (after_and && begins_line(command, column + 1, indent)))) {
			fputs(" \\", out);
			column = start_line(out, indent);
		} else if (!first) {
			fputc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", (int)length, command);
		column += (int)length;
		after_and = length == 2 && strncmp(command, "&&", length) == 0;
		command += length;
		while (*command == ' ')
			command++;
	}
	fputc('\n', out);
}

/* ---- what all commands say ---- */

void strbuf_add(struct strbuf *sb, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sb->text + sb->used, sizeof(sb->text) - sb->used, format, arguments);
	va_end(arguments);
	sb->used += strlen(sb->text + sb->used);
}

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

/* The words of host->hypervisor, then those of host->platform: clouds and products. */
static const struct {
	const char *word, *hypervisor, *cloud, *product;
} names[] = {
	{"amazon", .hypervisor = "Nitro"},
	{"google", .hypervisor = "KVM", .cloud = "Google Cloud"},
	{"kvm", .hypervisor = "KVM"},
	{"microsoft", .hypervisor = "Hyper-V"},
	{"oracle", .hypervisor = "VirtualBox"},
	{"qemu", .hypervisor = "QEMU"},
	{"uml", .hypervisor = "User-Mode Linux"},
	{"acrn", .hypervisor = "ACRN"},
	{"apple", .hypervisor = "Apple"},
	{"bochs", .hypervisor = "Bochs"},
	{"parallels", .hypervisor = "Parallels"},
	{"powervm", .hypervisor = "PowerVM"},
	{"qnx", .hypervisor = "QNX"},
	{"sre", .hypervisor = "SRE"},
	{"zvm", .hypervisor = "z/VM"},
	{"vmware", .hypervisor = "VMware"},
	{"xen", .hypervisor = "Xen"},
	{"alibaba", .cloud = "Alibaba Cloud"},
	{"aws-nitro", .cloud = "Amazon EC2"},
	{"aws-xen", .cloud = "Amazon EC2"},
	{"azure", .cloud = "Azure"},
	{"oracle-cloud", .cloud = "Oracle Cloud"},
	{"akamai", .cloud = "Akamai"},
	{"cloudcix", .cloud = "CloudCIX"},
	{"cloudsigma", .cloud = "CloudSigma"},
	{"cloudstack", .cloud = "CloudStack"},
	{"digitalocean", .cloud = "DigitalOcean"},
	{"e24cloud", .cloud = "e24cloud"},
	{"exoscale", .cloud = "Exoscale"},
	{"hetzner", .cloud = "Hetzner"},
	{"huawei", .cloud = "Huawei Cloud"},
	{"nwcs", .cloud = "NWCS"},
	{"open-telekom-cloud", .cloud = "Open Telekom Cloud"},
	{"openstack", .cloud = "OpenStack"},
	{"outscale", .cloud = "3DS Outscale"},
	{"samsung", .cloud = "Samsung Cloud Platform"},
	{"sap-ccloud", .cloud = "SAP Converged Cloud"},
	{"scaleway", .cloud = "Scaleway"},
	{"smartdc", .cloud = "SmartDC"},
	{"tencent", .cloud = "Tencent Cloud"},
	{"tilaa", .cloud = "Tilaa"},
	{"upcloud", .cloud = "UpCloud"},
	{"vultr", .cloud = "Vultr"},
	{"yandex", .cloud = "Yandex Cloud"},
	{"zstack", .cloud = "ZStack"},
	{"cloud-hypervisor", .product = "Cloud Hypervisor"},
	{"firecracker", .product = "Firecracker"},
	{"gvisor", .product = "gVisor"},
	{"lpar", .product = "LPAR of IBM Z"},
	{"microvm", .product = "microVM"},
	{"qubes", .product = "Qubes OS"},
	{"wsl1", .product = "WSL 1"},
	{"wsl2", .product = "WSL 2"},
};

/* "Xen guest on Amazon EC2", "KVM guest (Firecracker)", "guest of an unknown hypervisor" */
static void add_machine(const struct host_evidence *host, struct strbuf *sb)
{
	bool is_guest = fact_is_known(&host->hypervisor.fact);
	const char *hypervisor = host->hypervisor.value, *cloud = NULL, *product = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].hypervisor && fact_is_text(&host->hypervisor, names[i].word))
			hypervisor = names[i].hypervisor;
		if (fact_is_text(&host->platform, names[i].word)) {
			cloud = names[i].cloud;
			product = names[i].product;
		}
	}
	if (fact_is_text(&host->hypervisor, "vm-other"))
		strbuf_add(sb, cloud ? "guest" : "guest of an unknown hypervisor");
	else if (is_guest)
		strbuf_add(sb, "%s guest", hypervisor);
	if (cloud)
		strbuf_add(sb, "%s%s", is_guest ? " on " : "", cloud);
	else if (product)
		strbuf_add(sb, is_guest ? " (%s)" : "%s", product);
}

/* "Intel Xeon E5-2676 v3" of "Intel(R) Xeon(R) CPU E5-2676 v3 @ 2.40GHz" */
static void add_cpu(const char *brand, struct strbuf *sb)
{
	static const char *const noise[] = {"(R)", "(TM)", "(tm)", " CPU", " Processor"};

	while (*brand && strncmp(brand, " @", 2) != 0) {
		size_t skip = 0;

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
	if (fact_is_known(&ntp->fact))
		strbuf_add(sb, "%s, offset %.1f us, maximum error %.1f ms%s",
			ntp->synchronized ? "synchronized" : "not synchronized",
			(double)ntp->offset_ns / 1e3, (double)ntp->max_error_us / 1e3,
			ntp->leap_pending ? ", leap second pending" : "");
	else
		strbuf_add(sb, "not known (%s)", ntp->fact.reason);
}
