/* SPDX-License-Identifier: MIT */
/*
 * Tests of the tables of judge/: each rule has a host in tests/hosts/index.txt or variants.txt,
 * each advice a line there with hosts that must not get it, and no host shows what cannot be
 * printed.
 */
#include "unit.h"

#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "judge.h"
#include "judge/rules.h"
#include "measure/vvar_layout.h"

#define INDEX "tests/hosts/index.txt"
#define VARIANTS "tests/hosts/variants.txt"
#define MESSAGES "tests/lore/messages.txt"

static char *index_text, *variants_text, *messages_text;

static char *read_whole(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	assert_non_null(file);
	assert_true(getdelim(&text, &size, '\0', file) > 0);
	assert_int_equal(fclose(file), 0);
	return text;
}

static int read_lists(void **state)
{
	(void)state;
	index_text = read_whole(INDEX);
	variants_text = read_whole(VARIANTS);
	messages_text = read_whole(MESSAGES);
	return 0;
}

static int free_lists(void **state)
{
	(void)state;
	free(index_text);
	free(variants_text);
	free(messages_text);
	return 0;
}

/* The line that begins with this word; NULL: none does. */
static const char *find_line(const char *text, const char *word)
{
	char start[128];
	const char *line;

	snprintf(start, sizeof(start), "\n%s ", word);
	line = strstr(text, start);
	return line ? line + 1 : NULL;
}

/* Whether a host has this id in its columns: between blanks and commas, in no line of "!". */
static bool has_word(const char *text, const char *id)
{
	size_t length = strlen(id);

	for (const char *at = strstr(text, id); at; at = strstr(at + 1, id)) {
		const char *line = at;

		while (line > text && line[-1] != '\n')
			line--;
		if (*line != '!' && line < at && strchr(" ,", at[-1]) && strchr(" ,\n", at[length]))
			return true;
	}
	return false;
}

static bool is_shown(const char *id)
{
	return has_word(index_text, id) || has_word(variants_text, id);
}

static unsigned require(const char *kind, const char *id)
{
	if (is_shown(id))
		return 0;
	print_error(
		"no host of " INDEX ", and no line of " VARIANTS ", shows the %s %s\n", kind, id);
	return 1;
}

static const struct evidence nothing;

static bool is_on_hpet(const struct view *v)
{
	return clocksource_is(v->evidence, "hpet");
}

static bool is_of_getcpu(const struct view *v, const struct call_evidence *call)
{
	(void)v;
	return strcmp(call->call, "getcpu") == 0;
}

static void a_condition_holds_if_all_of_its_terms_do(void **state)
{
	static const struct kernel_log_line line;
	struct evidence evidence = nothing;
	struct view v = {.evidence = &evidence, .guest = true, .tsc_warp = &line};

	(void)state;
	fact_set_known(&evidence.clocksource.current_fact);
	text_clean(evidence.clocksource.current, CLOCKSOURCE_NAME_SIZE, "hpet");
	v.verdict = VERDICT_FALLBACK;
	assert_true(holds(&v, NULL));
	assert_true(holds(&v, IF(IS(guest), IS(tsc_warp), EQ(verdict, VERDICT_FALLBACK))));
	assert_true(holds(&v, IF(NOT(machine), NOT(tsc_marking), NE(verdict, VERDICT_OK))));
	assert_true(holds(&v, IF(ASK(is_on_hpet), HAS(clocksource_is, "hpet"))));
	fact_set_flag(&evidence.host.long_mode, false);
	assert_true(holds(&v, IF(FACT_IS(host.long_mode, false), STATE(host.cpu, FACT_UNREAD))));
	assert_false(holds(&v, IF(FACT_IS(host.pointer_bits, 0))));
	fact_set_number(&evidence.host.pointer_bits, 64);
	assert_true(holds(&v, IF(FACT_IS(host.pointer_bits, 64))));
	assert_false(holds(&v, IF(FACT_IS(host.pointer_bits, 32))));
	evidence.call_count = 2;
	assert_false(holds(&v, IF(CALL(is_of_getcpu))));
	text_clean(evidence.calls[1].call, sizeof(evidence.calls[1].call), "getcpu");
	assert_true(holds(&v, IF(CALL(is_of_getcpu))));
	assert_true(holds(&v, IF(ANY(IS(machine), IS(guest)), NOT_ALL(IS(guest), IS(machine)))));
	assert_true(holds(&v, IF(ANY(IS(machine), ALL(IS(guest), IS(tsc_warp))))));
	assert_false(holds(&v, IF(ANY(IS(machine), ALL(IS(guest), NOT(tsc_warp))))));
	assert_false(holds(&v, IF(FACT_IS(host.long_mode, true))));
	assert_false(holds(&v, IF(FACT_IS(host.counter_disabled, false))));
	assert_false(holds(&v, IF(STATE(host.long_mode, FACT_UNREAD))));
	assert_false(holds(&v, IF(ANY(IS(machine), NOT(guest)))));
	assert_false(holds(&v, IF(NOT_ALL(IS(guest), IS(tsc_warp)))));
	assert_false(holds(&v, IF(IS(guest), NOT(tsc_warp))));
	assert_false(holds(&v, IF(IS(guest), IS(machine))));
	assert_false(holds(&v, IF(EQ(verdict, VERDICT_OK))));
	assert_false(holds(&v, IF(NE(verdict, VERDICT_FALLBACK))));
	assert_false(holds(&v, IF(ASK_NOT(is_on_hpet))));
	assert_false(holds(&v, IF(HAS_NOT(clocksource_is, "hpet"))));
	assert_false(holds(&v, IF(HAS(clocksource_is, "tsc"))));
}

