# SPDX-License-Identifier: MIT
"""Runs programs for the lab and tells one kind of failure from another."""

import os
import subprocess


class Unavailable(Exception):
    """Something an environment needs cannot be had here: it is skipped."""


def _complain(words, result):
    said = (result.stderr or result.stdout or b"").decode(errors="replace").strip()
    last = said.splitlines()[-1] if said else f"exit status {result.returncode}"
    raise Unavailable(f"{os.path.basename(words[0])} {' '.join(words[1:3])}: {last}")


def _run(words, **options):
    words = list(words)
    try:
        result = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                check=False, **options)
    except OSError as error:
        raise Unavailable(f"{words[0]}: {error.strerror}") from error
    if result.returncode != 0:
        _complain(words, result)
    return result


def call(words, **options):
    _run(words, **options)


def output(words, **options):
    return _run(words, **options).stdout.decode(errors="replace")
