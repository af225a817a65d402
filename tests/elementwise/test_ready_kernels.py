"""Prepared kernels (get_copy_kernel() and others), which programs launch themselves, compared with NumPy."""

import numpy as np
import pytest

import pycuda.driver as drv
import pycuda.elementwise as elementwise
import pycuda.gpuarray as gpuarray

pytestmark = pytest.mark.usefixtures("primary_context", "fresh_caches")

F, D, INT, C, Z = map(np.dtype, "fdiFD")
N = 777


def numbers(dtype, seed=0):
    """N random small integers of a dtype, from 1 to 8."""
    drawn = np.random.default_rng(seed).integers(1, 9, N)
    if np.dtype(dtype).kind == "c":
        return (drawn - 1j * drawn[::-1]).astype(dtype)
    return drawn.astype(dtype)


def launched(function, out_dtype, *arguments, outputs=1, out_first=False):
    """The array that a kernel writes, or a list of several: it takes the arguments, then the outputs (before
    them if out_first) and the number of elements."""
    inputs = [gpuarray.to_gpu(a) if isinstance(a, np.ndarray) and a.ndim else a for a in arguments]
    out = [gpuarray.zeros(N, out_dtype) for _ in range(outputs)]
    both = [*out, *inputs] if out_first else [*inputs, *out]
    function.prepared_async_call(out[0]._grid, out[0]._block, None, *both, out[0].mem_size)
    return [each.get() for each in out] if outputs > 1 else out[0].get()


@pytest.mark.parametrize("to", [F, D, INT, np.dtype(np.float16), C], ids=str)
@pytest.mark.parametrize("source", [F, D, INT, C], ids=str)
def test_copy(source, to):
    x = numbers(source)
    got = launched(elementwise.get_copy_kernel(to, source), to, x, out_first=True)
    assert (got == (x.real if source.kind == "c" and to.kind != "c" else x).astype(to)).all()


def test_one_operand():
    x, z = numbers(F), numbers(Z)
    assert (launched(elementwise.get_fill_kernel(F), F, 7.5) == 7.5).all()
    assert (launched(elementwise.get_reverse_kernel(F), F, x) == x[::-1]).all()
    assert (launched(elementwise.get_real_kernel(Z, D), D, z) == z.real).all()
    assert (launched(elementwise.get_imag_kernel(Z, D), D, z) == z.imag).all()
    assert (launched(elementwise.get_conj_kernel(Z, Z), Z, z) == z.conj()).all()
    assert np.allclose(launched(elementwise.get_unary_func_kernel("sqrtf", F), F, x), np.sqrt(x))
    assert np.allclose(launched(elementwise.get_unary_func_kernel("pycuda::abs", Z, D), D, z), abs(z))
    assert (launched(elementwise.get_logical_not_kernel(F, np.bool_), np.bool_, x - 3) == (x == 3)).all()
    assert (launched(elementwise.get_logical_not_kernel(Z, np.bool_), np.bool_, 0 * z)).all()
    assert (
        launched(elementwise.get_arange_kernel(F), F, 2.0, 0.5, out_first=True) == 2 + np.arange(N) / 2
    ).all()
    assert launched(elementwise.get_arange_kernel(C), C, 2j, 1.0, out_first=True)[3] == 3 + 2j


def test_sums_of_multiples():
    x, y = numbers(INT), numbers(F, 1)
    one = np.full(1, 3, np.float32)
    axpbyz = elementwise.get_axpbyz_kernel
    assert (launched(axpbyz(INT, F, D), D, 2.0, x, 3.0, y) == 2.0 * x + 3.0 * y).all()
    assert (launched(axpbyz(INT, F, D, y_is_scalar=True), D, 2.0, x, 3.0, one) == 2.0 * x + 9.0).all()
    assert (launched(axpbyz(F, INT, D, x_is_scalar=True), D, 2.0, one, 3.0, x) == 6.0 + 3.0 * x).all()
    assert (launched(axpbyz(INT, F, Z), Z, 2j, x, 3.0, y) == 2j * x + 3.0 * y).all()
    assert (launched(elementwise.get_axpbz_kernel(INT, F), F, 2.0, x, 1.0) == 2 * x + 1).all()


def test_two_operands():
    x, y, c = numbers(F), numbers(F, 1), numbers(C)
    assert (launched(elementwise.get_binary_op_kernel(F, F, F, "*"), F, x, y) == x * y).all()
    assert (launched(elementwise.get_binary_op_kernel(F, F, np.bool_, "<"), np.bool_, x, y) == (x < y)).all()
    assert (launched(elementwise.get_binary_op_kernel(F, C, C, "+"), C, x, c) == x + c).all()
    assert np.allclose(
        launched(elementwise.get_binary_func_kernel("atan2f", F, F, F), F, x, y), np.arctan2(x, y)
    )
    assert (
        launched(elementwise.get_binary_func_scalar_kernel("fmodf", F, F, F), F, x, 3) == np.fmod(x, 3)
    ).all()
    assert (launched(elementwise.get_rdivide_elwise_kernel(F, D), D, x, 3.0) == 3.0 / x.astype(D)).all()
    assert (launched(elementwise.get_scalar_op_kernel(F, F, F, "-"), F, x, 2.0) == x - 2).all()
    assert (launched(elementwise.get_fmod_kernel(), F, x, y) == np.fmod(x, y)).all()


