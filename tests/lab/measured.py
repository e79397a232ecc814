# SPDX-License-Identifier: MIT
"""What the step `hand` measures in a guest, as ratios.

Absolute times are the emulator's. What was measured in turn, in one boot, may be
compared all the same: the least of several turns is what nothing disturbed.
"""

import json

STEPS = ("hand",)


def _key(row):
    return (f"{row['call']} {row['clock'] or ''}".replace("CLOCK_", "").strip(), row["path"])


# ---- one turn of each step ------------------------------------------------------------


def _hand_turn(text):
    """By call and path: what the hand-written loop says."""
    found = {}
    for line in text.splitlines():
        name, least, _ = line.split()
        call, clock, path = name.split("-")
        found[_key({"call": call, "clock": clock, "path": path})] = float(least)
    return found


def _bench_turn(text):
    calls = json.loads(text)["calls"]
    return {_key(row): row["min_ns"] for row in calls if row["min_ns"] is not None}


# ---- all turns -------------------------------------------------------------------------


def _turns(reports, name, read):
    """What the turns of a step printed; ValueError where one did not."""
    texts = [text for report, (text, status) in reports.items()
             if report.startswith(name + "-") and report[len(name) + 1:].isdigit()
             and status == 0]
    try:
        return [read(text) for text in texts]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"a turn of {name} cannot be read: {error!r}") from error


def _least(turns, key):
    return min((turn[key] for turn in turns if key in turn), default=None)


def _hand(reports):
    """Beside a loop of one call for each count, and one of eight calls as ours has them."""
    hands, eights = (_turns(reports, name, _hand_turn) for name in ("hand", "hand8"))
    ours, found = _turns(reports, "bench", _bench_turn), []
    for key in (hands[0] if hands else ()):
        by_hand, of_eight, least = (_least(turns, key) for turns in (hands, eights, ours))
        if by_hand and of_eight and least:
            found.append({"call": key[0], "path": key[1], "turns": len(ours),
                          "hand_ns": by_hand, "hand_eight_ns": of_eight, "ours_ns": least,
                          "ratio": round(least / by_hand, 3),
                          "ratio_eight": round(least / of_eight, 3)})
    return found


READERS = {"hand": _hand}


def read(reports, names):
    """By step; ValueError with the reason where it measured nothing."""
    found = {}
    for name in names:
        found[name] = READERS[name](reports)
        if not found[name]:
            raise ValueError(f"the step {name} measured nothing")
    return found


# ---- tables ------------------------------------------------------------------------------


def _table(columns, rows):
    if not rows:
        return []
    lines = ["", "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]


def _measurements(rows, step):
    for row in rows:
        for measurement in (row.get("measured") or {}).get(step, ()):
            yield row, measurement


def tables(rows):
    """Lines of Markdown; none if the rows measured nothing."""
    by_hand = [(row["environment"], m["call"], m["path"], f"{m['hand_ns']:.1f}",
                f"{m['hand_eight_ns']:.1f}", f"{m['ours_ns']:.1f}", f"{m['ratio']:.3f}",
                f"{m['ratio_eight']:.3f}")
               for row, m in _measurements(rows, "hand")]
    return _table(("environment", "minimum of", "by", "by hand, ns", "by hand, eight", "ours, ns",
                   "ratio", "of eight"), by_hand)
