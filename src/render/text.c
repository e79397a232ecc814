/* SPDX-License-Identifier: MIT */
#include "render/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/fault.h"
#include "judge/tally.h"
#include "render/wrap.h"

#define EVIDENCE_INDENT 16
#define PARAGRAPH_INDENT 9
#define LINE_SIZE 4096

/* The rate that the cost is worked out for: a busy service, not a record. */
#define EXAMPLE_RATE 100000.0
#define NS_PER_SECOND 1e9

#define COLOR_RESET "\033[0m"

static const struct {
	const char *word;
	const char *color;
} headings[] = {
	[VERDICT_UNKNOWN] = {"UNKNOWN", "\033[1;35m"},
	[VERDICT_OK] = {"OK", "\033[1;32m"},
	[VERDICT_FALLBACK] = {"FALLBACK", "\033[1;31m"},
	[VERDICT_SLOW] = {"SLOW", "\033[1;33m"},
};

/* A line that is put together from pieces before it is wrapped. */
struct line {
	char text[LINE_SIZE];
	size_t used;
};

static void line_add(struct line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void line_add(struct line *line, const char *format, ...)
{
	size_t left = sizeof(line->text) - line->used;
	va_list arguments;
	int wrote;

	va_start(arguments, format);
	wrote = vsnprintf(line->text + line->used, left, format, arguments);
	va_end(arguments);
	if (wrote > 0)
		line->used += (size_t)wrote < left ? (size_t)wrote : left - 1;
}

static void write_verdict(const struct document *document, FILE *out)
{
	const struct ruling *ruling = &document->judgement->ruling;
	const char *word = headings[ruling->verdict].word;
	int column = (int)strlen(word) + 2;

	if (document->color)
		fprintf(out, "%s%s%s: ", headings[ruling->verdict].color, word, COLOR_RESET);
	else
		fprintf(out, "%s: ", word);
	wrap_text(out, column, column, ruling->summary);
	fputc('\n', out);
}

static void write_evidence(FILE *out, const char *label, const struct line *line)
{
	wrap_print(out, label, EVIDENCE_INDENT, line->text);
}

static void write_clocksource(const struct evidence *evidence, FILE *out)
{
	const struct clocksource_evidence *clocksource = &evidence->clocksource;
	struct line line = {.used = 0};

	if (fact_is_known(&clocksource->current_fact))
		line_add(&line, "%s", clocksource->current);
	else
		line_add(&line, "not known: %s", clocksource->current_fact.reason);
	if (fact_is_known(&clocksource->available_fact)) {
		line_add(&line, "; available:");
		for (size_t i = 0; i < clocksource->available_count; i++)
			line_add(&line, " %s", clocksource->available[i]);
	}
	write_evidence(out, "clocksource", &line);
}

/* "__vdso_time" is time() to everybody but the linker. */
static const char *plain_name(const char *export)
{
	static const char *const prefixes[] = {"__vdso_", "__kernel_"};

	for (size_t i = 0; i < 2; i++) {
		size_t length = strlen(prefixes[i]);

		if (strncmp(export, prefixes[i], length) == 0)
			return export + length;
	}
	return export;
}

static void write_vdso(const struct evidence *evidence, FILE *out)
{
	const struct vdso_evidence *vdso = &evidence->vdso;
	struct line line = {.used = 0};

	if (!fact_is_known(&vdso->fact)) {
		line_add(&line, "%s: %s",
			vdso->fact.state == FACT_ABSENT ? "none" : "not known", vdso->fact.reason);
	} else {
		line_add(&line, "%s exports", *vdso->soname ? vdso->soname : "without a name,");
		for (size_t i = 0; i < vdso->export_count; i++)
			line_add(&line, " %s", plain_name(vdso->exports[i].name));
	}
	write_evidence(out, "vDSO", &line);
}

static void write_vclock(const struct evidence *evidence, FILE *out)
{
	const struct vclock_evidence *vclock = &evidence->vclock;
	struct line line = {.used = 0};

	if (vclock->how == VCLOCK_UNKNOWN)
		line_add(&line, "not known: %s", vclock->fact.reason);
	else
		line_add(&line, "%" PRId64 ", %s", vclock->mode,
			*vclock->name ? vclock->name : "of a name not known here");
	if (vclock->how == VCLOCK_READ)
		line_add(&line, " (read from the vDSO's data page%s)",
			vclock->time_namespace ? ", in a time namespace" : "");
	if (vclock->how == VCLOCK_INFERRED)
		line_add(&line, " (inferred from clocksource and proof: %s)", vclock->fact.reason);
	write_evidence(out, "vclock mode", &line);
}

static const char *method_name(enum proof_method method)
{
	return method == PROOF_SECCOMP ? "seccomp" : "ptrace";
}

static void write_proof(const struct evidence *evidence, FILE *out)
{
	const struct proof_evidence *proof = &evidence->proof;
	struct tally vdso = tally_by(evidence, PATH_VDSO);
	struct tally libc = tally_by(evidence, PATH_LIBC);
	struct line line = {.used = 0};
	char entered[32], attempts[32];

	if (!fact_is_known(&proof->fact))
		line_add(&line, "not taken: %s",
			*proof->fact.reason ? proof->fact.reason : "nothing was measured");
	else
		line_add(&line, "%s of %s deciding calls (*) entered the kernel (%s)",
			wrap_count(vdso.entered + libc.entered, entered),
			wrap_count(vdso.attempts + libc.attempts, attempts),
			method_name(proof->method));
	if (fact_is_known(&proof->fact) && *proof->note)
		line_add(&line, "; %s", proof->note);
	write_evidence(out, "proof", &line);
}

static const char *guest_name(const char *word)
{
	static const struct {
		const char *word;
		const char *name;
	} names[] = {
		{"amazon", "Amazon EC2"}, {"google", "Google Compute Engine"}, {"kvm", "KVM"},
		{"microsoft", "Hyper-V"}, {"qemu", "QEMU"}, {"vmware", "VMware"}, {"xen", "Xen"},
		{"oracle", "VirtualBox"}, {"vm-other", "unknown hypervisor's"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i].word, word) == 0)
			return names[i].name;
	}
	return word;
}

