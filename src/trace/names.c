/* SPDX-License-Identifier: MIT */
/* Reads mangled symbols by libiberty, which knows those of C++ and both of Rust's. */
#include "names.h"

#include <stdlib.h>
#include <string.h>

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
