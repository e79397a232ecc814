#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes documents of many hosts from those of a few.

    tests/consumers/documents.py COUNT <DOCUMENTS >DOCUMENTS

Both are JSON lines of vdsocheck/1. One host in ten is not ok. Hosts have names, instances and
instance types; one in a hundred has no name, and one in three a rate of calls. The same count makes the same documents. What no judgement needs is left
out, so that a million takes 5 GB.
"""

import json
import random
import sys

TYPES = ("t2.large", "m4.xlarge", "c5.2xlarge", "m6g.large", "Standard_D4s_v5", "n2-standard-8")
SLOTS = ("@name@", "@id@", "@type@", "@time@", "@rate@")


def is_needed(call):
    return call["decides"] or call["clock"] == "CLOCK_MONOTONIC_COARSE"


def strip(value):
    """Without the reasons that are null, which a document may lack."""
    if isinstance(value, dict):
        return {key: strip(inner) for key, inner in value.items()
                if inner is not None or not key.endswith("reason")}
    return value


def template(line):
    """The document with slots, as the texts between them and the slots' names."""
    document = json.loads(line)
    document = strip(document)
    document.pop("file", None)
    document["calls"] = [strip(call) for call in document["calls"] if is_needed(call)]
    document["advice"] = []
    document["causes"] = [{"id": cause["id"]} for cause in document["causes"]]
    document["host"].update(name="@name@", instance_id="@id@", instance_type="@type@")
    document["time"] = "@time@"
    document["cost"]["rate_per_s"] = "@rate@"
    text, pieces = json.dumps(document, separators=(",", ":")), []
    while True:
        at = [(text.index(f'"{slot}"'), slot) for slot in SLOTS if f'"{slot}"' in text]
        if not at:
            return document["verdict"], pieces + [text]
        place, slot = min(at)
        pieces += [text[:place], slot]
        text = text[place + len(slot) + 2:]


def fill(pieces, values):
    return "".join(values.get(piece, piece) for piece in pieces) + "\n"


def main():
    count, dice = int(sys.argv[1]), random.Random(1)
    templates = [template(line) for line in sys.stdin]
    healthy = [pieces for verdict, pieces in templates if verdict == "ok"]
    ill = [pieces for verdict, pieces in templates if verdict != "ok"]
    written = 0
    while written < count:
        pieces = dice.choice(ill if dice.random() < 0.1 else healthy)
        is_named = dice.random() >= 0.01
        values = {
            "@name@": f'"web-{written:07}"' if is_named else "null",
            "@id@": f'"i-{written:012x}"',
            "@type@": f'"{dice.choice(TYPES)}"',
            "@time@": f'"2026-11-21T{dice.randrange(24):02}:00:00Z"',
            "@rate@": str(float(dice.randrange(1, 500) * 1000)) if dice.random() < 0.3 else "null",
        }
        sys.stdout.write(fill(pieces, values))
        written += 1


if __name__ == "__main__":
    main()
