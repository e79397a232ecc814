# SPDX-License-Identifier: MIT
"""A guest in a guest: what the outer one is made of.

The outer guest is Debian's kernel with KVM and an initramfs that holds a QEMU
with its libraries and firmware, and the inner guest's kernel and initramfs.
QEMU comes from trixie, for the one of bookworm cannot emulate Xen.
"""

import os

import build
import emulator
import fetch

LAB = os.path.dirname(os.path.abspath(__file__))
EMULATOR = ("qemu-system-x86", "qemu-system-x86_64")
FIRMWARE = {"seabios": ("bios-256k.bin",),
            "qemu-system-data": ("kvmvapic.bin", "linuxboot_dma.bin", "linuxboot.bin")}
MODULES = ("irqbypass", "ccp", "kvm", "kvm-amd")


def _add_emulator(archive):
    suite = fetch.Suite(emulator.SUITE, "amd64")
    archive.file(f"/usr/bin/{EMULATOR[1]}", emulator.program(*EMULATOR), 0o755)
    for name, file in emulator.libraries(*EMULATOR).items():
        place = "/lib64" if emulator.is_loader(name) else "/lib/x86_64-linux-gnu"
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
    archive.file("/bin/vdsocheck", build.vdsocheck("amd64"), 0o755)
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