@pytest.mark.parametrize("dtype", [F, D, INT, np.dtype(np.uint8)], ids=str)
@pytest.mark.parametrize("which", ["max", "min"])
def test_minmax(which, dtype):
    x, y, ours = numbers(dtype), numbers(dtype, 1), getattr(np, which + "imum")
    kernel = elementwise.get_binary_minmax_kernel
    assert (launched(kernel(which, dtype, dtype, dtype, False), dtype, x, y) == ours(x, y)).all()
    assert (launched(kernel(which, dtype, dtype, dtype, True), dtype, x, 4) == ours(x, 4)).all()


def test_kernels_of_powers():
    x, y = numbers(F), numbers(F, 1) / 4
    array = elementwise.get_pow_array_kernel
    assert np.allclose(launched(array(F, F, F, True, True), F, x, y), x**y)
    assert np.allclose(launched(array(F, F, F, True, False), F, x, 3.0), x**3)
    assert np.allclose(launched(array(D, F, D, False, True), D, 3.0, y), 3.0**y)
    assert np.allclose(launched(elementwise.get_pow_kernel(F), F, 2.0, x), x**2)
    with pytest.raises(AssertionError):
        array(F, F, F, False, False)


def test_modf_frexp_and_ldexp():
    x = numbers(F) + np.float32(0.25)
    whole, fraction = launched(elementwise.get_modf_kernel(), F, x, outputs=2)
    assert (fraction == 0.25).all() and (whole == x - fraction).all()
    significand, exponent = launched(elementwise.get_frexp_kernel(), F, x, outputs=2)
    assert (significand == np.frexp(x)[0]).all() and (exponent == np.frexp(x)[1]).all()
    assert (launched(elementwise.get_ldexp_kernel(), F, significand, exponent) == x).all()


def test_kernels_of_where_and_if_positive():
    crit, x, y = numbers(F) - 4, numbers(D), numbers(D, 1)
    assert (
        launched(elementwise.get_if_positive_kernel(F, D), D, crit, x, y) == np.where(crit > 0, x, y)
    ).all()
    assert (launched(elementwise.get_where_kernel(F, D), D, crit, x, y) == np.where(crit != 0, x, y)).all()


@pytest.mark.parametrize("dtype", [F, D, INT, C], ids=str)
def test_put_and_take(dtype):
    x = numbers(dtype)
    index = np.random.default_rng(2).permutation(N).astype(np.int32)
    source = gpuarray.to_gpu(x)
    put = np.empty_like(x)
    put[index] = x
    kernel = elementwise.get_put_kernel(dtype, INT)
    out = gpuarray.zeros(N, dtype)
    kernel.prepared_async_call(out._grid, out._block, None, gpuarray.to_gpu(index), out, source, N)
    assert (out.get() == put).all()
    for function, textures, arguments in (
        (*elementwise.get_take_kernel(dtype, INT), (gpuarray.to_gpu(index), out)),
        (
            *elementwise.get_take_put_kernel(dtype, INT, True),
            (gpuarray.to_gpu(np.arange(N, dtype=np.int32)), gpuarray.to_gpu(index - 1), out, 1),
        ),
    ):
        out.set(np.zeros_like(x))
        source.bind_to_texref_ext(textures[0], allow_double_hack=True, allow_complex_hack=True)
        function.prepared_async_call(out._grid, out._block, None, *arguments, N)
        assert (out.get() == x[index]).all()


def test_linear_combination():
    x, y = numbers(F), numbers(D, 1)
    function, textures = elementwise.get_linear_combination_kernel(((False, F, F), (True, D, D)), D)
    factor, out = gpuarray.to_gpu(np.array([3.0])), gpuarray.empty(N, D)
    factor.bind_to_texref_ext(textures[0], allow_double_hack=True)
    function.prepared_async_call(
        out._grid, out._block, None, 2.0, gpuarray.to_gpu(x), gpuarray.to_gpu(y), out, N
    )
    assert (out.get() == 2.0 * x + 3.0 * y).all()


def test_functions_that_return_modules_and_kernels():
    module, function, arguments = elementwise.get_elwise_kernel_and_types(
        "float *x, float a", "x[i] = a*i", "low", use_range=True
    )
    assert [each.name for each in arguments] == ["x", "a", "start", "stop", "step"]
    assert module.get_function("low").name == "low"
    x = gpuarray.zeros(10, np.float32)
    function.prepared_async_call(x._grid, x._block, None, x, 2.0, 0, 10, 3)
    assert x.get().tolist() == [0, 0, 0, 6, 0, 0, 12, 0, 0, 18]
    given = [elementwise.VectorArg(np.float32, "x"), elementwise.ScalarArg(np.uintp, "n")]
    plain = elementwise.get_elwise_module(given, "x[i] = n", "plain").get_function("plain").prepare("PL")
    plain.prepared_async_call(x._grid, x._block, None, x, 10)
    assert (x.get() == 10).all() and len(given) == 2
    assert elementwise.get_fill_kernel(F) is elementwise.get_fill_kernel(F)
    with pytest.raises(drv.CompileError, match="operation of kernel"):
        elementwise.get_elwise_kernel("float *x", "x[i] = wrong")
