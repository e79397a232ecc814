/* SPDX-License-Identifier: MIT */
/* Tests of collect/log_line: the kernel's words are found in every form in which a log arrives. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "collect/parts.h"
#include "unit/dice.h"
#include "unit/unit.h"

/* Lines that kernels print, with brackets, colons and quotes of their own. */
static const char *const messages[] = {
	"clocksource: Switched to clocksource hpet",
	"tsc: Detected 2295.780 MHz processor",
	"tsc: Marking TSC unstable due to check_tsc_sync_source failed",
	"[Firmware Bug]: TSC doesn't count with P0 frequency!",
	"Measured 5672 cycles TSC warp between CPUs, turning off TSC clock.",
	"TSC synchronization [CPU#0 -> CPU#2]:",
	"'tsc' cs_now: 9bf57b5de cs_last: 94f195f02 mask: ffffffffffffffff",
	"Clocksource tsc unstable (delta = -89 ns)",
};

/*
 * The forms: a line of the kernel and one of another program, each with %s for the message. A log
 * that daemons and journals write is not indented, since in it that is a process's further line.
 */
static const struct form {
	const char *kernel;
	const char *other; /* NULL: no program's line comes in this form */
	double seconds;    /* since boot, in the kernel's line */
	bool is_pasted;
} forms[] = {
	/* dmesg(1), and /proc/kmsg or syslog(2) with priorities. */
	{"%s", NULL, NAN, true},
	{"[    0.298820] %s", NULL, 0.29882, true},
	{"[12345.298820] %s", "[12345.298820] systemd[1]: %s", 12345.29882, true},
	{"<6>[    0.298820] %s", "<30>[    0.298820] %s", 0.29882, true},
	{"<6>[    0.298820][    T1] %s", NULL, 0.29882, true},
	{"[    0.298820] [    C2] %s", NULL, 0.29882, true},
	{"[Mon Nov 21 15:02:11 2026] %s", NULL, NAN, true},
	{"[lun. nov. 21 15:02:11 2026] %s", NULL, NAN, true},
	{"kern  :info  : [    0.298820] %s", "daemon:info  : [    0.298820] %s", 0.29882, true},
	{"kern  :warn  : [Mon Nov 21 15:02:11 2026] %s",
		"user  :warn  : [Mon Nov 21 15:02:11 2026] %s", NAN, true},
	{"2026-11-21T15:02:11,123456+00:00 %s", "2026-11-21T15:02:11,123456+00:00 app: %s", NAN,
		true},
	{"kern  :info  : 2026-11-21T15:02:11,123456+00:00 %s",
		"syslog:info  : 2026-11-21T15:02:11,123456+00:00 %s", NAN, true},
	{"[    0.298820 <    0.000012>] %s", NULL, 0.29882, true},
	{"[<    0.000012>] %s", NULL, NAN, true},
	{"[Nov21 15:02] %s", NULL, NAN, true},
	{"[  +0.000012] %s", NULL, NAN, true},
	{"\033[32m[Nov21 15:02] \033[0m\033[33m%s\033[0m", NULL, NAN, true},
	{"\033[32m[    0.298820] \033[0m\033[1m\033[31m%s\033[0m", NULL, 0.29882, true},
	/* journalctl(1) -k, and Ubuntu's /var/log/dmesg, which is one. */
	{"Nov 23 18:28:01 db1 kernel: %s", "Nov 23 18:28:01 db1 app[412]: %s", NAN, false},
	{"Nov 23 18:28:01 kernel: %s", "Nov 23 18:28:01 kernel[812]: %s", NAN, false},
	{"Nov 23 18:28:01.298820 db1 kernel: %s", "Nov 23 18:28:01.298820 db1 app: kernel: %s", NAN,
		false},
	{"2026-11-23T18:28:01+0100 db1 kernel: %s", "2026-11-23T18:28:01+0100 db1 app: %s", NAN,
		false},
	{"2026-11-23T18:28:01.298820+01:00 kernel: %s",
		"2026-11-23T18:28:01.298820+01:00 app[1]: kernel: %s", NAN, false},
	{"Mon 2026-11-23 18:28:01 UTC db1 kernel: %s", "Mon 2026-11-23 18:28:01 UTC db1 app: %s",
		NAN, false},
	{"Mo 2026-11-23 18:28:01 CET kernel: %s", "Mo 2026-11-23 18:28:01 CET app[1]: %s", NAN,
		false},
	{"[    0.298820] kernel: %s", "[    2.100000] systemd[1]: %s", 0.29882, true},
	{"[    0.298820] db1 kernel: %s", "[    2.100000] db1 systemd[1]: %s", 0.29882, true},
	{"[    0.298820 <    0.000123 >] db1 kernel: %s",
		"[    0.298820 <    0.000123 >] db1 app[1]: %s", 0.29882, true},
	{"1795455481.298820 db1 kernel: %s", "1795455481.298820 db1 app: %s", NAN, false},
	/* Months and days in other languages, of one word or of two, before or behind the day. */
	{"Dez 03 18:28:01 db1 kernel: %s", "Dez 03 18:28:01 db1 app: %s", NAN, false},
	{"d\xc3\xa9"
	 "c. 03 18:28:01 db1 kernel: %s",
		"d\xc3\xa9"
		"c. 03 18:28:01 db1 app: %s",
		NAN, false},
	{"11\xe6\x9c\x88 23 18:28:01 db1 kernel: %s", "11\xe6\x9c\x88 23 18:28:01 db1 app: %s", NAN,
		false},
	{"\xd0\xbd\xd0\xbe\xd1\x8f 23 18:28:01 db1 kernel: %s", NULL, NAN, false},
	{"Thg 11 23 18:28:01 db1 kernel: %s", "Thg 11 23 18:28:01 db1 app: %s", NAN, false},
	{"23 nov 18:28:01 db1 kernel: %s", "23 nov 18:28:01 db1 app[1]: kernel: %s", NAN, false},
	/* rsyslog, syslog-ng, klogd, metalog and OpenWrt's logread. */
	{"Nov 23 18:28:01 db1 kernel: [    0.298820] %s",
		"Nov 23 18:28:01 db1 app: [    0.298820] %s", 0.29882, false},
	{"2026-11-23T18:28:01.298820+01:00 db1 kernel: [    0.298820] %s",
		"2026-11-23T18:28:01.298820+01:00 db1 app: [    0.298820] %s", 0.29882, false},
	{"May 15 13:15:57 db1 user.warn kernel: [    0.298820] %s",
		"May 15 13:16:02 db1 daemon.info app[412]: %s", 0.29882, false},
	{"May 15 13:15:57 db1 kern.info kernel: %s",
		"May 15 13:15:57 db1 user.info app: kernel: %s", NAN, false},
	{"Mon May 15 13:15:57 2026 kern.warn kernel: [    0.298820] %s",
		"Mon May 15 13:15:57 2026 daemon.warn app[1]: %s", 0.29882, false},
	{"May 15 13:15:57 [kernel] [    0.298820] %s", "May 15 13:15:57 [app] [    0.298820] %s",
		0.29882, false},
	{"<6>1 2026-11-23T18:28:01.298820Z db1 kernel - - - [    0.298820] %s",
		"<30>1 2026-11-23T18:28:01.298820Z db1 app 12 - - %s", 0.29882, false},
	{"<6>Nov 23 18:28:01 db1 kernel: %s", "<14>Nov 23 18:28:01 db1 kernel: %s", NAN, false},
	{"2026-11-23T18:28:01.298820Z INFO kernel: [    0.298820] %s",
		"2026-11-23T18:28:01.298820Z INFO app[7]: [    0.298820] %s", 0.29882, false},
	/* Serial consoles, and the servers and programs that record them. */
	{"[    0.298820] %s\r", NULL, 0.29882, true},
	{"db1 login: [    0.298820] %s", NULL, 0.29882, true},
	{"root@db1:~# [    0.298820] %s", NULL, 0.29882, true},
	{"ttyS0: [    0.298820] %s", "app: [    0.298820] %s", 0.29882, true},
	{"2026-11-23 18:28:01 [    0.298820] %s", "2026-11-23 18:28:01 app: [    0.298820] %s",
		0.29882, true},
	{"2026-11-23T18:28:01.2988201Z [    0.298820] %s", NULL, 0.29882, true},
	{"[2026-11-23 18:28:01.298] [    0.298820] %s", NULL, 0.29882, true},
	{"[18:28:01] %s", NULL, NAN, true},
	{"[12.500000 0.000100] [    0.298820] %s", NULL, 0.29882, true},
	{"console-1  | [    0.298820] %s", NULL, 0.29882, true},
	{"18:28:01.298 ttyAMA0 [    0.298820] %s", NULL, 0.29882, true},
	/* Pastes. */
	{"> [    0.298820] %s", "> [    0.298820] systemd[1]: %s", 0.29882, true},
	{">> > [    0.298820] %s", NULL, 0.29882, true},
	{"> Nov 23 18:28:01 db1 kernel: %s", "> Nov 23 18:28:01 db1 app: %s", NAN, true},
	{"    [    0.298820] %s", NULL, 0.29882, true},
	{"\t%s", NULL, NAN, true},
	{"```[    0.298820] %s", NULL, 0.29882, true},
	{"* [    0.298820] %s", NULL, 0.29882, true},
	{"+[    0.298820] %s", NULL, 0.29882, true},
	{"<pre>[    0.298820] %s", NULL, 0.29882, true},
	{"\xc2\xa0\xc2\xa0[    0.298820]\xc2\xa0%s", NULL, 0.29882, true},
};

