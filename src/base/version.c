/* SPDX-License-Identifier: MIT */
/* Holds the version of this build, which .ci/version prints: a commit changes this object alone. */
#include "base/version.h"

const char vdsocheck_version[] = VDSOCHECK_VERSION;
