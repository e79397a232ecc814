/* SPDX-License-Identifier: MIT */
#ifndef VDSOCHECK_BASE_VERSION_H
#define VDSOCHECK_BASE_VERSION_H

/* The program's version, as the Makefile has it: "0.1.0". */
extern const char version_string[];

#endif
