# SPDX-License-Identifier: MIT
"""What the lab knows about architectures and about the machines QEMU emulates.

Two tables: an architecture says how to build for it and which kernels are its
own; a machine says which emulator boots it and with which words.
"""

import importlib.util
from dataclasses import dataclass


@dataclass(frozen=True)
class Architecture:
    name: str                 # Debian's name
    compiler: str             # as called on the host, or a tool of tools.py
    packages: tuple           # Debian packages that the compiler needs on the host
    flags: tuple = ()         # the compiler's, for programs without a build system
    pkg_config_dir: str = ""  # of the libraries in Debian's packages, e.g. aarch64-linux-gnu
    suite: str = "bookworm"   # where busybox and the libraries come from
    libcpuid: bool = False
    from_source: bool = False # Debian's libraries want another libc than the compiler's


@dataclass(frozen=True)
class Machine:
    command: tuple            # the emulator, or a tool of tools.py, and its words
    packages: tuple           # Debian packages that it needs on the host
    console: str
    seconds: int = 120        # no boot takes longer than this unless it hangs
    kind: str = "plain"       # plain, xen, nested, here
    dtb_edit: tuple = ()      # fdtput's words, for a machine with a changed device tree
    host: str = ""            # of a nested guest: SUITE/FLAVOUR of the kernel below it
    host_append: str = ""     # and that kernel's command line
    guest: tuple = ()         # and the nested emulator's words


def _cross(name, triple, suite="bookworm", **more):
    toolchain = triple.replace("_", "-")
    return Architecture(
        name=name, compiler=f"{triple}-gcc",
        packages=(f"gcc-{toolchain}", f"libc6-dev-{name}-cross"),
        pkg_config_dir=triple, suite=suite, **more)


# The compiler for loong64 comes from PyPI, by any pip.
_PIP = () if importlib.util.find_spec("pip") else ("python3-pip",)

ARCHITECTURES = {a.name: a for a in (
    Architecture("amd64", "gcc", ("gcc", "libc6-dev"), pkg_config_dir="x86_64-linux-gnu",
                 libcpuid=True),
    Architecture("i386", "i686-linux-gnu-gcc", ("gcc-i686-linux-gnu", "libc6-dev-i386-cross"),
                 pkg_config_dir="i386-linux-gnu", libcpuid=True),
    _cross("arm64", "aarch64-linux-gnu"),
    _cross("armhf", "arm-linux-gnueabihf"),
    _cross("riscv64", "riscv64-linux-gnu", suite="trixie", from_source=True),
    _cross("ppc64el", "powerpc64le-linux-gnu"),
    _cross("s390x", "s390x-linux-gnu"),
    Architecture("loong64", "loongarch64-linux-musl-cc", _PIP, suite="sid",
                 pkg_config_dir="loongarch64-linux-musl", from_source=True),
)}

# The flavours of Debian's linux-image packages, and whose they are.
FLAVOURS = {
    "amd64": "amd64", "cloud-amd64": "amd64", "686": "i386", "686-pae": "i386",
    "arm64": "arm64", "cloud-arm64": "arm64", "armmp-lpae": "armhf", "riscv64": "riscv64",
    "powerpc64le": "ppc64el", "s390x": "s390x", "loong64": "loong64",
}

# -cx16: QEMU 7.2 gets cmpxchg16b wrong once in a while, and kernels from 6.5 on use it so
# often that they panic of it.
# -nodefaults: nothing but the serial line; a guest of the lab has no disk and no network.
_SERIAL = ("-display", "none", "-no-reboot", "-nodefaults", "-serial", "stdio",
           "-net", "none", "-monitor", "none")


def _machine(emulator, words, packages, console="ttyS0", **more):
    return Machine((emulator, *words.split(), *_SERIAL), tuple(packages.split()), console, **more)


