"""Raw bits pass some of dieharder's tests, if that is installed (`apt-get install dieharder`).

Seeds are fixed, so that results do not change from run to run. No test may need more numbers than the file
has.
"""

import re
import shutil
import subprocess

import numpy as np
import pytest

import pycuda.curandom as curandom
import pycuda.gpuarray as gpuarray

pytestmark = [
    pytest.mark.usefixtures("primary_context"),
    pytest.mark.skipif(shutil.which("dieharder") is None, reason="dieharder is not installed"),
]
NUMBERS = 1 << 23
# (number of the test, options for fewer samples if the default needs more numbers)
TESTS = {
    "birthdays": (0, ["-p", "5"]),
    "binary rank 32x32": (2, ["-t", "1000", "-p", "20"]),
    "binary rank 6x8": (3, ["-t", "10000", "-p", "20"]),
    "count the 1s": (8, ["-p", "5"]),
    "runs": (15, ["-t", "20000", "-p", "20"]),
    "craps": (16, ["-t", "10000", "-p", "20"]),
    "monobit": (100, ["-t", "30000"]),
    "runs of bits": (101, ["-t", "30000"]),
}


@pytest.fixture(scope="module", params=["XORWOW", "MRG32k3a", "Philox4x32_10"])
def bits(request, tmp_path_factory):
    """A file of numbers of 32 bits."""
    kind = getattr(curandom, f"{request.param}RandomNumberGenerator")
    seeds = np.random.PCG64(5).random_raw(1 << 16).astype(np.int32)
    generator = kind(lambda n: gpuarray.to_gpu(seeds[:n]))
    path = tmp_path_factory.mktemp("bits") / request.param
    generator.gen_uniform(NUMBERS, np.uint32).get().tofile(path)
    return path


@pytest.mark.parametrize("name", TESTS)
def test_dieharder(bits, name):
    number, samples = TESTS[name]
    command = ["dieharder", "-g", "201", "-f", bits, "-d", str(number), *samples]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    output = done.stdout + done.stderr
    assert "rewound" not in output, output
    chances = [float(p) for p in re.findall(r"\|\s*([\d.]+)\|\s*(?:PASSED|WEAK|FAILED)", output)]
    assert chances and all(0.0005 < p < 0.99999 for p in chances), output
