/* SPDX-License-Identifier: MIT */
/*
 * Golden files: what is printed for hosts that are not here. A scenario is a tree of
 * tests/roots, read by the real code, and what was measured on such a host, written down in
 * scenarios.c. Text and JSON of the judgement are compared with tests/golden/NAME.txt and
 * NAME.json; --write writes those anew. Runs in the source's top folder.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/document.h"
#include "check/gather.h"
#include "commands.h"
#include "golden/bench.h"
#include "golden/file.h"
#include "golden/scenario.h"
#include "judge/judgement.h"
#include "judge/rules.h"
#include "judge/vclock.h"
#include "measure/call.h"

static const char *const formats[][2] = {{"text", "txt"}, {"json", "json"}};

static void set_export(struct vdso_evidence *vdso, const char *name, const char *version)
{
	struct vdso_export *export = &vdso->exports[vdso->export_count++];

	snprintf(export->name, sizeof(export->name), "%s", name);
	snprintf(export->version, sizeof(export->version), "%s", version);
	export->address = 0x1000; /* nobody calls it */
}

static void put_vdso(const struct scenario *scenario, struct vdso_evidence *vdso)
{
	memset(vdso, 0, sizeof(*vdso));
	if (!scenario->vdso) {
		fact_set(&vdso->fact, FACT_ABSENT,
			"the kernel gave this process no vDSO (AT_SYSINFO_EHDR is 0)");
		return;
	}
	fact_set_known(&vdso->fact);
	snprintf(vdso->soname, sizeof(vdso->soname), "%s", scenario->vdso->soname);
	for (const char *const *name = scenario->vdso->exports; *name; name++)
		set_export(vdso, *name, scenario->vdso->version);
}

static void put_vclock(const struct scenario *scenario, struct vclock_evidence *vclock)
{
	memset(vclock, 0, sizeof(*vclock));
	fact_set(&vclock->pvclock_stable.fact, FACT_ABSENT, "not the current clocksource's page");
	vclock->hyperv_sequence.fact = vclock->pvclock_stable.fact;
	if (!scenario->vdso) {
		fact_set(&vclock->fact, FACT_ABSENT, "no vDSO, so no data page");
		return;
	}
	if (!scenario->mode_name) {
		fact_set(&vclock->fact, FACT_FAILED,
			"no page around the vDSO has a layout known here");
		return;
	}
	fact_set_known(&vclock->fact);
	vclock->how = VCLOCK_READ;
	vclock->mode = scenario->mode;
	snprintf(vclock->name, sizeof(vclock->name), "%s", scenario->mode_name);
	snprintf(vclock->layout, sizeof(vclock->layout), "%s", scenario->layout);
}

static void put_proof(const struct scenario *scenario, struct proof_evidence *proof)
{
	memset(proof, 0, sizeof(*proof));
	if (scenario->no_proof) {
		fact_set(&proof->fact, FACT_DENIED, "%s", scenario->no_proof);
		return;
	}
	fact_set_known(&proof->fact);
	proof->method = PROOF_SECCOMP;
	proof->cpus = 4;
}

/* What it takes to read a counter in order. */
#define BARRIER_NS 8.5

static void put_timing(const struct scenario *scenario, struct timing_evidence *timing)
{
	memset(timing, 0, sizeof(*timing));
	fact_set_known(&timing->fact);
	fact_set_known(&timing->counter_fact);
	fact_set_known(&timing->entry_fact);
	timing->counter_ns = scenario->ns.counter;
	timing->ordered_fact = timing->counter_fact;
	timing->ordered_ns = scenario->ns.counter + BARRIER_NS;
	timing->entry_ns = scenario->ns.entry;
	snprintf(timing->counter, sizeof(timing->counter), "%s", scenario->counter);
	timing->chunks = 29;
}

/* The kinds of calls, which differ in what they cost and in whether they enter the kernel. */
enum kind { KIND_PRECISE, KIND_EXTRA, KIND_COARSE, KIND_CPUTIME, KIND_CHEAP };

static enum kind kind_of(const struct call_evidence *call)
{
	if (call->decides)
		return KIND_PRECISE;
	if (strstr(call->clock, "CPUTIME"))
		return KIND_CPUTIME;
	if (strstr(call->clock, "COARSE"))
		return KIND_COARSE;
	return strcmp(call->call, "clock_gettime") == 0 ? KIND_EXTRA : KIND_CHEAP;
}

/* Of 1,000 calls by the vDSO's function, or by libc where there is none, so many entered. */
static unsigned entered_of(const struct scenario *scenario, enum kind kind, bool has_function)
{
	if (!has_function || kind == KIND_CPUTIME)
		return 1000;
	if (kind == KIND_PRECISE)
		return scenario->entered;
	return kind == KIND_EXTRA && (scenario->entered || scenario->old_vdso) ? 1000 : 0;
}

