/* SPDX-License-Identifier: MIT */
/* What the fuzzers have in common. Each one is a file NAME_fuzz.c with the function below. */
#ifndef VDSOCHECK_TESTS_FUZZ_H
#define VDSOCHECK_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "evidence.h"
#include "unit/fake_root.h"

/* libFuzzer, or main.c, calls it with one input after the other. Returns 0; abort() is a finding.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy of just this size, which is not ended by NUL, so that ASan sees the first byte beyond. */
char *fuzz_copy(const uint8_t *data, size_t size);

/* The same directory each time; removed when the process ends. */
struct fake_root *fuzz_root(void);

/* Makes the file anew; never writes through a link that lies there. */
void fuzz_root_put(const char *path, const uint8_t *data, size_t size);
void fuzz_root_remove(const char *path);

/* Reads a document of check; false with the reason. */
bool fuzz_parse(const char *bytes, size_t length, struct evidence *evidence, struct fact *why);

/*
 * Judges the evidence and renders it as JSON and in another format of check, which the size of the
 * input decides on. Aborts unless its own JSON is a document that is judged the same.
 */
void fuzz_judge(const struct evidence *evidence, size_t size);

#endif
