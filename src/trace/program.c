/* SPDX-License-Identifier: MIT */
/*
 * Finding and inspecting the program. The file is searched for here and not by execvp(3), whose
 * attempts along PATH would be counted as system calls of the program.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/privileges.h"
#include "base/text.h"
#include "count.h"
#include "elf_file.h"

#define DEFAULT_PATH "/usr/local/bin:/bin:/usr/bin"

/* LD_PRELOAD beyond it is not seen. */
#define ENVIRON_SIZE 65536

/* 0 or an errno value. */
static int try_file(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return errno;
	if (S_ISDIR(status.st_mode))
		return EACCES;
	return access(path, X_OK) < 0 ? errno : 0;
}

/*
 * Like execvp(3), it passes over a file that cannot be run, which is the error if no other is
 * found. A path that does not fit is refused: cut, it would name another file.
 */
static int find_in_path(struct trace_program *program, const char *name)
{
	const char *path = getenv("PATH");
	int worst = ENOENT;

	for (const char *at = path ? path : DEFAULT_PATH;; at++) {
		size_t length = strcspn(at, ":");
		int size = snprintf(program->file, sizeof(program->file), "%.*s%s/%s", (int)length,
			at, length ? "" : ".", name);
		int error = size < 0 || (size_t)size >= sizeof(program->file)
		                    ? ENAMETOOLONG
		                    : try_file(program->file);

		if (!error)
			return 0;
		if (error != ENOENT && error != ENOTDIR)
			worst = error;
		at += length;
		if (!*at)
			return worst;
	}
}

int trace_program_find(const char *name, struct trace_program *program)
{
	size_t size = strlen(name) + 1;
	int error = ENAMETOOLONG;

	if (!strchr(name, '/') && *name) {
		error = find_in_path(program, name);
	} else if (size <= sizeof(program->file)) {
		memcpy(program->file, name, size);
		error = try_file(program->file);
	}
	text_copy(program->path, sizeof(program->path), error ? name : program->file);
	return error;
}

/* ---- its files ---- */

void trace_program_read(struct trace_program *program, int file)
{
	struct elf_file elf;

	program->is_elf = elf_file_map(&elf, file);
	if (!program->is_elf)
		return;
	program->is_32_bit = elf.narrow && sizeof(void *) == 8;
	program->is_static = !elf_file_segment(&elf, PT_INTERP, 0);
	elf_file_unmap(&elf);
}

static void read_environment(struct trace_program *program, int file)
{
	struct span rest = {xmalloc(ENVIRON_SIZE), 0}; /* in a child, which ends soon */

	(void)file_read_all(file, (char *)(uintptr_t)rest.at, ENVIRON_SIZE, &rest.length);
	while (rest.length && !program->preloads) {
		struct span variable = text_take_until(&rest, '\0');

		program->preloads = text_take_prefix(&variable, "LD_PRELOAD=") && variable.length;
	}
}

struct inspection {
	struct trace_program program;
	int executable, environment;
};

/* The files are those of a program that may be hostile, and reading its memory may hang. */
static void inspect_in_child(void *argument)
{
	struct inspection *inspection = argument;

	privileges_keep(PRIVILEGES_NONE);
	if (inspection->executable >= 0)
		trace_program_read(&inspection->program, inspection->executable);
	if (inspection->environment >= 0)
		read_environment(&inspection->program, inspection->environment);
}

void trace_program_inspect(struct trace_program *program)
{
	struct inspection inspection = {.environment = -1};
	const char *preload = getenv("LD_PRELOAD");
	char path[64], target[1024] = "";
	struct fact why;

	snprintf(path, sizeof(path), "/proc/%d/exe", program->pid);
	inspection.executable = open(
		program->pid ? path : program->file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (!program->pid) {
		program->preloads = preload && *preload;
	} else {
		if (readlink(path, target, sizeof(target) - 1) > 0)
			text_copy_span(program->path, sizeof(program->path), text_span(target));
		snprintf(path, sizeof(path), "/proc/%d/environ", program->pid);
		inspection.environment = open(path, O_RDONLY | O_CLOEXEC);
	}
	inspection.program = *program;
	if (child_probe(inspect_in_child, &inspection, sizeof(inspection), DEADLINE_NONE, &why))
		*program = inspection.program;
	if (inspection.executable >= 0)
		close(inspection.executable);
	if (inspection.environment >= 0)
		close(inspection.environment);
}

/* ---- its threads ---- */

int trace_program_threads(pid_t pid, int (*visit)(void *argument, pid_t id), void *argument)
{
	struct dirent *entry;
	char path[64];
	DIR *tasks;
	int error = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return kill(pid, 0) < 0 ? errno : ENOENT;
	while (!error && (entry = readdir(tasks))) {
		uint64_t id;

		if (number_parse(text_span(entry->d_name), &id) && id <= INT32_MAX)
			error = visit(argument, (pid_t)id);
	}
	closedir(tasks);
	return error;
}