# A guest in a guest: the outer one, on emulated SVM, has a real KVM and thus the real
# paravirtual clocks. One CPU: more of them lock up.
_KVM = "-accel kvm -m 256 -nodefaults -display none -no-reboot -serial stdio -net none -monitor pipe:/tmp/monitor"
_HYPERV = "-cpu host,kvm=off,hv-relaxed,hv-vapic,hv-time,hv-vpindex,hv-synic,hv-stimer"


def _nested(source, guest, host="bookworm/amd64", accel="", seconds=180):
    trusted = " tsc=reliable" if source == "tsc" else ""
    return _machine("qemu-system-x86_64", "-accel tcg -cpu EPYC,+svm,+npt -m 2048",
                    "qemu-system-x86 binutils", kind="nested", seconds=seconds, host=host,
                    host_append=f"clocksource={source}{trusted}",
                    guest=tuple(f"{_KVM.replace('-accel kvm', '-accel kvm' + accel)} {guest}".split()))


def _nested_xen(source):
    return _nested(source, "-cpu host", "trixie/amd64", ",xen-version=0x4000f,kernel-irqchip=split")


def _pc(seconds):
    return _machine("qemu-system-x86_64", "-accel tcg -cpu max,-cx16 -m 256", "qemu-system-x86",
                    seconds=seconds)


def _virt(seconds):
    return _machine("qemu-system-aarch64", "-M virt -cpu cortex-a72 -m 512", "qemu-system-arm",
                    console="ttyAMA0", seconds=seconds)


def _xen(seconds):
    return _machine("qemu-system-x86_64", "-accel tcg -cpu qemu64,-cx16 -m 1024", "qemu-system-x86",
                    console="hvc0", kind="xen", seconds=seconds)


MACHINES = {
    "kvm-on-tsc": _nested("tsc", "-cpu host"),
    "kvm-on-tsc-patient": _nested("tsc", "-cpu host", seconds=400),
    "kvm-on-hpet": _nested("hpet", "-cpu host"),
    "hyperv-on-tsc": _nested("tsc", _HYPERV),
    "hyperv-on-hpet": _nested("hpet", _HYPERV),
    "xen-on-tsc": _nested_xen("tsc"),
    "xen-on-hpet": _nested_xen("hpet"),
    "pc": _pc(120),
    "pc-patient": _pc(1200),
    "xen": _xen(120),
    "xen-patient": _xen(900),
    "virt": _virt(120),
    "virt-patient": _virt(1200),
    # An erratum of the timer makes the kernel read it out of line: no vDSO.
    "virt-erratum": _machine("qemu-system-aarch64", "-M virt -cpu cortex-a72 -m 512",
                             "qemu-system-arm device-tree-compiler", console="ttyAMA0",
                             dtb_edit=("/timer", "fsl,erratum-a008585")),
    "virt-arm": _machine("qemu-system-arm", "-M virt -cpu cortex-a15 -m 512", "qemu-system-arm",
                         console="ttyAMA0"),
    "virt-riscv": _machine("qemu-system-riscv64", "-M virt -m 512",
                           "qemu-system-misc opensbi"),
    "pseries": _machine("qemu-system-ppc64", "-M pseries -cpu power9 -m 1024",
                        "qemu-system-ppc qemu-system-data", console="hvc0"),
    "s390": Machine(("qemu-system-s390x", "-M", "s390-ccw-virtio", "-cpu", "max", "-m", "512",
                     "-display", "none", "-no-reboot", "-nodefaults", "-net", "none",
                     "-chardev", "stdio,id=c0", "-device", "sclpconsole,chardev=c0"),
                    ("qemu-system-misc",), "ttysclp0"),
    # No kernel for this machine starts without firmware.
    "virt-loong": _machine("qemu-system-loongarch64", "-M virt -cpu la464 -m 1024 "
                           "-bios QEMU_EFI.fd", "binutils"),
    # No guest: the words in the table are Debian packages, or tools of tools.py.
    "here": Machine((), (), "", kind="here", seconds=200),
}
