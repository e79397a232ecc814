/* SPDX-License-Identifier: MIT */
/*
 * Reads mangled symbols by libiberty, which knows those of C++ and both of Rust's; and source lines
 * by libdw. A dynamic program loads that where there is debug information to
 * read: no other run takes longer for it, and it need not be installed.
 */
#include "places.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"

/*
 * libiberty's; <demangle.h> lies in a place of its own on each distribution. They return memory of
 * malloc(3), or NULL for a symbol of another kind.
 */
extern char *rust_demangle(const char *symbol, int options);
extern char *cplus_demangle_v3(const char *symbol, int options);

/* A longer symbol stays as it is: it is the arguments of templates. */
#define SYMBOL_SIZE 1024

void name_read(struct span symbol, char *to, size_t size)
{
	char *name = NULL;

#ifdef DEMANGLER
	char text[SYMBOL_SIZE];

	/* Without an option, parameters are left out. */
	if (symbol.length < sizeof(text) && text_starts(symbol, "_")) {
		text_clean_span(text, sizeof(text), symbol);
		name = rust_demangle(text, 0);
		name = name ? name : cplus_demangle_v3(text, 0);
	}
#endif
	text_clean_span(to, size, name ? text_span(name) : symbol);
	free(name);
}

/* ---- debug information ---- */

#if defined(LIBDW) || defined(LIBDW_LINKED)
#include <dlfcn.h>
#include <elfutils/libdw.h>

#define EACH_FUNCTION(apply)                                                                       \
	apply(dwarf_begin) apply(dwarf_get_units) apply(dwarf_getsrc_die) apply(dwarf_haspc)       \
		apply(dwarf_lineno) apply(dwarf_linesrc)

static struct {
#define DECLARE(name) __typeof__(name) *name;
	EACH_FUNCTION(DECLARE)
} libdw;

/* Returns NULL, or why there is none. */
static const char *names_load(void)
{
	bool is_there = true;
#ifdef LIBDW_LINKED
#define FIND(name) libdw.name = name;
#else
#define FIND(name) is_there = is_there && (libdw.name = dlsym(library, #name));
	void *library;

	/* For these servers it would load an HTTP client. They are not asked. */
	unsetenv("DEBUGINFOD_URLS");
	library = dlopen("libdw.so.1", RTLD_LAZY);
	is_there = library;
#endif
	EACH_FUNCTION(FIND)
	return is_there ? NULL : "libdw.so.1 cannot be loaded";
}

/* Not every compiler writes the index that finds the unit of an address. */
static void read_source(Dwarf *dwarf, uint64_t address, struct place_source *source)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	while (libdw.dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
		Dwarf_Line *line = NULL;
		const char *path;
		int number = 0;

		if (libdw.dwarf_haspc(&die, address) == 1)
			line = libdw.dwarf_getsrc_die(&die, address);
		path = libdw.dwarf_linesrc(line, NULL, NULL);
		if (!path || libdw.dwarf_lineno(line, &number) < 0 || number <= 0)
			continue;
		source->line = (uint32_t)number;
		text_clean(source->path, sizeof(source->path), path);
		fact_set_known(&source->fact);
		return;
	}
}

/* Debug information may name more files, which may be devices: none can be opened. */
static const char *read_all(int file, struct trace_place *const *places, size_t count)
{
	const char *why = names_load();
	struct rlimit files;
	Dwarf *dwarf;

	if (why)
		return why;
	if (getrlimit(RLIMIT_NOFILE, &files) < 0 ||
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, files.rlim_max}) < 0)
		return "the number of open files cannot be limited";
	dwarf = libdw.dwarf_begin(file, DWARF_C_READ);
	for (size_t i = 0; i < count && dwarf; i++)
		read_source(dwarf, places[i]->offset, &places[i]->source);
	setrlimit(RLIMIT_NOFILE, &files);
	return NULL;
}
#endif

void sources_read(int file, struct trace_place *const *places, size_t count)
{
	const char *why = NULL;

	if (file >= 0) {
#ifdef EACH_FUNCTION
		why = read_all(file, places, count);
#else
		why = "this program was built without libdw";
#endif
		close(file);
	}
	for (size_t i = 0; i < count; i++) {
		struct fact *fact = &places[i]->source.fact;

		if (why)
			fact_set(fact, FACT_FAILED, "%s", why);
		else if (!fact_is_known(fact))
			fact_set(fact, FACT_ABSENT, "there is no debug information for it");
	}
}
