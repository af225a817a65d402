"""Generated kernels that diverge: in the device's own order, and with every lane on its own in a random
order.

The random order is the CPU device's PYCUDA_CPU_SCHEDULE=random:SEED. Each result must be the one that
generated.py computes from the kernel's tree, so any two schedules agree. A failure names the seeds;
`python generated.py SEED` prints the kernel of one.
"""

import os
import subprocess
import sys

import generated
import pytest
from devices import on_cpu_device

EACH = 200  # kernels in a test
# (first seed, schedule) of each test
CHUNKS = [(first, f"random:{first + 1}") for first in range(0, 4 * EACH, EACH)]

RACE = r"""
import numpy as np, pycuda.autoinit, pycuda.driver as drv
kernel = drv.module_from_buffer(b'''
.version 7.0
.target sm_70
.address_size 64
.visible .entry race(.param .u64 to)
{
    .reg .b64 %a;
    .reg .b32 %t;
    ld.param.u64 %a, [to];
    ld.global.u32 %t, [%a];
    add.u32 %t, %t, 1;
    st.global.u32 [%a], %t;
    ret;
}
''').get_function("race")
count = np.zeros(1, np.uint32)
kernel(drv.InOut(count), block=(128, 1, 1))
print(count[0])
"""


def report(schedule, wrong):
    """The message of a failure."""
    return f"schedule {schedule}, wrong by seed: {wrong}"


def run_in_order(schedule, cases, path):
    """What a process with this schedule prints of the cases: those with a wrong result."""
    generated.save(cases, path)
    done = subprocess.run(
        [sys.executable, generated.__file__, path],
        env={**os.environ, "PYCUDA_CPU_SCHEDULE": schedule},
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("first, schedule", CHUNKS)
def test_generated_kernels(tmp_path, first, schedule):
    cases = [generated.make_case(seed) for seed in range(first, first + EACH)]
    wrong = generated.run_cases(cases)
    assert not wrong, report("of the device", wrong)
    if on_cpu_device():  # a GPU has its own schedule
        wrong = run_in_order(schedule, cases, tmp_path / "cases")
        assert not wrong, report(schedule, wrong)


@pytest.mark.cpu("a GPU has its own schedule")
def test_random_order_shows_a_race(run_python):
    """Threads overwrite each other's count: the result differs between seeds, and a seed repeats its own."""
    counts = [
        run_python(RACE, env={"PYCUDA_CPU_SCHEDULE": f"random:{seed}"}, check=True).stdout
        for seed in (1, 2, 3, 1)
    ]
    assert len(set(counts[:3])) > 1
    assert counts[0] == counts[3]
