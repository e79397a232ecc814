/* SPDX-License-Identifier: MIT */
/*
 * Preloaded: lets calls of a function of the C library fail. FAIL=realloc:3 is the third
 * realloc(3), counted over all threads, and in children from their parent's count on;
 * FAIL=realloc:3+ is each from the third on. With FAIL_COUNTS=FILE the first process writes at its
 * end how far it or a child has counted. Programs that it executes are left alone.
 *
 * Left out of what the program and its libraries call are:
 *  - wrappers of one system call, for strace(1). fork(2), mmap(2) and wait4(2) are here for
 *    `trace`, whose children strace does not follow; execv(3) has nothing left to inject into.
 *  - what fails only because its malloc(3) or realloc(3) does: strdup, reallocarray, opendir,
 *    setenv, CPU_ALLOC, the functions of jansson.
 *  - what fails for wrong arguments alone: gmtime_r, strftime, snprintf, ftell, the page size.
 *  - clock_gettime, gettimeofday, time, sched_getcpu, clock_getres: they are what is measured.
 *  - getauxval, which says what the host is, and getcontext, which returns twice.
 *  - fgets, which reads an answer from a terminal; and output to standard error: if that fails,
 *    nothing can say so.
 */
#undef _FORTIFY_SOURCE /* its inline functions have the names of those below */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Name and the error that it fails with. */
#define FUNCTIONS(DO)                                                                              \
	DO(malloc, ENOMEM)                                                                         \
	DO(calloc, ENOMEM)                                                                         \
	DO(realloc, ENOMEM)                                                                        \
	DO(aligned_alloc, ENOMEM)                                                                  \
	DO(fopencookie, ENOMEM)                                                                    \
	DO(fopen, EMFILE)                                                                          \
	DO(fdopen, ENOMEM)                                                                         \
	DO(fclose, EIO)                                                                            \
	DO(fwrite, ENOMEM)                                                                         \
	DO(fputs, ENOMEM)                                                                          \
	DO(fputc, ENOMEM)                                                                          \
	DO(fprintf, ENOMEM)                                                                        \
	DO(vfprintf, ENOMEM)                                                                       \
	DO(fdopendir, ENOMEM)                                                                      \
	DO(readdir, EIO)                                                                           \
	DO(sysconf, EINVAL)                                                                        \
	DO(pthread_attr_init, ENOMEM)                                                              \
	DO(pthread_create, EAGAIN)                                                                 \
	DO(pthread_barrier_init, ENOMEM)                                                           \
	DO(execv, EACCES)                                                                          \
	DO(execvp, ENOENT)                                                                         \
	DO(fork, EAGAIN)                                                                           \
	DO(mmap, ENOMEM)                                                                           \
	DO(wait4, ECHILD)

#define NUMBER(name, error) NUMBER_##name,
enum function { FUNCTIONS(NUMBER) COUNT };

#define ROW(name, error) {#name, error},
static const struct {
	const char *name;
	int error;
} functions[COUNT] = {FUNCTIONS(ROW)};

static atomic_int calls[COUNT];
static atomic_int *most; /* in all processes; shared with children */
static const char *counts;
static int failing = -1, failing_call;
static int goes_on; /* each later call fails, too */
static pid_t first;

