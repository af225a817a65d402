"""Products of matrices by cuBLAS. On a GPU cuBLAS itself is used, on the CPU device a library that computes
on the host (host_cublas.c).
"""

import os
from pathlib import Path

import numpy as np
import pytest
from devices import needs_library

import pycuda
from pycuda import gpuarray
from pycuda._libraries import finding

HERE = Path(__file__).parent

# The start of all programs. `made` has the products that the library was called for. On the CPU device pycuda
# loads the host library, which reads memory when it is called: each call waits for the queued work first. No
# product is left to our own kernels because they are faster.
PROGRAM = """
import itertools, sys
import numpy as np
import pycuda, pycuda.autoprimaryctx
import pycuda.driver as drv
from pycuda import _driver, gpuarray
from pycuda._array.linear import library_matmul
from pycuda._libraries import blas, finding, host

if _driver._is_cpu_device():
    _driver._library_open("cublas", lambda name: {library!r})
    finding.problem = blas.problem = lambda name: None
    host.is_possible = lambda: False
else:
    finding.require("cublas")
library_matmul._is_faster_by_own_kernel = lambda a, b, c: False
made, gemm = [], blas.gemm

def gemm_after_queued_work(product, dtype, addresses, stream):
    made.append(product)
    if _driver._is_cpu_device() and not _driver._is_captured(stream):
        drv.Context.synchronize()
    gemm(product, dtype, addresses, stream)

blas.gemm = gemm_after_queued_work

def product(a, b, out=None):
    "(a @ b, number of the library's calls)."
    before = len(made)
    result, calls = np.matmul(a, b, out=out).get(), len(made) - before
    if out is None:  # once more, by the plan of the first call
        assert np.array_equal((a @ b).get(), result) and len(made) == before + 2 * calls
    return result, calls
"""

LAYOUTS = (
    PROGRAM
    + """
rng = np.random.default_rng(3)

def integers(*shape, dtype):
    "Random integers, whose products are exact, as numbers of a dtype."
    values = rng.integers(-4, 5, shape) + (1j * rng.integers(-4, 5, shape) if dtype in "FD" else 0)
    return values.astype(dtype)

def laid(host, layout):
    "A copy of the array on the device, in one of LAYOUTS."
    if layout == "rows" or (layout == "columns" and host.ndim == 1):
        return gpuarray.to_gpu(host)
    if layout == "columns":
        return gpuarray.to_gpu(np.ascontiguousarray(host.swapaxes(-1, -2))).swapaxes(-1, -2)
    wide = np.zeros((*host.shape[:-1], 2 * host.shape[-1] + 3), host.dtype)
    if layout == "padded":
        wide[..., : host.shape[-1]] = host
        return gpuarray.to_gpu(wide)[..., : host.shape[-1]]
    if layout == "reversed":
        return gpuarray.to_gpu(np.ascontiguousarray(host[..., ::-1]))[..., ::-1]
    wide[..., : 2 * host.shape[-1] : 2] = host
    return gpuarray.to_gpu(wide)[..., : 2 * host.shape[-1] : 2]

LAYOUTS = "rows", "columns", "padded", "strided", "reversed"
SHAPES = [((3, 4), (4, 5)), ((1, 4), (4, 1)), ((3, 1), (1, 5)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)),
          ((2, 1, 3, 4), (1, 3, 4, 2)), ((2, 2, 3, 4), (2, 2, 4, 2)), ((4,), (4, 5)), ((3, 4), (4,)),
          ((2, 3, 4), (4,)), ((5, 1, 4), (4, 3)), ((2, 1, 1, 4), (3, 4, 1))]
for dtype in "fdFD":
    for (first, second), one, other in itertools.product(SHAPES, LAYOUTS, LAYOUTS):
        a, b = integers(*first, dtype=dtype), integers(*second, dtype=dtype)
        x, y = laid(a, one), laid(b, other)
        got, calls = product(x, y)
        want = a @ b
        is_vector = min(a.size, b.size) == first[-1]  # then our own kernel is used: it is as fast as memory
        assert is_vector or calls >= 1, (first, second, one, other)
        assert got.dtype == want.dtype and got.shape == want.shape
        assert (got == want).all(), (dtype, first, second, one, other, got, want)

# Into arrays of every layout; those that the library does not take are computed by our own kernel.
a, b = integers(6, 4, dtype="f"), integers(4, 5, dtype="f")
x, y = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
for layout, by_library in (("rows", 1), ("columns", 1), ("padded", 1), ("strided", 0), ("reversed", 0)):
    out = laid(np.zeros((6, 5), "f"), layout)
    got, calls = product(x, y, out)
    assert calls == by_library and (got == a @ b).all() and (out.get() == a @ b).all(), layout
# Several dtypes, and one that the library does not have.
assert product(x, gpuarray.to_gpu(b.astype("d")))[1] == 1
assert product(x, gpuarray.to_gpu(b.astype("i")))[1] == 1
assert product(gpuarray.to_gpu(a.astype("i")), gpuarray.to_gpu(b.astype("i")))[1] == 0
# The real part of complex numbers, as a column.
z = integers(6, 4, dtype="F")
column = np.real(gpuarray.to_gpu(z))[:, :1]
assert (product(column, y[:1])[0] == z.real[:, :1] @ b[:1]).all()
# same_bits() excludes the library.
with pycuda.same_bits():
    assert product(x, y)[1] == 0
    with pycuda.same_bits(False):
        assert product(x, y)[1] == 1
"""
)

