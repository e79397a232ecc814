/* SPDX-License-Identifier: MIT */
/*
 * Prints the completions of a shell, made from the rows of the commands. `make completions` keeps
 * them in src/share/completions/.
 *
 *   completions bash|zsh|fish
 *
 * In each shell the command is the first word that is neither an option nor the value of one, as
 * in cli/options.c.
 */
#include <stdio.h>
#include <string.h>

#include "cli/driver.h"
#include "commands.h"
#include "evidence.h"
#include "measure/call.h"

/* What the value of an option may be. */
enum kind {
	KIND_NONE,
	KIND_FILE,
	KIND_FOLDER,
	KIND_PROCESS,
	KIND_WORDS,
	KIND_LIST,         /* words, separated by commas */
	KIND_CLOCKSOURCES, /* such a list, of the clocksources of the host */
};

/* Prints the clocksources of the host, in a shell. */
#define CLOCKSOURCES "cat " CLOCKSOURCE_AVAILABLE " 2>/dev/null"

static enum kind value_kind(const struct option_row *row)
{
	static const struct {
		const char *argument; /* the name in --help, or that of the option */
		enum kind kind;
	} kinds[] = {
		{"FILE", KIND_FILE},
		{"FILE...", KIND_FILE},
		{"PROGRAM", KIND_FILE},
		{"DIR", KIND_FOLDER},
		{"PID", KIND_PROCESS},
		{"FORMAT", KIND_WORDS},
		{"WHEN", KIND_WORDS},
		{"by", KIND_WORDS},
		{"as-if", KIND_WORDS},
		{"path", KIND_LIST},
		{"call", KIND_LIST},
		{"clock", KIND_LIST},
		{"require", KIND_CLOCKSOURCES},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].argument, row->argument) == 0 ||
			strcmp(kinds[i].argument, row->name) == 0)
			return kinds[i].kind;
	}
	return KIND_NONE;
}

#define HELP_SUMMARY "print the help of a command"
#define VERSION_SUMMARY "print the version"

static bool is_option(const struct option_row *row, const char *name)
{
	return strcmp(row->name, name) == 0;
}

/* The names of calls, or of their clocks; a call with several clocks once. */
static void print_calls(bool calls, bool clocks)
{
	const char *call, *clock, *separator = "", *before = "";

	for (size_t i = 0; call_table_names(i, &call, &clock); i++) {
		bool has_clocks = strcmp(call, "clock_gettime") == 0;

		if (calls && !(clocks && has_clocks) && strcmp(call, before) != 0) {
			printf("%s%s", separator, call);
			separator = " ";
		}
		if (clocks && has_clocks) {
			printf("%s%s", separator, clock);
			separator = " ";
		}
		before = call;
	}
}

/* Prints what an option of KIND_WORDS or KIND_LIST takes. */
static void print_words(const struct command *command, const struct option_row *row)
{
	if (is_option(row, "color"))
		printf("auto always never");
	else if (is_option(row, "by"))
		printf("process cgroup");
	else if (is_option(row, "as-if"))
		printf("%s", row->argument);
	else if (is_option(row, "path"))
		printf("vdso libc syscall");
	else if (row->id != OPTION_FORMAT)
		print_calls(!is_option(row, "clock"), is_option(row, "clock"));
	for (const struct format *format = command->formats;
		row->id == OPTION_FORMAT && format->name; format++)
		printf("%s%s", format == command->formats ? "" : " ", format->name);
}

static void print_commands(const char *between)
{
	for (size_t i = 0; command_list[i]; i++)
		printf("%s%s", command_list[i]->name, between);
	printf("help");
}

/* A word that "help" takes, and that takes a word of these itself. */
#define LIST "causes"

/* Prints the words that only "help", or "help WITHIN", takes. */
static void print_topics(const char *within)
{
	const char *between = "", *topic;

	for (size_t i = 0; (topic = command_list[0]->topic(within, i)); i++) {
		size_t k = 0;

		while (command_list[k] && strcmp(command_list[k]->name, topic) != 0)
			k++;
		if (command_list[k])
			continue;
		printf("%s%s", between, topic);
		between = " ";
	}
}

/*
 * A text up to a remark, for single quotes. What is in `special` gets a backslash, and a single
 * quote is written as `quote`.
 */
static void print_text(const char *text, const char *special, const char *quote)
{
	for (; *text && *text != ';' && strncmp(text, " (", 2) != 0; text++) {
		if (*text == '\'')
			printf("%s", quote);
		else
			printf("%s%c", strchr(special, *text) ? "\\" : "", *text);
	}
}

static const char *help_of(const struct option_row *row)
{
	return row->id == OPTION_FORMAT ? "how to print" : row->help;
}

