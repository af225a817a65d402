"""The arguments that calls on a GPU pass to NVIDIA's libraries, shown by a library in C instead of them.

stand_in.c says which numbers its functions return for which arguments.
"""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray
from skcuda import _library, cublas, cufft, cusolver, fft

pytestmark = pytest.mark.cpu("a GPU has the libraries themselves")


@pytest.fixture(autouse=True)
def library(monkeypatch, compiled):
    """Makes skcuda take the code path of a GPU and load the compiled stand_in.c as each of the libraries.

    The CPU device's memory is host memory, so the library can use its addresses.
    """
    path = compiled((Path(__file__).parent / "stand_in.c").read_text())
    for module in _library, cublas, cufft, cusolver:
        monkeypatch.setattr(module, "host", SimpleNamespace(is_possible=lambda: False))
    monkeypatch.setattr(_library.finding, "require", lambda name: None)
    found = SimpleNamespace(abs_path=path)
    monkeypatch.setattr(_library, "load_nvidia_dynamic_lib", lambda name: found)
    yield
    # The cached properties that refer to the loaded library.
    for module in cublas, cufft, cusolver:
        vars(module._library).pop("_loaded", None)
        for value in vars(module).values():
            if isinstance(value, _library.LibraryFunction):
                vars(value).pop("_symbol", None)


def test_handles_and_streams():
    handle, stream = cublas.cublasCreate(), drv.Stream()
    assert handle == 0x123456789A  # all of a pointer's bits
    assert cublas.cublasGetVersion(handle) == 130100
    for stream_or_number in stream.handle, stream:
        cublas.cublasSetStream(handle, stream_or_number)
        assert cublas.cublasGetStream(handle) == stream.handle
    cublas.cublasSetStream(handle, None)
    assert cublas.cublasGetStream(handle) == 0
    cublas.cublasDestroy(handle)
    with pytest.raises(cublas.cublasNotInitialized):
        cublas.cublasDestroy(handle)


def test_numbers_and_enumerations():
    handle = cublas.cublasCreate()
    a, b, c = (gpuarray.to_gpu(np.array([number, 0])) for number in (2 + 1j, 3j, 0j))
    cublas.cublasZgemm(handle, "C", b"t", 1, 2, 3, 1 - 1j, a.gpudata, 4, b.gpudata, 5, 2, c.gpudata, 6)
    sizes = 1 + 2 + 3 + 4 + 5 + 6
    assert c.get().tolist() == [200 + 10 + sizes, (1 - 1j) * (2 + 1j) + 2 * 3j]
    cublas.cublasZgemm(
        handle, 0, 1, 1, 2, 3, alpha=1, A=a, lda=4, B=int(b.gpudata), ldb=5, beta=0, C=c, ldc=6
    )
    assert c.get().tolist() == [10 + sizes, 2 + 1j]
    out = gpuarray.zeros(1, np.complex64)
    cublas.cublasCherk(handle, "u", "n", 1, 1, 0.5, out.gpudata, 1, 0.25, out.gpudata, 1)
    assert out.get() == 100 + 10 * 0.5 + 0.25
    with pytest.raises(cublas.cublasInvalidValue):
        cublas.cublasZgemm(handle, 0, 0, -1, 2, 3, 1, a.gpudata, 4, b.gpudata, 5, 0, c.gpudata, 6)


def test_indices_count_from_0():
    x = gpuarray.to_gpu(np.array([1.0, 5, 2, 7]))
    handle = cublas.cublasCreate()
    assert cublas.cublasIdamax(handle, 4, x.gpudata, 1) == 3
    assert cublas.cublasIdamax(handle, 2, x.gpudata, 2) == 1
    assert cublas.cublasIdamax(int(handle), 2, x.gpudata, 2) == 1


def test_temporary_arrays_on_the_handles_stream():
    """Arrays that are freed right after the call may be passed."""
    stream, handle = drv.Stream(), cublas.cublasCreate()
    for stream_or_number in stream, stream.handle:
        cublas.cublasSetStream(handle, stream_or_number)
        for _ in range(5):
            cublas.cublasIdamax(handle, 3, gpuarray.zeros(3, float).gpudata, 1)
    stream.synchronize()


def test_a_function_that_the_library_lacks():
    with pytest.raises(NotImplementedError, match="libcublas has no cublasSaxpy"):
        cublas.cublasSaxpy(cublas.cublasCreate(), 1, 1, 0, 1, 0, 1)


def test_plans_pass_their_layout_and_direction():
    plan = fft.Plan((4, 6), complex, complex, 3, drv.Stream())
    assert plan.handle == 77 and plan.worksize == 1000000 * cufft.CUFFT_Z2Z + 4_06_03
    x = gpuarray.to_gpu(np.array([3 + 1j]))
    cufft.cufftExecZ2Z(plan.handle, x.gpudata, x.gpudata, cufft.CUFFT_FORWARD)
    assert x.get() == -3 - 1j
    assert cufft.cufftPlan1d(8, cufft.CUFFT_C2C, 2) == 8000 + 10 * cufft.CUFFT_C2C + 2


def test_arguments_of_the_solver():
    handle, params = cusolver.cusolverDnCreate(), cusolver.cusolverDnCreateSyevjInfo()
    a = gpuarray.zeros(9, float)
    cusolver.cusolverDnXsyevjSetTolerance(params, 1e-7)
    lwork = cusolver.cusolverDnDsyevj_bufferSize(
        handle, "CUSOLVER_EIG_MODE_VECTOR", "U", 3, a.gpudata, 4, a.gpudata, params
    )
    assert lwork == 1000 * 1 + 100 * 1 + 10 * 3 + 4
    info = gpuarray.zeros(1, np.int32)
    cusolver.cusolverDnDgesvd(
        handle, "A", "s", 3, 3, a.gpudata, 3, a.gpudata, a.gpudata, 3, a.gpudata, 3, a.gpudata, 55, 0,
        info.gpudata,
    )  # fmt: skip
    assert a.get()[0] == 1000 * ord("A") + ord("S") and info.get() == 55
    cusolver.cusolverDnDestroySyevjInfo(params)
    cusolver.cusolverDnDestroy(handle)
