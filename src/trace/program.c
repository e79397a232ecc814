/* SPDX-License-Identifier: MIT */
/*
 * Finding, looking at and starting the program. The file is searched for here and not by
 * execvp(3), whose attempts along PATH would be counted as system calls of the program's.
 */
#include "program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/root.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"

#define DEFAULT_PATH "/usr/local/bin:/bin:/usr/bin"

/* Linkers put the program headers behind the file's header. */
#define HEADERS_SIZE 4096

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

/* What does not fit is refused: cut, it would name another file. */
static int try_in(struct trace_program *program, struct span folder, const char *name)
{
	int length = snprintf(program->file, sizeof(program->file), "%.*s/%s", (int)folder.length,
		folder.at, name);

	if (length < 0 || (size_t)length >= sizeof(program->file))
		return ENAMETOOLONG;
	return try_file(program->file);
}

/* As execvp(3): a file that cannot be run is passed over; if no other is found, it is the error. */
static int search(struct trace_program *program, const char *name)
{
	const char *path = getenv("PATH");
	int worst = ENOENT;

	for (const char *at = path ? path : DEFAULT_PATH;; at++) {
		size_t length = strcspn(at, ":");
		int error =
			try_in(program, length ? (struct span){at, length} : text_span("."), name);

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
		error = search(program, name);
	} else if (size <= sizeof(program->file)) {
		memcpy(program->file, name, size);
		error = try_file(program->file);
	}
	text_copy(program->path, sizeof(program->path), error ? name : program->file);
	errno = error;
	if (error == ENOENT || error == ENOTDIR)
		return STATUS_NOT_FOUND;
	return error ? STATUS_NOT_EXECUTABLE : 0;
}

/* ---- its file ---- */

/* Either class, by the one's types: program headers of both begin with their type. */
static bool has_loader(
	const unsigned char *bytes, size_t length, size_t at, size_t size, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t place = at + i * size;
		uint32_t type;

		if (place > length || length - place < sizeof(type))
			return true; /* not seen: nothing is said of it */
		memcpy(&type, bytes + place, sizeof(type));
		if (type == PT_INTERP)
			return true;
	}
	return false;
}

static bool read_headers(struct trace_program *program, const unsigned char *bytes, size_t length)
{
	Elf64_Ehdr wide;
	Elf32_Ehdr narrow;

	if (length < sizeof(wide) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return false;
	program->is_32_bit = bytes[EI_CLASS] == ELFCLASS32 && sizeof(void *) == 8;
	if (bytes[EI_CLASS] == ELFCLASS32) {
		memcpy(&narrow, bytes, sizeof(narrow));
		program->is_static = !has_loader(
			bytes, length, narrow.e_phoff, narrow.e_phentsize, narrow.e_phnum);
	} else {
		memcpy(&wide, bytes, sizeof(wide));
		if (wide.e_phoff > length)
			return false;
		program->is_static = !has_loader(
			bytes, length, (size_t)wide.e_phoff, wide.e_phentsize, wide.e_phnum);
	}
	return true;
}

static void inspect_file(struct trace_program *program, const char *path)
{
	unsigned char bytes[HEADERS_SIZE];
	size_t length = 0;
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int error = file < 0 ? errno : file_read_all(file, (char *)bytes, sizeof(bytes), &length);

	if (file >= 0)
		close(file);
	if (error && error != EFBIG)
		fact_set_errno(&program->file_fact, error, path);
	else if (!read_headers(program, bytes, length))
		fact_set(&program->file_fact, FACT_ABSENT, "%.100s: not an ELF file", path);
	else
		fact_set_known(&program->file_fact);
}

void trace_program_inspect(struct trace_program *program)
{
	const char *preload = getenv("LD_PRELOAD");

	program->preloads = preload && *preload;
	inspect_file(program, program->file);
}

/* ---- a running process ---- */

static bool environ_preloads(const char *environment, size_t length)
{
	static const char key[] = "LD_PRELOAD=";

	for (size_t at = 0; at < length;) {
		size_t size = strnlen(environment + at, length - at);

		if (size > sizeof(key) - 1 && memcmp(environment + at, key, sizeof(key) - 1) == 0)
			return true;
		at += size + 1;
	}
	return false;
}

void trace_program_inspect_process(struct trace_program *program)
{
	char *environment = malloc(ENVIRON_SIZE);
	char path[64], target[1024] = "";
	size_t length = 0;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/exe", program->pid);
	if (readlink(path, target, sizeof(target) - 1) > 0)
		text_copy_span(program->path, sizeof(program->path), text_span(target));
	inspect_file(program, path);
	snprintf(path, sizeof(path), "/proc/%d/environ", program->pid);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file >= 0 && environment) {
		(void)file_read_all(file, environment, ENVIRON_SIZE, &length);
		program->preloads = environ_preloads(environment, length);
	}
	if (file >= 0)
		close(file);
	free(environment);
}

/* The name before them may hold blanks and parentheses; utime and stime are fields 14 and 15. */
#define FIELDS_BEFORE_UTIME 11

