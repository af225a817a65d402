"""Barriers of the whole grid by the functions of the device runtime's library (cudaCGSynchronize and
similar ones), as older headers and other compilers use them; cooperative_groups.h of newer CUDA has its own
(tests/driver)."""

import os
import subprocess

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda._compile import libraries
from pycuda.compiler import DynamicModule, DynamicSourceModule

pytestmark = [
    pytest.mark.usefixtures("cudadevrt"),
    pytest.mark.driver(11060, "launch attributes (cuLaunchKernelEx)"),
]

# Each thread reads what a thread of another block wrote before the barrier.
SOURCE = """
extern "C" __global__ void turn(int *first, int *second, int *errors)
{
    unsigned long long grid = cudaCGGetIntrinsicHandle(cudaCGScopeGrid);
    int count = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x, error = 0;
    for (int round = 0; round < 3; round++) {
        second[i] = first[count - 1 - i] + round;
        error |= cudaCGSynchronize(grid, 0);
        first[i] = second[(i + blockDim.x) % count];
        error |= cudaCGSynchronizeGrid(grid, 0);
    }
    errors[i] = error;
}
// Each thread writes: whether the grid has a handle, the result, number of threads and number of GPUs of
// GetSize, and the result, rank of the thread and rank of the GPU, counted from 1, of GetRank.
extern "C" __global__ void facts(unsigned *out)
{
    unsigned long long grid = cudaCGGetIntrinsicHandle(cudaCGScopeGrid);
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned *mine = out + 7 * (block * blockDim.x * blockDim.y * blockDim.z + thread);
    mine[0] = grid != 0 && cudaCGGetIntrinsicHandle(cudaCGScopeInvalid) == 0;
    mine[1] = cudaCGGetSize(mine + 2, mine + 3, grid);
    mine[4] = cudaCGGetRank(mine + 5, mine + 6, grid);
}
// What the functions return in a launch that is not cooperative.
extern "C" __global__ void alone(unsigned *out)
{
    unsigned long long grid = cudaCGGetIntrinsicHandle(cudaCGScopeGrid);
    out[0] = grid != 0;
    out[1] = cudaCGSynchronize(grid, 0);
    out[2] = cudaCGGetSize(out + 3, out + 4, grid);
    out[5] = cudaCGGetRank(out + 6, 0, grid);
}
// What they return for a handle of no grid.
extern "C" __global__ void wrong(unsigned *out)
{
    out[0] = cudaCGGetSize(out + 1, out + 2, 12345);
    out[3] = cudaCGSynchronize(12345, 0);
    out[4] = cudaCGGetSize(out + 5, 0, cudaCGGetIntrinsicHandle(cudaCGScopeGrid));
}
"""
BLOCKS, THREADS = 40, 96
UNKNOWN = 999  # cudaErrorUnknown


@pytest.fixture(scope="module")
def groups(cudadevrt):
    """SOURCE, compiled and linked with the device runtime."""
    return DynamicSourceModule(SOURCE, no_extern_c=True)


def check_turns(kernel, blocks, threads):
    """Launches `turn` and compares what it leaves with NumPy."""
    values = np.arange(blocks * threads, dtype=np.int32)
    result, errors, space = values.copy(), np.ones_like(values), drv.mem_alloc(values.nbytes)
    shape = {"block": (threads, 1, 1), "grid": (blocks, 1)}
    kernel(drv.InOut(result), space, drv.InOut(errors), **shape, cooperative=True)
    for turn in range(3):
        values = np.roll(values[::-1] + turn, -threads)
    assert (errors == 0).all() and (result == values).all()


def test_a_barrier_of_the_whole_grid(groups):
    check_turns(groups.get_function("turn"), BLOCKS, THREADS)


def test_a_barrier_of_hundreds_of_blocks(groups):
    check_turns(groups.get_function("turn"), 300, 32)


@pytest.mark.parametrize("how", ["file", "data"])
def test_the_library_is_linked(how):
    """The toolkit's library is linked by name, if there is one, for the CPU device as for a GPU."""
    try:
        folder = libraries.folder(None, "nvcc", "lib%s.a")
    except RuntimeError:
        pytest.skip("libcudadevrt.a is not installed")
    path = os.path.join(folder, "libcudadevrt.a")
    module = DynamicModule(no_extern_c=True).add_source(SOURCE, nvcc_options=["-rdc=true"])
    if how == "file":
        module.add_file(path, drv.jit_input_type.LIBRARY)
    else:
        with open(path, "rb") as library:
            module.add_data(library.read(), drv.jit_input_type.LIBRARY, "cudadevrt")
    check_turns(module.link().get_function("turn"), BLOCKS, THREADS)


def test_through_nvcc(tmp_path, nvcc):
    major, minor = drv.Context.get_device().compute_capability()
    source, ptx = tmp_path / "groups.cu", tmp_path / "groups.ptx"
    source.write_text(SOURCE)
    command = [nvcc, "-ptx", "-rdc=true", f"-arch=compute_{major}{minor}", "-o", ptx, source]
    subprocess.run(command, check=True, capture_output=True)
    module = DynamicModule().add_file(str(ptx), drv.jit_input_type.PTX).add_stdlib("cudadevrt").link()
    check_turns(module.get_function("turn"), BLOCKS, THREADS)


def test_sizes_and_ranks(groups):
    grid, block = (3, 2, 2), (5, 3, 2)
    count = int(np.prod(grid + block))
    out = np.full((count, 7), 77, np.uint32)
    groups.get_function("facts")(drv.InOut(out), grid=grid, block=block, cooperative=True)
    assert (out[:, 0] == 1).all() and (out[:, [1, 4]] == 0).all()
    assert (out[:, 2] == count).all() and (out[:, 3] == 1).all()
    assert (out[:, 5] == np.arange(count)).all() and (out[:, 6] == 1).all()


def test_without_a_cooperative_launch(groups):
    out = np.full(8, 77, np.uint32)
    groups.get_function("alone")(drv.InOut(out), grid=(2, 1), block=(1, 1, 1))
    assert out.tolist() == [0, UNKNOWN, UNKNOWN, 0, 0, UNKNOWN, 0, 77]


def test_a_handle_of_no_grid(groups):
    """An H200 returns the same: GetSize writes nothing and reports no error."""
    out = np.full(6, 77, np.uint32)
    groups.get_function("wrong")(drv.InOut(out), grid=(2, 1), block=(1, 1, 1), cooperative=True)
    assert out.tolist() == [0, 77, 77, UNKNOWN, 0, 2]


@pytest.mark.cpu("GPUs link every library")
def test_other_libraries_are_refused_by_name():
    with pytest.raises(drv.Error, match="'libmine.a' cannot be linked.*PTX.*libcudadevrt.a"):
        DynamicModule().add_data(b"!<arch>\n" + bytes(100), drv.jit_input_type.LIBRARY, "libmine.a")
