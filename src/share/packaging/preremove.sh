#!/bin/sh
# SPDX-License-Identifier: MIT
# Before a package is removed, not upgraded, its units are stopped and disabled. dpkg says so by
# the word remove, rpm by the number of versions that stay.
case ${1-} in
remove | 0)
	! command -v systemctl >/dev/null ||
		systemctl --quiet --no-reload disable --now vdsocheck.timer vdsocheck-watch.service || :
	;;
esac
