/* SPDX-License-Identifier: MIT */
/* Tests of cli/options: options and operands behind a command, on commands made for it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/driver.h"
#include "commands.h"
#include "unit/unit.h"

enum id { OPTION_LIST = OPTION_OWN, OPTION_FILES, OPTION_CALM };

struct request {
	int64_t duration_ns;
	size_t words;
	bool calm;
};

static bool take_word(struct cli *cli, struct span word)
{
	(void)word;
	((struct request *)cli->data)->words++;
	return true;
}

static bool take(struct cli *cli, int id, const char *value)
{
	struct request *request = cli->data;

	switch (id) {
	case OPTION_LIST:
		return take_list(value, take_word, cli);
	case 'd':
		return take_duration("--duration", value, &request->duration_ns);
	default:
		return request->calm = true;
	}
}

static void write_nothing(const void *result, const struct style *style, FILE *out)
{
	(void)result;
	(void)style;
	(void)out;
}

static const struct format formats[] = {
	{.name = "text", .write = write_nothing}, {.name = "json", .write = write_nothing}, {0}};

static const struct option_row first_options[] = {
	{OPTION_FILES, "files", "FILE...", "read these"},
	{OPTION_SYSROOT, "sysroot", "DIR", "another root"},
	{0},
};

static const struct option_row second_options[] = {
	{OPTION_LIST, "list", "LIST", "some words"},
	{OPTION_CALM, "calm", NULL, "calmly"},
	{'d', "duration", "TIME", "for TIME"},
	{0},
};

/* What "help" explains beside the commands; one of it takes a word of its own. */
static const char *topic(const char *within, size_t place)
{
	static const char *const words[] = {"colours", "sizes", NULL};
	static const char *const colours[] = {"red", "green", NULL};
	static const char *const *const none = &words[2];

	return (!within ? words : strcmp(within, "colours") == 0 ? colours : none)[place];
}

static const struct command first = {.name = "first",
	.help = "The first.",
	.summary = "one",
	.status = "0.",
	.options = first_options,
	.formats = formats,
	.size = sizeof(struct request),
	.take = take,
	.topic = topic};

static const struct command second = {.name = "second",
	.help = "The second.",
	.summary = "two",
	.status = "0.",
	.options = second_options,
	.formats = formats,
	.size = sizeof(struct request),
	.take = take};

static const struct command third = {.name = "third",
	.help = "The third.",
	.summary = "three",
	.status = "0.",
	.options = second_options,
	.formats = formats,
	.size = sizeof(struct request),
	.take = take,
	.program = "-- PROGRAM",
	.failure_status = 125};

static const struct command *const commands[] = {&first, &second, &third, NULL};

static struct cli cli;
static char message[1024];

/* Parses the words, separated by blanks; what is said on standard error is kept. */
static bool parse(const char *line)
{
	static char words[256];
	char *argv[32] = {"vdsocheck"}, *rest = NULL;
	FILE *said = tmpfile();
	int argc = 1, before = dup(STDERR_FILENO);
	bool parsed;

	cli_free(&cli);
	snprintf(words, sizeof(words), "%s", line);
	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	assert_non_null(said);
	fflush(stderr);
	dup2(fileno(said), STDERR_FILENO);
	parsed = cli_parse(&cli, commands, argc, argv);
	fflush(stderr);
	dup2(before, STDERR_FILENO);
	close(before);
	rewind(said);
	message[fread(message, 1, sizeof(message) - 1, said)] = '\0';
	fclose(said);
	assert_int_equal(parsed, !*message);
	return parsed;
}

static const struct request *request(void)
{
	return cli.data;
}

static void options_may_come_in_any_order_and_form(void **state)
{
	static const char *const lines[] = {"second -d 2 --json -o file",
		"second --json -o file -d 2", "second -d2 -Jo file",
		"second --duration=2 -J -ofile", "second --dur 2 --json --output file",
		"second -Jo file --duration 2"};

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		assert_true(parse(lines[i]));
		assert_ptr_equal(cli.command, &second);
		assert_string_equal(cli.format->name, "json");
		assert_string_equal(cli.output, "file");
		assert_int_equal(request()->duration_ns, 2000000000);
	}
}

static void the_command_comes_first(void **state)
{
	(void)state;
	assert_false(parse("--json second"));
	assert_non_null(strstr(message, "the command 'second' comes before all options"));
	assert_false(parse("--color never version"));
	assert_non_null(strstr(message, "the command 'version' comes before all options"));
	/* A value or an operand of this name is not meant as the command. */
	assert_true(parse("-o second --json"));
	assert_true(parse("--files second"));
	assert_false(parse("first --nope second"));
	assert_null(strstr(message, "comes before"));
	assert_false(parse("-o second --nosuch"));
	assert_non_null(strstr(message, "unknown option '--nosuch'"));
	assert_false(parse("--files second --nosuch"));
	assert_non_null(strstr(message, "unknown option '--nosuch'"));
}

