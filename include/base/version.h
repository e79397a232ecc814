/* SPDX-License-Identifier: MIT */
/* The version of this build. */
#ifndef VDSOCHECK_BASE_VERSION_H
#define VDSOCHECK_BASE_VERSION_H

/* "1.0.0"; "1.0.0-dev+g1a2b3c4" if it is not a release: every output names the same. */
extern const char vdsocheck_version[];

#endif
