# SPDX-License-Identifier: MIT
"""Runs programs for the lab and distinguishes kinds of failure."""

import os
import shutil
import subprocess


class Unavailable(Exception):
    """Something an environment needs cannot be had here: it is skipped."""


class Broken(Exception):
    """Something of our own does not build: its environments are wrong, not skipped."""


def _what_it_said(words, result):
    said = (result.stderr or result.stdout or b"").decode(errors="replace").strip()
    last = " / ".join(said.splitlines()[-3:]) if said else f"exit status {result.returncode}"
    return f"{os.path.basename(words[0])} {' '.join(words[1:3])}: {last}"


def _run(words, **options):
    words = list(words)
    try:
        result = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                check=False, **options)
    except OSError as error:
        raise Unavailable(f"{words[0]}: {error.strerror}") from error
    if result.returncode != 0:
        raise Unavailable(_what_it_said(words, result))
    return result


def call(words, **options):
    _run(words, **options)


def output(words, **options):
    return _run(words, **options).stdout.decode(errors="replace")


def make(words, **options):
    """Builds something of ours: the tool may be missing, the build may not fail."""
    if not shutil.which(words[0]) and not words[0].startswith("./"):
        raise Unavailable(f"{words[0]} is not installed")
    try:
        call(words, **options)
    except Unavailable as error:
        raise Broken(str(error)) from error