static void print_names(const struct option_row *row, const char *between)
{
	if (row->id < OPTION_FORMAT)
		printf("-%c%s", row->id, between);
	printf("--%s", row->name);
}

/* Those of all commands that take a value, each once: "-o|--output|--color". */
static void print_valued(const char *between)
{
	const struct option_row *seen[256], *row;
	size_t count = 0;

	for (size_t i = 0; command_list[i]; i++) {
		for (size_t place = 0; (row = row_at(command_list[i], place)); place++) {
			size_t k = 0;

			while (k < count && strcmp(seen[k]->name, row->name) != 0)
				k++;
			if (!row->argument || k < count || count == 256)
				continue;
			seen[count++] = row;
			printf("%s", count > 1 ? between : "");
			print_names(row, between);
		}
	}
}

/* ---- bash ---- */

static const char bash_head[] =
	"# bash completion for vdsocheck(1), made by tests/tools/completions.c: make completions\n"
	"# shellcheck shell=bash\n"
	"\n"
	"_vdsocheck()\n"
	"{\n"
	"	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
	"	local command='' operands='' kind='' words='' options='' i\n"
	"\n"
	"	# --option=VALUE comes as three words.\n"
	"	if [[ $cur == = ]]; then\n"
	"		cur=''\n"
	"	elif [[ $prev == = ]]; then\n"
	"		prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
	"	fi\n"
	"	for ((i = 1; i < COMP_CWORD; i++)); do\n"
	"		case ${COMP_WORDS[i]} in\n";

static const char bash_scan[] =
	")\n"
	"			[[ ${COMP_WORDS[i + 1]} != = ]] || ((i++))\n"
	"			((i++))\n"
	"			;;\n"
	"		-*) ;;\n"
	"		*)\n"
	"			((i == 1)) || { operands=given && break; }\n"
	"			command=${COMP_WORDS[i]}\n"
	"			;;\n"
	"		esac\n"
	"	done\n"
	"	case ${command:-check} in\n";

static const char bash_tail[] =
	"	esac\n"
	"	if [[ -z $kind && $cur == -* && $operands != arguments ]]; then\n"
	"		kind=words words=$options\n"
	"	elif ((COMP_CWORD == 1)); then\n"
	"		kind=words\n"
	"		words='@'\n"
	"	fi\n"
	"	case ${kind:-$operands} in\n"
	"	words) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\") ;;\n"
	"	list)\n"
	"		compopt -o nospace 2>/dev/null\n"
	"		mapfile -t COMPREPLY < <(\n"
	"			compgen -P \"${cur%\"${cur##*,}\"}\" -W \"$words\" -- \"${cur##*,}\"\n"
	"		)\n"
	"		;;\n"
	"	process) mapfile -t COMPREPLY < <(compgen -W \"$(cd /proc && echo [0-9]*)\" -- \"$cur\") ;;\n"
	"	program) mapfile -t COMPREPLY < <(compgen -c -- \"$cur\") ;;\n"
	"	folder)\n"
	"		compopt -o filenames 2>/dev/null\n"
	"		mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n"
	"		;;\n"
	"	files | arguments)\n"
	"		compopt -o filenames 2>/dev/null\n"
	"		mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	"		;;\n"
	"	*) COMPREPLY=() ;;\n"
	"	esac\n"
	"}\n"
	"\n"
	"complete -F _vdsocheck vdsocheck\n";

static void print_bash_value(const struct command *command, const struct option_row *row)
{
	static const char *const kinds[] = {
		[KIND_NONE] = "none",
		[KIND_FILE] = "files",
		[KIND_FOLDER] = "folder",
		[KIND_PROCESS] = "process",
		[KIND_WORDS] = "words",
		[KIND_LIST] = "list",
		[KIND_CLOCKSOURCES] = "list",
	};
	enum kind kind = value_kind(row);

	printf("		");
	print_names(row, " | ");
	printf(") kind=%s", kinds[kind]);
	if (kind == KIND_WORDS || kind == KIND_LIST) {
		printf(" words='");
		print_words(command, row);
		printf("'");
	} else if (kind == KIND_CLOCKSOURCES) {
		printf(" words=$(" CLOCKSOURCES ")");
	}
	printf(" ;;\n");
}

static void print_bash_command(const struct command *command)
{
	const struct option_row *files = operand_row(command), *row;
	const char *separator = "";

	printf("	%s)\n		options='", command->name);
	for (size_t i = 0; (row = row_at(command, i)); i++) {
		printf("%s", separator);
		print_names(row, " ");
		separator = " ";
	}
	printf("'\n");
	if (command->program)
		printf("		[[ $operands == given ]] && operands=arguments || operands=program\n");
	if (files)
		printf("		[[ \" ${COMP_WORDS[*]} \" != *' --%s '* ]] || kind=files operands=files\n"
		       "		[[ $cur != -* ]] || kind=''\n",
			files->name);
	printf("		case $prev in\n");
	for (size_t i = 0; (row = row_at(command, i)); i++) {
		if (row->argument)
			print_bash_value(command, row);
	}
	printf("		esac\n		;;\n");
}