static void every_verdict_has_a_host(void **state)
{
	unsigned missing = 0;

	(void)state;
	for (size_t i = 0; verdict_rows[i].id; i++)
		missing += require("verdict's rule", verdict_rows[i].id);
	assert_int_equal(missing, 0);
}

static void every_contradiction_has_a_host(void **state)
{
	unsigned missing = 0;

	(void)state;
	for (size_t i = 0; contradiction_rows[i].id; i++)
		missing += require("contradiction", contradiction_rows[i].id);
	assert_int_equal(missing, 0);
}

static void every_cause_and_advice_has_a_host(void **state)
{
	struct cause_explanation cause;
	struct advice advice;
	unsigned missing = 0;
	char never[64];
	size_t count;

	(void)state;
	for (count = 0; explain_cause(count, &cause); count++)
		missing += require("cause", cause.id);
	assert_true(count > 60);
	for (count = 0; explain_advice(count, &advice); count++) {
		missing += require("advice", advice.id);
		/* Commands and the search for what is set already take it as one. */
		if (strchr(advice.boot, ' ')) {
			print_error("%s: '%s' is more than one boot parameter\n", advice.id,
				advice.boot);
			missing++;
		}
		snprintf(never, sizeof(never), "! %s", advice.id);
		if (!find_line(variants_text, never)) {
			print_error("no line of " VARIANTS " begins with %s: hosts on which it "
				    "would be wrong\n",
				never);
			missing++;
		}
	}
	assert_true(count > 60);
	assert_int_equal(missing, 0);
}

/* A message of the kernel that collect/kernel_log.c keeps: tests/lore/run compares the two. */
static unsigned require_kept(const char *id, const char *text)
{
	for (const char *at = strstr(messages_text, text); at; at = strstr(at + 1, text)) {
		const char *line = at;

		while (line > messages_text && line[-1] != '\n')
			line--;
		line = strchr(line, '\t');
		if (line && line < at && strncmp(line + 1, "no: ", 4) != 0)
			return 0;
	}
	print_error("%s: no message of " MESSAGES " that is kept has the text '%s'\n", id, text);
	return 1;
}

static unsigned require_all_kept(const char *id, const struct term *terms)
{
	unsigned missing = 0;

	for (; terms && terms->kind; terms++) {
		if (terms->kind == TERM_HAS && terms->has == log_has)
			missing += require_kept(id, terms->word);
		else if (terms->kind == TERM_ALL || terms->kind == TERM_ANY)
			missing += require_all_kept(id, terms->terms);
	}
	return missing;
}

static void each_text_that_a_cause_finds_in_a_log_is_kept(void **state)
{
	const struct cause_row *row;
	unsigned missing = 0, logs = 0;

	(void)state;
	for (size_t i = 0; (row = cause_row_at(i)); i++) {
		missing += row->log ? require_kept(row->id, row->log) : 0;
		missing += require_all_kept(row->id, row->when);
		logs += row->log != NULL;
	}
	assert_true(logs > 3);
	assert_int_equal(missing, 0);
}

/* A longer id would never be suggested for a misspelt one. */
static void require_id(const char *id)
{
	if (strlen(id) > 31)
		fail_msg("%s has more than 31 characters", id);
}

