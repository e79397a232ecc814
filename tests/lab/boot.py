# SPDX-License-Identifier: MIT
"""Boots an environment and brings back what its guest said."""

import os
import re
import selectors
import shutil
import subprocess
import tempfile
import time

import build
import fetch
import module
import nested
import tools
from initramfs import Archive
from machines import MACHINES
from shell import Unavailable, call

DONE = b"@@lab done@@"
OF_STEPS = {"counts": "caller"}  # steps with a program of another name
REPORT = re.compile(r"@@lab begin (\S+)@@\n(.*?)\n?@@lab end \1 (\d+)@@", re.DOTALL)


class Boot:
    """What came of one boot."""

    def __init__(self, text, seconds, finished):
        self.text = text.replace("\r", "")
        self.seconds = seconds
        self.finished = finished

    def checks(self):
        """One dictionary for each check: name of the report -> (text, exit status)."""
        found = []
        for name, text, status in REPORT.findall(self.text):
            if name == "clocksource":
                found.append({})
            if found:
                found[-1][name] = (text.strip(), int(status))
        return found

    def trouble(self):
        return re.findall(r"@@lab trouble (.*)@@", self.text)


# ---- what goes into the guest -------------------------------------------------------


def builds(environment):
    return sorted({environment.arch, *named(environment, "build")})


def named(environment, word):
    """What the steps of this name take first."""
    return [step.split()[1] for step in environment.steps if step.startswith(word + " ")]


def extra_programs(environment):
    """A program that is the name of a step goes where that step is taken."""
    words = {OF_STEPS.get(step.split()[0], step.split()[0]) for step in environment.steps}
    return [name for name in build.ELSEWHERE if name in words]


def add_programs(archive, environment, with_vdsocheck, place="/lab"):
    for name in builds(environment):
        for program in (*build.PROGRAMS, *extra_programs(environment)):
            archive.file(f"{place}/{name}/{program}", build.program(program, name), 0o755)
        if with_vdsocheck:
            archive.file(f"{place}/{name}/vdsocheck", build.vdsocheck(name), 0o755)
            search = build.copy_search(name)
            if search:
                archive.file(f"{place}/{name}/copy_search", search, 0o755)


def steps_text(environment):
    return "".join(step + "\n" for step in (f"build {environment.arch}", *environment.steps))


def guest_archive(environment, with_vdsocheck):
    archive = Archive()
    archive.console()
    suite = build.architecture(environment.arch).suite
    archive.file("/bin/busybox", fetch.busybox(suite, environment.arch), 0o755)
    archive.file("/init", os.path.join(build.LAB, "guest", "init"), 0o755)
    archive.file("/lab/steps.sh", os.path.join(build.LAB, "guest", "steps.sh"))
    archive.data("/lab/steps", steps_text(environment).encode())
    add_programs(archive, environment, with_vdsocheck)
    for name in named(environment, "insmod"):
        archive.file(f"/lab/modules/{name}.ko", module.build(name, environment))
    return archive


class Folder:
    """Takes programs as an Archive does, for a run without a guest."""

    @staticmethod
    def file(name, source, mode):
        os.makedirs(os.path.dirname(name), exist_ok=True)
        shutil.copy(source, name)
        os.chmod(name, mode)


# ---- the emulator's words --------------------------------------------------------------


def _append(machine, environment):
    return " ".join(f"console={machine.console} quiet panic=-1 {environment.append}".split())


def _boot_words(machine, environment, initrd):
    image = fetch.kernel(environment.suite, environment.arch, environment.flavour)
    append = _append(machine, environment)
    if machine.kind == "xen":
        return ["-kernel", fetch.hypervisor(),
                "-append", "console=com1 com1=115200,8n1 dom0_mem=512M",
                "-initrd", f"{image} {append},{initrd}"]
    return ["-kernel", image, "-initrd", initrd, "-append", append]


def _device_tree(machine, words, folder):
    """The machine's own device tree with one property more."""
    tree = os.path.join(folder, "machine.dtb")
    dump = [word if word != "virt" else f"virt,dumpdtb={tree}" for word in words]
    call(dump)
    call(["fdtput", tree, *machine.dtb_edit])
    return ["-dtb", tree]


def _nested_words(machine, environment, folder, initrd):
    """The guest's own words go into the outer guest; what is left boots that one."""
    image = fetch.kernel(environment.suite, environment.arch, environment.flavour)
    outer = os.path.join(folder, "outer")
    words = ["qemu-system-x86_64", *machine.guest, *environment.machine_words,
             "-kernel", "/guest/kernel", "-initrd", "/guest/initrd",
             "-append", _append(machine, environment)]
    nested.write_host(Archive(), machine, words, image, initrd, outer)
    return ["-kernel", nested.kernel(machine), "-initrd", outer,
            "-append", f"console={machine.console} quiet panic=-1 {machine.host_append}"]


def command(environment, folder, with_vdsocheck):
    machine = MACHINES[environment.machine]
    initrd = os.path.join(folder, "initrd.gz")
    guest_archive(environment, with_vdsocheck).write(initrd)
    emulator, *words = machine.command
    words = [tools.program(emulator), *words]
    if machine.kind == "nested":
        return [*words, *_nested_words(machine, environment, folder, initrd)]
    words += environment.machine_words
    if machine.dtb_edit:
        words += _device_tree(machine, words, folder)
    return words + _boot_words(machine, environment, initrd)


# ---- running it -----------------------------------------------------------------------


def _read_until_done(process, deadline, log):
    text = b""
    selector = selectors.DefaultSelector()
    selector.register(process.stdout, selectors.EVENT_READ)
    while DONE not in text:
        left = deadline - time.monotonic()
        if left <= 0 or not selector.select(left):
            break
        piece = os.read(process.stdout.fileno(), 65536)
        if not piece:
            break
        text += piece
        log.write(piece.replace(b"\r", b""))
        log.flush()
    return text


def watch(words, seconds, log, **options):
    """Runs the command until it says that it is done, ends, or the time is up; logs what it says."""
    begin = time.monotonic()
    try:
        process = subprocess.Popen(["nice", "-n", "10", *words], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    except OSError as error:
        raise Unavailable(f"{words[0]}: {error.strerror}") from error
    try:
        text = _read_until_done(process, begin + seconds, log)
    finally:
        process.kill()
        process.wait()
    return Boot(text.decode(errors="replace"), time.monotonic() - begin, DONE in text)


def _here(environment, folder, with_vdsocheck, seconds, log):
    """The same steps without a guest: on the machine that the lab runs on."""
    place = os.path.join(folder, "lab")
    add_programs(Folder(), environment, with_vdsocheck, place)
    with open(os.path.join(folder, "steps"), "w", encoding="utf-8") as file:
        file.write(steps_text(environment))
    script = f". {build.LAB}/guest/steps.sh; take_steps {folder}/steps"
    variables = {"LAB": place, "LAB_TMP": folder, "PATH": tools.path(environment.machine_words)}
    return watch(["sh", "-c", script], seconds, log, cwd=folder, env={**os.environ, **variables})


def run(environment, with_vdsocheck):
    machine = MACHINES[environment.machine]
    with (tempfile.TemporaryDirectory(prefix="vdsocheck-lab-") as folder,
          open(fetch.cached("logs", environment.name + ".log"), "wb") as log):
        if machine.kind == "here":
            return _here(environment, folder, with_vdsocheck, machine.seconds, log)
        return watch(command(environment, folder, with_vdsocheck), machine.seconds, log)
