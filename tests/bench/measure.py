# SPDX-License-Identifier: MIT
"""What the benchmarks have in common: the machine, load, wall time, peak memory."""
import glob
import os
import platform
import subprocess
import time

BUSY_LOOPS = 3


def first_line(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.readline().strip()
    except OSError:
        return None


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{len(names)} x {names[0]}" if names else platform.machine()


def print_machine(cpu):
    """What the numbers depend on, as far as it can be read."""
    base = f"/sys/devices/system/cpu/cpu{cpu}"
    flags = next((line for line in open("/proc/cpuinfo", encoding="utf-8")
                  if line.startswith("flags")), "")
    print(f"  CPU          {cpu_model()}{', virtual' if ' hypervisor' in flags else ''}")
    print(f"  siblings     {first_line(base + '/topology/thread_siblings_list') or 'unknown'}"
          f" (of CPU {cpu})")
    print(f"  frequency    {first_line(base + '/cpufreq/scaling_governor') or 'unknown'}"
          f" {first_line(base + '/cpufreq/scaling_cur_freq') or ''}".rstrip())
    print(f"  kernel       {platform.release()}, clocksource "
          f"{first_line('/sys/devices/system/clocksource/clocksource0/current_clocksource')}")
    for path in sorted(glob.glob("/sys/devices/system/cpu/vulnerabilities/*")):
        state = first_line(path)
        if state and state != "Not affected":
            print(f"  mitigation   {os.path.basename(path)}: {state}")
    print()


def cpu_times():
    """Ticks of all CPUs so far: total, idle, and stolen by the host."""
    fields = [int(field) for field in (first_line("/proc/stat") or "cpu 0 0 0 0 0 0 0 0").split()[1:9]]
    return sum(fields), fields[3] + fields[4], fields[7]


class Load:
    """Busy loops on every CPU while the block runs; describe() has the load so far."""

    # A loop ends when its parent was killed.
    LOOP = "while kill -0 $PPID 2>/dev/null; do i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; done"

    def __init__(self, per_cpu):
        self.loops = [
            subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", self.LOOP])
            for cpu in os.sched_getaffinity(0)
            for _ in range(per_cpu)
        ]

    def __enter__(self):
        self.start = cpu_times()
        return self

    def describe(self):
        """From /proc/stat: /proc/loadavg has averages over the minute before."""
        total, idle, steal = (now - then for now, then in zip(cpu_times(), self.start))
        total = max(total, 1)
        return (f"load during these runs: CPUs {100 * (total - idle) / total:.0f}% busy, "
                f"{100 * steal / total:.1f}% stolen by the host")

    def __exit__(self, *_):
        for loop in self.loops:
            loop.kill()
            loop.wait()


CONDITIONS = (("the machine as it is", 0), (f"{BUSY_LOOPS} busy loops on every CPU", BUSY_LOOPS))


def measure_wall(command):
    """Wall time of one run, in ms."""
    start = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return 1000 * (time.monotonic() - start)


def measure_memory(command):
    """Peak resident kB by time(1): a child of ours would begin with our own peak."""
    if not os.path.exists("/usr/bin/time"):
        return "-"
    out = subprocess.run(["/usr/bin/time", "-q", "-f", "%M"] + command, check=False,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return out.stderr.split()[-1]
