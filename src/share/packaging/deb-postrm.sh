#!/bin/sh
# SPDX-License-Identifier: MIT
# A purge also forgets that the units of the deb were enabled.
set -e
if [ "$1" = purge ] && command -v deb-systemd-helper >/dev/null; then
	deb-systemd-helper purge vdsocheck.timer
fi
