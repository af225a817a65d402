"""Products by cuSPARSE. On a GPU cuSPARSE itself is used, on the CPU device a library that computes on the
host (host_cusparse.c).
"""

from pathlib import Path

import numpy as np
import pytest
from devices import needs_library

from pycuda._libraries import sparse as library
from pycuda.sparse import _library as choice

HERE = Path(__file__).parent

# The start of all programs. All products that the library can compute are left to it: the rules that choose,
# by size, between it and our kernels are replaced. `calls` has the names of its functions that were called.
# On the CPU device pycuda loads the host library, which reads memory when it is called: each call waits for
# the queued work first.
PROGRAM = """
import numpy as np
import pycuda, pycuda.autoprimaryctx
import pycuda.driver as drv
from pycuda import _driver, gpuarray
from pycuda._libraries import finding
from pycuda._libraries import sparse as library
from pycuda.sparse import _library as choice
from pycuda.sparse import csr_array

if _driver._is_cpu_device():
    _driver._library_open("cusparse", lambda name: {library!r})
    finding.problem = library.problem = lambda name: None
else:
    finding.require("cusparse")
rules = tuple(choice.Rule(name, range(1, 2)) for name in library.VECTOR_ALGORITHMS)
rules += tuple(choice.Rule(name, range(2, 1000)) for name in library.MATRIX_ALGORITHMS)
choice._RULES = dict.fromkeys("fdFD", rules)
calls, queue = [], library._queue

def queue_after_queued_work(name, *arguments):
    calls.append(name)
    if _driver._is_cpu_device():
        drv.Context.synchronize()
    queue(name, *arguments)

library._queue = queue_after_queued_work
rng = np.random.default_rng(1)

def integers(*shape, dtype):
    "Random integers, whose products are exact, as numbers of a dtype."
    values = rng.integers(-4, 5, shape) + (1j * rng.integers(-4, 5, shape) if dtype in "FD" else 0)
    return values.astype(dtype)

def by_library(call):
    "(result of call(), name of the library's function that computed it or None)."
    before = len(calls)
    result = call().get()
    made = calls[before:]
    return result, made[0] if made else None
"""

PRODUCTS = (
    PROGRAM
    + """
for dtype in "fdFD":
    for index in np.int32, np.int64:
        dense = integers(30, 40, dtype=dtype) * (rng.random((30, 40)) < 0.2)
        dense[7] = 0
        a = csr_array(dense.astype(dtype))
        a = csr_array((a.data, a.indices.astype(index), a.indptr.astype(index)), shape=a.shape)
        x, many = integers(40, dtype=dtype), integers(40, 6, dtype=dtype)
        got, name = by_library(lambda: a @ gpuarray.to_gpu(x))
        assert name == "cusparseSpMV" and (got == dense @ x).all(), (dtype, index)
        got, name = by_library(lambda: a @ gpuarray.to_gpu(many))
        assert name == "cusparseSpMM" and (got == dense @ many).all(), (dtype, index)
        # A matrix with gaps between rows; one in F order, which is copied; one with reversed rows, for our
        # kernel.
        wide = gpuarray.to_gpu(np.concatenate([many, many], axis=1))
        by_columns, reversed_rows = gpuarray.to_gpu(many.T.copy()).T, gpuarray.to_gpu(many)[::-1]
        for view in wide[:, 2:8], by_columns, reversed_rows:
            got, name = by_library(lambda: a @ view)
            assert name == (None if view is reversed_rows else "cusparseSpMM")
            assert (got == dense @ view.get()).all(), (dtype, index)
        # A strided vector, a transposed array, and one without elements are left to our own kernels.
        got, name = by_library(lambda: a @ wide[:, 3])
        assert name is None and (got == dense @ many[:, 3]).all()
        back = integers(30, dtype=dtype)
        got, name = by_library(lambda: a.T @ gpuarray.to_gpu(back))
        assert name is None and (got == dense.T @ back).all()
        got, name = by_library(lambda: csr_array((30, 40), dtype=dtype) @ gpuarray.to_gpu(x))
        assert name is None and not got.any()
a, x = csr_array(integers(5, 4, dtype="d")), gpuarray.to_gpu(integers(4, dtype="d"))
with pycuda.same_bits():
    assert by_library(lambda: a @ x)[1] is None
    with pycuda.same_bits(False):
        assert by_library(lambda: a @ x)[1] == "cusparseSpMV"
assert by_library(lambda: a.astype("i") @ x.astype("i"))[1] is None
# A capture uses our own kernels: the library's workspaces would have to be kept for the graph.
want = a.toarray().get() @ x.get()
drv.Context.synchronize()
stream, before = drv.Stream(), len(calls)
with stream.capture() as graph:
    y = a @ x
graph.instantiate().launch(stream)
stream.synchronize()
assert len(calls) == before and (y.get() == want).all()
# Each stream has a handle, which the next stream takes over.
alive = lambda: _driver._live_objects()["LibraryHandle"]
host, vector = a.get(), x.get()
def product_in_a_stream():
    "The stream, and the arrays that refer to it, are released at the end of this function."
    stream = drv.Stream()
    with stream:
        y = csr_array(host) @ gpuarray.to_gpu(vector)
    stream.synchronize()
    assert (y.get() == want).all()
known = alive()
for _ in range(4):
    product_in_a_stream()
assert alive() <= known + 1, alive()
"""
)


