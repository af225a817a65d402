"""Every form of each PTX instruction: the results of all lanes against those recorded on a GPU
(tools/record_ptx.py).

Forms that need a higher compute capability than this device's run in one child process, on a CPU device that
has it.
"""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))

from devices import on_cpu_device
from ptx_cases import expected, judge, runner, table

import pycuda.driver as drv

FAMILIES = table.families()
RECORDS = {family: expected.load(family) for family, _ in FAMILIES}
ABOVE = "PYCUDA_CPU_COMPUTE_CAPABILITY"


def verdict(form, function):
    """What is wrong with a form; empty if nothing is."""
    if isinstance(function, runner.Refused):
        return f"refused: {function}"
    if form.name not in RECORDS[form.family]:
        return "not recorded yet: run tools/record_ptx.py on a GPU"
    return judge.complaint(form, runner.run(form, function), RECORDS[form.family][form.name])


class Device:
    """Loaded functions by family, and the child process's verdicts on forms that need a newer device."""

    def __init__(self):
        self.functions, self.above = {}, None
        drv.init()
        self.context = drv.Device(0).retain_primary_context()
        self.context.push()

    def judge(self, form):
        if form.sm <= runner.capability():
            return verdict(form, self.function(form))
        if not on_cpu_device():
            pytest.skip(f"needs compute capability {form.sm / 10}")
        if self.above is None:
            self.above = ask_child(runner.capability())
        return self.above[form.name]

    def function(self, form):
        key = form.family, form.sm
        if key not in self.functions:
            forms = FAMILIES[key]
            self.functions[key] = dict(zip((f.name for f in forms), runner.load(forms), strict=True))
        return self.functions[key][form.name]

    def close(self):
        runner.release()
        self.functions.clear()
        drv.Context.pop()


def ask_child(above, **environment):
    """Runs this file as a program on a CPU device of the highest capability needed. Returns verdicts on forms
    above a capability by their names, and the device's name as "device"; only the latter if the processor
    lacks PYCUDA_CPU_ISA."""
    highest = max(sm for _, sm in FAMILIES)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, str(above)],
        capture_output=True,
        timeout=100,
        env={**os.environ, ABOVE: f"{highest / 10}", "PYCUDA_DEVICE": "cpu", **environment},
    )
    assert done.returncode == 0, done.stderr.decode()
    return pickle.loads(done.stdout)


def answer_parent(above):
    """Writes verdicts on forms above the capability, and the device's name, to stdout: see ask_child()."""
    device = Device()
    verdicts = {"device": drv.Device(0).name()}
    if verdicts["device"].endswith(os.environ.get("PYCUDA_CPU_ISA", "") + ")"):
        verdicts |= {
            form.name: device.judge(form)
            for key, forms in FAMILIES.items()
            if key[1] > above
            for form in forms
        }
    device.close()
    sys.stdout.buffer.write(pickle.dumps(verdicts))


@pytest.fixture(scope="module")
def device():
    device = Device()
    yield device
    device.close()


@pytest.fixture(autouse=True)
def no_leaks():
    """Replaces the check for leaks: modules stay loaded for the whole file."""


def instructions():
    """{name of a test: forms}, by instruction and compute capability. Thousands of tests, one for each form,
    would take much longer."""
    found = {}
    for (family, sm), forms in FAMILIES.items():
        for form in forms:
            found.setdefault(f"{form.name.partition('.')[0]}-{family}-{sm}", []).append(form)
    return found


INSTRUCTIONS = instructions()


def complaints(verdicts):
    """A text with the number of wrong forms and the first 20 of them; empty if there are none."""
    wrong = {name: verdict for name, verdict in verdicts.items() if verdict}
    lines = [f"{name}: {verdict}" for name, verdict in list(wrong.items())[:20]]
    return "\n".join([f"{len(wrong)} of {len(verdicts)} forms", *lines]) if wrong else ""


@pytest.mark.parametrize("instruction", INSTRUCTIONS)
def test_every_form(device, instruction):
    wrong = complaints({form.name: device.judge(form) for form in INSTRUCTIONS[instruction]})
    assert not wrong, wrong


def test_differences_are_found(device):
    """A record with one wrong bit in one lane is distinguished from the right one."""
    form = next(form for form in FAMILIES["integer", 75] if form.name == "add.u32")
    outputs = runner.run(form, device.function(form))
    outputs[0][1234] ^= 1
    record = RECORDS[form.family][form.name]
    assert record.digest != expected.digest(expected.rows_of(form, outputs))
    text = judge.complaint(form, outputs, record)
    assert "differs" in text and "lanes 1232 to 1235" in text


@pytest.mark.parametrize("isa", ["v2", "v3", "v4"])
def test_each_instruction_set(isa):
    """Every form again on the other builds of the interpreter that this processor runs."""
    if not on_cpu_device():
        pytest.skip("the CPU device has several builds")
    if drv.Device(0).name().endswith(f"{isa})"):
        pytest.skip("the forms above ran on this one")
    verdicts = ask_child(0, PYCUDA_CPU_ISA=isa)
    if not verdicts.pop("device").endswith(f"{isa})"):
        pytest.skip(f"this processor has no {isa}")
    wrong = complaints(verdicts)
    assert not wrong, wrong


if __name__ == "__main__":
    answer_parent(int(sys.argv[1]))
