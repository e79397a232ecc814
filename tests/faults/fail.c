/* SPDX-License-Identifier: MIT */
/*
 * Preloaded: lets one call of a function of the C library fail. FAIL=realloc:3 is the third
 * realloc(3), counted over all threads, and in children from their parent's count on. With
 * FAIL_COUNTS=FILE the first process writes at its end how far it or a child has counted.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum function {
	MALLOC,
	CALLOC,
	REALLOC,
	OPEN_MEMSTREAM,
	FOPEN,
	FDOPEN,
	FCLOSE,
	FORK,
	MMAP,
	WAIT4,
	COUNT
};

static const char *const names[COUNT] = {[MALLOC] = "malloc",
	[CALLOC] = "calloc",
	[REALLOC] = "realloc",
	[OPEN_MEMSTREAM] = "open_memstream",
	[FOPEN] = "fopen",
	[FDOPEN] = "fdopen",
	[FCLOSE] = "fclose",
	[FORK] = "fork",
	[MMAP] = "mmap",
	[WAIT4] = "wait4"};

static atomic_int calls[COUNT];
static atomic_int *most; /* in all processes; shared with children */
static int failing = -1, failing_call;
static pid_t first;

__attribute__((constructor)) static void read_environment(void)
{
	const char *fail = getenv("FAIL");

	first = getpid();
	for (int i = 0; fail && i < COUNT; i++) {
		size_t length = strlen(names[i]);

		if (strncmp(fail, names[i], length) == 0 && fail[length] == ':') {
			failing_call = atoi(fail + length + 1);
			failing = i;
		}
	}
	if (getenv("FAIL_COUNTS"))
		most = mmap(NULL, sizeof(calls), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	/* What the loader and the library called until now is not the program's. */
	for (int i = 0; i < COUNT; i++)
		calls[i] = 0;
}

static int fails(enum function function, int error)
{
	int call = ++calls[function];

	if (most && most != MAP_FAILED && call > most[function])
		most[function] = call;
	if (call != failing_call || (int)function != failing)
		return 0;
	errno = error;
	return 1;
}

__attribute__((destructor)) static void write_counts(void)
{
	const char *path = getenv("FAIL_COUNTS");
	FILE *file;

	if (!path || getpid() != first || !most || most == MAP_FAILED)
		return;
	failing = -1;
	file = fopen(path, "w");
	for (int i = 0; file && i < COUNT; i++)
		fprintf(file, "%s %d\n", names[i], most[i]);
	if (file)
		fclose(file);
}

/* dlsym(3) calls calloc(3), so these three are found without it. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
	return fails(MALLOC, ENOMEM) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return fails(CALLOC, ENOMEM) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	return fails(REALLOC, ENOMEM) ? NULL : __libc_realloc(old, size);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

FILE *open_memstream(char **text, size_t *size)
{
	return fails(OPEN_MEMSTREAM, ENOMEM) ? NULL : REAL(open_memstream)(text, size);
}

FILE *fopen(const char *path, const char *mode)
{
	return fails(FOPEN, EMFILE) ? NULL : REAL(fopen)(path, mode);
}

FILE *fdopen(int file, const char *mode)
{
	return fails(FDOPEN, ENOMEM) ? NULL : REAL(fdopen)(file, mode);
}

int fclose(FILE *file)
{
	int result = REAL(fclose)(file);

	return fails(FCLOSE, EIO) ? EOF : result;
}

pid_t fork(void)
{
	return fails(FORK, EAGAIN) ? -1 : REAL(fork)();
}

void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
	return fails(MMAP, ENOMEM) ? MAP_FAILED
	                           : REAL(mmap)(at, size, protection, flags, file, offset);
}

pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	return fails(WAIT4, ECHILD) ? -1 : REAL(wait4)(pid, status, options, usage);
}
