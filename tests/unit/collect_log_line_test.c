/* SPDX-License-Identifier: MIT */
/* Tests of collect/log_line: the kernel's words are found in the forms that programs on a host
 * write. */
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

/* The forms: a line of the kernel and one of another program, each with %s for the message. */
static const struct form {
	const char *kernel;
	const char *other; /* NULL: no program's line comes in this form */
	double seconds;    /* since boot, in the kernel's line */
} forms[] = {
	/* dmesg(1): plain, -r, -T and -x, with CONFIG_PRINTK_CALLER or without; syslog(2). */
	{"[    0.298820] %s", NULL, 0.29882},
	{"[12345.298820] %s", "[12345.298820] systemd[1]: %s", 12345.29882},
	{"[    0.298820][    T1] %s", NULL, 0.29882},
	{"[    0.298820] [    C2] %s", NULL, 0.29882},
	{"[  T123] %s", NULL, NAN},
	{"<6>[    0.298820] %s", "<30>[    0.298820] %s", 0.29882},
	{"<6>[    0.298820][    T1] %s", NULL, 0.29882},
	{"<6>%s", "<14>%s", NAN},
	{"[Mon Nov 21 15:02:11 2026] %s", NULL, NAN},
	{"[lun. nov. 21 15:02:11 2026] %s", NULL, NAN},
	{"kern  :info  : [    0.298820] %s", "daemon:info  : [    0.298820] %s", 0.29882},
	{"kern  :warn  : [Mon Nov 21 15:02:11 2026] %s",
		"user  :warn  : [Mon Nov 21 15:02:11 2026] %s", NAN},
	{"[    0.298820] %s\r", NULL, 0.29882},
	/* journalctl(1) -k: short, short-monotonic, short-iso, short-full, with or without a host.
         */
	{"Nov 23 18:28:01 db1 kernel: %s", "Nov 23 18:28:01 db1 app[412]: %s", NAN},
	{"Nov 23 18:28:01 kernel: %s", "Nov 23 18:28:01 kernel[812]: %s", NAN},
	{"Nov 23 18:28:01.298820 db1 kernel: %s", "Nov 23 18:28:01.298820 db1 app: kernel: %s",
		NAN},
	{"[    0.298820] kernel: %s", "[    2.100000] systemd[1]: %s", 0.29882},
	{"[    0.298820] db1 kernel: %s", "[    2.100000] db1 systemd[1]: %s", 0.29882},
	{"2026-11-23T18:28:01+0100 db1 kernel: %s", "2026-11-23T18:28:01+0100 db1 app: %s", NAN},
	{"2026-11-23T18:28:01.298820+01:00 kernel: %s",
		"2026-11-23T18:28:01.298820+01:00 app[1]: kernel: %s", NAN},
	{"Mon 2026-11-23 18:28:01 UTC db1 kernel: %s", "Mon 2026-11-23 18:28:01 UTC db1 app: %s",
		NAN},
	{"Mon 2026-11-23 18:28:01.298820 CET kernel: %s",
		"Mon 2026-11-23 18:28:01.298820 CET app[1]: %s", NAN},
	/* Months in other languages, of one word or of two, before or behind the day. */
	{"Dez 03 18:28:01 db1 kernel: %s", "Dez 03 18:28:01 db1 app: %s", NAN},
	{"d\xc3\xa9"
	 "c. 03 18:28:01 db1 kernel: %s",
		"d\xc3\xa9"
		"c. 03 18:28:01 db1 app: %s",
		NAN},
	{"11\xe6\x9c\x88 23 18:28:01 db1 kernel: %s", "11\xe6\x9c\x88 23 18:28:01 db1 app: %s",
		NAN},
	{"\xd0\xbd\xd0\xbe\xd1\x8f 23 18:28:01 db1 kernel: %s", NULL, NAN},
	{"Thg 11 23 18:28:01 db1 kernel: %s", "Thg 11 23 18:28:01 db1 app: %s", NAN},
	{"23 nov 18:28:01 db1 kernel: %s", "23 nov 18:28:01 db1 app[1]: kernel: %s", NAN},
	/* rsyslog, syslog-ng, and busybox's syslogd, with -S or without. */
	{"Nov 23 18:28:01 db1 kernel: [    0.298820] %s",
		"Nov 23 18:28:01 db1 app: [    0.298820] %s", 0.29882},
	{"2026-11-23T18:28:01.298820+01:00 db1 kernel: [    0.298820] %s",
		"2026-11-23T18:28:01.298820+01:00 db1 app: [    0.298820] %s", 0.29882},
	{"Nov 23 18:28:01 db1 kernel: [    0.298820][    T1] %s", NULL, 0.29882},
	{"May 15 13:15:57 db1 user.warn kernel: [    0.298820] %s",
		"May 15 13:16:02 db1 daemon.info app[412]: %s", 0.29882},
	{"May 15 13:15:57 db1 kern.info kernel: %s",
		"May 15 13:15:57 db1 user.info app: kernel: %s", NAN},
	{"May 15 13:15:57 kernel: [    0.298820] %s", "May 15 13:15:57 app[1]: %s", 0.29882},
};