static void add_text(struct line *line, const char *before, const struct text_fact *text)
{
	if (fact_is_known(&text->fact))
		line_add(line, "%s%s%s", line->used ? ", " : "", before, text->value);
}

static void write_host(const struct evidence *evidence, FILE *out)
{
	const struct host_evidence *host = &evidence->host;
	struct line line = {.used = 0};

	if (fact_is_known(&host->hypervisor.fact))
		line_add(&line, "%s guest", guest_name(host->hypervisor.value));
	add_text(&line, "container: ", &host->container);
	add_text(&line, "Linux ", &host->kernel);
	add_text(&line, "", &host->arch);
	add_text(&line, "", &host->cpu);
	if (fact_is_known(&host->invariant_tsc.fact))
		line_add(&line, "%sTSC %s", line.used ? ", " : "",
			host->invariant_tsc.value ? "invariant" : "not invariant");
	if (fact_is_known(&host->boot.fact) && *host->boot.value)
		line_add(&line, "; booted with %s", host->boot.value);
	if (!line.used)
		line_add(&line, "not known: %s", host->kernel.fact.reason);
	write_evidence(out, "host", &line);
}

/* "CLOCK_MONOTONIC_COARSE" without what all have in common. */
static const char *plain_clock(const char *clock)
{
	return strncmp(clock, "CLOCK_", 6) == 0 ? clock + 6 : clock;
}

static void write_time(const struct path_evidence *path, FILE *out)
{
	char ns[32];

	fprintf(out, "%9s", path->timed ? wrap_ns(path->min_ns, ns) : "-");
}

/* Whether the call enters the kernel, in at most 13 characters. */
static void describe_entering(const struct call_evidence *call, char *text, size_t size)
{
	const struct path_evidence *path = &call->path[tally_path(call)];

	if (path->signal)
		snprintf(text, size, "%s", fault_signal_name(path->signal));
	else if (!path->attempts)
		snprintf(text, size, "not proven");
	else if (path->entered == 0)
		snprintf(text, size, "never");
	else if (path->entered == path->attempts)
		snprintf(text, size, "always");
	else
		snprintf(text, size, "%u of %u", path->entered, path->attempts);
}

static void write_call(const struct call_evidence *call, FILE *out)
{
	char name[2 * CALL_NAME_SIZE];
	char entering[32];

	snprintf(name, sizeof(name), "%s%s%s%s", call->decides ? "* " : "  ", call->call,
		*call->clock ? " " : "", plain_clock(call->clock));
	fprintf(out, "%-35s", name);
	for (int path = 0; path < PATH_COUNT; path++)
		write_time(&call->path[path], out);
	describe_entering(call, entering, sizeof(entering));
	fprintf(out, "   %s\n", entering);
}

static bool is_anything_measured(const struct evidence *evidence)
{
	return fact_is_known(&evidence->timing.fact) || fact_is_known(&evidence->proof.fact);
}

