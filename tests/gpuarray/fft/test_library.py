"""Fourier transforms by cuFFT: results, which layouts need no copy, plans and their memory, and errors. On a
GPU cuFFT itself is used, on the CPU device a library that computes on the host (host_cufft.c).
"""

from pathlib import Path

import numpy as np
import pytest

from pycuda import gpuarray
from pycuda._array.fft import transforms
from pycuda._libraries import finding

pytestmark = pytest.mark.usefixtures("cufft")
HERE = Path(__file__).parent

# The start of all programs. It counts the library's calls and the copies of results. On the CPU device it has
# pycuda load the host library, which reads memory when it is called: each call waits for the queued work
# first.
PROGRAM = """
import gc
import numpy as np
import pycuda.autoprimaryctx
import pycuda.driver as drv
from pycuda import _driver, cache, gpuarray
from pycuda._array.fft import on_library, transforms
from pycuda._libraries import fft, finding

on_cpu = _driver._is_cpu_device()
if on_cpu:
    _driver._library_open("cufft", lambda name: {library!r})
    finding.problem = lambda name: None
    transforms.host.is_possible = lambda: False
else:
    finding.require("cufft")
calls, copies, execute, copy = [], [], fft._execute, on_library.write_back

def execute_after_queued_work(handle, *arguments):
    calls.append(arguments)
    if on_cpu and not _driver._is_captured(drv.current_stream()):
        drv.Context.synchronize()
    execute(handle, *arguments)

def counted_copy(source, result):
    copies.append(source.shape)
    return copy(source, result)

fft._execute, on_library.write_back = execute_after_queued_work, counted_copy
rng = np.random.default_rng(3)

def number(*shape, dtype="D"):
    values = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype in "FD" else 0)
    return values.astype(dtype)

def check(got, want):
    "Asserts shape, dtype, and each element's distance relative to the largest one."
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    bound = 50 * np.finfo(want.dtype).eps * np.abs(want).max()
    assert (np.abs(got.get() - want) <= bound).all()

def raised(kind, call):
    "The exception of this kind that the call raised."
    try:
        call()
    except kind as error:
        return error
    raise AssertionError("nothing was raised")
"""

FUNCTIONS = (
    PROGRAM
    + """
VIEWS = (lambda a: a), (lambda a: a.T), (lambda a: a[::-1]), (lambda a: a[..., ::2]), (lambda a: a[1:])
NAMES = "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn".split()
TO_REAL = "irfft", "hfft", "irfft2", "irfftn"
for shape in (6,), (4, 6), (3, 4, 5), (2, 3, 2, 3), (1, 5, 1):
    for dtype in "ifdFD":
        host = number(*shape, dtype=dtype)
        array = gpuarray.to_gpu(host)
        for name in NAMES:
            of_real = name in ("rfft", "ihfft", "rfft2", "rfftn")
            if (of_real and dtype in "FD") or ("2" in name and len(shape) == 1):
                continue
            function = getattr(np.fft, name)
            for view in VIEWS:
                operand = view(host)
                if operand.size and (operand.shape[-1] > 1 or name not in TO_REAL):
                    for _ in range(2):  # by a plan, then by what is remembered
                        check(function(view(array)), function(operand))
host = number(3, 4, 5)
array = gpuarray.to_gpu(host)
for norm in "ortho", "forward":
    check(np.fft.ifftn(array, (4, 7), (2, 0), norm), np.fft.ifftn(host, (4, 7), (2, 0), norm))
    check(np.fft.irfftn(array, (4, 7), (1, 1), norm), np.fft.irfftn(host, (4, 7), (1, 1), norm))
out = gpuarray.zeros((3, 4, 5), "F")
assert np.fft.fft2(array, axes=(0, 1), out=out) is out
check(out, np.fft.fft2(host, axes=(0, 1)).astype("F"))
assert np.fft.fft2(array, out=array) is array
check(array, np.fft.fft2(host))
real = number(3, 7, dtype="d")  # rows are aligned to 8 bytes
check(np.fft.rfft(gpuarray.to_gpu(real)[1]), np.fft.rfft(real[1]))
check(np.fft.irfft(gpuarray.to_gpu(host), 7), np.fft.irfft(host, 7))
array = gpuarray.to_gpu(host)
check(np.fft.rfft(np.real(array)), np.fft.rfft(host.real))
check(np.fft.fft(np.imag(array), out=array), np.fft.fft(host.imag))
# Calls of a form that was seen before do not reach the code that makes plans: it is disabled here.
on_library._queue = None
host = number(3, 4, 5)
check(np.fft.ifft2(gpuarray.to_gpu(host)), np.fft.ifft2(host))
check(np.fft.fftn(gpuarray.to_gpu(host).T), np.fft.fftn(host.T))
raised(TypeError, lambda: np.fft.fft(array, axis=1.0))
"""
)