__attribute__((constructor)) static void read_environment(void)
{
	const char *fail = getenv("FAIL");

	first = getpid();
	for (int i = 0; fail && i < COUNT; i++) {
		size_t length = strlen(functions[i].name);

		if (strncmp(fail, functions[i].name, length) == 0 && fail[length] == ':') {
			failing_call = atoi(fail + length + 1);
			goes_on = fail[strlen(fail) - 1] == '+';
			failing = i;
		}
	}
	counts = getenv("FAIL_COUNTS");
	if (counts)
		most = mmap(NULL, sizeof(calls), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	unsetenv("FAIL");
	unsetenv("FAIL_COUNTS");
	/* What the loader and the library called until now is not the program's. */
	for (int i = 0; i < COUNT; i++)
		calls[i] = 0;
}

static int fails(enum function function)
{
	int call = ++calls[function];

	if (most && most != MAP_FAILED && call > most[function])
		most[function] = call;
	if ((int)function != failing || call < failing_call || (call > failing_call && !goes_on))
		return 0;
	errno = functions[function].error;
	return 1;
}

__attribute__((destructor)) static void write_counts(void)
{
	int file;

	if (!counts || getpid() != first || !most || most == MAP_FAILED)
		return;
	file = open(counts, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	for (int i = 0; file >= 0 && i < COUNT; i++)
		dprintf(file, "%s %d\n", functions[i].name, most[i]);
}

#define FAILS(name) fails(NUMBER_##name)
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* ---- memory ---- */

/* dlsym(3) calls calloc(3), so these three are found without it. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
	return FAILS(malloc) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return FAILS(calloc) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	return FAILS(realloc) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return FAILS(aligned_alloc) ? NULL : REAL(aligned_alloc)(alignment, size);
}

void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
	return FAILS(mmap) ? MAP_FAILED : REAL(mmap)(at, size, protection, flags, file, offset);
}

/* ---- streams and directories ---- */

FILE *fopencookie(void *cookie, const char *mode, cookie_io_functions_t own)
{
	return FAILS(fopencookie) ? NULL : REAL(fopencookie)(cookie, mode, own);
}

FILE *fopen(const char *path, const char *mode)
{
	return FAILS(fopen) ? NULL : REAL(fopen)(path, mode);
}

FILE *fdopen(int file, const char *mode)
{
	return FAILS(fdopen) ? NULL : REAL(fdopen)(file, mode);
}

int fclose(FILE *stream)
{
	int result = REAL(fclose)(stream);

	return FAILS(fclose) ? EOF : result;
}

/* A stream that could not take what was written says so to ferror(3). */
static int fails_to_write(enum function function, FILE *stream)
{
	if (stream == stderr || !fails(function))
		return 0;
	stream->_flags |= _IO_ERR_SEEN;
	return 1;
}

size_t fwrite(const void *bytes, size_t size, size_t count, FILE *stream)
{
	return fails_to_write(NUMBER_fwrite, stream) ? 0 : REAL(fwrite)(bytes, size, count, stream);
}

int fputs(const char *text, FILE *stream)
{
	return fails_to_write(NUMBER_fputs, stream) ? EOF : REAL(fputs)(text, stream);
}

int fputc(int byte, FILE *stream)
{
	return fails_to_write(NUMBER_fputc, stream) ? EOF : REAL(fputc)(byte, stream);
}

__attribute__((format(printf, 3, 0))) static int print(
	enum function function, FILE *stream, const char *format, va_list arguments)
{
	return fails_to_write(function, stream) ? -1 : REAL(vfprintf)(stream, format, arguments);
}

int vfprintf(FILE *stream, const char *format, va_list arguments)
{
	return print(NUMBER_vfprintf, stream, format, arguments);
}

__attribute__((format(printf, 3, 0))) int __vfprintf_chk(
	FILE *stream, int flag, const char *format, va_list arguments);
int __vfprintf_chk(FILE *stream, int flag, const char *format, va_list arguments)
{
	(void)flag;
	return print(NUMBER_vfprintf, stream, format, arguments);
}

int fprintf(FILE *stream, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = print(NUMBER_fprintf, stream, format, arguments);
	va_end(arguments);
	return length;
}

__attribute__((format(printf, 3, 4))) int __fprintf_chk(
	FILE *stream, int flag, const char *format, ...);
int __fprintf_chk(FILE *stream, int flag, const char *format, ...)
{
	va_list arguments;
	int length;

	(void)flag;
	va_start(arguments, format);
	length = print(NUMBER_fprintf, stream, format, arguments);
	va_end(arguments);
	return length;
}

DIR *fdopendir(int file)
{
	return FAILS(fdopendir) ? NULL : REAL(fdopendir)(file);
}

struct dirent *readdir(DIR *directory)
{
	return FAILS(readdir) ? NULL : REAL(readdir)(directory);
}

/* ---- threads, processes, the system ---- */

int pthread_attr_init(pthread_attr_t *attributes)
{
	return FAILS(pthread_attr_init) ? ENOMEM : REAL(pthread_attr_init)(attributes);
}

int pthread_create(
	pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
	return FAILS(pthread_create) ? EAGAIN
	                             : REAL(pthread_create)(thread, attributes, start, argument);
}

int pthread_barrier_init(
	pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes, unsigned count)
{
	return FAILS(pthread_barrier_init) ? ENOMEM
	                                   : REAL(pthread_barrier_init)(barrier, attributes, count);
}

pid_t fork(void)
{
	return FAILS(fork) ? -1 : REAL(fork)();
}

pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	return FAILS(wait4) ? -1 : REAL(wait4)(pid, status, options, usage);
}

int execv(const char *path, char *const *words)
{
	return FAILS(execv) ? -1 : REAL(execv)(path, words);
}

int execvp(const char *name, char *const *words)
{
	return FAILS(execvp) ? -1 : REAL(execvp)(name, words);
}

/* The page size comes from the kernel with the program, and cannot be missing. */
long sysconf(int name)
{
	return name != _SC_PAGESIZE && FAILS(sysconf) ? -1 : REAL(sysconf)(name);
}
