# SPDX-License-Identifier: MIT
"""Debian packages of any suite and architecture, without touching the host's apt.

Each pair of suite and architecture has an apt configuration of its own in the
cache. What has been unpacked once is not asked for again: a warm cache needs no
network.
"""

import glob
import os
import shutil
import subprocess

from shell import Unavailable, call, output

CACHE = os.environ.get("LAB_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "vdsocheck-lab")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
DEFAULT_MIRROR = "http://deb.debian.org/debian"


def cached(*parts):
    path = os.path.join(CACHE, *parts)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def mirror():
    """The mirror this machine's own apt uses, so that a local one is kept to."""
    try:
        lines = output(["apt-get", "indextargets", "--format", "$(REPO_URI)",
                        "Created-By: Packages", "Origin: Debian", "Component: main"]).split()
    except Unavailable:
        lines = []
    plain = [line.rstrip("/") for line in lines if "security" not in line]
    return os.environ.get("LAB_MIRROR") or (plain or [DEFAULT_MIRROR])[0]


APT_CONFIGURATION = """\
Dir::Etc "{root}/etc";
Dir::Etc::sourcelist "{root}/sources.list";
Dir::Etc::sourceparts "-";
Dir::State "{root}";
Dir::State::status "{root}/status";
Dir::Cache "{root}";
APT::Architecture "{arch}";
APT::Architectures {{ "{arch}"; }};
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
"""


class Suite:
    """One suite for one architecture."""

    def __init__(self, suite, arch):
        self.name = f"{suite}-{arch}"
        self.suite, self.arch = suite, arch
        self.root = os.path.join(CACHE, "apt", self.name)

    def _apt(self, *words, **options):
        environment = dict(os.environ, APT_CONFIG=os.path.join(self.root, "apt.conf"))
        return output(words, env=environment, **options)

    def _write(self, name, text):
        with open(os.path.join(self.root, name), "w", encoding="utf-8") as file:
            file.write(text)

    def _configure(self):
        for folder in ("lists/partial", "archives/partial", "etc/apt.conf.d",
                       "etc/preferences.d", "debs"):
            os.makedirs(os.path.join(self.root, folder), exist_ok=True)
        self._write("status", "")
        self._write("sources.list",
                    f"deb [signed-by={KEYRING}] {mirror()} {self.suite} main\n"
                    f"deb-src [signed-by={KEYRING}] {mirror()} {self.suite} main\n")
        self._write("apt.conf", APT_CONFIGURATION.format(root=self.root, arch=self.arch))

    def ready(self):
        stamp = os.path.join(self.root, "updated")
        if not os.path.exists(stamp):
            self._configure()
            self._apt("apt-get", "update", "-qq")
            open(stamp, "w", encoding="utf-8").close()
        return self

    def depends(self, package):
        """The packages that a meta package stands for."""
        lines = self.ready()._apt("apt-cache", "depends", "--important", package).splitlines()
        return [line.split(":")[1].strip() for line in lines if "Depends:" in line]

    def closure(self, *packages):
        """The packages and all that they need, as apt would install them."""
        lines = self.ready()._apt("apt-get", "install", "--simulate", "--no-install-recommends",
                                  "-y", *packages).splitlines()
        return [line.split()[1] for line in lines if line.startswith("Inst ")]

    def source(self, package, folder):
        """Unpacks a source package into the folder, as released, without Debian's changes."""
        self.ready()._apt("apt-get", "source", "--only-source", "--download-only", "--tar-only",
                          package, cwd=folder)
        call(["tar", "-x", "-f", one(f"{folder}/*.orig.tar.[gx]z"), "-C", folder])

    def download(self, package):
        """The package's file, fetched unless it is here already."""
        folder = os.path.join(self.root, "debs")
        found = glob.glob(os.path.join(folder, package + "_*.deb"))
        if not found:
            self.ready()._apt("apt-get", "download", f"{package}", cwd=folder)
            found = glob.glob(os.path.join(folder, package + "_*.deb"))
        if not found:
            raise Unavailable(f"{self.name} has no package {package}")
        return found[0]

    def unpack(self, package, wanted="*", label="all"):
        """The folder with the package's files that match the patterns (a space between)."""
        folder = cached("unpacked", self.name, package, label)
        stamp = folder + ".version"
        if os.path.exists(stamp):
            return folder
        file = self.download(package)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", file],
                              stdout=subprocess.PIPE) as tar:
            call(["tar", "-x", "-C", folder, "--wildcards", *wanted.split()], stdin=tar.stdout)
        with open(stamp, "w", encoding="utf-8") as out:
            out.write(output(["dpkg-deb", "-f", file, "Version"]))
        return folder

    def version(self, package, label="all"):
        with open(cached("unpacked", self.name, package, label + ".version"),
                  encoding="utf-8") as file:
            return file.read().strip()


def one(pattern):
    """The one file that matches."""
    found = sorted(glob.glob(pattern, recursive=True))
    if len(found) != 1:
        raise Unavailable(f"{len(found)} files match {pattern}")
    return found[0]


def kernel_package(suite, arch, flavour):
    """linux-image-amd64 is an empty package that needs the real one."""
    meta = f"linux-image-{flavour}"
    pin = cached("unpacked", f"{suite}-{arch}", meta + ".is")
    if not os.path.exists(pin):
        real = [p for p in Suite(suite, arch).depends(meta) if p.startswith("linux-image-")]
        if not real:
            raise Unavailable(f"{suite} has no {meta}")
        with open(pin, "w", encoding="utf-8") as file:
            file.write(real[0])
    with open(pin, encoding="utf-8") as file:
        return file.read().strip()


def _kernel_part(suite, arch, flavour, part):
    """From 7.x on the image and the modules are packages of their own."""
    whole = kernel_package(suite, arch, flavour)
    name = whole.replace("linux-image-", f"linux-{part}-")
    if os.path.exists(cached("unpacked", f"{suite}-{arch}", name)):
        return name
    if os.path.exists(cached("unpacked", f"{suite}-{arch}", whole)):
        return whole
    return name if name in Suite(suite, arch).depends(whole) else whole


def kernel(suite, arch, flavour):
    """The path of the kernel's image."""
    package = _kernel_part(suite, arch, flavour, "binary")
    folder = Suite(suite, arch).unpack(package, "*/vmlinu*", "boot")
    return one(folder + "/**/vmlinu*")


def kernel_modules(suite, arch, flavour, names):
    """Name -> file of some of the kernel's own modules."""
    package = _kernel_part(suite, arch, flavour, "modules")
    wanted = " ".join(f"*/{name}.ko*" for name in names)
    folder = Suite(suite, arch).unpack(package, wanted, "modules-" + "-".join(names))
    files = {name: one(f"{folder}/**/{name}.ko*") for name in names}
    return {name: _plain(file) for name, file in files.items()}


def _plain(file):
    """The file without its compression."""
    name, kind = os.path.splitext(file)
    if kind == ".xz":
        call(["xz", "-dk", file])
        os.remove(file)
        return name
    return file


def hypervisor(suite="bookworm", package="xen-hypervisor-4.17-amd64"):
    folder = Suite(suite, "amd64").unpack(package, "./boot/*", "boot")
    packed = one(folder + "/boot/xen-4*-amd64.gz")
    plain = packed[:-len(".gz")]
    if not os.path.exists(plain):
        call(["gunzip", "-k", packed])
    return plain


def busybox(suite, arch):
    folder = Suite(suite, arch).unpack("busybox-static", "*bin/busybox", "bin")
    return (glob.glob(folder + "/bin/busybox") + glob.glob(folder + "/usr/bin/busybox"))[0]
