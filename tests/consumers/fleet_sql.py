#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the SQL of src/share/sql and compares what it finds with what `vdsocheck fleet` does.

    tests/consumers/fleet_sql.py duckdb|clickhouse SQL FLEET

SQL is the folder, FLEET the document of `vdsocheck fleet --json` for ./clocks.jsonl. Prints the
time that the engine took. Exit status 1 if a result differs, 2 if the engine is not installed.
"""

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


def group_difference(key, unknown, rows, fleet):
    expected = {group["name"] or unknown: group for group in fleet[key]}
    if sorted(expected) != sorted(row[0] for row in rows):
        return f"{key}: other names: {set(expected) ^ {row[0] for row in rows}}"
    for name, *counts, mean in rows:
        group = expected[name]
        wanted = [group[count] for count in ("hosts", "wrong", "fallback", "slow", "unknown")]
        if wanted != counts or not about(group["mean_lost_ns"], mean):
            return f"{key}: {name}: {counts} {mean}, not {wanted} {group['mean_lost_ns']}"
    return None


def differences(results, fleet):
    verdicts, worst, causes, kernels, clocksources, types, cost = results
    wanted = {name: fleet[name] for name in ("ok", "wrong", "fallback", "slow", "unknown")
              if fleet[name]}
    yield None if dict(verdicts) == wanted else f"verdicts: {verdicts}, not {wanted}"
    for row, host in zip(worst, fleet["worst"]):
        if row[1] != host["verdict"] or not about(row[2], host["lost_ns"]):
            yield f"worst: {row}, not {host}"
    yield group_difference("by_cause", "none found", causes, fleet)
    yield group_difference("by_kernel", "unknown", kernels, fleet)
    yield group_difference("by_clocksource", "unknown", clocksources, fleet)
    yield group_difference("by_instance_type", "unknown", types, fleet)
    _, mean, rated, cpus, _ = cost[0]
    yield None if (rated == fleet["rated_hosts"] and about(mean, fleet["mean_lost_ns"]) and
                   about(cpus, fleet["lost_cpus"])) else f"cost: {cost}"


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
    with open(path, encoding="utf-8") as file:
        found = [what for what in differences(results, json.load(file)) if what]
    print("".join(f"{what}\n" for what in found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
