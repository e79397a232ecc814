/* SPDX-License-Identifier: MIT */
/*
 * Keeps the threads of a traced program: each belongs to an executed image, whose calls into the
 * vDSO are counted in a table from the end of its execve(2) on. A program that calls ptrace(2)
 * itself is let go.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "places.h"
#include "registers.h"
#include "tracer.h"

/* Limits the time that processes which the program left running take to end by SIGTERM. */
#define TERMINATE_NS 2000000000

/* A loader makes some tens of system calls, and some for each library. */
#define LOADING_STOPS 2000

/*
 * Once the count is over, ends the process of which this is the first thread: signals are sent to
 * processes. An ID that is not that of a thread traced by us is refused.
 */
static void leave(struct tracer *tracer, pid_t id)
{
	if (tracer->is_ending && ptrace(PTRACE_INTERRUPT, id, NULL, NULL) == 0 &&
		syscall(SYS_tgkill, id, id, 0) == 0 && kill(id, SIGTERM) == 0)
		tracer->run->trace->children_terminated++;
}

struct traced *tracer_find(const struct tracer *tracer, pid_t id)
{
	for (size_t i = 0; i < tracer->count; i++) {
		if (tracer->threads[i].id == id)
			return &tracer->threads[i];
	}
	return NULL;
}

void tracer_add(struct tracer *tracer, pid_t id, const struct traced *parent)
{
	struct served_table *table = parent ? parent->table : NULL;
	struct traced *known = tracer_find(tracer, id);

	/* Its parent, which the kernel has not named yet, may be any, and waits for us there. */
	for (size_t i = 0; i < tracer->count && !known && !parent; i++)
		served_lock(tracer->threads[i].table);
	if (known) {
		if (!known->table && !known->executed)
			known->table = served_share(table);
		return;
	}
	tracer->threads =
		array_grow(tracer->threads, tracer->count, &tracer->room, sizeof(*tracer->threads));
	tracer->threads[tracer->count++] = (struct traced){.id = id, .table = served_share(table)};
	leave(tracer, id);
}

/* The number of a thread and the address of a table are used again. */
void tracer_drop_table(struct tracer *tracer, struct traced *thread)
{
	const uint64_t owner = thread->table ? (uintptr_t)thread->table : (uint64_t)thread->id;

	if (served_drop(tracer->run->trace, thread->table))
		call_sites_forget(tracer->run->call_places, owner);
	thread->table = NULL;
}

void tracer_drop(struct tracer *tracer, pid_t id)
{
	struct traced *thread = tracer_find(tracer, id);

	if (!thread)
		return;
	tracer_drop_table(tracer, thread);
	*thread = tracer->threads[--tracer->count];
}

void tracer_let_go(struct tracer *tracer, struct traced *thread, int signal)
{
	/* We see nothing that it starts from then on. */
	if (thread->table) {
		tracer->left = array_grow(tracer->left, tracer->left_count, &tracer->left_room,
			sizeof(*tracer->left));
		tracer->left[tracer->left_count++] = served_share(thread->table);
	}
	ptrace(PTRACE_DETACH, thread->id, NULL, (void *)(uintptr_t)signal);
	tracer->run->trace->let_go++;
	tracer_drop(tracer, thread->id);
}

/*
 * They cannot be let go: without a tracer their counted calls would fail. Those that are left then
 * end by PTRACE_O_EXITKILL.
 */
void tracer_terminate(struct tracer *tracer)
{
	struct trace_run *run = tracer->run;

	tracer->is_ending = true;
	run->over = false;
	run->deadline = deadline_after(TERMINATE_NS);
	for (size_t i = 0; i < tracer->count; i++)
		leave(tracer, tracer->threads[i].id);
	if (tracer->count)
		trace_run_wait(run);
}

/*
 * To let a thread go it would have to be stopped, which may interrupt a call that it waits in: the
 * kernel lets it go when we end.
 */
void tracer_forget(struct tracer *tracer)
{
	struct trace_run *run = tracer->run;

	trace_run_remove(run, &tracer->source);
	if (tracer->files.rlim_max) /* the next run inherits it */
		setrlimit(RLIMIT_NOFILE, &tracer->files);
	while (tracer->count)
		tracer_drop(tracer, tracer->threads[0].id);
	free(tracer->threads);
	while (tracer->left_count)
		served_drop(run->trace, tracer->left[--tracer->left_count]);
	free(tracer->left);
}

/* ---- calls into the vDSO ---- */

static bool set_options(const struct traced *thread, unsigned options)
{
	return ptrace(PTRACE_SETOPTIONS, thread->id, NULL, (void *)(uintptr_t)options) == 0;
}

/*
 * Makes a program count its calls into the vDSO at the end of execve(2). If we are killed it must
 * not go on with registers that are not its own. The program that we started has no filter of its
 * own yet; for the calls that are made in the name of others, root suspends their filters.
 */
static void begin_served(struct tracer *tracer, struct traced *thread)
{
	const unsigned options = tracer->options | PTRACE_O_EXITKILL;
	uint64_t around = UINT64_MAX;

	set_options(thread, options);
	if (tracer->has_begun && !set_options(thread, options | PTRACE_O_SUSPEND_SECCOMP))
		around = tracer->filters;
	tracer->has_begun = true;
	if (served_open(tracer->run->trace, thread->id, around, &thread->table) == INJECTED_BROKEN)
		syscall(SYS_tgkill, thread->id, thread->id, SIGKILL);
	set_options(thread, tracer->options);
	thread->loading = thread->table;
}

/* A number for the file of a program: the first line of its memory map without the addresses. */
static uint64_t hash_program(struct span maps)
{
	uint64_t hash = 0xcbf29ce484222325;
	struct span line;

	text_take_until(&maps, ' ');
	line = text_take_until(&maps, '\n');
	for (size_t i = 0; i < line.length; i++)
		hash = (hash ^ (unsigned char)line.at[i]) * 0x100000001b3;
	return hash;
}

/*
 * A process has one tracer, which is the program itself then, or its own. To look at each file once
 * matters to a script that executes the same few programs again and again.
 */
static bool calls_ptrace(
	struct tracer *tracer, const struct traced *thread, struct trace_program *program)
{
	uint64_t hash = hash_program(served_maps(thread->table));
	uint64_t *other = &tracer->others[hash % ARRAY_SIZE(tracer->others)];

	*program = (struct trace_program){.pid = thread->id};
	if (*other == hash)
		return false;
	trace_program_inspect(program);
	if (!program->calls_ptrace && thread->table)
		*other = hash;
	return program->calls_ptrace;
}

/*
 * Until the libraries are mapped a program stops at each system call. One without a C library may
 * never do what is waited for.
 */
void tracer_count_served(struct tracer *tracer, struct traced *thread)
{
	struct trace_evidence *trace = tracer->run->trace;
	struct trace_program program;

	if (!thread || tracer->is_ending || (thread->table && !thread->loading))
		return;
	if (!thread->loading) {
		begin_served(tracer, thread);
	} else if (registers_show_loaded(thread->id) || ++thread->stops == LOADING_STOPS) {
		served_learn(thread->table, thread->id, &tracer->libraries);
		thread->loading = false;
	}
	if (thread->loading || !calls_ptrace(tracer, thread, &program))
		return;
	thread->is_free = !tracer->has_filter;
	if (tracer->has_filter && !trace->kept++ && trace->request->warns)
		cli_error("%s may call ptrace(2), which fails while it is traced: run vdsocheck "
			  "as root",
			program.path);
}
