# SPDX-License-Identifier: MIT
"""Programs that are no Debian packages, built into the cache."""

import os

from fetch import cached
from shell import call


def _runsc(target):
    """gVisor's sandbox, from its Go module."""
    call(["go", "install", "gvisor.dev/gvisor/runsc@latest"],
         env=dict(os.environ, CGO_ENABLED="0", GOBIN=os.path.dirname(target), GOFLAGS="-mod=mod"))


TOOLS = {"runsc": _runsc}


def path(words):
    """The search path with the tools among the words, each built once."""
    for word in words:
        target = cached("tools", word)
        if word in TOOLS and not os.path.exists(target):
            TOOLS[word](target)
    return os.path.dirname(cached("tools", "any")) + ":" + os.environ.get("PATH", "/usr/bin:/bin")
