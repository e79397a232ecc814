# SPDX-License-Identifier: MIT
"""Compares what vdsocheck said with what the oracle knows and the table expects."""

import json
import re

import measured

# The only verdicts and exit statuses that do justice to each truth.
VERDICTS = {"ok": "ok", "slow": "slow", "fallback": "fallback", "sometimes": "fallback", "no-vdso": "fallback",
            "crash": "unknown", "emulated": "unknown", "cannot-tell": "unknown"}
STATUSES = {"ok": 0, "fallback": 1, "slow": 1, "wrong": 1, "unknown": 2}
LOG_MAX = 12  # vdsocheck keeps as many lines; a full log may lack some
ANY = "any"  # in the table: it changes while it is looked at
TRACED_CALLS = 100  # as the table's steps "trace 100"
COUNTED_PROGRAMS = 6  # for each turn of "counts"
LEAST_READS = 1000  # of the time-warp test
MODE_MUST_BE_READ = ("amd64", "i386", "arm64")


class Row:
    """One check of one environment: what was seen and what is wrong with it."""

    def __init__(self, environment, number, expectation):
        several = len(environment.expectations) > 1
        self.name = f"{environment.name}#{number}" if several else environment.name
        self.environment = environment.name
        steps = {words[0]: words[1:] for words in environment.steps_after(number)}
        self.measures = [name for name in steps if name in measured.STEPS]
        self.warp = steps.get("warp")  # verdict
        self.counts = steps.get("counts", ["0"])[0]  # times
        self.running = int(steps.get("running", ["0"])[0])  # calls
        self.arch = environment.arch
        self.expectation = expectation
        self.clocksource = self.mode = self.how = self.truth = self.verdict = self.status = None
        self.oracle = self.document = self.article = self.measured = self.copy = None
        self.causes = self.advice = None
        self.log = []
        self.problems = []
        self.skipped = None
        self.seconds = 0.0

    @property
    def word(self):
        return "skipped" if self.skipped else "WRONG" if self.problems else "right"

    def blame(self, text):
        self.problems.append(text)

    def as_dict(self):
        return {"environment": self.name, "result": self.word, "problems": self.problems,
                "skipped": self.skipped, "clocksource": self.clocksource, "mode": self.mode,
                "how": self.how, "truth": self.truth, "verdict": self.verdict,
                "exit_status": self.status, "causes": self.causes, "advice": self.advice,
                "seconds": round(self.seconds, 1),
                "article": self.article, "measured": self.measured, "copy": self.copy,
                "log": self.log, "oracle": self.oracle, "document": self.document}


def _document(report, what, row):
    """The JSON of one report, or None and the reason why there is none."""
    if not report:
        row.blame(f"{what} was not run")
        return None
    text, status = report
    try:
        return json.loads(text)
    except ValueError:
        row.blame(f"{what} printed no JSON (exit status {status}): {text[:200]!r}")
        return None


def _judge_environment(row, reports):
    expected = row.expectation
    row.clocksource = reports["clocksource"][0] or "-"
    if expected.clocksource not in (row.clocksource, ANY):
        row.blame(f"the clocksource is {row.clocksource}, not {expected.clocksource}")
    row.oracle = _document(reports.get("oracle"), "oracle", row)
    row.truth = (row.oracle or {}).get("truth")
    if row.oracle and expected.truth == "emulated" and row.truth in ("no-vdso", "cannot-tell"):
        row.truth = "emulated"  # no kernel answers here: nothing is learnt about the host
    if row.oracle and expected.truth not in (row.truth, ANY):
        row.blame(f"the oracle says {row.truth} ({row.oracle.get('reason')}), not {expected.truth}")


def _judge_mode(row):
    vclock = row.document.get("vclock") or {}
    row.mode, row.how = vclock.get("mode"), vclock.get("how")
    expected = row.expectation.mode
    if expected == ANY:
        return
    if expected == "-":
        if row.how == "read":
            row.blame(f"a mode was read ({row.mode}) where there is none")
        return
    if row.how == "read" or row.mode is not None:
        if str(row.mode) != expected:
            row.blame(f"the mode is said to be {row.mode}, not {expected}")
    if row.how != "read" and row.arch in MODE_MUST_BE_READ:
        row.blame(f"the mode was not read but {row.how}: {vclock.get('reason')}")


