# SPDX-License-Identifier: MIT
"""vdsocheck's libraries built with musl-gcc from Debian's source packages."""

import glob
import os
import shutil

from fetch import Suite, cached
from shell import make

PACKAGES = ("musl-tools", "cmake", "gperf", "linux-libc-dev")
# The kernel's headers are the host's: musl-gcc has musl's own and no others.
COMPILER = "musl-gcc -idirafter /usr/include -idirafter /usr/include/x86_64-linux-gnu"

# name -> the suite whose source package is taken, and the words for its build
CMAKE = ("-DCMAKE_C_COMPILER=musl-gcc", "-DCMAKE_INSTALL_LIBDIR=lib",
         "-DCMAKE_INSTALL_PREFIX={prefix}")
LIBRARIES = {
    "libseccomp": ("bookworm", "configure", ("--disable-shared", "--enable-static",
                                             f"CC={COMPILER}", "--prefix={prefix}")),
    "jansson": ("bookworm", "cmake", (*CMAKE, "-DJANSSON_BUILD_DOCS=OFF",
                                      "-DJANSSON_WITHOUT_TESTS=ON", "-DJANSSON_EXAMPLES=OFF")),
    "libcpuid": ("trixie", "cmake", (*CMAKE, "-DBUILD_SHARED_LIBS=OFF",
                                     "-DLIBCPUID_BUILD_DRIVERS=OFF",
                                     "-DLIBCPUID_ENABLE_TESTS=OFF")),
}


def _source(name, suite):
    """The folder of the source package as its authors released it."""
    work = cached("musl", name, "")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    Suite(suite, "amd64").source(name, work)
    return next(path for path in glob.glob(work + "*/") if os.path.isdir(path))


def _install(name, prefix):
    suite, kind, words = LIBRARIES[name]
    folder = _source(name, suite)
    words = [word.format(prefix=prefix) for word in words]
    if kind == "configure":
        make(["./configure", *words], cwd=folder)
        make(["make", "install"], cwd=folder)
    else:
        make(["cmake", "-S", folder, "-B", folder + "build", *words])
        make(["make", "-C", folder + "build", "install"])


def libraries():
    """The prefix where they are installed."""
    prefix = cached("musl", "prefix")
    for name in LIBRARIES:
        stamp = cached("musl", name + ".done")
        if not os.path.exists(stamp):
            _install(name, prefix)
            open(stamp, "w", encoding="utf-8").close()
    return prefix


def for_make():
    """The variables and the environment for the project's Makefile."""
    prefix = libraries()
    return [f"CC={COMPILER}"], {"PKG_CONFIG_LIBDIR": f"{prefix}/lib/pkgconfig"}
