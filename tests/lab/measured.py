# SPDX-License-Identifier: MIT
"""What the steps `hand` and `threads` measure in a guest, as ratios.

Absolute times are the emulator's. What was measured in turn, in one boot, may be
compared all the same: the least of several turns is what nothing disturbed.
"""

import json

STEPS = ("hand", "threads")

# One ratio of contention may be this many times the other: a clock that two threads read at twice
# the cost by hand, and that `bench --threads` shows at that of one, is beyond it.
CONTENTION_FACTOR = 1.5


CLOCK_BY_SYSCALL = ("clock_gettime MONOTONIC", "syscall")


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


def _threads_turn(text):
    contention = json.loads(text)["contention"]
    return {_key(row): row for row in contention if row["together_ns"] is not None}


def _by_hand_turn(text):
    alone, together = map(float, text.split())
    return {"alone": alone, "together": together}


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


def _threads(reports):
    """By call and path; the ratio by hand is that of the clock's system call."""
    hands = _turns(reports, "by-hand", _by_hand_turn)
    alone, together = (_least(hands, key) for key in ("alone", "together"))
    if not alone:
        raise ValueError("the loop by hand measured nothing")
    by_hand = round(together / alone, 2)
    turns, found = _turns(reports, "threads", _threads_turn), []
    for call, path in dict.fromkeys(key for turn in turns for key in turn):
        rows = [turn[call, path] for turn in turns if (call, path) in turn]
        alone = min(row["alone_ns"] for row in rows)
        together = min(row["together_ns"] for row in rows)
        times = sorted(row["together_ns"] / row["alone_ns"] for row in rows)
        found.append({"call": call, "path": path, "turns": len(rows),
                      "threads": rows[0]["threads"], "cpus": rows[0]["cpus"],
                      "alone_ns": alone, "together_ns": together,
                      "times": round(together / alone, 2),
                      "times_by_hand": by_hand if (call, path) == CLOCK_BY_SYSCALL else None,
                      "times_least": round(times[0], 2), "times_most": round(times[-1], 2)})
    return found


READERS = {"hand": _hand, "threads": _threads}


def read(reports, names):
    """By step; ValueError with the reason where it measured nothing."""
    found = {}
    for name in names:
        found[name] = READERS[name](reports)
        if not found[name]:
            raise ValueError(f"the step {name} measured nothing")
    return found


def problems(measured):
    """Where `bench --threads` and the loop by hand differ on whether threads delay each other.
    On a busy machine ours may say that it could not be measured.
    """
    pairs = [(m["times"], m["times_by_hand"]) for m in measured.get("threads", ())
             if m["times_by_hand"]]
    return [f"contention of {times} is seen where it is {by_hand} by hand"
            for times, by_hand in pairs
            if not 1 / CONTENTION_FACTOR <= times / by_hand <= CONTENTION_FACTOR]


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
    contention = [(row["environment"], row["clocksource"], m["call"], m["path"],
               f"{m['alone_ns']:.0f}", f"{m['together_ns']:.0f}", f"{m['times']:.2f}",
               f"{m['times_least']:.2f} to {m['times_most']:.2f}",
               f"{m['times_by_hand']:.2f}" if m["times_by_hand"] else "-")
              for row, m in _measurements(rows, "threads")]
    return (_table(("environment", "minimum of", "by", "by hand, ns", "by hand, eight", "ours, ns",
                    "ratio", "of eight"), by_hand)
            + _table(("environment", "clocksource", "ns per call of", "by", "one thread",
                      "together", "times", "in each turn", "by hand"), contention))
