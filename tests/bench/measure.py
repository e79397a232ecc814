# SPDX-License-Identifier: MIT
"""What the benchmarks have in common: load, wall time, peak memory."""
import os
import subprocess
import time

BUSY_LOOPS = 3


class Load:
    """Busy loops on every CPU while the block runs."""

    def __init__(self, per_cpu):
        self.loops = [
            subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"])
            for cpu in os.sched_getaffinity(0)
            for _ in range(per_cpu)
        ]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for loop in self.loops:
            loop.kill()
            loop.wait()


CONDITIONS = (("quiet", 0), (f"{BUSY_LOOPS} busy loops on every CPU", BUSY_LOOPS))


def measure_wall(command):
    """Wall time of one run, in ms."""
    start = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return 1000 * (time.monotonic() - start)


def measure_memory(command):
    """Peak resident kB. Asked of time(1), a small program: a child begins with its parent's."""
    if not os.path.exists("/usr/bin/time"):
        return "-"
    out = subprocess.run(["/usr/bin/time", "-q", "-f", "%M"] + command, check=False,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return out.stderr.split()[-1]
