"""docs/limits/ lists every function that the libraries of the CPU device export, and no other."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from limits import exports, of_major, pages, with_variants

pytestmark = pytest.mark.cpu("what the libraries of the CPU device export")
OWN = {"cuPycudaCancel", "cuPycudaSetTimeout"}  # not of CUDA: for pycuda
MAJORS = 12, 13


@pytest.fixture
def exports_of(cpu_device_library):
    """A function: the exports of the library with that name in the CPU device's folder."""
    return lambda name: exports(Path(cpu_device_library).parent / name)


def test_driver(exports_of):
    exported, functions = exports_of("libcuda.so.1"), pages.driver_functions()
    assert len(functions) > 500 and set(functions) <= exported
    others = exported - set(with_variants(functions, exported))
    assert {name for name in others if not name.startswith("cpuDevice")} == OWN


@pytest.mark.parametrize("major", MAJORS)
def test_runtime(exports_of, major):
    exported, functions = exports_of(f"libcudart.so.{major}"), of_major(pages.runtime_functions(), major)
    assert len(functions) > 300 and set(functions) <= exported
    others = exported - set(with_variants(functions, exported))
    assert {name for name in others if not name.startswith("__cuda")} == {f"libcudart.so.{major}"}


@pytest.mark.parametrize("major", MAJORS)
def test_nvjitlink(exports_of, major):
    exported = {name for name in exports_of(f"libnvJitLink.so.{major}") if name.startswith("nvJitLink")}
    assert set(of_major(pages.link_functions(), major)) == exported