static void the_first_command_is_the_default(void **state)
{
	(void)state;
	assert_true(parse(""));
	assert_ptr_equal(cli.command, &first);
	assert_true(parse("-qv --sysroot second"));
	assert_ptr_equal(cli.command, &first);
	assert_true(cli.quiet && cli.style.verbose);
	assert_string_equal(cli.sysroot, "second");
}

static void options_may_come_between_operands(void **state)
{
	static const char *const lines[] = {"--files a b c --json", "--files a --json b c",
		"--files a b --json c", "first --json --files a b c", "--files=a b c -J",
		"--files a -J -- b c", "--fil a b -J c", "--files a b --files c -J"};

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		assert_true(parse(lines[i]));
		assert_ptr_equal(cli.command, &first);
		assert_string_equal(cli.format->name, "json");
		assert_int_equal(cli.operand_count, 3);
		assert_string_equal(cli.operands[0], "a");
		assert_string_equal(cli.operands[2], "c");
	}
}

static void lists_given_twice_are_joined(void **state)
{
	(void)state;
	assert_true(parse("second --list a,b --list c"));
	assert_int_equal(request()->words, 3);
}

static void help_is_also_a_command(void **state)
{
	(void)state;
	assert_true(parse("help") && cli.help);
	assert_ptr_equal(cli.command, &first);
	assert_true(parse("help second") && cli.help);
	assert_ptr_equal(cli.command, &second);
	assert_true(parse("second --help") && cli.help);
	assert_true(parse("help help") && cli.help);
	assert_ptr_equal(cli.command, &first);
	assert_true(parse("help help second") && cli.help);
	assert_ptr_equal(cli.command, &second);
	assert_false(parse("help nope"));
	assert_false(parse("help second first"));
}

static void help_explains_topics_and_their_parts(void **state)
{
	(void)state;
	assert_true(parse("help Sizes") && cli.help);
	assert_string_equal(cli.topic, "sizes");
	assert_true(parse("help colours --color never"));
	assert_string_equal(cli.topic, "colours");
	assert_true(parse("help colours GREEN"));
	assert_string_equal(cli.topic, "green");
	assert_true(parse("first --help") && !cli.topic);
}

static void version_is_also_a_command(void **state)
{
	(void)state;
	assert_true(parse("version") && cli.version && !cli.help);
	assert_true(parse("version --color never") && cli.version);
	assert_true(parse("help version") && cli.help);
	assert_false(parse("version nope"));
}