static void print_bash(void)
{
	const char *commands = strchr(bash_tail, '@');

	printf("%s		", bash_head);
	print_valued(" | ");
	printf("%s", bash_scan);
	for (size_t i = 0; command_list[i]; i++)
		print_bash_command(command_list[i]);
	printf("	help)\n		[[ $operands == given ]] || kind=words words='");
	print_commands(" ");
	printf(" version ");
	print_topics(NULL);
	printf("'\n		[[ $COMP_CWORD -ne 3 || $prev != " LIST
	       " ]] || kind=words words='");
	print_topics(LIST);
	printf("'\n		;;\n%.*s", (int)(commands - bash_tail), bash_tail);
	print_commands(" ");
	printf(" version%s", commands + 1);
}

/* ---- zsh ---- */

static const char zsh_special[] = "[]:\\";
static const char shell_quote[] = "'\\''";

static void print_zsh_option(const struct command *command, const struct option_row *row)
{
	static const char *const actions[] = {
		[KIND_NONE] = ":%s: ",
		[KIND_FILE] = ":file:_files",
		[KIND_FOLDER] = ":directory:_files -/",
		[KIND_PROCESS] = ":process:_pids",
		[KIND_WORDS] = ":value:(",
		[KIND_LIST] = ":value:_values -s , value ",
		[KIND_CLOCKSOURCES] = ":clocksource:_values -s , clocksource $(" CLOCKSOURCES ")",
	};
	enum kind kind = row->argument ? value_kind(row) : KIND_NONE;

	printf(" \\\n			");
	if (row->id < OPTION_FORMAT)
		printf("'(-%c --%s)'{-%c%s,--%s%s}'[", row->id, row->name, row->id,
			row->argument ? "+" : "", row->name, row->argument ? "=" : "");
	else
		printf("'--%s%s[", row->name, row->argument ? "=" : "");
	print_text(help_of(row), zsh_special, shell_quote);
	printf("]");
	if (row->argument && kind == KIND_NONE)
		printf(":value: ");
	else if (row->argument)
		printf("%s", actions[kind]);
	if (kind == KIND_WORDS || kind == KIND_LIST)
		print_words(command, row);
	printf(kind == KIND_WORDS ? ")'" : "'");
}

static void print_zsh_command(const struct command *command)
{
	const struct option_row *row;

	printf("	(%s)\n		_arguments -s%s $first", command->name,
		command->program ? " -A '-*'" : "");
	for (size_t i = 0; (row = row_at(command, i)); i++) {
		if (row->help)
			print_zsh_option(command, row);
	}
	if (command->program)
		printf(" \\\n			'(-)1:program:_command_names -e' \\\n"
		       "			'*::argument:_normal'");
	else if (operand_row(command))
		printf(" \\\n			'*:file:_files'");
	printf("\n		;;\n");
}

static void print_zsh(void)
{
	printf("#compdef vdsocheck\n"
	       "# zsh completion for vdsocheck(1), made by tests/tools/completions.c: make completions\n"
	       "\n"
	       "_vdsocheck_commands() {\n"
	       "	local -a commands=(\n");
	for (size_t i = 0; command_list[i]; i++) {
		printf("		'%s:", command_list[i]->name);
		print_text(command_list[i]->summary, zsh_special, shell_quote);
		printf("'\n");
	}
	printf("		'help:" HELP_SUMMARY "'\n"
	       "		'version:" VERSION_SUMMARY "'\n"
	       "	)\n"
	       "	_describe command commands\n"
	       "}\n"
	       "\n"
	       "_vdsocheck() {\n"
	       "	local command=check\n"
	       "	local -a first=()\n"
	       "\n"
	       "	((CURRENT > 2)) || first=('1:command:_vdsocheck_commands')\n"
	       "	case $words[2] in\n		(");
	print_commands("|");
	printf(")\n"
	       "			if ((CURRENT > 2)); then\n"
	       "				command=$words[2]\n"
	       "				words[2]=()\n"
	       "				((CURRENT--))\n"
	       "			fi\n"
	       "			;;\n"
	       "	esac\n"
	       "	case $command in\n");
	for (size_t i = 0; command_list[i]; i++)
		print_zsh_command(command_list[i]);
	printf("	(help)\n"
	       "		local -a groups=()\n"
	       "\n"
	       "		[[ $words[2] != " LIST " ]] || groups=('2:group:(");
	print_topics(LIST);
	printf(")')\n"
	       "		_arguments '1: : _alternative commands\\:command\\:_vdsocheck_commands "
	       "\"causes\\:cause or advice\\:(");
	print_topics(NULL);
	printf(")\"' $groups\n"
	       "		;;\n"
	       "	esac\n"
	       "}\n"
	       "\n"
	       "_vdsocheck \"$@\"\n");
}

