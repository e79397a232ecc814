/* SPDX-License-Identifier: MIT */
#include "base/version.h"

const char version_string[] = VDSOCHECK_VERSION;
