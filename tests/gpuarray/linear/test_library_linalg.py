"""Factorizations by cuSOLVER, on the CPU device: the calls that a GPU gets go to a library (host_cusolver.c)
that computes on the host with SciPy's LAPACK.
"""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
pytestmark = pytest.mark.cpu("a library on host memory; on a GPU all tests of factorizations use cuSOLVER")

# The start of all programs. It passes SciPy's functions of LAPACK to the host library and has pycuda load
# that as cuBLAS and cuSOLVER; small matrices are factored by the library, not by our own kernels or by NumPy.
# `calls` has the names of the functions called. The library reads memory when it is called: queued work is
# waited for first.
PROGRAM = """
import ctypes, sys
import numpy as np
import pycuda.autoprimaryctx
import pycuda.driver as drv
import scipy.linalg.cython_blas, scipy.linalg.cython_lapack
from pycuda import _driver, gpuarray, linalg
from pycuda._libraries import small_lapack
from pycuda._libraries import finding, host, solver
sys.path.insert(0, {helpers!r})
from stacks import condition, definite, draw, epsilon, laid

library = ctypes.CDLL({library!r})
pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
name_of = ctypes.pythonapi.PyCapsule_GetName
name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
NAMES = "potrf getrf geqrf orgqr ungqr gesvd syev heev geev"
for module, names in ((scipy.linalg.cython_lapack, NAMES), (scipy.linalg.cython_blas, "trsm")):
    for name in names.split():
        for letter in "sdcz":
            capsule = module.__pyx_capi__.get(letter + name)
            if capsule is not None:
                address = ctypes.c_void_p(pointer(capsule, name_of(capsule)))
                library.host_lapack((letter + name).encode(), address)

for name in "cublas", "cusolver":
    _driver._library_open(name, lambda name: {library!r})
finding.problem = lambda name: None
host.is_possible = small_lapack.can_factor = lambda *array: False
calls, find = [], solver._function

def found(name):
    def call(*arguments):
        if not _driver._is_captured(drv.current_stream()):
            drv.Context.synchronize()
        elif name.removeprefix("cusolverDn") in ("Xgesvd", "Xgesvdp", "Xsyevd", "Xgeev"):
            raise AssertionError(f"{{name}} fails in a capture")  # as seen on an H100 with cuSOLVER 12.0.4
        calls.append(name)
        find(name)(*arguments)
    return call

solver._function = found

def near(got, want, bound):
    "Asserts dtype, shape, and each element's distance relative to the largest one."
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, want.dtype, got.shape, want.shape)
    assert not want.size or np.abs(got.get() - want).max() <= bound * max(np.abs(want).max(), 1e-30)
"""