/* ---- fish ---- */

static const char fish_special[] = "\\";
static const char fish_quote[] = "\\'";

static void print_fish_option(const struct command *command, const struct option_row *row)
{
	enum kind kind = row->argument ? value_kind(row) : KIND_NONE;

	printf("complete -c vdsocheck -n '__vdsocheck_is %s'", command->name);
	if (row->id < OPTION_FORMAT)
		printf(" -s %c", row->id);
	printf(" -l %s", row->name);
	if (kind == KIND_FILE)
		printf(" -r -F");
	else if (kind == KIND_FOLDER)
		printf(" -x -a '(__fish_complete_directories)'");
	else if (kind == KIND_PROCESS)
		printf(" -x -a '(__fish_complete_pids)'");
	else if (kind == KIND_CLOCKSOURCES)
		printf(" -x -a '(__vdsocheck_list (" CLOCKSOURCES " | string split -n \" \"))'");
	else if (row->argument)
		printf(" -x");
	if (kind == KIND_WORDS || kind == KIND_LIST) {
		printf(kind == KIND_LIST ? " -a '(__vdsocheck_list " : " -a '");
		print_words(command, row);
		printf(kind == KIND_LIST ? ")'" : "'");
	}
	printf(" -d '");
	print_text(help_of(row), fish_special, fish_quote);
	printf("'\n");
}

static void print_fish_command(const struct command *command)
{
	const struct option_row *files = operand_row(command), *row;

	printf("\ncomplete -c vdsocheck -n __vdsocheck_is_first -a %s -d '", command->name);
	print_text(command->summary, fish_special, fish_quote);
	printf("'\n");
	for (size_t i = 0; (row = row_at(command, i)); i++) {
		if (row->help)
			print_fish_option(command, row);
	}
	if (command->program)
		printf("complete -c vdsocheck -n '__vdsocheck_is %s' -F"
		       " -a '(__fish_complete_command)'\n",
			command->name);
	else if (files)
		printf("complete -c vdsocheck -n '__vdsocheck_is %s; and __fish_contains_opt %s' -F\n",
			command->name, files->name);
}

static void print_fish(void)
{
	printf("# fish completion for vdsocheck(1), made by tests/tools/completions.c: make completions\n"
	       "\n"
	       "# The command, which is the first word; fails if there is none.\n"
	       "function __vdsocheck_command\n"
	       "    set -l words (commandline -opc)\n"
	       "    set -q words[2]; and not string match -q -- '-*' $words[2]; and echo $words[2]\n"
	       "end\n"
	       "\n"
	       "function __vdsocheck_is_first\n"
	       "    set -l words (commandline -opc)\n"
	       "    not set -q words[2]\n"
	       "end\n"
	       "\n"
	       "function __vdsocheck_is\n"
	       "    set -l command (__vdsocheck_command; or echo %s)\n"
	       "    test \"$command\" = $argv[1]\n"
	       "end\n"
	       "\n"
	       "# Each word behind the finished words of the list that is being written.\n"
	       "function __vdsocheck_list\n"
	       "    set -l before (commandline -ct | string replace -r '^-[^=]*=' '' | string replace -r '[^,]*$' '')\n"
	       "    printf '%%s\\n' \"$before\"$argv\n"
	       "end\n"
	       "\n"
	       "complete -c vdsocheck -f\n",
		command_list[0]->name);
	for (size_t i = 0; command_list[i]; i++)
		print_fish_command(command_list[i]);
	printf("\ncomplete -c vdsocheck -n __vdsocheck_is_first -a help -d '" HELP_SUMMARY "'\n"
	       "complete -c vdsocheck -n __vdsocheck_is_first -a version -d '" VERSION_SUMMARY "'\n"
	       "complete -c vdsocheck -n '__vdsocheck_is help; and __fish_prev_arg_in help' -a '");
	print_commands(" ");
	printf(" version ");
	print_topics(NULL);
	printf("'\ncomplete -c vdsocheck -n '__vdsocheck_is help; and __fish_prev_arg_in " LIST
	       "' -a '");
	print_topics(LIST);
	printf("'\n");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *shell;
		void (*print)(void);
	} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

	for (size_t i = 0; argc == 2 && i < 3; i++) {
		if (strcmp(argv[1], shells[i].shell) != 0)
			continue;
		shells[i].print();
		return fflush(stdout) != 0;
	}
	fputs("usage: completions bash|zsh|fish\n", stderr);
	return 2;
}
