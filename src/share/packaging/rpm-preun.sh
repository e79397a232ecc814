#!/bin/sh
# SPDX-License-Identifier: MIT
# Before the last version of the rpm is removed, its units are stopped and disabled.
if [ "$1" = 0 ] && command -v systemctl >/dev/null; then
	systemctl --quiet --no-reload disable --now vdsocheck.timer || :
fi