VALUES = (
    PROGRAM
    + """
adjoint = lambda a: a.conj().swapaxes(-1, -2)
solver._SMALLEST_OF_GESVDP = 5  # so that some of these small matrices take cusolverDnXgesvdp
for dtype in "fdFD":
    for shape in [(5, 5), (2, 3, 3), (2, 2, 3, 3), (7, 3), (2, 2, 4), (3, 2, 6, 3), (2, 33, 2), (2, 2, 33),
                  (2, 5, 7)]:
        there, a = laid(draw(*shape, dtype=dtype), "reversed")
        bound = 100 * max(shape) * epsilon(dtype) * condition(a)
        near(np.linalg.pinv(there), np.linalg.pinv(a), bound)
        near(np.linalg.svdvals(there), np.linalg.svdvals(a), bound)
        for full in (False, True):
            u, s, vh = (each.get() for each in np.linalg.svd(there, full))
            min_side = s.shape[-1]
            assert np.allclose((u[..., :min_side] * s[..., None, :]) @ vh[..., :min_side, :], a, atol=bound)
            assert np.allclose(adjoint(u) @ u, np.eye(u.shape[-1]), atol=bound)
            assert np.allclose(vh @ adjoint(vh), np.eye(vh.shape[-2]), atol=bound)
        for mode in ("reduced", "complete"):
            q, r = (each.get() for each in np.linalg.qr(there, mode))
            assert np.allclose(q @ r, a, atol=bound)
            assert np.allclose(adjoint(q) @ q, np.eye(q.shape[-1]), atol=bound)
        p, l, u = linalg.lu(there)
        assert np.allclose((p.astype(dtype) @ l @ u).get(), a, atol=bound)
        if shape[-1] != shape[-2]:
            continue
        near(np.linalg.inv(there), np.linalg.inv(a), bound)
        near(np.linalg.det(there), np.linalg.det(a), bound)
        b = draw(*shape[:-1], 4, dtype=dtype, seed=5)
        right = gpuarray.to_gpu(b)
        near(np.linalg.solve(there, right), np.linalg.solve(a, b), bound)
        factors = linalg.lu_factor(there)
        for trans, matrix in enumerate((a, a.swapaxes(-1, -2), adjoint(a))):
            near(linalg.lu_solve(factors, right, trans), np.linalg.solve(matrix, b), bound)
            for lower, half in ((True, np.tril), (False, np.triu)):
                for unit in (False, True):
                    triangle = half(a / 3, -1 if lower else 1) + np.eye(shape[-1]) * (1 if unit else 2)
                    x = linalg.solve_triangular(
                        gpuarray.to_gpu(triangle.astype(dtype)), right, trans, lower, unit)
                    matrix = (triangle, triangle.swapaxes(-1, -2), adjoint(triangle))[trans]
                    near(x, np.linalg.solve(matrix, b).astype(dtype), 1e3 * epsilon(dtype))
        for uplo, half in (("L", np.tril), ("U", np.triu)):
            near(np.linalg.eigvalsh(there, uplo), np.linalg.eigvalsh(a, uplo), bound)
            w, v = (each.get() for each in np.linalg.eigh(there, uplo))
            whole = half(a, -1 if uplo == "L" else 1)
            whole = whole + adjoint(whole) + np.eye(shape[-1]) * a.real
            assert np.allclose(whole @ v, v * w[..., None, :], atol=bound)
        w, v = np.linalg.eig(there)
        assert w.dtype == np.linalg.eig(a)[0].dtype
        assert np.allclose(a @ v.get(), v.get() * w.get()[..., None, :], atol=bound)
        assert np.allclose(np.sort_complex(np.linalg.eigvals(there).get().ravel()),
                           np.sort_complex(np.linalg.eigvals(a).ravel()), atol=10 * bound)
        positive = definite(*shape, dtype=dtype)
        for upper in (False, True):
            near(np.linalg.cholesky(gpuarray.to_gpu(positive), upper=upper),
                 np.linalg.cholesky(positive, upper=upper), 1e3 * epsilon(dtype))
        x = linalg.cho_solve(linalg.cho_factor(gpuarray.to_gpu(positive)), right)
        near(x, np.linalg.solve(positive, b), 1e4 * epsilon(dtype))
for name in ("Xpotrf", "Xgetrf", "Xgeqrf", "Sorgqr", "Zungqr", "Xgesvd", "Xgesvdp", "Xsyevd"):
    assert f"cusolverDn{{name}}" in calls
assert {{"cublasDtrsm_v2", "cublasCtrsm_v2"}} < {{*calls}}
assert {{f"cusolverDn{{letter}}gesvdjBatched" for letter in "SDCZ"}} < {{*calls}}
assert ("cusolverDnXsyevBatched" in calls) == ({version} >= 11703)
assert ("cusolverDnXgeev" in calls) == ({version} >= 11702)
"""
)

FAILURES = (
    PROGRAM
    + """
stack = gpuarray.to_gpu(np.stack([np.eye(2), np.zeros((2, 2))]))
for function, text in ((np.linalg.inv, "Singular matrix"),
                       (np.linalg.cholesky, "Matrix is not positive definite"),
                       (linalg.cho_factor, "1-th leading minor of the array is not positive definite")):
    try:
        function(stack)
    except np.linalg.LinAlgError as error:
        assert str(error) == text, error
    else:
        raise AssertionError(function)
    with linalg.without_checks():
        result = function(stack)
    result = (result[0] if isinstance(result, tuple) else result).get()
    assert (np.diagonal(result[0]) == 1).all() and np.isnan(np.diagonal(result[1])).all()
assert np.linalg.det(stack).get().tolist() == [1, 0]

not_finite = gpuarray.to_gpu(np.stack([np.eye(3), np.diag([1, np.nan, 2])]))
for function in (np.linalg.inv, lambda a: np.linalg.solve(a, np.ones_like(a))):
    result = function(not_finite).get()
    assert np.isfinite(result[0]).all() and np.isnan(result[1]).any()
linalg.lu_factor(not_finite, check_finite=False)
not_finite[0, 1, 1] = 0
try:
    np.linalg.inv(not_finite)
except np.linalg.LinAlgError as error:
    assert str(error) == "Singular matrix"
else:
    raise AssertionError("a singular matrix next to one that is not finite")
"""
)