/* What else people have: other outputs of these programs, consoles' recorders, and pastes. */
static const char *const foreign[] = {
	"2026-11-21T15:02:11,123456+00:00 %s",
	"kern  :info  | [    0.298820] %s",
	"[    0.298820 <    0.000012>] %s",
	"[<    0.000012>] %s",
	"[Nov21 15:02] %s",
	"[  +0.000012] %s",
	"\033[32m[    0.298820] \033[0m\033[33m%s\033[0m",
	"1795455481.298820 db1 kernel: %s",
	"MESSAGE=%s",
	"      \"msg\": \"%s\"",
	"May 15 13:15:57 [kernel] [    0.298820] %s",
	"<6>1 2026-11-23T18:28:01.298820Z db1 kernel - - - [    0.298820] %s",
	"<6>Nov 23 18:28:01 db1 kernel: %s",
	"db1 login: [    0.298820] %s",
	"root@db1:~# [    0.298820] %s",
	"ttyS0: [    0.298820] %s",
	"2026-11-23 18:28:01 [    0.298820] %s",
	"2026-11-23T18:28:01.2988201Z [    0.298820] %s",
	"[2026-11-23 18:28:01.298] [    0.298820] %s",
	"[18:28:01] %s",
	"[12.500000 0.000100] [    0.298820] %s",
	"console-1  | [    0.298820] %s",
	"18:28:01.298 ttyAMA0 [    0.298820] %s",
	"(XEN) [    0.298820] %s",
	"/var/log/kern.log:Feb  2 17:33:32 db1 kernel: [    0.298820] %s",
	"12:[    0.298820] %s",
	"> [    0.298820] %s",
	"> Nov 23 18:28:01 db1 kernel: %s",
	"&gt; [    0.298820] %s",
	"```[    0.298820] %s",
	"* [    0.298820] %s",
	"- Nov 23 18:28:01 db1 kernel: %s",
	"+[    0.298820] %s",
	"<pre>[    0.298820] %s",
	"{noformat}[    0.298820] %s",
	"\xc2\xa0[    0.298820]\xc2\xa0%s",
	"    [    0.298820] %s",
	"\t%s",
	"     12\t[    0.298820] %s",
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
			char line[512];
			struct log_line parsed =
				log_line_parse(fill(forms[i].kernel, messages[k], line));

			if (parsed.kind != LOG_LINE_KERNEL ||
				!text_equals(parsed.text, messages[k]))
				fail_msg("not found: %s", line);
			if (isnan(forms[i].seconds)
					? !isnan(parsed.seconds)
					: !(fabs(parsed.seconds - forms[i].seconds) < 1e-9))
				fail_msg("%f s: %s", parsed.seconds, line);
		}
	}
}

/* dmesg -t and journalctl -o cat print the words alone. */
static void words_alone_may_be_the_kernels(void **state)
{
	(void)state;
	for (size_t k = 0; k < COUNT(messages); k++) {
		struct log_line parsed = log_line_parse(text_span(messages[k]));

		assert_int_equal(parsed.kind, LOG_LINE_BARE);
		assert_true(text_equals(parsed.text, messages[k]));
	}
}