STREAMS = (
    PROGRAM
    + """
host = np.arange(64 * 64, dtype=np.float32).reshape(64, 64) % 7
want = host @ host
handles = lambda: _driver._live_objects()["LibraryHandle"]

def product_in_a_stream():
    "The stream, and the arrays that refer to it, are released at the end of this function."
    stream = drv.Stream()
    with stream:
        a = gpuarray.to_gpu(host)
        c = a @ a
    stream.synchronize()
    assert (c.get() == want).all()

for _ in range(5):
    product_in_a_stream()
assert handles() == 1, handles()  # each stream takes over the handle of the last
a = gpuarray.to_gpu(host)
assert (product(a, a)[0] == want).all()
stream = drv.Stream()
out = gpuarray.empty_like(a)
with stream.capture() as graph:
    np.matmul(a, a, out=out)
if not _driver._is_cpu_device():
    graph.instantiate().launch(stream)
stream.synchronize()
assert (out.get() == want).all()

# All handles of a context are destroyed with it.
own = drv.Device(0).make_context()
b = gpuarray.to_gpu(np.ones((8, 8), np.float64))
assert (product(b, b)[0] == 8).all()
count = handles()
del b
own.pop()
del own
assert handles() == count - 1, (handles(), count)
"""
)


@pytest.fixture
def host_cublas(compiled):
    """The path of the library that stands in for cuBLAS on the CPU device."""
    return compiled((HERE / "host_cublas.c").read_text())


@pytest.fixture(autouse=True)
def library_is_there(primary_context):
    """Skips tests on a GPU without cuBLAS."""
    needs_library("cublas")


def test_layouts(run_python, host_cublas):
    run_python(LAYOUTS.replace("{library!r}", repr(host_cublas)), check=True)


def test_streams_captures_contexts(run_python, host_cublas):
    run_python(STREAMS.replace("{library!r}", repr(host_cublas)), check=True)


@pytest.mark.cpu("a library that fails on request")
@pytest.mark.parametrize("status, name", [(14, "CUBLAS_STATUS_INTERNAL_ERROR"), (99, "status 99")])
def test_failures_are_raised_with_the_status(run_python, host_cublas, status, name):
    program = PROGRAM + f"""
x = gpuarray.to_gpu(np.ones((4, 4)))
try:
    x @ x
except drv.LibraryError as error:
    assert str(error) == "cublasGemmStridedBatchedEx failed: {name}", error
    assert (error.code, error.routine) == ({status}, "cublasGemmStridedBatchedEx")
    assert error.name == ("{name}" if "CUBLAS" in "{name}" else None)
else:
    raise AssertionError("nothing was raised")
"""  # fmt: skip
    environment = {"HOST_CUBLAS_STATUS": str(status)}
    run_python(program.replace("{library!r}", repr(host_cublas)), env=environment, check=True)


def test_a_library_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(finding, "problem", lambda name: "not found")
    with pytest.raises(finding.LibraryNotFound, match=r"libcublas cannot be used \(not found\): pip install"):
        finding.require("cublas")


def test_products_need_no_library(monkeypatch):
    monkeypatch.setattr("pycuda._libraries.blas.problem", lambda name: "not found")
    host = np.ones((200, 200), np.float32)
    array = gpuarray.to_gpu(host)
    assert ((array @ array).get() == 200).all()


def test_same_bits_is_a_setting(run_python):
    source = "import pycuda._base.same_bits as bits; print(bits.is_wanted())"
    for value in (None, "0", "1"):
        done = run_python(source, env={"PYCUDA_SAME_BITS": value}, check=True)
        assert done.stdout.strip() == str(value == "1")
    assert os.environ.get("PYCUDA_SAME_BITS") == "1" or not pycuda._base.same_bits.is_wanted()