def _judge_copy(row, report):
    """On a copy of the vDSO the mode has to be found without the table of layouts, too."""
    row.copy = _document(report, "copy_search", row)
    taken = (row.document.get("proof") or {}).get("taken")
    if not row.copy or not taken or row.how != "read" or row.truth not in ("ok", "slow", "fallback"):
        return
    if row.oracle["seccomp_refused"] is not False:
        return  # the search counts by a seccomp filter, as the oracle does
    if "SIGSEGV" in row.copy["reason"]:
        return  # the counter is off: no present value of it can be written beside the mode
    if not row.copy["found"]:
        row.blame(f"no mode was found on a copy of the vDSO: {row.copy['reason']}")
    elif row.copy["mode"] != row.mode or row.copy["differing"]:
        row.blame(f"on a copy of the vDSO the mode is {row.copy['mode']}, not {row.mode}; "
                  f"{row.copy['differing']} of {row.copy['runs']} searches differ")


def _judge_verdict(row, report):
    row.verdict, row.status = row.document.get("verdict"), report[1]
    right = VERDICTS.get(row.truth)
    if row.verdict != right:
        row.blame(f"the verdict is {row.verdict}, not {right}")
    if row.status != STATUSES.get(row.verdict) or row.status != row.document.get("exit_status"):
        row.blame(f"the exit status is {row.status}, the document says "
                  f"{row.document.get('exit_status')}")


def _judge_proof(row):
    """Where the oracle could put up its filter, vdsocheck could too."""
    taken = (row.document.get("proof") or {}).get("taken")
    able = row.truth in ("ok", "slow", "fallback") and not row.oracle["seccomp_refused"]
    if able and taken is not True:
        row.blame(f"no proof was taken: {(row.document.get('proof') or {}).get('reason')}")


def _judge_shares(row):
    """Where some calls enter and some do not, the document has to say so."""
    calls = [call for call in row.document.get("calls", ()) if call.get("decides")]
    entered = sum(call.get("entered_kernel") or 0 for call in calls)
    attempts = sum(call.get("attempts") or 0 for call in calls)
    changes = (row.document.get("clocksource") or {}).get("changes") or 0
    if row.truth == "sometimes" and changes < 2 and not 0 < entered < attempts:
        row.blame(f"{entered} of {attempts} calls are said to enter the kernel, not some of them")


def _judge_causes(row):
    row.causes = [cause.get("id") for cause in row.document.get("causes", ())]
    for wanted in row.expectation.causes:
        if wanted.startswith("!"):
            if wanted[1:] in row.causes:
                row.blame(f"{wanted[1:]} is not the cause here")
        elif wanted not in row.causes:
            row.blame(f"the causes lack {wanted}: {', '.join(row.causes) or 'none'}")


# Lines that tell why a clocksource was chosen or dropped, in any kernel's words.
TELLING = re.compile(r"unstable|unsynchroni|warp|skew|not supported|Disabling VDSO|"
                     r"Switched to clocksource|Override clocksource|workaround for|"
                     r"could not calculate TSC", re.IGNORECASE)


def _judge_log(row):
    """Where there is something to explain, no telling line of the kernel's may be missed."""
    log = row.document.get("kernel_log") or {}
    kept = [line.get("text", "") for line in log.get("lines") or ()]
    if row.verdict == "ok" or not kept or len(kept) >= LOG_MAX:
        return
    for line in row.log:
        text = re.sub(r"^(<\d+>)?\[[^]]*\] ", "", line)
        if TELLING.search(text) and not any(text in one or one in text for one in kept):
            row.blame(f"a line of the kernel log was missed: {text}")


def _judge_advice(row):
    """None where nothing is wrong, and never a clocksource that cannot be had."""
    advice = row.document.get("advice", ())
    row.advice = [piece.get("id") for piece in advice]
    if row.verdict == "ok" and advice:
        row.blame(f"advice is given where nothing is wrong: {', '.join(row.advice)}")
    offered = (row.document.get("clocksource") or {}).get("available") or ()
    for piece in advice:
        commands = " ".join(step.get("command") or "" for step in piece.get("steps") or ())
        for name in re.findall(r"echo (\S+) \| sudo tee \S*current_clocksource", commands):
            if name not in offered or name == row.clocksource:
                row.blame(f"{piece.get('id')} advises {name}: offered {' '.join(offered)}, "
                          f"current {row.clocksource}")


