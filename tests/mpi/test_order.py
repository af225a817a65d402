"""The work on an array is waited for when mpi4py takes it, and only then."""

from pathlib import Path

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda._array.interop import message_passing

PTX = Path(__file__).parents[1].joinpath("driver", "late.ptx").read_bytes()
NON_BLOCKING = 1
BY_MPI4PY = {"stream": -1, "max_version": (1, 0), "copy": False}


@pytest.fixture
def kernels(nothing_in_flight):
    return drv.module_from_buffer(PTX)


@pytest.fixture
def nothing_in_flight():
    context = drv.Device(0).retain_primary_context()
    context.push()
    yield
    context.synchronize()
    context.pop()


def delayed(kernels, stream):
    """An array of 16 sevens that are written 0.2 s from now."""
    array = gpuarray.zeros(16, np.int32)
    drv.Context.synchronize()
    kernels.get_function("spin")(np.uint64(200_000_000), block=(1, 1, 1), stream=stream)
    kernels.get_function("add")(array, np.int32(7), block=(16, 1, 1), stream=stream)
    return array


@pytest.mark.parametrize("flags", [0, NON_BLOCKING])
def test_a_consumer_that_neither_copies_nor_has_a_stream_is_waited_for(kernels, flags):
    stream = drv.Stream(flags)
    array = delayed(kernels, stream)
    assert not stream.is_done()
    capsule = array.__dlpack__(**BY_MPI4PY)
    assert stream.is_done() and "dltensor_versioned" in repr(capsule)


@pytest.mark.parametrize(
    "request_of",
    [{"stream": -1}, {"stream": -1, "max_version": (1, 0)}, {"stream": 1, "copy": False}],
    ids=["CuTe", "cuda.core", "stream"],
)
def test_a_consumer_that_synchronizes_itself_is_not_waited_for(kernels, request_of):
    stream = drv.Stream(NON_BLOCKING)
    array = delayed(kernels, stream)
    array.__dlpack__(**request_of)
    assert not stream.is_done()


def test_the_cuda_array_interface_never_waits(kernels):
    stream = drv.Stream(NON_BLOCKING)
    array = delayed(kernels, stream)
    assert array.__cuda_array_interface__["version"] == 3
    assert not stream.is_done()


def test_the_arrays_own_context_is_waited_for(kernels):
    array = gpuarray.zeros(16, np.int32)
    drv.Context.synchronize()
    kernels.get_function("spin")(np.uint64(200_000_000), block=(1, 1, 1))
    kernels.get_function("add")(array, np.int32(7), block=(16, 1, 1))
    done = drv.Event()
    done.record()
    other = drv.Device(0).make_context()
    array.__dlpack__(**BY_MPI4PY)
    other.pop()
    assert done.query()
    other.detach()


PROGRAM = """
    from pathlib import Path
    import numpy as np
    import pycuda.driver as drv
    import pycuda.gpuarray as gpuarray
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    drv.init()
    drv.Device(comm.rank % drv.Device.count()).retain_primary_context().push()
    kernels = drv.module_from_buffer(Path({path!r}).read_bytes())
    stream = drv.Stream(1)
    spin, add = kernels.get_function("spin"), kernels.get_function("add")

    class InterfaceOnly:
        # What mpi4py takes by __cuda_array_interface__, which it reads without waiting.
        def __init__(self, array):
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    for wrap in (lambda array: array, lambda array: array.__cuda_array_interface__ and InterfaceOnly(array)):
        for delayed in range(comm.size):
            array = gpuarray.zeros(16, np.int32)
            drv.Context.synchronize()
            if comm.rank == delayed:
                spin(np.uint64(100_000_000), block=(1, 1, 1), stream=stream)
                add(array, np.int32(7), block=(16, 1, 1), stream=stream)
            message = wrap(array)
            if message is not array:
                stream.synchronize()          # as docs/interchange.md asks for this protocol
            total = gpuarray.empty(16, np.int32)
            comm.Allreduce(message, total)
            assert set(total.get().tolist()) == {{7}}, total
"""


@pytest.mark.cpu("the MPI libraries of PyPI are not CUDA-aware")
@pytest.mark.parametrize("processes", [2, 4])
def test_messages_are_what_pending_work_writes(mpi_run, processes):
    path = str(Path(__file__).parents[1] / "driver" / "late.ptx")
    mpi_run(processes, PROGRAM.format(path=path))


class Library:
    """Stands for mpi4py.MPI with a library that answers `aware`."""

    __file__ = "mpi"

    @staticmethod
    def Is_initialized():
        return True

    @staticmethod
    def Is_finalized():
        return False

    @staticmethod
    def Get_library_version():
        return "A library 1.0\nbuilt somewhere"


@pytest.mark.parametrize("aware", [None, False, True])
def test_device_memory_is_refused_where_the_library_cannot_access_it(kernels, monkeypatch, aware):
    monkeypatch.setattr(message_passing, "loaded_mpi", lambda: Library)
    monkeypatch.setattr(message_passing, "_query", lambda extension: aware)
    monkeypatch.setattr(message_passing._driver, "_is_cpu_device", lambda: False)
    array = gpuarray.zeros(4, np.int32)
    if aware is False:
        with pytest.raises(BufferError, match=r"\(A library 1.0\) is not CUDA-aware.*pycuda.mpi.staged"):
            array.__dlpack__(**BY_MPI4PY)
    else:
        array.__dlpack__(**BY_MPI4PY)
    array.__dlpack__(stream=-1)
    managed = drv.managed_zeros(4, np.int32, mem_flags=drv.mem_attach_flags.GLOBAL)
    gpuarray.GPUArray(4, np.int32, gpudata=managed).__dlpack__(**BY_MPI4PY)