static void errors_name_the_word_and_the_help(void **state)
{
	static const struct {
		const char *line, *said;
	} rows[] = {
		{"secnod", "unknown command 'secnod'; did you mean 'second'?"},
		{"hlep", "unknown command 'hlep'; did you mean 'help'?"},
		{"verison", "unknown command 'verison'; did you mean 'version'?"},
		{"secnod --calm", "unknown command 'secnod'; did you mean 'second'?"},
		{"help secnod", "no help for 'secnod'; did you mean 'second'?"},
		{"help coluors", "no help for 'coluors'; did you mean 'colours'?"},
		{"help green", "no help for 'green'; there are colours, sizes, first, second, "
			       "third, help, version; see"},
		{"help colours greeen", "no help for 'greeen'; did you mean 'green'?"},
		{"help colours second", "no help for 'second'; there are red, green; see"},
		{"help colours red green", "unexpected argument 'green'"},
		{"help sizes second", "unexpected argument 'second'"},
		{"dir/a.txt",
			"'dir/a.txt' is not a command; to read a file, use --files dir/a.txt"},
		{"a.json", "use --files a.json"},
		{"first a.json", "'a.json' is not a command; to read a file, use --files a.json"},
		{"somewhere", "unknown command 'somewhere'; there are first, second, third, help, "
			      "version; see 'vdsocheck --help'"},
		{"first extra", "unexpected argument 'extra'; see 'vdsocheck first --help'"},
		{"second extra", "unexpected argument 'extra'; see 'vdsocheck second --help'"},
		{"second --clam", "unknown option '--clam'; did you mean '--calm'?"},
		{"second --bogus -x", "unknown option '--bogus'; see 'vdsocheck second --help'"},
		{"second --c", "option '--c' is ambiguous: --calm, --color"},
		{"second --calm=1", "option '--calm=1' takes no value"},
		{"second --cal=1", "option '--cal=1' takes no value"},
		{"second --nope", "unknown option '--nope'; see 'vdsocheck second --help'"},
		{"second --files a", "unknown option '--files'; see 'vdsocheck second --help'"},
		{"second --jsno", "unknown option '--jsno'; did you mean '--json'?"},
		{"second --clam=1", "unknown option '--clam'; did you mean '--calm'?"},
		{"-d 2", "unknown option '-d'; see 'vdsocheck first --help'"},
		{"json", "'json' is a format, not a command: vdsocheck --format json"},
		{"-help", "unknown option '-help'; did you mean '--help'?"},
		{"-v -version", "unknown option '-version'; did you mean '--version'?"},
		{"second -calm", "unknown option '-calm'; did you mean '--calm'?"},
		{"seconds", "unknown command 'seconds'; did you mean 'second'?"},
		{"secondary", "unknown command 'secondary'; did you mean 'second'?"},
		{"sec", "unknown command 'sec'; did you mean 'second'?"},
		{"second -x", "unknown option '-x'"},
		{"second -qx", "unknown option '-x'"},
		{"second --quiet -xv", "unknown option '-x'"},
		{"second --quiet -\343v", "unknown option '-"},
		{"second -v -\343v", "unknown option '-"},
		{"second -d", "option '-d' needs a value"},
		{"second -d 2d", "--duration: '2d' is not a time from 10ms to 24h"},
		{"second --format yaml", "--format: unknown format 'yaml'; there are text, json"},
		{"second --format jsno", "--format: unknown format 'jsno'; did you mean 'json'?"},
		{"--color allways", "--color: unknown value 'allways'; did you mean 'always'?"},
		{"--color red", "--color: unknown value 'red'; there are auto, always, never"},
		{"--output=", "--output: the file name is empty"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_false(parse(rows[i].line));
		if (!strstr(message, rows[i].said))
			fail_msg("'%s' is answered with: %s", rows[i].line, message);
		assert_ptr_equal(strchr(message, '\n'), message + strlen(message) - 1);
	}
}

static const struct option_row *find_row(const struct command *command, const char *name)
{
	for (const struct option_row *row = command->options; row && row->name; row++) {
		if (strcmp(row->name, name) == 0)
			return row;
	}
	return NULL;
}

/* A user who knows an option of one command knows it in all. */
static void the_same_option_is_the_same_everywhere(void **state)
{
	const struct command *const *all = command_list;

	(void)state;
	for (size_t i = 0; all[i]; i++) {
		for (const struct option_row *row = all[i]->options; row->name; row++) {
			for (size_t k = 0; all[k]; k++) {
				const struct option_row *other = find_row(all[k], row->name);

				if (!other)
					continue;
				assert_int_equal(row->argument != NULL, other->argument != NULL);
				if (row->id < OPTION_FORMAT || other->id < OPTION_FORMAT)
					assert_int_equal(row->id, other->id);
			}
		}
	}
}

static void a_program_keeps_its_options(void **state)
{
	static const char *const lines[] = {"third -d 2 -- ls --json -d x",
		"third -d 2 ls --json -d x", "third -d2 ls --json -d x",
		"third --duration 2 -- ls --json -d x"};

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		assert_true(parse(lines[i]));
		assert_ptr_equal(cli.command, &third);
		assert_int_equal(request()->duration_ns, 2000000000);
		assert_string_equal(cli.format->name, "text");
		assert_int_equal(cli.operand_count, 4);
		assert_string_equal(cli.operands[0], "ls");
		assert_string_equal(cli.operands[3], "x");
		assert_null(cli.operands[4]);
		assert_int_equal(cli_stream(&cli), STDERR_FILENO);
	}
	assert_true(parse("third -- third -- -d"));
	assert_int_equal(cli.operand_count, 3);
	assert_string_equal(cli.operands[1], "--");
	assert_true(parse("third --json"));
	assert_int_equal(cli_stream(&cli), STDOUT_FILENO);
	assert_false(parse("third -d x ls"));
	assert_int_equal(cli_trouble(&cli), 125);
}

static void a_command_without_operands_refuses_them(void **state)
{
	(void)state;
	assert_false(parse("second a"));
	assert_non_null(strstr(message, "unexpected argument 'a'"));
}

static int free_last(void **state)
{
	(void)state;
	cli_free(&cli);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_without_operands_refuses_them),
		cmocka_unit_test(options_may_come_in_any_order_and_form),
		cmocka_unit_test(the_command_comes_first),
		cmocka_unit_test(the_first_command_is_the_default),
		cmocka_unit_test(options_may_come_between_operands),
		cmocka_unit_test(lists_given_twice_are_joined),
		cmocka_unit_test(help_is_also_a_command),
		cmocka_unit_test(help_explains_topics_and_their_parts),
		cmocka_unit_test(version_is_also_a_command),
		cmocka_unit_test(errors_name_the_word_and_the_help),
		cmocka_unit_test(the_same_option_is_the_same_everywhere),
		cmocka_unit_test(a_program_keeps_its_options),
	};

	return cmocka_run_group_tests_name("cli_options", tests, NULL, free_last);
}