static struct span fill(const char *form, const char *message, char line[512])
{
	struct span parts = text_span(form), front = text_take_until(&parts, '%');

	snprintf(line, 512, "%.*s%s%.*s", (int)front.length, front.at, message,
		(int)parts.length - 1, parts.at + 1);
	return text_span(line);
}

static void the_kernels_words_are_found_in_every_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(forms); i++) {
		for (size_t k = 0; k < COUNT(messages); k++) {
			struct log_line parsed;
			char line[512];

			if (!log_line_parse(fill(forms[i].kernel, messages[k], line),
				    forms[i].is_pasted, &parsed) ||
				!text_equals(text_trim(parsed.text), messages[k]))
				fail_msg("not found: %s", line);
			if (isnan(forms[i].seconds)
					? !isnan(parsed.seconds)
					: !(fabs(parsed.seconds - forms[i].seconds) < 1e-9))
				fail_msg("%f s: %s", parsed.seconds, line);
		}
	}
}

static void lines_of_other_programs_stay_out_in_every_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(forms); i++) {
		for (size_t k = 0; forms[i].other && k < COUNT(messages); k++) {
			struct log_line parsed;
			char line[512];

			if (log_line_parse(fill(forms[i].other, messages[k], line),
				    forms[i].is_pasted, &parsed) &&
				text_starts(parsed.text, messages[k]))
				fail_msg("taken: %s", line);
		}
	}
}

