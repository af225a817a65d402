"""Products by cuSPARSE: by the library itself on a GPU that has it, on the CPU device by one that computes on
the host.
"""

from pathlib import Path

import numpy as np
import pytest
from devices import needs_library

from pycuda._libraries import sparse as library
from pycuda.sparse import _library as choice

HERE = Path(__file__).parent

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

def queue_after_the_rest(name, *arguments):
    calls.append(name)
    if _driver._is_cpu_device():
        drv.Context.synchronize()
    queue(name, *arguments)

library._queue = queue_after_the_rest
rng = np.random.default_rng(1)

def number(*shape, dtype):
    values = rng.integers(-4, 5, shape) + (1j * rng.integers(-4, 5, shape) if dtype in "FD" else 0)
    return values.astype(dtype)

def by_library(call):
    "The result, and which function of the library made it."
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
        dense = number(30, 40, dtype=dtype) * (rng.random((30, 40)) < 0.2)
        dense[7] = 0
        a = csr_array(dense.astype(dtype))
        a = csr_array((a.data, a.indices.astype(index), a.indptr.astype(index)), shape=a.shape)
        x, many = number(40, dtype=dtype), number(40, 6, dtype=dtype)
        got, name = by_library(lambda: a @ gpuarray.to_gpu(x))
        assert name == "cusparseSpMV" and (got == dense @ x).all(), (dtype, index)
        got, name = by_library(lambda: a @ gpuarray.to_gpu(many))
        assert name == "cusparseSpMM" and (got == dense @ many).all(), (dtype, index)
        # Of a matrix whose rows are apart; of columns, which is copied; upside down, which our kernel takes.
        wide = gpuarray.to_gpu(np.concatenate([many, many], axis=1))
        by_columns, upside_down = gpuarray.to_gpu(many.T.copy()).T, gpuarray.to_gpu(many)[::-1]
        for view in wide[:, 2:8], by_columns, upside_down:
            got, name = by_library(lambda: a @ view)
            assert name == (None if view is upside_down else "cusparseSpMM")
            assert (got == dense @ view.get()).all(), (dtype, index)
        # A vector with steps, a transposed array, and one without elements: our own kernels.
        got, name = by_library(lambda: a @ wide[:, 3])
        assert name is None and (got == dense @ many[:, 3]).all()
        back = number(30, dtype=dtype)
        got, name = by_library(lambda: a.T @ gpuarray.to_gpu(back))
        assert name is None and (got == dense.T @ back).all()
        got, name = by_library(lambda: csr_array((30, 40), dtype=dtype) @ gpuarray.to_gpu(x))
        assert name is None and not got.any()
a, x = csr_array(number(5, 4, dtype="d")), gpuarray.to_gpu(number(4, dtype="d"))
with pycuda.same_bits():
    assert by_library(lambda: a @ x)[1] is None
    with pycuda.same_bits(False):
        assert by_library(lambda: a @ x)[1] == "cusparseSpMV"
assert by_library(lambda: a.astype("i") @ x.astype("i"))[1] is None
# In a capture the library's workspaces would have to be kept.
want = a.toarray().get() @ x.get()
drv.Context.synchronize()
stream, before = drv.Stream(), len(calls)
with stream.capture() as graph:
    y = a @ x
graph.instantiate().launch(stream)
stream.synchronize()
assert len(calls) == before and (y.get() == want).all()
# Each stream has a handle, which the next one takes over.
alive = lambda: _driver._live_objects()["LibraryHandle"]
host, vector = a.get(), x.get()
def product_in_a_stream():
    "Arrays remember the streams that they are used on, so they go as well."
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
    """The first one that fits, by dtype, columns, elements and the mean length of rows."""
    rules = (
        choice.Rule("CSR_ALG2", range(1, 2), 1000, (5, 20)),
        choice.Rule("CSR_ALG1", range(1, 2), 10_000),
        choice.Rule("CSR_ALG3", range(8, 33)),
    )
    monkeypatch.setattr(choice, "_RULES", {"f": rules})
    monkeypatch.setattr(choice, "_is_possible", lambda dtype: True)

    def found(rows, count, width, dtype=np.float32):
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
