"""pycuda.testing, as users' own tests import it: in runs of pytest of their own, and its comparisons."""

import os
import subprocess
import sys

import numpy as np
import pytest

from pycuda import gpuarray, testing

CONFTEST = "from pycuda.testing import no_leaks  # noqa: F401\n"
TESTS = """
import numpy as np
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.testing import assert_allclose, parametrize_devices

kept = []

@parametrize_devices
def test_with_the_device(device):
    assert drv.Context.get_device() == device
    assert_allclose(gpuarray.arange(4, dtype="f") + 1, [1, 2, 3, 4])

@parametrize_devices
def test_without(tmp_path):
    assert tmp_path.is_dir() and drv.Context.get_current() is not None

@parametrize_devices()
def test_that_leaves_a_stream():
    kept.append(drv.Stream())

@parametrize_devices
def test_that_fails():
    array = gpuarray.arange(4, dtype="f")
    assert_allclose(array, array + 1)
"""


def test_devices_leaks_and_comparisons_in_a_users_tests(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    import pycuda.driver as drv

    count = drv.Device.count()
    expected = f"{count} failed, {3 * count} passed, {count} error"
    assert expected in done.stdout, done.stdout + done.stderr
    assert "leaked objects: {" in done.stdout and "'Stream': 1" in done.stdout, done.stdout
    assert "ERROR test_it.py::test_that_leaves_a_stream[device0]" in done.stdout
    assert "Not equal to tolerance" in done.stdout
    assert "def assert_allclose" not in done.stdout  # the traceback ends at the test's line


MARKED = """
import pycuda.driver as drv
from pycuda.tools import mark_cuda_test

@mark_cuda_test
def test_marked():
    assert drv.Context.get_current() is not None

def test_other():
    pass
"""


@pytest.mark.parametrize("options", [[], ["-W", "error"], ["--strict-markers"]])
def test_mark_cuda_test_in_a_project_that_does_not_know_the_mark(tmp_path, options):
    (tmp_path / "test_it.py").write_text(MARKED)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(tmp_path)]
    # Plugins would read the variables that pytest-xdist sets for its workers.
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=alone)
    assert "2 passed" in done.stdout and "warning" not in done.stdout, done.stdout + done.stderr


class Foreign:
    """An array of another package: it only has __cuda_array_interface__."""

    def __init__(self, array):
        self.memory = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__


def test_comparisons_of_host_device_and_foreign_arrays(primary_context):
    host = np.linspace(0, 1, 50, dtype="f")
    device = gpuarray.to_gpu(host)
    for each in device, Foreign(device), host:
        testing.assert_allclose(each, host)
        testing.assert_array_equal(host, each)
        with pytest.raises(AssertionError, match="Not equal to tolerance"):
            testing.assert_allclose(each, host + np.float32(0.1))
        testing.assert_allclose(each, host + np.float32(0.1), atol=0.2)
    testing.assert_allclose([device, host], (host, Foreign(device)))
    with pytest.raises(AssertionError, match="Arrays are not equal"):
        testing.assert_array_equal([device, device], [host, host + 1])
    with pytest.raises(AttributeError, match="nonsense"):
        testing.nonsense  # noqa: B018