/* Names of files and processes, which any user chooses, and further lines of their messages. */
static void words_of_users_are_not_the_kernels(void **state)
{
	static const struct {
		const char *line;
		bool is_pasted;
	} lines[] = {
		{"[ 4150.500000] process '/tmp/a [    0.298820] %s' started with executable stack",
			true},
		{"process '/tmp/a [    0.298820] %s' started with executable stack", true},
		{"[ 4150.500000] process /tmp/a kernel: %s", true},
		{"[ 4150.500000] audit: type=1400 comm=\"x\" [    0.298820] %s", true},
		{"<4>[ 4150.500000] x kernel: %s", true},
		{"-- a b c kernel: %s", false},
		{"        Nov 23 18:28:01 db1 kernel: %s", false},
		{"Nov 23 18:28:01 db1 a b c d e f g kernel: %s", false},
		{"a b c d kernel: %s", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		struct log_line parsed;
		char line[512];

		if (log_line_parse(
			    fill(lines[i].line, messages[2], line), lines[i].is_pasted, &parsed) &&
			text_starts(parsed.text, messages[2]))
			fail_msg("taken: %s", line);
	}
}

static void noise_before_a_line_ends(void **state)
{
	static const char *const pieces[] = {"[", "]", "<", ">", "6", ":", " ", "0.298820",
		"kernel:", "kern", "info", "T1", "15:02", ",", "\033[", "m", "\xc2\xa0",
		"login:", "#", "x", "\r"};
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct log_line parsed;
		char line[256] = "";

		for (uint64_t i = dice_roll(&dice, 20); i > 0; i--)
			strcat(line, pieces[dice_roll(&dice, COUNT(pieces))]);
		if (log_line_parse(text_span(line), round % 2, &parsed))
			assert_in_range(parsed.text.length, 0, strlen(line));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernels_words_are_found_in_every_form),
		cmocka_unit_test(lines_of_other_programs_stay_out_in_every_form),
		cmocka_unit_test(words_of_users_are_not_the_kernels),
		cmocka_unit_test(noise_before_a_line_ends),
	};

	return cmocka_run_group_tests_name("log line", tests, NULL, NULL);
}