STACKS = (
    PROGRAM
    + """
def counted(function, *arguments):
    "(result, {{name: number of calls}}) of the functions for singular values and eigenvalues."
    del calls[:]
    result = function(*arguments)
    ends = "Batched", "vd", "vdp"
    found = [name.removeprefix("cusolverDn") for name in calls if name.endswith(ends)]
    return result, {{name: found.count(name) for name in found}}

# A stack of more than 8192 matrices, the maximum of one call, takes two; so does one with more elements in
# all than _MAX_ELEMENTS. If no two matrices fit into that, each has its own call.
many = draw(8200, 2, 3, dtype="f")
s, counts = counted(np.linalg.svdvals, gpuarray.to_gpu(many))
near(s, np.linalg.svdvals(many), 1e-5)
assert counts["SgesvdjBatched"] == 2 and "Xgesvd" not in counts
many = draw(8200, 2, 2)
w, counts = counted(np.linalg.eigvalsh, gpuarray.to_gpu(many))
near(w, np.linalg.eigvalsh(many), 1e-13)
assert counts == {{"XsyevBatched": 2}}
few = many[:5]
for elements, want in ((16, {{"XsyevBatched": 2}}), (7, {{"Xsyevd": 5}})):
    solver._MAX_ELEMENTS = elements
    w, counts = counted(np.linalg.eigvalsh, gpuarray.to_gpu(few))
    near(w, np.linalg.eigvalsh(few), 1e-13)
    assert counts == want, counts
_, counts = counted(np.linalg.svd, gpuarray.to_gpu(few[0]))
assert counts == {{"Xgesvd": 1}}
solver._MAX_ELEMENTS = 1 << 24

# gesvdp for large matrices; if it fails (NOT_CONVERGING in host_cusolver.c) or shifts singular values
# (SHIFTED), gesvd computes them again.
large = draw(65, 64, dtype="f")
for first, want in ((0, ["Xgesvdp"]), (4321, ["Xgesvdp", "Xgesvd"]), (4322, ["Xgesvdp", "Xgesvd"])):
    large[0, 0] = first
    there = gpuarray.to_gpu(large)
    (u, s, vh), counts = counted(np.linalg.svd, there)
    assert list(counts) == want, counts
    near(s, np.linalg.svdvals(large), 1e-5)
    assert np.allclose((u.get()[:, :64] * s.get()) @ vh.get(), large, atol=1e-5 * s.get()[0])
    with linalg.without_checks():
        _, counts = counted(np.linalg.svd, there)
    assert list(counts) == ["Xgesvd"]  # gesvdp waits for the device
_, counts = counted(np.linalg.svdvals, there)
assert list(counts) == ["Xgesvd"]
solver._SMALLEST_FOR_VALUES = 64
large[0, 0] = 0
for dtype in "fD":
    s, counts = counted(np.linalg.svdvals, gpuarray.to_gpu(large.astype(dtype)))
    assert list(counts) == ["Xgesvdp"]
    near(s, np.linalg.svdvals(large.astype(dtype)), 1e-5)

pool = drv.default_memory_pool()
there = gpuarray.to_gpu(many)
before = pool.active_bytes
for function in (np.linalg.svd, np.linalg.svdvals, np.linalg.eigh, np.linalg.eigvalsh):
    function(there)
    assert pool.active_bytes == before, function
    stream = drv.Stream()
    with linalg.without_checks(), stream, stream.capture() as graph:
        results = function(there)
    assert pool.active_bytes > before
    del graph, results
    assert pool.active_bytes == before, function

def captured(function, *shape):
    "The functions that are called in a capture. This library computes at once: results have no meaning."
    a, stream = gpuarray.to_gpu(draw(*shape)), drv.Stream()
    with linalg.without_checks(), stream, stream.capture():
        return list(counted(function, a)[1])

for shape in [(30, 3), (3, 32), (4, 4), (2, 5, 6)]:
    assert captured(np.linalg.svd, *shape) == ["DgesvdjBatched"]
for shape in [(3, 3), (40, 40), (2, 5, 5)]:
    assert captured(np.linalg.eigh, *shape) == ["XsyevBatched"]

def refused(function, array, words):
    "Asserts that the function raises in a capture and captures nothing."
    there, stream = gpuarray.to_gpu(array), drv.Stream()
    with linalg.without_checks(), stream, stream.capture() as graph:
        try:
            function(there)
        except drv.LogicError as error:
            assert f"{{words}} cannot be captured: cuSOLVER computes a part" in str(error), error
        else:
            raise AssertionError(function)
    assert not graph.nodes

for function in np.linalg.svd, np.linalg.pinv, np.linalg.matrix_rank, lambda a: np.linalg.lstsq(a, a[:, 0]):
    for shape in [(33, 2), (2, 33)]:
        refused(function, np.ones(shape), "with more than 32 rows or columns")
refused(np.linalg.eigvals, np.eye(3), "numpy.linalg.eig")
solver._version = lambda: 11700
refused(np.linalg.eigh, np.eye(3), "numpy.linalg.eigh before cuSOLVER 11.7.3")
"""
)

