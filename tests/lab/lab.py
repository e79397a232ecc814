#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The lab: vdsocheck judged against real kernels and an oracle of its own.

    lab.py list [--tag TAG]              the environments' names
    lab.py deps [--env NAME] [--tag TAG] install the Debian packages they need
    lab.py run  [--env NAME] [--tag TAG] boot, compare, print one row each
    lab.py table RESULTS...              results as the README's table
    lab.py record RESULTS...             keep the documents of the rows with the tag "record"

Variables: LAB_CACHE (folder), LAB_JSON (file of results), LAB_MIRROR (of Debian),
LAB_SOURCE (another tree to build vdsocheck from).
"""

import argparse
import datetime
import json
import os
import sys
import traceback

import boot
import deps
import fetch
import judge
import keep
import measured
import table
from shell import Broken, Unavailable

LAYOUT = "{:<28} {:<27} {:>4} {:<8} {:<11} {:<9} {:>4} {:>6}  {}"


def _say(*columns):
    print(LAYOUT.format(*("-" if c is None else c for c in columns)).rstrip(), flush=True)


def _print_row(row):
    _say(row.name, row.clocksource, row.mode, row.how, row.truth, row.verdict, row.status,
         f"{row.seconds:.1f}", row.word)
    for line in row.problems + ([row.skipped] if row.skipped else []):
        print(f"    {line}", flush=True)


def _rows(environment):
    return [judge.Row(environment, number, expectation)
            for number, expectation in enumerate(environment.expectations, 1)]


def _judge_boot(rows, result, with_vdsocheck):
    checks = result.checks()
    for row, reports in zip(rows, checks):
        row.seconds = result.seconds
        judge.judge(row, reports, with_vdsocheck)
    for row in rows[len(checks):]:
        row.seconds = result.seconds
        row.blame("the boot ended before this check" if result.finished else
                  f"no answer after {result.seconds:.0f} s; see the log in {fetch.CACHE}/logs")
    for trouble in result.trouble():
        rows[0].blame(f"a step failed: {trouble}")
    return rows


def examine(environment, with_vdsocheck):
    """All rows of one environment."""
    rows = _rows(environment)
    try:
        return _judge_boot(rows, boot.run(environment, with_vdsocheck), with_vdsocheck)
    except Unavailable as reason:
        for row in rows:
            row.skipped = str(reason)
    except Broken as error:
        for row in rows:
            row.blame(str(error))
    except Exception:  # the lab's own defect must not end the other rows
        for row in rows:
            row.blame(traceback.format_exc(limit=-2))
    return rows


def _print_articles(rows):
    """The article's table: what five million calls took with each clocksource."""
    timed = [row for row in rows if row.article]
    for row in timed:
        times = (row.article[key] for key in ("real", "user", "sys"))
        print("{:<28} {:<12} {:>9} calls: real {:8.3f} s, user {:8.3f} s, sys {:8.3f} s".format(
            row.name, row.clocksource, row.article["calls"], *times))
    for slow, fast in zip(timed, timed[1:]):
        if slow.environment == fast.environment and fast.article["real"] > 0:
            print(f"{slow.environment}: {slow.clocksource} takes "
                  f"{slow.article['real'] / fast.article['real']:.1f} times as long as "
                  f"{fast.clocksource}")


def _cost(document):
    """What the vDSO takes for CLOCK_MONOTONIC."""
    return next((call["vdso_ns"] for call in (document or {}).get("calls", ())
                 if call["call"] == "clock_gettime" and call["clock"] == "CLOCK_MONOTONIC"), None)


def _print_copies(rows):
    """What tsc costs by the copy, beside what it costs in use: the nearest check of the same boot,
    since an emulator gets quicker with time."""
    costs = [_cost(row.document) if row.clocksource == "tsc" and row.verdict == "ok" else None
              for row in rows]
    for number, row in enumerate(rows):
        told = ((row.document or {}).get("what_if") or {}).get("counter_clocksource_ns")
        near = [(abs(other - number), costs[other]) for other, _ in enumerate(rows)
                if costs[other] and rows[other].environment == row.environment]
        if told and near:
            cost = min(near)[1]
            print(f"{row.name}: tsc by the copy {told:.1f} ns, in use {cost:.1f} ns, "
                  f"ratio {told / cost:.2f}")


def _write_results(rows, with_vdsocheck):
    path = os.environ.get("LAB_JSON") or fetch.cached("results.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schema": "vdsocheck-lab/1",
                   "date": datetime.datetime.now(datetime.timezone.utc).isoformat("T", "seconds"),
                   "oracle_only": not with_vdsocheck,
                   "rows": [row.as_dict() for row in rows]}, file, indent=1)
    return path


def run(environments, with_vdsocheck):
    _say("environment", "clocksource", "mode", "how", "truth", "verdict", "exit", "s", "")
    rows = []
    for environment in environments:
        for row in examine(environment, with_vdsocheck):
            _print_row(row)
            rows.append(row)
    _print_articles(rows)
    _print_copies(rows)
    for line in measured.tables([row.as_dict() for row in rows]):
        print(line)
    print(f"\nresults: {_write_results(rows, with_vdsocheck)}")
    count = {word: sum(row.word == word for row in rows) for word in ("right", "WRONG", "skipped")}
    print(f"lab: {count['right']} passed, {count['WRONG']} failed, {count['skipped']} skipped")
    return 1 if count["WRONG"] or not count["right"] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("list", "deps", "run", "table", "record"))
    parser.add_argument("results", nargs="*", help="files that a run wrote")
    parser.add_argument("--env", default=os.environ.get("ENV"), help="one, or several by comma")
    parser.add_argument("--tag", default=os.environ.get("TAG"), help="a subset")
    parser.add_argument("--oracle-only", action="store_true",
                        help="judge the environments alone, without vdsocheck")
    options = parser.parse_args()
    if options.command in ("table", "record"):
        return keep.COMMANDS[options.command](options.results)
    environments = table.choose(table.read(), options.env, options.tag)
    if options.command == "list":
        print("\n".join(environment.name for environment in environments))
        return 0
    deps.install(environments, with_vdsocheck=not options.oracle_only)
    if options.command == "deps":
        return 0
    return run(environments, not options.oracle_only)


if __name__ == "__main__":
    sys.exit(main())
