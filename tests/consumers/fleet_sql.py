#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the SQL of src/share/sql and compares what it finds, and what `vdsocheck --format line` prints,
with the documents.

    tests/consumers/fleet_sql.py duckdb|clickhouse SQL LINES

SQL is the folder, LINES what `vdsocheck --format line` printed for ./clocks.jsonl, which the engine
reads, too. Prints the time that the engine took. Exit status 1 if a result differs, 2 if the engine is not installed.
"""

import collections
import json
import re
import sys
import time


def statements(*paths):
    text = "".join(open(path, encoding="utf-8").read() for path in paths)
    return [words.strip() for words in re.sub("--.*", "", text).split(";") if words.strip()]


def duckdb_engine():
    import duckdb
    return duckdb.connect(), lambda engine, words: engine.execute(words).fetchall()


def clickhouse_engine():
    from chdb import session
    return session.Session(), lambda engine, words: [
        tuple(json.loads(line)) for line in str(engine.query(words, "JSONCompactEachRow")).split("\n")
        if line]


ENGINES = {"duckdb": duckdb_engine, "clickhouse": clickhouse_engine}


def about(one, other):
    """Alike up to the last digit that is printed, which engines round in two ways."""
    if one is None or other is None:
        return one is other
    return abs(one - other) <= 0.1001 + 1e-6 * abs(one)


VERDICTS = ("wrong", "fallback", "slow", "unknown")


class Group:
    """Hosts that have something in common."""

    def __init__(self):
        self.verdicts, self.lost, self.count = collections.Counter(), 0.0, 0

    def add(self, verdict, lost_ns):
        self.verdicts[verdict] += 1
        if verdict != "ok" and lost_ns is not None:
            self.lost += lost_ns
            self.count += 1

    def hosts(self):
        return sum(self.verdicts.values())

    def row(self):
        return [self.hosts(), *(self.verdicts[verdict] for verdict in VERDICTS)]

    def mean(self):
        return self.lost / self.count if self.count else None


class Fleet:
    """What the documents say."""

    def __init__(self, lines):
        self.by = {key: collections.defaultdict(Group)
                   for key in ("all", "cause", "first_cause", "kernel", "clocksource", "type")}
        self.rated, self.cpus, self.worst = 0, 0.0, []
        for line in lines:
            self.add(json.loads(line))

    def add(self, document):
        verdict, lost_ns = document["verdict"], document["cost"]["lost_ns"]
        causes = [cause["id"] for cause in document["causes"]] or ["none found"]
        names = {"all": ["all"], "kernel": [document["host"]["kernel"]],
                 "clocksource": [document["clocksource"]["current"]],
                 "type": [document["host"].get("instance_type")],
                 "cause": causes if verdict != "ok" else [],
                 "first_cause": causes[:1] if verdict != "ok" else []}
        for key, found in names.items():
            for name in found:
                self.by[key][name or "unknown"].add(verdict, lost_ns)
        if verdict != "ok" and lost_ns is not None:
            rate = document["cost"]["rate_per_s"]
            self.rated += rate is not None
            self.cpus += lost_ns * (rate or 0) / 1e9
            self.worst.append(lost_ns)


def group_difference(key, rows, expected):
    if sorted(expected) != sorted(row[0] for row in rows):
        return f"{key}: other names: {set(expected) ^ {row[0] for row in rows}}"
    for name, *counts, mean in rows:
        group = expected[name]
        if group.row() != counts or not about(group.mean(), mean):
            return f"{key}: {name}: {counts} {mean}, not {group.row()} {group.mean()}"
    return None


def sql_differences(results, fleet):
    verdicts, worst, causes, kernels, clocksources, types, cost = results
    wanted = dict(fleet.by["all"]["all"].verdicts)
    yield None if dict(verdicts) == wanted else f"verdicts: {verdicts}, not {wanted}"
    order = [{"wrong": 0, "fallback": 1, "slow": 2, "unknown": 3}[row[1]] for row in worst]
    yield None if order == sorted(order) else f"worst: {worst}"
    for key, rows in (("cause", causes), ("kernel", kernels), ("clocksource", clocksources),
                      ("type", types)):
        yield group_difference(key, rows, fleet.by[key])
    _, mean, rated, cpus, _ = cost[0]
    yield None if (rated == fleet.rated and about(fleet.by["all"]["all"].mean(), mean) and
                   about(fleet.cpus if rated else None, cpus)) else f"cost: {cost}"


def line_differences(lines, fleet):
    """vdsocheck judges anew, by the version that wrote the documents."""
    rows = [line.split() for line in lines]
    for column, key, unknown in ((5, "first_cause", "none found"), (6, "kernel", "unknown")):
        found = collections.Counter(row[column] for row in rows if row[1] != "ok")
        found[unknown] += found.pop("-", 0)
        wanted = collections.Counter({name: group.hosts() - group.verdicts["ok"]
                                      for name, group in fleet.by[key].items()})
        yield None if +found == +wanted else f"line: {key}: {found}, not {wanted}"
    found, wanted = collections.Counter(row[1] for row in rows), fleet.by["all"]["all"].verdicts
    yield None if found == wanted else f"line: {found}, not {wanted}"


def main(name, folder, path):
    try:
        engine, ask = ENGINES[name]()
    except ImportError as error:
        print(error)
        return 2
    start, results = time.monotonic(), []
    for words in statements(f"{folder}/{name}.sql", f"{folder}/fleet.sql"):
        rows = ask(engine, words)
        if words.startswith("SELECT"):
            results.append(rows)
    print(f"      {name}: {time.monotonic() - start:.1f} s")
    with open("clocks.jsonl", encoding="utf-8") as lines, open(path, encoding="utf-8") as file:
        fleet = Fleet(lines)
        found = [what for what in (*sql_differences(results, fleet),
                                   *line_differences(file, fleet)) if what]
    print("".join(f"{what}\n" for what in found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