static void write_calls(const struct evidence *evidence, FILE *out)
{
	if (!is_anything_measured(evidence))
		return;
	fprintf(out, "\n  %-33s%9s%9s%9s   %s\n", "ns per call (* decides)", "vDSO", "libc",
		"syscall", "enters kernel");
	for (size_t i = 0; i < evidence->call_count; i++)
		write_call(&evidence->calls[i], out);
}

static void write_cause(const struct cause *cause, const char *label, FILE *out)
{
	struct line line = {.used = 0};

	line_add(&line, "%s%s", cause->certainty == CERTAINTY_POSSIBLE ? "Possibly: " : "",
		cause->text);
	wrap_print(out, label, PARAGRAPH_INDENT, line.text);
	line.used = 0;
	for (size_t i = 0; i < cause->evidence_count; i++)
		line_add(&line, "%s%s", i ? "; " : "(", cause->evidence[i]);
	if (!line.used)
		return;
	line_add(&line, ")");
	wrap_print(out, "", PARAGRAPH_INDENT, line.text);
}

static void write_why(const struct judgement *judgement, FILE *out)
{
	const char *label = judgement->ruling.verdict == VERDICT_OK ? "Note" : "Why";

	for (size_t i = 0; i < judgement->cause_count; i++)
		write_cause(&judgement->causes[i], i ? "" : label, out);
	for (size_t i = 0; i < judgement->contradiction_count; i++)
		wrap_print(out, i ? "" : "But", PARAGRAPH_INDENT,
			judgement->contradictions[i].text);
}

/* On a line of its own and whole, to be pasted. */
static void write_command(const char *command, FILE *out)
{
	fprintf(out, "    %s\n", command);
}

static void write_one_advice(const struct advice *advice, const char *label, FILE *out)
{
	if (advice->check) {
		wrap_print(out, label, PARAGRAPH_INDENT, "First see whether the CPUs' counters agree:");
		write_command(advice->check, out);
		label = "";
	}
	wrap_print(out, label, PARAGRAPH_INDENT, advice->text);
	if (advice->command)
		write_command(advice->command, out);
	if (advice->ask)
		wrap_print(out, "", PARAGRAPH_INDENT + 2, advice->ask);
	if (advice->keep)
		wrap_print(out, "Keep", PARAGRAPH_INDENT, advice->keep);
	if (advice->risk)
		wrap_print(out, "Risk", PARAGRAPH_INDENT, advice->risk);
}

static void write_advice(const struct judgement *judgement, FILE *out)
{
	for (size_t i = 0; i < judgement->advice_count; i++)
		write_one_advice(&judgement->advice[i], i ? "Or" : "Do", out);
}

static double share_of_cpu(double ns_per_call)
{
	return 100 * ns_per_call * EXAMPLE_RATE / NS_PER_SECOND;
}

static void write_cost(const struct document *document, FILE *out)
{
	const struct cost *cost = &document->judgement->cost;
	double lost = cost_lost_ns(cost);
	struct line line = {.used = 0};
	char ns[32], other[32], rate[32];

	if (!cost->known)
		return;
	wrap_count((uint64_t)EXAMPLE_RATE, rate);
	if (document->judgement->ruling.verdict == VERDICT_OK)
		line_add(&line, "%s ns per call, where entering the kernel would take %s ns.",
			wrap_ns(cost->call_ns, ns), wrap_ns(cost->syscall_ns, other));
	else if (lost > 0)
		line_add(&line,
			"%s ns per call, where user space would take about %s ns: at %s calls/s, "
			"%.1f %% of one CPU is lost.",
			wrap_ns(cost->call_ns, ns), wrap_ns(cost->user_space_ns, other), rate,
			share_of_cpu(lost));
	else
		line_add(&line, "%s ns per call: at %s calls/s, %.1f %% of one CPU.",
			wrap_ns(cost->call_ns, ns), rate, share_of_cpu(cost->call_ns));
	wrap_print(out, "Cost", PARAGRAPH_INDENT, line.text);
}

bool text_write(const struct document *document, FILE *out)
{
	const struct evidence *evidence = document->evidence;

	write_verdict(document, out);
	write_clocksource(evidence, out);
	write_vdso(evidence, out);
	write_vclock(evidence, out);
	write_proof(evidence, out);
	write_host(evidence, out);
	write_calls(evidence, out);
	fputc('\n', out);
	write_why(document->judgement, out);
	write_advice(document->judgement, out);
	write_cost(document, out);
	return true;
}
