#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Judges the lab's recorded documents again: what real kernels showed once.

    check.py VDSOCHECK            each must get the same verdict, causes and advice
    check.py --write VDSOCHECK    write them anew, after a rule was changed on purpose

Prints one line for each that differs, and how many there were.
"""

import glob
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def _ids(document, key):
    return [piece["id"] for piece in document[key]]


def _gist(document):
    return {"verdict": document["verdict"], "exit status": document["exit_status"],
            "causes": _ids(document, "causes"), "advice": _ids(document, "advice")}


def _judge_again(program, path):
    result = subprocess.run([program, "--json", "--from", path], stdout=subprocess.PIPE, check=False)
    document = json.loads(result.stdout)
    if result.returncode != document["exit_status"]:
        raise ValueError(f"exit status {result.returncode}, not {document['exit_status']}")
    return document


def _differences(program, path):
    with open(path, encoding="utf-8") as file:
        recorded = json.load(file)
    if recorded["host"]["name"] is not None:
        return ["it names the host"]
    before, after = _gist(recorded), _gist(_judge_again(program, path))
    return [f"{key}: {after[key]}, recorded {before[key]}"
            for key in before if before[key] != after[key]]


def _write(program, path):
    document = _judge_again(program, path)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")


def _check(program, paths):
    failed = 0
    for path in paths:
        try:
            problems = _differences(program, path)
        except (ValueError, KeyError, TypeError) as error:
            problems = [f"no document: {error!r}"]
        for problem in problems:
            print(f"{os.path.basename(path)}: {problem}")
        failed += bool(problems)
    print(f"recorded: {len(paths) - failed} passed, {failed} failed")
    return 1 if failed or not paths else 0


def main(words):
    paths = sorted(glob.glob(os.path.join(HERE, "*.json")))
    if words[:1] == ["--write"] and len(words) == 2:
        for path in paths:
            _write(words[1], path)
        return 0
    if len(words) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    return _check(words[0], paths)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