NOT_CONVERGED = (
    PROGRAM
    + """
def fails(a, good):
    "Asserts that `a` does not converge; without checks only its matrices `good` (a mask) are finite."
    there = gpuarray.to_gpu(a)
    for function in (np.linalg.svd, np.linalg.svdvals, np.linalg.pinv):
        try:
            function(there)
        except np.linalg.LinAlgError as error:
            assert str(error) == "SVD did not converge", error
        else:
            raise AssertionError(function)
        with linalg.without_checks():
            results = function(there)
        for each in results if isinstance(results, tuple) else (results,):
            found = each.get()
            assert np.isfinite(found[good]).all() and np.isnan(found[~good]).all()

stack, good = draw(3, 4, 3), np.array([True, False, True])
for value in (4321, np.nan, np.inf):  # 4321 is NOT_CONVERGING in host_cusolver.c
    stack[1, 0, 0] = value
    fails(stack, good)
fails(np.array([[1, np.nan], [0, 1]]), np.zeros((), bool))
"""
)

STREAMS = (
    PROGRAM
    + """
handles = lambda: _driver._live_objects()["LibraryHandle"]
host_array = np.eye(3) * 2
for _ in range(4):
    stream = drv.Stream()
    with stream:
        x = np.linalg.inv(gpuarray.to_gpu(host_array))
    stream.synchronize()
    assert (x.get() == np.eye(3) / 2).all()
    del x, stream
# One of cuSOLVER and one of cuBLAS: each stream takes over those of the stream before.
assert handles() == 2, handles()
"""
)

MEMORY = (
    PROGRAM
    + """
a = gpuarray.to_gpu(np.eye(3))
try:
    np.linalg.inv(a)
except drv.MemoryError as error:
    assert str(error).startswith("cusolverDnXgetrf: no room for its workspace of "), error
    assert str(error).endswith(" are free"), error
else:
    raise AssertionError("no error")
"""
)


@pytest.fixture
def library(compiled):
    """A function that compiles host_cusolver.c with the compiler's options and returns the library's path."""

    def compile(*options):
        return compiled((HERE / "host_cusolver.c").read_text(), *options)

    return compile


def run(run_python, program, path, **options):
    """Runs a program with the library at this path; `values` fills further fields. Asserts that it
    succeeds."""
    filled = program.format(library=path, helpers=str(HERE.parent), **options.pop("values", {}))
    run_python(filled, check=True, **options)


@pytest.mark.parametrize("version", [12004, 11701, 11600])
def test_values(run_python, library, version):
    """Older versions lack functions, or have one with wrong eigenvectors (XsyevBatched of 11701)."""
    run(run_python, VALUES, library(f"-DVERSION={version}"), values={"version": version})


def test_stacks(run_python, library):
    run(run_python, STACKS, library())


def test_not_converged(run_python, library):
    run(run_python, NOT_CONVERGED, library())


def test_failures(run_python, library):
    run(run_python, FAILURES, library())


def test_streams(run_python, library):
    run(run_python, STREAMS, library())


def test_too_large_a_workspace_is_named(run_python, library):
    run(run_python, MEMORY, library(), env={"HOST_CUSOLVER_WORKSPACE": str(1 << 60)})


def test_without_the_library(monkeypatch, primary_context):
    import numpy as np

    from pycuda import gpuarray
    from pycuda._libraries import finding, host

    monkeypatch.setattr(host, "is_possible", lambda: False)
    with pytest.raises(finding.LibraryNotFound, match=r"pip install \"pycuda\[libs\]\""):
        np.linalg.svd(gpuarray.to_gpu(np.eye(2)))
