"""A program with types that uses these modules. test_typed.py has mypy check it; it is never run."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from typing_extensions import assert_type

import pycuda.driver as drv
from pycuda import characterize, curandom, debug, tools
from pycuda.compyte.array import ArrayFlags, as_strided, c_contiguous_strides, get_common_dtype
from pycuda.compyte.dtypes import DTypeRegistry, parse_c_arg_backend
from pycuda.driver import GPUArray
from pycuda.sparse import csc_array, csr_array
from pycuda.sparse.cg import CGStateContainer, solve_pkt_with_cg
from pycuda.sparse.coordinate import CoordinateSpMV
from pycuda.sparse.inner import AsyncInnerProduct
from pycuda.sparse.operator import DiagonalPreconditioner, IdentityOperator
from pycuda.sparse.packeted import PacketedSpMV


@tools.context_dependent_memoize
def length(text: str, times: int = 1) -> int:
    return len(text) * times


@tools.mark_cuda_test
def check_sum(name: str) -> bool:
    return length(name) > 0


def contexts_and_devices() -> None:
    assert_type(tools.make_default_context(), drv.Context)
    assert_type(tools.make_default_context(lambda device: device.make_context()), drv.Context)
    assert_type(length("a", times=2), int)
    assert_type(check_sum("a"), bool)
    length(3)  # type: ignore[arg-type]
    check_sum()  # type: ignore[call-arg]
    for context in tools.init_cuda_context_fixture():
        context.push()
    limits = tools.DeviceData((9, 0))
    assert_type(tools.DeviceData().max_threads, int)
    assert_type(limits.align(5), int)
    assert_type(limits.make_valid_tex_channel_count(3), int)
    record = tools.OccupancyRecord(limits, 256, registers=32)
    assert_type(record.occupancy, float)
    assert_type(record.limited_by, str)
    assert_type(characterize.sizeof("int"), int)
    assert_type(debug.main(["program.py"]), int)


def pools() -> None:
    pool = tools.DeviceMemoryPool()
    assert_type(pool.allocate(100), tools.PooledDeviceAllocation)
    assert_type(tools.DebugMemoryPool(interactive=False).allocate(5), tools.PooledDeviceAllocation)
    assert_type(pool.snapshot().active[0].size, int)
    assert_type(pool.snapshot().bins(), list[tuple[int, int, int, int]])
    tools.set_allocator(pool)
    tools.clear_context_caches()


def c_types() -> None:
    assert_type(tools.dtype_to_ctype("float32"), str)
    assert_type(tools.parse_c_arg("float *x"), tools.VectorArg | tools.ScalarArg)
    assert_type(tools.parse_c_arg("int n").declarator(), str)
    assert_type(tools.get_or_register_dtype("float"), np.dtype[Any])
    assert_type(tools.get_or_register_dtype(["point"], np.dtype([("x", "f4")])), np.dtype[Any])
    assert_type(tools.get_arg_type("int n"), str)
    assert_type(DTypeRegistry().name_to_dtype, dict[str, np.dtype[Any]])
    parse_c_arg_backend("int n", lambda dtype, name: (dtype, name), lambda dtype, name: (dtype, name))
    assert_type(c_contiguous_strides(4, (2, 3)), tuple[int, ...])
    assert_type(get_common_dtype(np.float32(1), np.float64(1), True), np.dtype[Any])
    assert_type(ArrayFlags(np.zeros(3)).forc, bool)
    as_strided(np.zeros(3), (2, 2), (8, 8))


def random_numbers(dtype: npt.DTypeLike, stream: drv.Stream) -> None:
    assert_type(curandom.rand((5,), np.float64), GPUArray)
    curandom.rand(5, "float64")
    curandom.rand(5, dtype=np.uint32)
    curandom.rand([2, 3], dtype, stream)
    philox = curandom.Philox4x32_10RandomNumberGenerator()
    philox.fill_uniform(philox.gen_raw(5, np.uint32))
    for generator in (
        curandom.XORWOWRandomNumberGenerator(curandom.seed_getter_uniform, offset=5),
        curandom.MRG32k3aRandomNumberGenerator(lambda count: curandom.seed_getter_unique(count)),
    ):
        numbers = generator.gen_normal((4, 4), np.float32, stream)
        assert_type(numbers, GPUArray)
        generator.fill_uniform(numbers)
        generator.fill_log_normal(numbers, 0, 1.5)
        generator.gen_poisson(4, "uint32", 2.5)
        generator.call_skip_ahead(4, stream)
        generator.call_skip_ahead_array(numbers)
        assert_type(generator.state, GPUArray)
        assert_type(generator.block_count, int)
        assert_type(generator.generators["uniform_int"], drv.Function)
    vectors = curandom.generate_direction_vectors(3)
    curandom.Sobol32RandomNumberGenerator(vectors, 7).gen_uniform(5, np.float32)
    curandom.ScrambledSobol64RandomNumberGenerator().gen_normal(5, float)
    assert_type(curandom.get_curand_version(), tuple[int, int, int])


def sparse_arrays(b: GPUArray) -> None:
    a = csr_array(scipy.sparse.eye_array(3), dtype=np.float32)
    assert_type(a @ b, GPUArray)
    assert_type(b @ a, GPUArray)
    assert_type(2 * a.astype("f8"), csr_array)
    assert_type(a.tocsc(), csc_array)
    assert_type(a.tocoo().tocsr().copy(), csr_array)
    assert_type(a.toarray(), GPUArray)
    assert_type(csc_array((b, (b, b)), shape=(3, 3)).shape, tuple[int, int])


def sparse_matrices(b: GPUArray) -> None:
    matrix = scipy.sparse.eye(3)
    assert_type(CoordinateSpMV(matrix, np.float32)(b), GPUArray)
    operator = PacketedSpMV(matrix, True, "float32")
    assert_type(operator.permute(b), GPUArray)
    assert_type(operator.shape, tuple[int, int])
    assert_type(operator.nnz, int)
    assert_type(solve_pkt_with_cg(operator, b, DiagonalPreconditioner(b)), tuple[GPUArray, int, int])
    state = CGStateContainer(IdentityOperator(np.float32, 3))
    state.reset(b)
    assert_type(state.run(10, tol=1e-3), GPUArray)
    assert_type(AsyncInnerProduct(b, b).wait(), np.ndarray[Any, Any])