static void every_cause_and_advice_is_explained_without_a_host(void **state)
{
	struct cause_explanation cause;
	struct advice advice;
	size_t count = 0;

	(void)state;
	for (; explain_cause(count, &cause); count++) {
		require_id(cause.id);
		if (!*cause.text || strchr(cause.text, '{') || !cause.signs || !*cause.signs ||
			cause.signs[strlen(cause.signs) - 1] != '.')
			fail_msg("%s is not explained", cause.id);
	}
	assert_true(count > 60);
	for (count = 0; explain_advice(count, &advice); count++) {
		require_id(advice.id);
		if (!*advice.text || strchr(advice.text, '{'))
			fail_msg("%s is not explained", advice.id);
	}
	assert_true(count > 60);
}

static bool is_listed(const char *list, const char *id)
{
	size_t length = strlen(id);

	for (const char *at = strstr(list, id); at; at = strstr(at + 1, id)) {
		if ((at == list || at[-1] == ',') && (at[length] == ',' || !at[length]))
			return true;
	}
	return false;
}

static void no_host_gets_advice_that_is_wrong_for_it(void **state)
{
	unsigned wrong = 0, lines = 0;
	char id[64], hosts[512], advice[256];

	(void)state;
	for (const char *line = variants_text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (*line != '!')
			continue;
		lines++;
		assert_int_equal(sscanf(line, "! %63s %511s", id, hosts), 2);
		for (char *rest, *host = strtok_r(hosts, ",", &rest); host;
			host = strtok_r(NULL, ",", &rest)) {
			const char *row = find_line(index_text, host);

			if (!is_shown(id) || !row ||
				sscanf(row, "%*s %*s %*s %*s %255s", advice) != 1 ||
				is_listed(advice, id)) {
				print_error("%s: %s is given, or not in " INDEX "\n", id, host);
				wrong++;
			}
		}
	}
	assert_true(lines > 60);
	assert_int_equal(wrong, 0);
}

static bool is_layout(const char *name)
{
	static const unsigned char bytes[4];
	int64_t mode;

	return vvar_layout_mode(name, bytes, &mode);
}

/* "x86, Linux 4.20-6.9": the kernels that have this layout; 7.x is the newest. */
static bool is_layout_of(const char *name, const char *release)
{
	const char *range = strstr(name, "Linux ");
	unsigned first[2], last[2], has[2];
	int count;

	assert_non_null(range);
	count = sscanf(range, "Linux %u.%u-%u.%u", &first[0], &first[1], &last[0], &last[1]);
	assert_true(count >= 2 && sscanf(release, "%u.%u", &has[0], &has[1]) == 2);
	if (count == 2)
		return has[0] == first[0] && has[1] == first[1];
	return (has[0] > first[0] || (has[0] == first[0] && has[1] >= first[1])) &&
	       (has[0] < last[0] || (has[0] == last[0] && (count == 3 || has[1] <= last[1])));
}

/* A layout that was renamed would stay in documents, and in what is printed for them. */
static void layouts_of_hosts_are_those_that_are_printed_for_their_kernels(void **state)
{
	unsigned found = 0, stale = 0;
	glob_t documents;

	(void)state;
	assert_int_equal(glob("tests/hosts/*/document.json", 0, NULL, &documents), 0);
	for (size_t i = 0; i < documents.gl_pathc; i++) {
		json_t *root = json_load_file(documents.gl_pathv[i], 0, NULL);
		const char *name = json_string_value(
			json_object_get(json_object_get(root, "vclock"), "layout"));
		const char *release =
			json_string_value(json_object_get(json_object_get(root, "host"), "kernel"));

		assert_non_null(root);
		found += name != NULL;
		if (name && !is_layout(name)) {
			print_error("%s: no layout is called %s\n", documents.gl_pathv[i], name);
			stale++;
		} else if (name && release && !is_layout_of(name, release)) {
			print_error("%s: %s is not the layout of %s\n", documents.gl_pathv[i], name,
				release);
			stale++;
		}
		json_decref(root);
	}
	globfree(&documents);
	assert_true(found > 100);
	assert_int_equal(stale, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_condition_holds_if_all_of_its_terms_do),
		cmocka_unit_test(every_verdict_has_a_host),
		cmocka_unit_test(every_contradiction_has_a_host),
		cmocka_unit_test(every_cause_and_advice_has_a_host),
		cmocka_unit_test(each_text_that_a_cause_finds_in_a_log_is_kept),
		cmocka_unit_test(every_cause_and_advice_is_explained_without_a_host),
		cmocka_unit_test(no_host_gets_advice_that_is_wrong_for_it),
		cmocka_unit_test(layouts_of_hosts_are_those_that_are_printed_for_their_kernels),
	};

	return cmocka_run_group_tests(tests, read_lists, free_lists);
}
