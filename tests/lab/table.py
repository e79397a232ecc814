# SPDX-License-Identifier: MIT
"""Reads environments.txt, the table of what the lab boots."""

import os
import sys
from dataclasses import dataclass

from machines import FLAVOURS, MACHINES

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS = 10
TRUTHS = ("ok", "slow", "fallback", "sometimes", "crash", "no-vdso", "cannot-tell", "emulated",
          "any")


@dataclass(frozen=True)
class Expectation:
    """What one check of an environment must find."""
    clocksource: str
    mode: str
    truth: str
    causes: tuple


@dataclass(frozen=True)
class Environment:
    name: str
    kernel: str
    machine: str
    machine_words: tuple
    append: str
    steps: tuple
    expectations: tuple
    tags: tuple

    @property
    def suite(self):
        return self.kernel.split("/")[0]

    @property
    def flavour(self):
        return self.kernel.split("/")[1]

    @property
    def arch(self):
        return self.flavour if self.suite == "here" else FLAVOURS[self.flavour]

    def steps_after(self, number):
        """The steps between one check and the next one, each as its words."""
        checks, found = 0, []
        for step in self.steps:
            words = step.split()
            checks += words[0] == "check"
            if checks == number:
                found.append(words)
        return found[1:]


class TableError(Exception):
    pass


def _with_checks(steps, expectations):
    """Every check is told the clocksource to wait for; a lone one is implied."""
    if not any(step == "check" for step in steps):
        steps = (*steps, "check")
    if sum(step == "check" for step in steps) != len(expectations):
        raise TableError("as many checks as expectations are needed")
    expected = iter(expectations)
    return tuple(f"check {next(expected).clocksource}" if step == "check" else step
                 for step in steps)


def _list(text, separator=","):
    return tuple(word.strip() for word in text.split(separator) if word.strip())


def _parse_line(line):
    columns = [column.strip() for column in line.split("|")]
    if len(columns) != COLUMNS:
        raise TableError(f"{len(columns)} columns instead of {COLUMNS}")
    name, kernel, machine, append, steps, sources, modes, truths, causes, tags = columns
    causes = [_list(ids, "+") if ids != "-" else () for ids in _list(causes)]
    expectations = tuple(Expectation(*four) for four in
                         zip(_list(sources), _list(modes), _list(truths), causes, strict=True))
    for expectation in expectations:
        if expectation.truth not in TRUTHS:
            raise TableError(f"unknown truth '{expectation.truth}'")
    words = machine.split()
    if words[0] not in MACHINES:
        raise TableError(f"unknown machine '{words[0]}'")
    if not kernel.startswith("here/") and kernel.split("/")[-1] not in FLAVOURS:
        raise TableError(f"unknown kernel '{kernel}'")
    return Environment(name, kernel, words[0], tuple(words[1:]), append,
                       _with_checks(_list(steps, ";"), expectations), expectations,
                       tuple(tags.split()))


def read(path=os.path.join(HERE, "environments.txt")):
    environments = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line.startswith("#"):
                continue
            try:
                environments.append(_parse_line(line))
            except (TableError, ValueError) as error:
                sys.exit(f"{path}:{number}: {error}")
    names = [environment.name for environment in environments]
    if len(set(names)) != len(names):
        sys.exit(f"{path}: a name is used twice")
    return environments


def choose(environments, name=None, tag=None):
    if name:
        chosen = [e for e in environments if e.name in name.split(",")]
    elif tag:
        chosen = [e for e in environments if tag in e.tags]
    else:
        chosen = environments
    if not chosen:
        sys.exit(f"no environment is called '{name}'" if name else f"no environment has the tag '{tag}'")
    return chosen
