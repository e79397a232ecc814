# SPDX-License-Identifier: MIT
"""Whether `vdsocheck watch` reported each switch of the clocksource that a guest made."""

import json

# The times are rounded, and watch looks at the clock after it has woken up.
ROUNDING = 0.3

# The emulated host's shell and monitor take their time around a pause.
LATE = 10

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


def pause_problems(events, lost):
    """What is wrong with the lines of `watch --json` of a guest that was paused once."""
    events = [json.loads(line) for line in events.splitlines()]
    if [event["event"] for event in events] != ["start", "restored", "end"]:
        return ["the events are " + " ".join(event["event"] for event in events)]
    stood, offset, clock = (events[1][key] for key in ("stood_s", "clock_offset_s", "clock"))
    found = []
    if stood is None or not lost - 2 <= stood <= lost + LATE:
        found.append(f"{lost} s were lost, and reported as {stood} s")
    if clock != ("behind" if lost else "right") or not -lost - LATE <= offset <= 2 - lost:
        found.append(f"{lost} s were lost, and the clock is {clock}: {offset} s")
    return found


def latencies(events, switches):
    """Seconds from each switch in the guest to its event."""
    changes = [json.loads(line) for line in events.splitlines()][1:-1]
    return [round(change["uptime_s"] - float(switch.split()[2]), 1)
            for change, switch in zip(changes, switches.splitlines()) if switch.split()[2] != "-"]