static void are_not_taken(const char *line, const char *message)
{
	struct log_line parsed = log_line_parse(text_span(line));

	if (parsed.kind != LOG_LINE_OTHER && parsed.kind != LOG_LINE_REST &&
		text_starts(parsed.text, message))
		fail_msg("taken: %s", line);
}

static void lines_of_other_programs_stay_out_in_every_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(forms); i++) {
		for (size_t k = 0; forms[i].other && k < COUNT(messages); k++) {
			char line[512];

			fill(forms[i].other, messages[k], line);
			are_not_taken(line, messages[k]);
		}
	}
}

static void what_is_in_another_form_is_not_the_kernels(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(foreign); i++) {
		for (size_t k = 0; k < COUNT(messages); k++) {
			char line[512];

			fill(foreign[i], messages[k], line);
			are_not_taken(line, messages[k]);
		}
	}
}

/* Names of files and processes, which any user chooses, and further lines of their messages. */
static void words_of_users_are_not_the_kernels(void **state)
{
	static const char *const lines[] = {
		"[ 4150.500000] process '/tmp/a [    0.298820] %s' started with executable stack",
		"process '/tmp/a [    0.298820] %s' started with executable stack",
		"[ 4150.500000] process /tmp/a kernel: %s",
		"[ 4150.500000] audit: type=1400 comm=\"x\" [    0.298820] %s",
		"<4>[ 4150.500000] x kernel: %s",
		"-- a b c kernel: %s",
		"        Nov 23 18:28:01 db1 kernel: %s",
		"Nov 23 18:28:01 db1 a b c d e f g kernel: %s",
		"a b c d kernel: %s",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		char line[512];

		fill(lines[i], messages[2], line);
		are_not_taken(line, messages[2]);
	}
}

/* As a machine resumes, until sched_clock is restored: a time of 64 bits without its sign. */
static void a_negative_stamp_is_no_time(void **state)
{
	static const struct {
		const char *stamp;
		double seconds;
	} stamps[] = {
		{"[9223372035.999999] ", 9223372035.999999},
		{"[9223372036.854776] ", NAN},
		{"[18446744066.766940] ", NAN},
		{"<4>[18446744066.766940] ", NAN},
		{"Nov 23 18:28:01 db1 kernel: [18446744066.766940] ", NAN},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(stamps); i++) {
		char line[512];
		struct log_line parsed;

		snprintf(line, sizeof(line), "%s%s", stamps[i].stamp, messages[3]);
		parsed = log_line_parse(text_span(line));
		assert_int_equal(parsed.kind, LOG_LINE_KERNEL);
		assert_true(text_equals(parsed.text, messages[3]));
		assert_true(isnan(stamps[i].seconds)
				    ? isnan(parsed.seconds)
				    : fabs(parsed.seconds - stamps[i].seconds) < 1e-5);
	}
}

static void noise_before_a_line_ends(void **state)
{
	static const char *const pieces[] = {"[", "]", "<", ">", "6", ":", " ", "0.298820",
		"kernel:", "kern", "info", "T1", "15:02:11", ",", "\033[", "m", "\xc2\xa0",
		"login:", "#", "x", "\r"};
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct log_line parsed;
		char line[256] = "";

		for (uint64_t i = dice_roll(&dice, 20); i > 0; i--)
			strcat(line, pieces[dice_roll(&dice, COUNT(pieces))]);
		parsed = log_line_parse(text_span(line));
		assert_in_range(parsed.text.length, 0, strlen(line));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernels_words_are_found_in_every_form),
		cmocka_unit_test(words_alone_may_be_the_kernels),
		cmocka_unit_test(lines_of_other_programs_stay_out_in_every_form),
		cmocka_unit_test(what_is_in_another_form_is_not_the_kernels),
		cmocka_unit_test(words_of_users_are_not_the_kernels),
		cmocka_unit_test(a_negative_stamp_is_no_time),
		cmocka_unit_test(noise_before_a_line_ends),
	};

	return cmocka_run_group_tests_name("log line", tests, NULL, NULL);
}
