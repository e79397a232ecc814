# SPDX-License-Identifier: MIT
"""What is kept of results: the README's table and the recorded documents."""

import json
import os

import measured
import table

HOSTS = os.path.join(os.path.dirname(table.HERE), "hosts")


def _rows(paths):
    """The rows of several results, a later one's in the place of an earlier one's."""
    rows = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            rows.update((row["environment"], row) for row in json.load(file)["rows"])
    order = [environment.name for environment in table.read()]
    known = [row for row in rows.values() if _name(row) in order]
    return sorted(known, key=lambda row: (order.index(_name(row)), row["environment"]))


def _name(row):
    return row["environment"].split("#")[0]


def _kernel(row):
    return ((row["document"] or {}).get("host") or {}).get("kernel") or ""


def print_table(paths):
    columns = ("environment", "kernel", "clocksource", "mode", "truth", "verdict", "causes", "s", "")
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    rows = _rows(paths)
    for row in rows:
        mode = "" if row["mode"] is None else row["mode"]
        cells = (row["environment"], _kernel(row), row["clocksource"], mode, row["truth"],
                 row["verdict"], ", ".join(row["causes"] or ()), row["seconds"], row["result"])
        print("| " + " | ".join("" if cell is None else str(cell) for cell in cells) + " |")
    for line in measured.tables(rows):
        print(line)
    return 0


def record(paths):
    wanted = {environment.name for environment in table.read() if "record" in environment.tags}
    for row in _rows(paths):
        if _name(row) not in wanted or not row["document"] or row["result"] != "right":
            continue
        place = os.path.join(HOSTS, "lab-" + row["environment"].replace("#", "-"))
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, "document.json"), "w", encoding="utf-8") as file:
            json.dump(row["document"], file, indent=1)
            file.write("\n")
    return 0


COMMANDS = {"table": print_table, "record": record}
