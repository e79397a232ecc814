# SPDX-License-Identifier: MIT
"""vdsocheck's libraries built from Debian's source packages.

For musl, as Debian's packages are glibc's, and for an architecture whose packages
are too new for the cross compiler of Debian 12.
"""

import glob
import os
import shutil

from fetch import Suite, cached
from shell import make

TOOLS = ("cmake", "gperf")
MUSL_PACKAGES = ("musl-tools", "linux-libc-dev", *TOOLS)
# The kernel's headers are the host's: musl-gcc has musl's own and no others.
MUSL = "musl-gcc -idirafter /usr/include -idirafter /usr/include/x86_64-linux-gnu"

# name -> the suite whose source package is taken, and the words for its build
CMAKE = ("-DCMAKE_C_COMPILER={compiler}", "-DCMAKE_SYSTEM_NAME=Linux",
         "-DCMAKE_INSTALL_LIBDIR=lib", "-DCMAKE_INSTALL_PREFIX={prefix}")
LIBRARIES = {
    # The one of bookworm does not know loong64.
    "libseccomp": ("trixie", "configure", ("--disable-shared", "--enable-static",
                                           "--host={host}", "CC={words}", "--prefix={prefix}")),
    "jansson": ("bookworm", "cmake", (*CMAKE, "-DJANSSON_BUILD_DOCS=OFF",
                                      "-DJANSSON_WITHOUT_TESTS=ON", "-DJANSSON_EXAMPLES=OFF")),
    "libcpuid": ("trixie", "cmake", (*CMAKE, "-DBUILD_SHARED_LIBS=OFF",
                                     "-DLIBCPUID_BUILD_DRIVERS=OFF",
                                     "-DLIBCPUID_ENABLE_TESTS=OFF")),
}


def _source(name, suite, work):
    """The folder of the source package as its authors released it."""
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    Suite(suite, "amd64").source(name, work)
    return next(path for path in glob.glob(work + "/*/") if os.path.isdir(path))


def _install(name, work, values):
    suite, kind, words = LIBRARIES[name]
    folder = _source(name, suite, work)
    words = [word.format(**values) for word in words]
    if kind == "configure":
        make(["./configure", *words], cwd=folder)
        make(["make", "install"], cwd=folder)
    else:
        make(["cmake", "-S", folder, "-B", folder + "build", *words])
        make(["make", "-C", folder + "build", "install"])


def for_make(label, words, host, libcpuid):
    """The variables and the environment for the project's Makefile."""
    prefix = cached("sources", label, "prefix")
    values = {"prefix": prefix, "words": words, "compiler": words.split()[0], "host": host}
    for name in LIBRARIES:
        stamp = cached("sources", label, name + ".done")
        if not os.path.exists(stamp) and (libcpuid or name != "libcpuid"):
            _install(name, cached("sources", label, name), values)
            open(stamp, "w", encoding="utf-8").close()
    return [f"CC={words}"], {"PKG_CONFIG_LIBDIR": f"{prefix}/lib/pkgconfig"}
