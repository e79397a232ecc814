/* SPDX-License-Identifier: MIT */
/* A seccomp filter around the parsing of documents, which may come from anywhere. */
#ifndef VDSOCHECK_BASE_CONFINE_H
#define VDSOCHECK_BASE_CONFINE_H

/*
 * From now on this process can open files for reading, and write to those that are open; any
 * other system call but those for memory and its own end kills it (SIGSYS). Nothing happens where
 * the kernel refuses the filter, or where the calls of others would meet it: those of a preloaded
 * library, or of what a compiler adds to find faults.
 */
void confine(void);

#endif
