# SPDX-License-Identifier: MIT
"""Programs that no package of the host's own Debian has, put into the cache."""

import os
import shlex
import sys

import emulator
from fetch import Suite, cached
from shell import call

# Another release may bring another musl, and with it another answer to how libc asks for the time.
ZIG = "0.15.2"


def _runsc(target):
    """gVisor's sandbox, from its Go module."""
    call(["go", "install", "gvisor.dev/gvisor/runsc@latest"],
         env=dict(os.environ, CGO_ENABLED="0", GOBIN=os.path.dirname(target), GOFLAGS="-mod=mod"))


def _script(target, words):
    """A program that stands for a longer command."""
    with open(target + ".new", "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    os.chmod(target + ".new", 0o755)
    os.rename(target + ".new", target)


def _zig(target):
    """A cross compiler with a musl of its own, from PyPI."""
    folder = cached("zig", ZIG)
    call([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade",
          "--target", folder, f"ziglang=={ZIG}"])
    triple = os.path.basename(target).removesuffix("-cc")
    # Where nothing is optimised it would call a sanitizer's library, which is not linked.
    _script(target, ["env", f"ZIG_GLOBAL_CACHE_DIR={cached('zig', 'cache')}",
                     f"{folder}/ziglang/zig", "cc", "-target", triple, "-fno-sanitize=undefined"])


def _loong_emulator(target):
    """Debian 12's QEMU cannot boot this machine, and has no firmware for it."""
    firmware = Suite(emulator.SUITE, "amd64").unpack("qemu-efi-loongarch64")
    _script(target, [*emulator.here("qemu-system-misc", os.path.basename(target)),
                     "-L", f"{firmware}/usr/share/qemu-efi-loongarch64"])


TOOLS = {
    "runsc": _runsc,
    "loongarch64-linux-musl-cc": _zig,
    "qemu-system-loongarch64": _loong_emulator,
}


def program(name):
    """The path of a tool, put in its place once; any other name stands for itself."""
    target = cached("tools", name)
    if name in TOOLS and not os.path.exists(target):
        TOOLS[name](target)
    return target if name in TOOLS else name


def path(words):
    """The search path with the tools among the words."""
    for word in words:
        program(word)
    return os.path.dirname(cached("tools", "any")) + ":" + os.environ.get("PATH", "/usr/bin:/bin")