/* All threads together, also those that have ended; by getrusage(2) only children can be seen. */
static bool read_cpu_seconds(pid_t pid, double *seconds)
{
	char path[64], content[1024];
	struct span rest, word;
	size_t length = 0;
	uint64_t user, system;
	const char *name_end;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return false;
	(void)file_read_all(file, content, sizeof(content), &length);
	close(file);
	name_end = memrchr(content, ')', length);
	if (!name_end)
		return false;
	rest = (struct span){name_end + 1, (size_t)(content + length - name_end - 1)};
	for (int i = 0; i < FIELDS_BEFORE_UTIME; i++)
		text_next_word(&rest, &word);
	if (!text_next_word(&rest, &word) || !number_parse(word, &user) ||
		!text_next_word(&rest, &word) || !number_parse(word, &system))
		return false;
	*seconds = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
	return true;
}

struct trace_moment trace_moment_now(pid_t pid)
{
	struct trace_moment now = {.ns = kernel_clock_ns(CLOCK_MONOTONIC)};

	now.cpu_known = read_cpu_seconds(pid, &now.cpu_s);
	return now;
}

static void set_duration(struct trace_evidence *trace, int64_t ns)
{
	trace->duration_s = (double)ns / NS_PER_SECOND;
	fact_set_known(&trace->duration_fact);
}

void trace_set_used_since(struct trace_evidence *trace, const struct trace_moment *start)
{
	struct trace_moment now = trace_moment_now(trace->program.pid);

	set_duration(trace, now.ns - start->ns);
	trace->cpu_s = now.cpu_s - start->cpu_s;
	if (start->cpu_known && now.cpu_known)
		fact_set_known(&trace->cpu_fact);
	else
		fact_set(&trace->cpu_fact, FACT_ABSENT, "the process has ended");
}

void trace_set_used(struct trace_evidence *trace, int64_t start_ns, const struct rusage *usage)
{
	set_duration(trace, kernel_clock_ns(CLOCK_MONOTONIC) - start_ns);
	trace->cpu_s = rusage_seconds(usage);
	fact_set_known(&trace->cpu_fact);
}

/* ---- starting it ---- */

struct child_end {
	int go;
	int failure;
};

static void send_failure(int file, bool preparing, int error)
{
	struct trace_failure failure = {preparing, error};

	(void)!write(file, &failure, sizeof(failure));
	_exit(STATUS_TROUBLE);
}

static void become(const struct trace_program *program, char *const *arguments,
	int (*prepare)(void *argument), void *argument, const struct child_end *end)
{
	ssize_t length;
	char byte;
	int error;

	do
		length = read(end->go, &byte, 1);
	while (length < 0 && errno == EINTR);
	error = length < 0 ? errno : 0;
	/* Our parent is gone, or has given up. */
	if (length == 0)
		_exit(STATUS_TROUBLE);
	cli_restore_signals();
	if (!error && prepare)
		error = prepare(argument);
	if (error)
		send_failure(end->failure, true, error);
	/* With a slash in it there is one attempt; a script without "#!" is run by the shell. */
	execvp(program->file, arguments);
	send_failure(end->failure, false, errno);
}

bool trace_start_fork(const struct trace_program *program, char *const *arguments,
	int (*prepare)(void *argument), void *argument, struct trace_start *start, struct fact *why)
{
	int go[2], failure[2];

	if (pipe2(go, O_CLOEXEC) < 0) {
		fact_set_errno(why, errno, "pipe");
		return false;
	}
	if (pipe2(failure, O_CLOEXEC) < 0) {
		fact_set_errno(why, errno, "pipe");
		close(go[0]);
		close(go[1]);
		return false;
	}
	start->pid = fork();
	if (start->pid == 0) {
		close(go[1]);
		become(program, arguments, prepare, argument,
			&(struct child_end){go[0], failure[1]});
	}
	if (start->pid < 0)
		fact_set_errno(why, errno, "fork");
	close(go[0]);
	close(failure[1]);
	start->go = go[1];
	start->failure = failure[0];
	if (start->pid > 0)
		return true;
	close(go[1]);
	close(failure[0]);
	return false;
}

void trace_start_go(struct trace_start *start)
{
	/* SIGPIPE is ignored; a child that is gone is seen by its status. */
	start->error = write(start->go, "", 1) < 0 ? errno : 0;
	if (start->error)
		kill(start->pid, SIGKILL);
	close(start->go);
}

void trace_start_cancel(struct trace_start *start)
{
	close(start->go);
	close(start->failure);
	while (waitpid(start->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

struct trace_failure trace_start_result(struct trace_start *start)
{
	struct trace_failure failure = {.error = 0};
	ssize_t length;

	do
		length = read(start->failure, &failure, sizeof(failure));
	while (length < 0 && errno == EINTR);
	close(start->failure);
	if (length != sizeof(failure))
		failure = (struct trace_failure){.preparing = true, .error = start->error};
	return failure;
}