@pytest.fixture
def host_cusparse(compiled):
    """The path of the library that stands in for cuSPARSE on the CPU device."""
    return compiled((HERE / "host_cusparse.c").read_text())


def test_products(run_python, host_cusparse, primary_context):
    needs_library("cusparse")
    run_python(PRODUCTS.replace("{library!r}", repr(host_cusparse)), check=True)


@pytest.mark.cpu("a library that fails on request")
def test_failures_are_raised_with_the_status(run_python, host_cusparse):
    program = (
        PROGRAM.replace("{library!r}", repr(host_cusparse))
        + """
a = csr_array(np.eye(3))
for x, name in ((gpuarray.zeros(3, "d"), "cusparseSpMV"), (gpuarray.zeros((3, 2), "d"), "cusparseSpMM")):
    try:
        a @ x
    except drv.LibraryError as error:
        assert str(error) == f"{name} failed: CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", error
    else:
        raise AssertionError("nothing was raised")
"""
    )
    run_python(program, env={"HOST_CUSPARSE_STATUS": "11"}, check=True)


def test_rules(monkeypatch):
    """The first rule that fits the dtype, the columns of the dense operand, the elements and the mean length
    of rows."""
    rules = (
        choice.Rule("CSR_ALG2", range(1, 2), 1000, (5, 20)),
        choice.Rule("CSR_ALG1", range(1, 2), 10_000),
        choice.Rule("CSR_ALG3", range(8, 33)),
    )
    monkeypatch.setattr(choice, "_RULES", {"f": rules})
    monkeypatch.setattr(choice, "_is_possible", lambda dtype: True)

    def found(rows, count, width, dtype=np.float32):
        """The algorithm for a matrix with `count` elements and a dense operand with `width` columns."""
        return choice.algorithm(np.dtype(dtype), (rows, 50), count, width)

    assert found(100, 1000, 1) == "CSR_ALG2" and found(100, 999, 1) is None
    assert found(201, 1000, 1) is None and found(49, 1000, 1) is None
    assert found(100, 10_000, 1) == "CSR_ALG1"
    assert found(5, 5, 8) == found(5, 5, 32) == "CSR_ALG3" and found(5, 5, 33) is None
    assert found(0, 0, 8) is None and found(5, 5, 0) is None
    assert found(100, 1000, 1, np.float64) is None


def test_rules_name_algorithms_of_the_library():
    for rules in choice._RULES.values():
        for rule in rules:
            known = library.VECTOR_ALGORITHMS if 1 in rule.widths else library.MATRIX_ALGORITHMS
            assert rule.algorithm in known and (1 not in rule.widths or len(rule.widths) == 1)
