# SPDX-License-Identifier: MIT
"""Libraries to link a build of vdsocheck with, and the words that say so.

The host's own packages serve amd64. For every other architecture Debian's
packages of that architecture are unpacked into the cache; nothing foreign is
installed.
"""

import os
import shutil

import sources
import tools
from fetch import Suite, cached

LIBRARIES = ("libseccomp-dev", "libjansson-dev")
X86_LIBRARIES = ("libcpuid-dev",)


def compiler(architecture, build):
    """The compiler's words for a program that needs libc alone."""
    if build.endswith("-musl"):
        return sources.MUSL.split(), []
    return [tools.program(architecture.compiler)], list(architecture.flags)


def _unpacked(architecture):
    """One tree with the development packages of the architecture."""
    tree = cached("sysroot", architecture.name, "done")
    if os.path.exists(tree):
        return os.path.dirname(tree)
    shutil.rmtree(os.path.dirname(tree), ignore_errors=True)
    suite = Suite(architecture.suite, architecture.name)
    for package in LIBRARIES + (X86_LIBRARIES if architecture.libcpuid else ()):
        shutil.copytree(suite.unpack(package), os.path.dirname(tree), symlinks=True,
                        dirs_exist_ok=True)
    open(tree, "w", encoding="utf-8").close()
    return os.path.dirname(tree)


def for_make(architecture, build):
    """The variables and the environment for the project's Makefile."""
    if build == "amd64":
        return [], {}
    if build.endswith("-musl"):
        return sources.for_make(build, sources.MUSL, architecture.pkg_config_dir, True)
    if architecture.from_source:
        words = tools.program(architecture.compiler)
        return sources.for_make(build, words, architecture.pkg_config_dir, False)
    tree = _unpacked(architecture)
    libraries = f"{tree}/usr/lib/{architecture.pkg_config_dir}"
    return [f"CC={architecture.compiler}"], {
        "PKG_CONFIG_LIBDIR": f"{libraries}/pkgconfig:{tree}/usr/share/pkgconfig",
        "PKG_CONFIG_SYSROOT_DIR": tree,
        "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1",
    }
