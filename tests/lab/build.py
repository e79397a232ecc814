# SPDX-License-Identifier: MIT
"""Builds what runs in the guests: the lab's own programs and vdsocheck itself.

A build is named for its architecture ("amd64", "arm64"), or for what makes it
different ("amd64-musl"). All are static: a guest has no libraries.
"""

import functools
import hashlib
import os

import sysroot
from fetch import cached
from machines import ARCHITECTURES
from shell import Unavailable, make

LAB = os.path.dirname(os.path.abspath(__file__))
TOP = os.environ.get("LAB_SOURCE") or os.path.dirname(os.path.dirname(LAB))
COPIED = ("amd64", "i386", "arm64")
PROGRAMS = ("oracle", "sandbox", "article", "flap")
ELSEWHERE = {"caller": "trace/caller.c", "hand": "bench/hand.c", "oracle": "tools/oracle.c",
             "running": "trace/running.c", "sandbox": "tools/sandbox.c", "time_warp_test": "warp/time_warp_test.c"}
CFLAGS = ("-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes",
          "-Wmissing-prototypes", "-Wformat=2", "-Wconversion", "-static")


def architecture(build):
    name = build.split("-")[0]
    if name not in ARCHITECTURES:
        raise Unavailable(f"no compiler for {name}")
    return ARCHITECTURES[name]


def _older(target, source):
    return not os.path.exists(target) or os.path.getmtime(target) < os.path.getmtime(source)


def program(name, build):
    """One of the lab's own programs, compiled if its source is newer."""
    source = os.path.join(os.path.dirname(LAB), ELSEWHERE.get(name, f"lab/{name}.c"))
    target = cached("build", build, name)
    if _older(target, source):
        compiler, flags = sysroot.compiler(architecture(build), build)
        make([*compiler, *CFLAGS, *flags, source, "-o", target])
    return target


def vdsocheck(build):
    return os.environ.get("LAB_VDSOCHECK") or _made("vdsocheck", build)


def copy_search(build):
    """The search for the clock mode on a copy of the vDSO; None where the vDSO is not copied."""
    return _made("tests/lab/copy_search", build) if build.split("-")[0] in COPIED else None


@functools.cache
def _made(name, build):
    """A target of the Makefile, built once a run, so that all rows judge the same binary."""
    if not os.path.exists(os.path.join(TOP, "Makefile")):
        raise Unavailable("there is no Makefile to build vdsocheck with")
    # A folder for each source tree: another tree's objects may be newer than its sources.
    tree = hashlib.sha256(os.path.realpath(TOP).encode()).hexdigest()[:12]
    folder = cached("build", build, f"vdsocheck-{tree}", "vdsocheck")[:-len("/vdsocheck")]
    target = os.path.join(folder, name)
    variables, environment = sysroot.for_make(architecture(build), build)
    make(["make", "-C", TOP, "STATIC=1", f"BUILD={folder}", *variables, target],
         env={**_without_make(), **environment})
    return target


def _without_make():
    """`make lab` must not pass its own variables on to the builds it starts."""
    return {key: value for key, value in os.environ.items()
            if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "CFLAGS",
                           "CPPFLAGS", "LDFLAGS", "CC")}