def _judge_trace(row, reports):
    """
    The article's program makes one call more than it is asked for. All of them or none are system
    calls, which the vDSO makes; as if the host fell back, all are. A user has counts of the vDSO's
    calls alone, which are known to be system calls where it falls back.
    """
    for way, counts_calls in (("bpf", True), ("user", False), ("as-if", True)):
        if f"trace-{way}" not in reports:
            continue
        trace = _document(reports[f"trace-{way}"], f"trace by {way}", row)
        if not trace:
            continue
        counted = sum(call["count"] or 0 for call in trace["calls"] if call["call"] == "gettimeofday")
        falls_back = row.truth == "fallback" or way == "as-if"
        wanted = TRACED_CALLS + 1 if falls_back else 0
        if counted != wanted:
            row.blame(f"trace by {way} counted {counted} calls, not {wanted}")
        served = sum(call["served"] or 0 for call in trace["calls"] if call["call"] == "gettimeofday")
        wanted = TRACED_CALLS + 1 - wanted
        if trace["served_reason"] or served != wanted:
            row.blame(f"trace by {way} counted {served} served calls, not {wanted}: {trace['served_reason']}")
        if counts_calls == any(missed["kind"] == "system-calls" for missed in trace["not_counted"]):
            row.blame(f"trace by {way}: system calls that were not counted: {trace['not_counted']}")
        if way == "user" and trace["verdict"] != ("fallback" if falls_back else "served"):
            row.blame(f"trace as a user is {trace['verdict']}")
        if way == "as-if" and trace["verdict"] != "simulated":
            row.blame(f"trace as if the host fell back is {trace['verdict']}")
        origins = {place["origin"] for place in trace["system_call_places"] or () if place["call"] == "gettimeofday"}
        if falls_back and way == "bpf" and origins != {"vdso"}:
            row.blame(f"trace by {way}: the system calls are made by {origins}, not by the vDSO")


def _judge_counts(row, text):
    """Each read is counted, once; as if the host fell back, it is a system call."""
    lines = text.splitlines()
    if len(lines) < COUNTED_PROGRAMS * int(row.counts):
        row.blame(f"trace: {len(lines)} counts of known programs")
    for line in lines:
        words = line.split()
        wanted = ["0", words[2], words[2] if words[1] == "fallback" else "0", "0"]
        if words[3:7] != wanted or (words[0] == "read" and words[7:] not in (["null"], ["read_clock"])):
            row.blame(f"trace of a known program: {line}")


def _judge_running(row, text):
    """
    A process makes as many calls of clock_gettime(), gettimeofday() and time(), which is never a
    system call. It is counted, goes on, and nothing of it leads to counters then.
    """
    system_calls = 2 * row.running if row.truth == "fallback" else 0
    wanted = [f"--count --yes 143 {3 * row.running} {system_calls} unchanged",
              f"without 143 null {system_calls} unchanged"]
    if text.splitlines() != wanted:
        row.blame(f"trace of a running process: {text.splitlines()}, not {wanted}")


def _judge_measured(row, reports):
    """There have to be figures."""
    try:
        row.measured = measured.read(reports, row.measures) or None
    except ValueError as error:
        row.blame(str(error))


def _judge_warp(row, reports):
    """The verdict is that of the step, and the independent test sees warps where ours does."""
    document = _document(reports.get("warp", ("", 1)), "warp", row)
    words = reports.get("time-warps", ("", 1))[0].split()
    if not document:
        return
    if document["verdict"] != row.warp[0]:
        row.blame(f"warp: {document['verdict']}, not {row.warp[0]}")
    if len(words) != 4 or int(words[1]) < LEAST_READS:
        row.blame("warp: the time-warp test did not run: " + " ".join(words))
    elif (int(words[2]) > 0) != (document["verdict"] == "warps"):
        row.blame(f"warp: {document['verdict']}, by the time-warp test {words[2]} warps")


def judge(row, reports, with_vdsocheck):
    _judge_environment(row, reports)
    row.log = reports["log"][0].splitlines() if "log" in reports else []
    if "article" in reports:
        row.article = _document(reports["article"], "article", row)
    if with_vdsocheck:
        _judge_measured(row, reports)
    if with_vdsocheck and row.warp:
        _judge_warp(row, reports)
    if not with_vdsocheck or not row.oracle:
        return row
    row.document = _document(reports.get("vdsocheck"), "vdsocheck", row)
    _judge_trace(row, reports)
    if int(row.counts):
        _judge_counts(row, reports.get("counts", ("", 0))[0])
    if row.running:
        _judge_running(row, reports.get("running", ("", 0))[0])
    if row.document:
        _judge_verdict(row, reports["vdsocheck"])
        _judge_mode(row)
        if "copy" in reports:
            _judge_copy(row, reports["copy"])
        _judge_proof(row)
        _judge_shares(row)
        _judge_causes(row)
        _judge_log(row)
        _judge_advice(row)
    return row
