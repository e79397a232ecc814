/* SPDX-License-Identifier: MIT */
/* The document of `vdsocheck fleet`, for the tool that prints its schema. */
#ifndef VDSOCHECK_FLEET_MODEL_H
#define VDSOCHECK_FLEET_MODEL_H

#include "document.h"

#define FLEET_SCHEMA "vdsocheck-fleet/1"

extern const struct field fleet_fields[];

#endif
