/* SPDX-License-Identifier: MIT */
/*
 * What a call costs when the caches do not hold what it needs. Calls back to back find code and
 * data in the first-level cache; a program that reads the clock now and then does not.
 *
 * Before each call, the vDSO and its data pages are flushed from all caches, where user space may
 * do that (clflush on x86-64, dc civac on arm64), and a buffer twice as large as the second-level
 * cache is read, which evicts what else the call needs, the kernel's lines too. Elsewhere the
 * buffer is twice as large as the last-level cache.
 */
#include "model.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/fault.h"
#include "measure/vvar.h"

#define LINE_SIZE 64

/* Where the system does not say; and at most, for the time that reading it takes. */
#define SECOND_LEVEL_USUAL (2 << 20)
#define LAST_LEVEL_USUAL (32 << 20)
#define LAST_LEVEL_MOST (128 << 20)

#if defined(__x86_64__)
#define CAN_FLUSH true

static void flush_page(void *page)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t at = 0; at < size; at += LINE_SIZE)
		__asm__ volatile("clflush (%0)" ::"r"((char *)page + at) : "memory");
	__asm__ volatile("mfence" ::: "memory");
}
#elif defined(__aarch64__)
#define CAN_FLUSH true

static void flush_page(void *page)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t at = 0; at < size; at += LINE_SIZE)
		__asm__ volatile("dc civac, %0" ::"r"((char *)page + at) : "memory");
	__asm__ volatile("dsb ish" ::: "memory");
}
#else
#define CAN_FLUSH false

static void flush_page(void *page)
{
	(void)page;
}
#endif

static size_t second_level_size(void)
{
	long size = -1;

#if defined(_SC_LEVEL2_CACHE_SIZE)
	size = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
	return size > 0 ? (size_t)size : SECOND_LEVEL_USUAL;
}

static size_t last_level_size(void)
{
	long size = -1;

#if defined(_SC_LEVEL3_CACHE_SIZE)
	size = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
	if (size <= 0)
		return LAST_LEVEL_USUAL;
	return size < LAST_LEVEL_MOST ? (size_t)size : LAST_LEVEL_MOST;
}

bool cold_start(struct cold_caches *caches, const struct vdso_image *vdso)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	char *end = (char *)vdso->base + vdso->size + VVAR_PAGES_AFTER * page_size;

	*caches = (struct cold_caches){.page_count = 0};
	/* Not every page around the image is mapped, and not every kernel lets us flush. */
	for (char *page = (char *)vdso->base - VVAR_PAGES_BEFORE * page_size;
		CAN_FLUSH && vdso->base && page < end && caches->page_count < COLD_PAGES_MAX;
		page += page_size) {
		if (fault_guard(flush_page, page) == 0)
			caches->pages[caches->page_count++] = page;
	}
	caches->size = 2 * (caches->page_count ? second_level_size() : last_level_size());
	caches->buffer = calloc(1, caches->size);
	for (size_t at = 0; caches->buffer && at < caches->size; at += page_size)
		caches->buffer[at] = 1;
	return caches->buffer;
}

void cold_end(struct cold_caches *caches)
{
	free(caches->buffer);
}

double cold_ticks(
	const struct cold_caches *caches, const struct call *call, const struct timebase *timebase)
{
	uint64_t start, ticks;

	for (size_t at = 0; at < caches->size; at += LINE_SIZE)
		*(volatile char *)&caches->buffer[at];
	for (size_t i = 0; i < caches->page_count; i++)
		flush_page(caches->pages[i]);
	/* The caches are to hold our own code: none of it is the call's. */
	call_repeat(call, 0);
	timebase_ticks(timebase);
	start = timebase_ticks(timebase);
	call_repeat(call, 1);
	ticks = timebase_ticks(timebase) - start;
	return ticks > timebase->overhead ? (double)(ticks - timebase->overhead) : 0;
}