static double user_space_ns(const struct scenario *scenario, enum kind kind)
{
	if (kind == KIND_PRECISE || kind == KIND_EXTRA)
		return scenario->ns.vdso;
	return kind == KIND_COARSE ? scenario->ns.coarse : scenario->ns.coarse / 2;
}

static void put_path(
	const struct scenario *scenario, struct path_evidence *path, double ns, unsigned entered)
{
	path->timed = true;
	path->min_ns = ns;
	path->median_ns = ns * 1.02;
	path->p99_ns = ns * 1.2;
	if (scenario->no_proof)
		return;
	path->attempts = 1000;
	path->entered = entered;
}

static void put_call(const struct scenario *scenario, struct call_evidence *call, unsigned place)
{
	enum kind kind = kind_of(call);
	bool has_function = call->path[PATH_VDSO].available;
	unsigned entered = entered_of(scenario, kind, has_function);
	/* Rows differ a little, as they do on a real machine. */
	double drift = 0.1 * place;
	double kernel_ns = scenario->ns.syscall + drift + (kind == KIND_CPUTIME ? 90 : 0);
	double ns = entered == 1000 ? kernel_ns : user_space_ns(scenario, kind) + drift / 10;

	if (has_function)
		put_path(scenario, &call->path[PATH_VDSO], ns, entered);
	if (scenario->libc_enters && kind != KIND_CHEAP)
		put_path(scenario, &call->path[PATH_LIBC], kernel_ns, 1000);
	else
		put_path(scenario, &call->path[PATH_LIBC], ns + 0.4, entered);
	if (!call->path[PATH_SYSCALL].available)
		return;
	call->path[PATH_SYSCALL].timed = true;
	call->path[PATH_SYSCALL].min_ns = kernel_ns + 2;
	call->path[PATH_SYSCALL].median_ns = kernel_ns * 1.05;
}

static void put_host(const struct scenario *scenario, struct host_evidence *host)
{
	/* A live host says by uname(2) what older kernels have no file for. */
	if (!fact_is_known(&host->arch.fact))
		fact_set_text(&host->arch, scenario->arch ? scenario->arch : "x86_64");
	fact_set_text(&host->libc, scenario->libc);
	fact_set_flag(&host->libc_static, false);
	fact_set_flag(&host->counter_off, false);
	fact_set_number(&host->tracer, 0);
	fact_set_number(&host->seccomp, 0);
}

static void put_measurements(const struct scenario *scenario, struct evidence *evidence)
{
	struct call calls[CALL_MAX][PATH_COUNT] = {0};

	evidence->live = true;
	fact_set_text(&evidence->moment.time, "2026-11-21T15:02:11Z");
	fact_set_known(&evidence->moment.uptime_fact);
	evidence->moment.uptime_s = 86400.2;
	put_vdso(scenario, &evidence->vdso);
	put_vclock(scenario, &evidence->vclock);
	put_host(scenario, &evidence->host);
	put_proof(scenario, &evidence->proof);
	put_timing(scenario, &evidence->timing);
	call_list(evidence, calls);
	for (unsigned i = 0; i < evidence->call_count; i++)
		put_call(scenario, &evidence->calls[i], i);
	if (scenario->change)
		scenario->change(evidence);
	evidence->vclock = vclock_infer(evidence);
}

/* As the check command does it. */
static void judge(
	const struct scenario *scenario, struct evidence *evidence, struct judgement *judgement)
{
	struct root root;
	struct fact why = {0};
	char path[256];

	snprintf(path, sizeof(path), "tests/roots/%s", scenario->root);
	if (!root_open(&root, path, &why))
		fail_msg("%s", why.reason);
	gather_evidence(&root, evidence);
	if (!scenario->captured)
		put_measurements(scenario, evidence);
	judgement_make(evidence, judgement);
	if (judgement->ruling.verdict != VERDICT_OK) {
		gather_reasons(&root, evidence);
		if (scenario->log)
			scenario->log(evidence);
		if (scenario->no_log)
			fact_set(&evidence->kernel_log.fact, FACT_DENIED, "%s", scenario->no_log);
		judgement_make(evidence, judgement);
	}
	root_close(&root);
}

static char *render(const struct document *document, const char *format)
{
	const struct style style = {.color = false};
	char *bytes = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&bytes, &length);

	assert_true(cli_find_format(&check_command, format)->write(document, &style, out));
	assert_int_equal(fclose(out), 0);
	assert_int_equal(strlen(bytes), length);
	return bytes;
}

static void print_scenario(void **state)
{
	const struct scenario *scenario = *state;
	struct evidence evidence = {0};
	struct judgement judgement = {0};
	struct document document = {.evidence = &evidence, .judgement = &judgement};
	char *printed[sizeof(formats) / sizeof(formats[0])];

	judge(scenario, &evidence, &judgement);
	assert_string_equal(judgement.ruling.rule, scenario->rule);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		printed[i] = render(&document, formats[i][0]);
		golden_hold(scenario->name, formats[i][1], printed[i]);
	}
	golden_assert_fits_terminal(printed[0]);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		free(printed[i]);
}

