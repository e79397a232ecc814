#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Looks at a Grafana dashboard.

    dashboard.py model FILE      prints what Grafana's own model of a dashboard does not keep of it
    dashboard.py queries FILE    prints its queries, a line each, with its variables filled in
"""

import json
import sys


def differences(ours, theirs, path=""):
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key, value in ours.items():
            if key in theirs:
                yield from differences(value, theirs[key], f"{path}.{key}")
            else:
                yield f"{path}.{key}: not in the model"
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, pair in enumerate(zip(ours, theirs)):
            yield from differences(*pair, f"{path}[{number}]")
    elif ours != theirs:
        yield f"{path}: {ours} became {theirs}"


def model(dashboard):
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.models.dashboard import Dashboard

    read = Dashboard.from_json(dashboard)
    yield from differences(dashboard, json.loads(json.dumps(read, cls=JSONEncoder)))


def queries(dashboard):
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield target["expr"].replace("$job", ".+").replace("$instance", ".+").replace("$__range", "1h")


def main(what, path):
    with open(path, encoding="utf-8") as file:
        for line in {"model": model, "queries": queries}[what](json.load(file)):
            print(line)


main(*sys.argv[1:])
