# SPDX-License-Identifier: MIT
"""A guest in a guest: what the outer one is made of.

The outer guest is Debian's kernel with KVM and an initramfs that holds a QEMU
with its libraries and firmware, and the inner guest's kernel and initramfs.
QEMU comes from trixie, for the one of bookworm cannot emulate Xen.
"""

import glob
import os
import re

import fetch
from shell import Unavailable, output

LAB = os.path.dirname(os.path.abspath(__file__))
SUITE = "trixie"
EMULATOR = "usr/bin/qemu-system-x86_64"
FIRMWARE = {"seabios": ("bios-256k.bin",),
            "qemu-system-data": ("kvmvapic.bin", "linuxboot_dma.bin", "linuxboot.bin")}
MODULES = ("irqbypass", "ccp", "kvm", "kvm-amd")


def _libraries(suite):
    """Name -> file of every library that the emulator's package brings along."""
    files, links = {}, {}
    for package in suite.closure("qemu-system-x86"):
        folder = suite.unpack(package) if _has_libraries(package) else ""
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


def _closure(program, libraries):
    """The libraries that the program needs, and those that they need."""
    wanted, found = _needed(program), {}
    while wanted:
        name = wanted.pop()
        if name in found:
            continue
        if name not in libraries:
            raise Unavailable(f"no package of {SUITE} has {name}, which its QEMU needs")
        found[name] = libraries[name]
        wanted += _needed(found[name])
    return found


def _add_emulator(archive):
    suite = fetch.Suite(SUITE, "amd64")
    program = os.path.join(suite.unpack("qemu-system-x86", f"*{EMULATOR}", "bin"), EMULATOR)
    archive.file("/" + EMULATOR, program, 0o755)
    for name, file in _closure(program, _libraries(suite)).items():
        place = "/lib64" if name.startswith("ld-linux") else "/lib/x86_64-linux-gnu"
        archive.file(f"{place}/{name}", file, 0o755)
    for package, names in FIRMWARE.items():
        folder = suite.unpack(package, " ".join(f"*/{name}" for name in names), "firmware")
        for name in names:
            archive.file(f"/usr/share/qemu/{name}", fetch.one(f"{folder}/**/{name}"))


def write_host(archive, machine, words, kernel, initrd, path):
    """The outer guest's initramfs: words are the inner emulator's."""
    suite, flavour = machine.host.split("/")
    archive.console()
    archive.file("/bin/busybox", fetch.busybox("bookworm", "amd64"), 0o755)
    archive.file("/init", os.path.join(LAB, "guest", "host"), 0o755)
    _add_emulator(archive)
    for name, file in fetch.kernel_modules(suite, "amd64", flavour, MODULES).items():
        archive.file(f"/modules/{name}.ko", file)
    archive.data("/modules/order", "".join(name + "\n" for name in MODULES).encode())
    archive.file("/guest/kernel", kernel)
    archive.file("/guest/initrd", initrd)
    archive.data("/guest/command", "".join(word + "\n" for word in words).encode())
    archive.write(path, level=0)


def kernel(machine):
    suite, flavour = machine.host.split("/")
    return fetch.kernel(suite, "amd64", flavour)
