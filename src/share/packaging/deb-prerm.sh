#!/bin/sh
# SPDX-License-Identifier: MIT
# Before the deb is removed, its units are stopped.
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
	deb-systemd-invoke stop vdsocheck.timer
fi