LAYOUTS = (
    PROGRAM
    + """
def made(function, array, *arguments, **keywords):
    "(number of the library's calls, number of copies) of a transform, whose result is checked."
    del calls[:], copies[:]
    want = function(array.get(), *arguments, **keywords)
    check(function(array, *arguments, **keywords), want)
    return len(calls), len(copies)

a = gpuarray.to_gpu(number(4, 5, 6))
for axis, count in (0, 1), (1, 4), (2, 1):
    assert made(np.fft.fft, a, axis=axis) == (count, 0)
    assert made(np.fft.fft, a[:, :, ::2], axis=axis) in ((1, 0), (3, 0), (4, 0))
for axes in (0, 1), (1, 2), (0, 2), (0, 1, 2), (2, 0):
    assert made(np.fft.fftn, a, axes=axes) in ((1, 0), (5, 0)), axes
assert made(np.fft.fftn, a.T) == (1, 0)
assert made(np.fft.fftn, a[1:3, 1:4, 2:5]) == (1, 0)
assert made(np.fft.fftn, a[::-1]) == (5, 0)
assert made(np.fft.fft, gpuarray.to_gpu(number(70, 3, 2)), axis=1) == (2, 0)
assert made(np.fft.fft, gpuarray.to_gpu(number(70, 3, 71)), axis=1) == (1, 2)
assert made(np.fft.fftn, gpuarray.to_gpu(number(2, 3, 2, 3))) == (2, 0)
assert made(np.fft.fftn, gpuarray.to_gpu(number(2, 1, 3, 2, 1))) == (1, 0)
r = gpuarray.to_gpu(number(4, 5, 6, dtype="d"))
assert made(np.fft.rfftn, r) == (1, 0)
assert made(np.fft.rfftn, r, axes=(2, 1, 0)) == (2, 0)
assert made(np.fft.rfft, r, axis=0) == (1, 0)
assert made(np.fft.irfftn, a) == (2, 0)
assert made(np.fft.irfft, a) == (1, 0)
"""
)