/* Every golden JSON file, one after another. */
static char *all_golden(void)
{
	char *all = calloc(1, 1);

	for (size_t i = 0; i < scenario_count; i++) {
		char path[256];
		char *text;

		snprintf(path, sizeof(path), "tests/golden/%s.json", scenarios[i].name);
		text = golden_read(path);
		assert_non_null(text);
		all = realloc(all, strlen(all) + strlen(text) + 1);
		assert_non_null(all);
		strcat(all, text);
		free(text);
	}
	return all;
}

/* The ids that follow `before` in a source: those of rules, which have a hyphen, and a comma. */
static unsigned find_rules(
	const char *text, const char *before, const char *golden, unsigned *missing)
{
	size_t skip = strlen(before);
	unsigned found = 0;

	for (const char *at = strstr(text, before); at; at = strstr(at + skip, before)) {
		const char *id = at + skip;
		size_t length = strcspn(id, "\"");
		char quoted[80];

		snprintf(quoted, sizeof(quoted), "\"%.*s\"", (int)length, id);
		if (!strchr(quoted, '-') || strncmp(id + length, "\",", 2) != 0)
			continue;
		found++;
		if (strstr(golden, quoted))
			continue;
		print_error("no golden file shows %s\n", quoted);
		*missing += 1;
	}
	return found;
}

static unsigned find_rules_in(const char *source, const char *golden, unsigned *missing)
{
	char *text = golden_read(source);
	unsigned found;

	assert_non_null(text);
	found = find_rules(text, "{\"", golden, missing);
	free(text);
	return found;
}

static unsigned require(const char *id, const char *golden, unsigned *missing)
{
	char quoted[80];

	snprintf(quoted, sizeof(quoted), "\"%s\"", id);
	if (!strstr(golden, quoted)) {
		print_error("no golden file shows %s\n", quoted);
		*missing += 1;
	}
	return 1;
}

static unsigned require_advice(
	const struct advice_row *const *rows, const char *golden, unsigned *missing)
{
	unsigned found = 0;

	for (; rows && *rows; rows++)
		found += require((*rows)->id, golden, missing);
	return found;
}

static unsigned require_causes(const char *golden, unsigned *missing)
{
	unsigned found = require_advice(advice_general, golden, missing) +
	                 require_advice(advice_last_resort, golden, missing);

	for (size_t i = 0; i < CAUSE_TABLES; i++) {
		for (const struct cause_row *row = cause_tables[i].rows; row->id; row++)
			found += require(row->id, golden, missing) +
			         require_advice(row->advice, golden, missing);
	}
	return found;
}

static void show_every_rule(void **state)
{
	static const char *const patterns[] = {"src/judge/verdict*.c", "src/judge/contradiction*.c"};
	char *golden = all_golden();
	unsigned found = 0, missing = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		glob_t sources;

		assert_int_equal(glob(patterns[i], 0, NULL, &sources), 0);
		for (size_t k = 0; k < sources.gl_pathc; k++)
			found += find_rules_in(sources.gl_pathv[k], golden, &missing);
		globfree(&sources);
	}
	found += require_causes(golden, &missing);
	assert_true(found > 60);
	assert_int_equal(missing, 0);
	free(golden);
}

static struct CMUnitTest *list_tests(size_t *count)
{
	struct CMUnitTest *tests;
	size_t at = 0;

	*count = scenario_count + bench_scenario_count + 1;
	tests = calloc(*count, sizeof(*tests));
	if (!tests)
		return NULL;
	for (size_t i = 0; i < scenario_count; i++)
		tests[at++] = (struct CMUnitTest){.name = scenarios[i].loss,
			.test_func = print_scenario,
			.initial_state = (void *)(uintptr_t)&scenarios[i]};
	tests[at++] =
		(struct CMUnitTest){.name = "a rule of the judge whose words nobody has looked at",
			.test_func = show_every_rule};
	for (size_t i = 0; i < bench_scenario_count; i++)
		tests[at++] = (struct CMUnitTest){.name = bench_scenarios[i].loss,
			.test_func = golden_print_bench,
			.initial_state = (void *)(uintptr_t)&bench_scenarios[i]};
	return tests;
}

int main(int argc, char **argv)
{
	size_t count;
	struct CMUnitTest *tests = list_tests(&count);
	int failed;

	golden_is_writing = argc == 2 && strcmp(argv[1], "--write") == 0;
	if (!tests || (argc > 1 && !golden_is_writing)) {
		fprintf(stderr, "usage: golden [--write]\n");
		return 2;
	}
	failed = _cmocka_run_group_tests("golden", tests, count, NULL, NULL);
	free(tests);
	return failed != 0;
}
