# SPDX-License-Identifier: MIT
"""Debian packages of the host's own release that the chosen environments need."""

import os
import subprocess

import boot
import sources
import tools
from machines import ARCHITECTURES, MACHINES

ALWAYS = ("debian-archive-keyring", "dpkg", "tar", "gzip", "xz-utils", "zstd")
VDSOCHECK = ("make", "pkg-config", "libseccomp-dev", "libjansson-dev", "libiberty-dev",
             "libcpuid-dev")
MODULES = ("make", "gcc-12", "libelf1", "libssl3", "kmod")


def needed(environments, with_vdsocheck):
    packages = set(ALWAYS + (VDSOCHECK if with_vdsocheck else ()))
    for environment in environments:
        packages.update(MACHINES[environment.machine].packages)
        if environment.suite == "here":  # its words are packages
            packages.update(word for word in environment.machine_words if word not in tools.TOOLS)
        for build in boot.builds(environment):
            architecture = ARCHITECTURES.get(build.split("-")[0])
            packages.update(architecture.packages if architecture else ())
            packages.update(sources.TOOLS if architecture and architecture.from_source else ())
            packages.update(sources.MUSL_PACKAGES if build.endswith("-musl") else ())
        if boot.named(environment, "insmod"):
            packages.update(MODULES)
    return sorted(packages)


def _installed(package):
    state = subprocess.run(["dpkg-query", "-W", "-f", "${Status}", package],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return state.stdout.endswith(b" installed")


def _as_root(*words):
    command = list(words) if os.geteuid() == 0 else ["sudo", *words]
    print("lab:", " ".join(command), flush=True)
    return subprocess.run(command, check=False, stdout=subprocess.DEVNULL,
                          env=dict(os.environ, DEBIAN_FRONTEND="noninteractive")).returncode


def install(environments, with_vdsocheck=True):
    """Installs what is missing; an environment that then lacks something is skipped."""
    missing = [p for p in needed(environments, with_vdsocheck) if not _installed(p)]
    if not missing:
        return
    _as_root("apt-get", "update", "-qq")
    if _as_root("apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing) != 0:
        for package in missing:  # one that cannot be had must not keep the others out
            _as_root("apt-get", "install", "-y", "-qq", "--no-install-recommends", package)
