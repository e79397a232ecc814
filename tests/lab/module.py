# SPDX-License-Identifier: MIT
"""Builds the lab's kernel modules against Debian's headers of the same kernel."""

import glob
import os
import re
import shutil
import subprocess

from fetch import Suite, cached, kernel_package
from shell import Unavailable, make

LAB = os.path.dirname(os.path.abspath(__file__))


def _merge(suite, packages, tree):
    for package in packages:
        shutil.copytree(suite.unpack(package), tree, symlinks=True, dirs_exist_ok=True)


def _rewrite(path, pattern, replacement):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub(pattern, replacement, text))


def _fit_to_host(tree, folder):
    """The headers expect to be installed, with the compiler of their own release."""
    _rewrite(folder + "/Makefile", r"(?<=[\s=])/usr/src/", f"{tree}/usr/src/")
    _rewrite(folder + "/.kernelvariables", r"gcc-\d+", "gcc")


# Programs that come with the headers, and what they need where the host's libc is older.
TOOLS = ("tools/objtool/objtool.real-x86", "scripts/mod/modpost.real-*", "scripts/basic/fixdep")
LIBRARIES = ("libc6", "libelf1t64", "libzstd1", "zlib1g")


def _runs(program):
    """The dynamic loader's refusal is not the program's own complaint about its usage."""
    result = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            stdin=subprocess.DEVNULL, check=False)
    return b"GLIBC_" not in result.stdout


def _bring_libc(folder):
    """Tools built for a newer libc than the host's get the one of trixie."""
    for program in [path for tool in TOOLS for path in glob.glob(f"{folder}/{tool}")]:
        if _runs(program):
            continue
        folders = [Suite("trixie", "amd64").unpack(package) for package in LIBRARIES]
        places = ":".join(f"{place}/usr/lib/x86_64-linux-gnu" for place in folders)
        os.rename(program, program + ".real")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {places.split(":")[0]}/ld-linux-x86-64.so.2 '
                       f'--library-path {places} "$0.real" "$@"\n')
        os.chmod(program, 0o755)


def _headers(environment):
    """The folder that the kernel's makefile takes as its build tree."""
    suite = Suite(environment.suite, environment.arch)
    package = kernel_package(environment.suite, environment.arch, environment.flavour)
    package = package.replace("linux-image-", "linux-headers-").replace("-unsigned", "")
    tree = cached("headers", suite.name, package)
    folder = f"{tree}/usr/src/{package}"
    if not os.path.exists(tree + ".done"):
        parts = [p for p in suite.depends(package) if p.startswith(("linux-headers", "linux-kbuild"))]
        _merge(suite, [package, *parts], tree)
        _fit_to_host(tree, folder)
        _bring_libc(folder)
        open(tree + ".done", "w", encoding="utf-8").close()
    return folder


def build(name, environment):
    """The module's file for the environment's kernel."""
    source = os.path.join(LAB, "modules", name + ".c")
    if not os.path.exists(source):
        raise Unavailable(f"there is no module {name}")
    headers = _headers(environment)
    work = cached("modules", os.path.basename(headers), name)
    os.makedirs(work, exist_ok=True)
    shutil.copy(source, work)
    with open(f"{work}/Kbuild", "w", encoding="utf-8") as file:
        file.write(f"obj-m := {name}.o\n")
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")
            and key not in ("MFLAGS", "CFLAGS", "CC")}
    # No BTF: it would need pahole and says nothing that the kernel needs.
    make(["make", "-s", "-C", headers, f"M={work}", f"CC={LAB}/gcc-of-host",
          "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"],
         env=kept)
    return f"{work}/{name}.ko"