PLANS = (
    PROGRAM
    + """
from pycuda.tools import clear_context_caches
kept = lambda: _driver._live_objects()["LibraryHandle"]  # plans that were not destroyed
size = 1000 if on_cpu else None  # the workspace of a plan in host_cufft.c
host = number(4, 8)
a = gpuarray.to_gpu(host)
for _ in range(3):
    np.fft.fft(a), np.fft.ifft(a)  # by one plan
assert [plan[:4] for plan in cache.fft_plans()] == [((8,), 4, "complex128", "complex128")], cache.fft_plans()
np.fft.rfft2(a.real)
np.fft.fft(a)
found = cache.fft_plans()
assert [plan.sizes for plan in found] == [(8,), (4, 8)] and found[1].source == "float64"
assert kept() == 2 and (not on_cpu or found[0].workspace == size)

if on_cpu:  # the plan that was not used for the longest time is dropped first
    assert cache.limit_fft_plans(3 * size) == 3 * size
    for n in 5, 6:
        np.fft.fft(a, n)
    assert [plan.sizes for plan in cache.fft_plans()] == [(6,), (5,), (8,)]
    cache.limit_fft_plans(size)
    assert [plan.sizes for plan in cache.fft_plans()] == [(6,)]
    cache.limit_fft_plans(0)
    check(np.fft.fft(a), np.fft.fft(host))
    assert cache.fft_plans() == []
    assert cache.limit_fft_plans(None) == drv.Device(0).total_memory() // 16
cache.clear_fft_plans()
np.fft.fft(a)
assert cache.clear_fft_plans() == 1 and cache.fft_plans() == []
drv.Context.synchronize()
assert kept() == 0, kept()

# Each stream has its own plan, which is destroyed with the stream.
def in_a_stream():
    stream = drv.Stream()
    with stream:
        b = gpuarray.to_gpu(host)
        c = np.fft.fft(b)
    stream.synchronize()
    check(c, np.fft.fft(host))
    return kept()

assert [in_a_stream() for _ in range(3)] == [1, 1, 1]
assert cache.fft_plans() == []

# A graph keeps the plans of its nodes.
stream, out = drv.Stream(), gpuarray.empty_like(a)
np.fft.fft(a)
with stream, stream.capture() as graph:
    np.fft.fft(a, out=out)
assert cache.clear_fft_plans() == 1 and kept() == 1
with stream, stream.capture():
    error = raised(drv.LogicError, lambda: np.fft.fft(a))
assert "compute it once before the capture" in str(error), error
del error
run = graph.instantiate()
if not on_cpu:
    run.launch(stream)
stream.synchronize()
check(out, np.fft.fft(host))
with stream:
    check(np.fft.fft(a), np.fft.fft(host))
cache.clear_fft_plans()
del graph, run
gc.collect()
assert kept() == 0, kept()

# All plans of a context are destroyed with it.
own = drv.Device(0).make_context()
b = gpuarray.to_gpu(host)
np.fft.fft(b)
assert kept() == 1
drv.Context.synchronize()
del b
own.pop()
del own
assert kept() == 0, kept()
np.fft.fft(a)
clear_context_caches()
assert kept() == 0
"""
)

NO_ROOM = (
    PROGRAM
    + """
a = gpuarray.to_gpu(number(2, 8))
error = raised(drv.MemoryError, lambda: np.fft.fft(a))
text = str(error)
assert "Fourier transform (2 of 8 from complex128 to complex128): no room for its " in text, text
assert " are free" in text and ("{needed}" in text), text
assert cache.fft_plans() == []
"""
)


def run(run_python, program, library, **keywords):
    """Runs a program with this library instead of cuFFT; asserts that it succeeds."""
    run_python(program.replace("{library!r}", repr(library)), check=True, **keywords)


@pytest.fixture
def host_cufft(compiled):
    """The path of the library that stands in for cuFFT on the CPU device."""
    return compiled((HERE / "host_cufft.c").read_text())


@pytest.mark.parametrize("program", [FUNCTIONS, LAYOUTS, PLANS], ids=["functions", "layouts", "plans"])
def test_programs(run_python, host_cufft, program):
    run(run_python, program, host_cufft)


@pytest.mark.cpu("a library that fails on request")
@pytest.mark.parametrize(
    "setting, value, needed",
    [("HOST_CUFFT_WORK", str(1 << 50), "workspace of 1024.0 TiB"), ("HOST_CUFFT_STATUS", "2", "plan")],
)
def test_too_little_memory(run_python, host_cufft, setting, value, needed):
    run(run_python, NO_ROOM.replace("{needed}", needed), host_cufft, env={setting: value})


@pytest.mark.cpu("a library that fails on request")
def test_failures_are_raised_with_the_status(run_python, host_cufft):
    program = (
        PROGRAM
        + """
error = raised(drv.LibraryError, lambda: np.fft.fft(gpuarray.to_gpu(number(8))))
assert str(error) == "cufftXtMakePlanMany failed: CUFFT_INTERNAL_ERROR", error
"""
    )
    run(run_python, program, host_cufft, env={"HOST_CUFFT_STATUS": "5"})


def test_a_library_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(finding, "problem", lambda name: "not found")
    monkeypatch.setattr(transforms.host, "is_possible", lambda: False)
    with pytest.raises(finding.LibraryNotFound, match=r"libcufft cannot be used \(not found\): pip install"):
        np.fft.fft(gpuarray.to_gpu(np.ones(4)))
