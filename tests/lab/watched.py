# SPDX-License-Identifier: MIT
"""Whether `vdsocheck watch` reported each switch of the clocksource that a guest made."""

import json

# The times are rounded, and watch looks at the clock after it has woken up.
ROUNDING = 0.3

# How exactly a restore is described: how long the clock stood still, and when that was.
EXACT_S = 0.1
LATE_S = 2
NOT_MEASURED = "absent: not measured"

SERVED = ("tsc", "arch_sys_counter")


def _page_is_valid(state):
    return state["pvclock_stable"] is not False and state["hyperv_sequence"] != 0


def _event_problems(event, switch):
    """
    A switch is the two names, and "-" or, of a switch in this guest, its uptime and that of the end
    of a sleep that began with it and lasted for the interval of the watch.
    """
    source, target, uptime, *slept = switch
    seen = (event["from"]["clocksource"], event["to"]["clocksource"])
    if seen != (source, target):
        yield f"{source} -> {target} was reported as {seen[0]} -> {seen[1]}"
    if uptime == "-":
        if _page_is_valid(event["to"]) or event["to"]["mode"] != event["from"]["mode"]:
            yield f"the page of {target} became invalid, not reported: {event['to']}"
        served = False
    else:
        served = target in SERVED
        seen_s, switched_s, slept_s = event["uptime_s"], float(uptime), float(slept[0])
        if not switched_s - ROUNDING <= seen_s <= slept_s + ROUNDING:
            yield (f"{source} -> {target} was noticed after {seen_s - switched_s:.1f} s, "
                   f"a sleep took {slept_s - switched_s:.1f} s")
        if (event["to"]["mode"] != 0) != served:
            yield f"the mode of {target} was reported as {event['to']['mode']}"
        if f"Switched to clocksource {target}" not in (event["kernel_log"] or ""):
            yield f"the kernel's line about {target} is missing: {event['kernel_log']}"
    verdict = "ok" if served else "fallback"
    if event["verdict"] != verdict:
        yield f"after {source} -> {target} the verdict is {event['verdict']}, not {verdict}"


def problems(events, switches):
    """What is wrong with the lines of `watch --json`, as text."""
    events = [json.loads(line) for line in events.splitlines()]
    switches = [line.split() for line in switches.splitlines()]
    if [event["event"] for event in events] != ["start", *["change"] * (len(switches) - 1), "end"]:
        return [f"{len(switches) - 1} switches, but the events are "
                + " ".join(event["event"] for event in events)]
    found = [] if switches[-1] == ["end", "0"] else [f"watch ended with {switches[-1][-1]}"]
    for event, switch in zip(events[1:], switches[:-1]):
        found += _event_problems(event, switch)
    return found


class Stood:
    """One step `stood`: the clock of a guest before and after what its host did to it."""

    def __init__(self, kind, reports):
        self.kind = kind
        part = {name: reports[f"stood-{kind}-{name}"][0]
                for name in ("before", "after", "ended", "check", "watch")}
        for name in ("before", "after"):  # the terminal repeats the answers before the result
            part[name] = part[name].splitlines()[-1]
        _, before, error, _ = (int(word) / 1e9 for word in part["before"].split())
        host, after, error_after, raw = (int(word) / 1e9 for word in part["after"].split())
        self.error = error + error_after
        self.lost = before - after
        self.offset = after
        self.document = json.loads(part["check"])
        self.events = [json.loads(line) for line in part["watch"].splitlines()]
        self.restored = [event for event in self.events if event["event"] == "restored"]
        base = self.document["pvclock_base"]
        # The guest's CLOCK_MONOTONIC_RAW has not stopped since.
        since = base["uptime_s"]
        self.late = None if since is None else host - (raw - since) - int(part["ended"]) / 1e9

    def as_dict(self):
        wall = self.document["wall_clock"]
        return {"kind": self.kind, "lost_s": round(self.lost, 3), "offset_s": round(self.offset, 3),
                "truth_error_s": round(self.error, 3), "events": [event["event"] for event in self.events],
                "stood_s": self.restored[0]["stood_s"] if self.restored else None,
                "restored": wall["restored"], "source": wall["source"], "found_offset_s": wall["offset_s"],
                "found_error_s": wall["error_s"], "late_s": self.late and round(self.late, 2)}

    def problems(self):
        """Restored, when, and by how much the clock is behind; a host that left its TSC is no restore."""
        wall = self.document["wall_clock"]
        events = [event["event"] for event in self.events if event["event"] != "change"]
        if events != ["start", *["restored"] * (self.kind != "away"), "end"]:
            yield f"the events are {' '.join(events)}"
        elif self.restored:
            stood, why = (self.restored[0].get(key) for key in ("stood_s", "clock_reason"))
            error = wall["error_s"] if wall["source"] != "ptp" else 0
            # On a loaded machine there may be no time to measure it.
            if why != NOT_MEASURED and (stood is None or abs(stood - self.lost) > EXACT_S + self.error + 2 * error):
                yield f"the clock lost {self.lost:.2f} s, reported as {stood} s"
            # Without a page nothing shows when it was.
            if self.late is not None and (not wall["restored"] or abs(self.late) > LATE_S):
                yield f"the restore is dated {self.late} s late"
        if wall["offset_s"] is None or abs(wall["offset_s"] - self.offset) > EXACT_S + self.error + wall["error_s"]:
            yield f"the clock is {self.offset:.2f} s ahead of the host's, reported as {wall['offset_s']} s"


def latencies(events, switches):
    """Seconds from each switch in the guest to its event."""
    changes = [json.loads(line) for line in events.splitlines()][1:-1]
    return [round(change["uptime_s"] - float(switch.split()[2]), 1)
            for change, switch in zip(changes, switches.splitlines()) if switch.split()[2] != "-"]
