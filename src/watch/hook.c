/* SPDX-License-Identifier: MIT */
/*
 * The program of --exec. It is not a shell command, so that no name from the host can become one;
 * it gets the event twice, as JSON and in its environment. The JSON lies in memory, not in a pipe:
 * a program that does not read it delays nothing.
 */
#include "model.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"

struct hook {
	const char *program;
	const struct watch_event *event;
	int input;
};

/* Returns a file with the event's JSON, at its beginning; -1 with the reason. */
static int make_input(const struct watch_event *event, struct fact *why)
{
	static const struct style style = {.compact = true};
	int file = memfd_create("event", MFD_CLOEXEC);
	struct memory_stream json;
	bool written;

	watch_event_json(event, &style, memory_stream_open(&json));
	memory_stream_close(&json);
	written = file >= 0 && write(file, json.text, json.length) == (ssize_t)json.length &&
	          lseek(file, 0, SEEK_SET) == 0;
	if (!written)
		fact_set_errno(why, errno, "the event's JSON");
	free(json.text);
	if (written || file < 0)
		return file;
	close(file);
	return -1;
}

/* Runs in the child and does not return. */
static void become_hook(void *argument)
{
	const struct hook *hook = argument;
	const struct watch_event *event = hook->event;
	const struct evidence *before = &event->before->evidence, *now = &event->now->evidence;
	const char *const variables[][2] = {
		{"VDSOCHECK_EVENT", watch_event_names[event->kind]},
		{"VDSOCHECK_TIME", event->timestamp.time.value},
		{"VDSOCHECK_VERDICT", verdict_answers[event->now->diagnosis.verdict.kind].word},
		{"VDSOCHECK_VERDICT_BEFORE",
			verdict_answers[event->before->diagnosis.verdict.kind].word},
		{"VDSOCHECK_SUMMARY", event->now->diagnosis.verdict.summary},
		{"VDSOCHECK_CLOCKSOURCE", now->clocksource.latest},
		{"VDSOCHECK_CLOCKSOURCE_BEFORE", before->clocksource.latest},
		{"VDSOCHECK_MODE", now->vclock.name},
		{"VDSOCHECK_MODE_BEFORE", before->vclock.name},
	};

	char *words[] = {(char *)(uintptr_t)hook->program, NULL};
	bool is_set = true;

	/* A program that it becomes or starts would inherit the end and the timer of our child. */
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	prctl(PR_SET_PDEATHSIG, 0);
	setpgid(0, 0);
	cli_restore_signals();
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		is_set &= setenv(variables[i][0], variables[i][1], 1) == 0;
	if (is_set && dup2(hook->input, STDIN_FILENO) >= 0 &&
		dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		execv(hook->program, words);
	cli_error("cannot run %s: %s", hook->program, strerror(errno));
	_exit(127);
}

bool watch_hook_run(const char *program, const struct watch_event *event, struct fact *why)
{
	struct deadline deadline = deadline_after(WATCH_HOOK_NS);
	struct hook hook = {.program = program, .event = event, .input = make_input(event, why)};
	pid_t pid;
	bool done;

	if (hook.input < 0)
		return false;
	pid = child_start(become_hook, &hook, &deadline, why);
	done = pid > 0 && child_join(pid, NULL, NULL, &deadline, why);
	/* The program leads a process group, which exists as long as any of its children does. */
	if (!done && pid > 0 && deadline_left_ns(&deadline) == 0)
		kill(-pid, SIGKILL);
	close(hook.input);
	return done;
}
