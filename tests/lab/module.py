# SPDX-License-Identifier: MIT
"""Builds the lab's kernel modules against Debian's headers of the same kernel."""

import os
import re
import shutil

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
    _rewrite(folder + "/Makefile", r"(?<=\s)/usr/src/", f"{tree}/usr/src/")
    _rewrite(folder + "/.kernelvariables", r"gcc-\d+", "gcc")


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
        open(tree + ".done", "w", encoding="utf-8").close()
    return folder


def build(name, environment):
    """The module's file for the environment's kernel."""
    source = os.path.join(LAB, name)
    if not os.path.isdir(source):
        raise Unavailable(f"there is no module {name}")
    headers = _headers(environment)
    work = cached("modules", os.path.basename(headers), name)
    shutil.copytree(source, work, dirs_exist_ok=True)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")
            and key not in ("MFLAGS", "CFLAGS", "CC")}
    # No BTF: it would need pahole and says nothing that the kernel needs.
    make(["make", "-s", "-C", headers, f"M={work}", "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"],
         env=kept)
    return f"{work}/{name}.ko"
