# SPDX-License-Identifier: MIT
"""A newer QEMU than the host's: the one of trixie, with the libraries it needs.

It runs in a guest that has nothing of its own (nested.py), or here by its own
loader, for the host's libc is too old for it.
"""

import glob
import os
import re

from fetch import Suite
from shell import Unavailable, output

SUITE = "trixie"


def program(package, name):
    """The path of one of the package's emulators."""
    folder = Suite(SUITE, "amd64").unpack(package, f"*usr/bin/{name}", f"bin-{name}")
    return f"{folder}/usr/bin/{name}"


def _offered(package):
    """Name -> file of every library that the emulator's package brings along."""
    suite, files, links = Suite(SUITE, "amd64"), {}, {}
    for needed in suite.closure(package):
        folder = suite.unpack(needed) if _has_libraries(needed) else ""
        for path in glob.glob(f"{folder}/**/*.so*", recursive=True) if folder else ():
            (links if os.path.islink(path) else files)[os.path.basename(path)] = path
    for name, path in links.items():
        target = os.path.basename(os.readlink(path))
        if target in files:  # one link deep: that is all that a soname takes
            files.setdefault(name, files[target])
    return files


def _has_libraries(package):
    return package.startswith("lib") or package in ("zlib1g",)


def _needed(file):
    lines = output(["readelf", "-d", file])
    return re.findall(r"\(NEEDED\).*\[(.*)\]", lines)


def libraries(package, name):
    """Name -> file of the libraries that the emulator needs, and of those that they need."""
    offered, wanted, found = _offered(package), _needed(program(package, name)), {}
    while wanted:
        library = wanted.pop()
        if library in found:
            continue
        if library not in offered:
            raise Unavailable(f"no package of {SUITE} has {library}, which its QEMU needs")
        found[library] = offered[library]
        wanted += _needed(found[library])
    return found


def is_loader(library):
    return library.startswith("ld-linux")


def here(package, name):
    """The words that run the emulator on the host."""
    found = libraries(package, name)
    loader = next(file for library, file in found.items() if is_loader(library))
    # The packages' links for the sonames are beside the files.
    folders = sorted({os.path.dirname(file) for file in found.values()})
    return [loader, "--library-path", ":".join(folders), program(package, name)]
