"""Ready-made elementwise kernels: prepared functions that clients launch themselves.

Each takes the arguments that its docstring lists, and then the number of elements. Arrays must be contiguous:
``function.prepared_async_call(a._grid, a._block, stream, *arguments, a.mem_size)``.
"""

from __future__ import annotations

import numpy as np

from pycuda._kernels.plans.caches import context_dependent_memoize
from pycuda._kernels.user.c_types import ScalarArg, VectorArg, dtype_to_ctype
from pycuda._kernels.user.elementwise import SIZE, get_elwise_kernel, get_elwise_module

__all__ = [
    "get_arange_kernel",
    "get_axpbyz_kernel",
    "get_axpbz_kernel",
    "get_binary_func_kernel",
    "get_binary_func_scalar_kernel",
    "get_binary_minmax_kernel",
    "get_binary_op_kernel",
    "get_conj_kernel",
    "get_copy_kernel",
    "get_fill_kernel",
    "get_fmod_kernel",
    "get_frexp_kernel",
    "get_if_positive_kernel",
    "get_imag_kernel",
    "get_ldexp_kernel",
    "get_linear_combination_kernel",
    "get_logical_not_kernel",
    "get_modf_kernel",
    "get_pow_array_kernel",
    "get_pow_kernel",
    "get_put_kernel",
    "get_rdivide_elwise_kernel",
    "get_real_kernel",
    "get_reverse_kernel",
    "get_scalar_op_kernel",
    "get_take_kernel",
    "get_take_put_kernel",
    "get_unary_func_kernel",
    "get_where_kernel",
]


def _vectors(**dtypes):
    return [VectorArg(dtype, name) for name, dtype in dtypes.items()]


def _is_complex(dtype) -> bool:
    return np.dtype(dtype).kind == "c"


def _cast(text: str, dtype_from, dtype_to) -> str:
    """The expression `text`, of one dtype, converted to another. A complex number becomes its real part for a
    real dtype."""
    if _is_complex(dtype_from) and not _is_complex(dtype_to):
        return f"({dtype_to_ctype(dtype_to)}) pycuda::real({text})"
    if _is_complex(dtype_to) and not _is_complex(dtype_from):
        return f"{dtype_to_ctype(dtype_to)}(({dtype_to_ctype(dtype_to)}::value_type) {text})"
    return f"({dtype_to_ctype(dtype_to)}) ({text})"


# ---- one array into another


@context_dependent_memoize
def get_copy_kernel(dtype_dest, dtype_src):
    """The prepared kernel of (dest, src): converts; a complex number becomes its real part."""
    operation = f"dest[i] = {_cast('src[i]', dtype_src, dtype_dest)}"
    return get_elwise_kernel(_vectors(dest=dtype_dest, src=dtype_src), operation, "copy")


@context_dependent_memoize
def get_fill_kernel(dtype):
    """The prepared kernel of (value, z)."""
    return get_elwise_kernel([ScalarArg(dtype, "a"), VectorArg(dtype, "z")], "z[i] = a", "fill")


@context_dependent_memoize
def get_reverse_kernel(dtype):
    """The prepared kernel of (in, out): the last element first."""
    return get_elwise_kernel(_vectors(y=dtype, z=dtype), "z[i] = y[n-1-i]", "reverse")


@context_dependent_memoize
def get_real_kernel(dtype, real_dtype):
    """The prepared kernel of (in, out): real parts."""
    return get_elwise_kernel(_vectors(y=dtype, z=real_dtype), "z[i] = real(y[i])", "real")


@context_dependent_memoize
def get_imag_kernel(dtype, real_dtype):
    """The prepared kernel of (in, out): imaginary parts."""
    return get_elwise_kernel(_vectors(y=dtype, z=real_dtype), "z[i] = imag(y[i])", "imag")


@context_dependent_memoize
def get_conj_kernel(dtype, conj_dtype):
    """The prepared kernel of (in, out): conjugates."""
    return get_elwise_kernel(_vectors(y=dtype, z=conj_dtype), "z[i] = pycuda::conj(y[i])", "conj")


@context_dependent_memoize
def get_unary_func_kernel(func_name, in_dtype, out_dtype=None):
    """The prepared kernel of (in, out): a CUDA function of each element."""
    out_dtype = in_dtype if out_dtype is None else out_dtype
    return get_elwise_kernel(
        _vectors(y=in_dtype, z=out_dtype), f"z[i] = {func_name}(y[i])", f"{_name_part(func_name)}_kernel"
    )


def _name_part(name: str) -> str:
    """A function's name as part of a kernel's name: signs other than letters and digits become
    underscores."""
    return "".join(sign if sign.isalnum() else "_" for sign in name)


@context_dependent_memoize
def get_logical_not_kernel(dtype_x, dtype_out):
    """The prepared kernel of (x, out): whether each element is 0."""
    zero = f"({dtype_to_ctype(dtype_x)}) 0"
    return get_elwise_kernel(_vectors(x=dtype_x, z=dtype_out), f"z[i] = (x[i] == {zero})", "logical_not")


# ---- sums and products


@context_dependent_memoize
def get_axpbyz_kernel(dtype_x, dtype_y, dtype_z, x_is_scalar=False, y_is_scalar=False):
    """The prepared kernel of (a, x, b, y, z): z = a*x + b*y, a and b being of z's dtype. x_is_scalar and
    y_is_scalar: that array has one element.
    """
    x = _cast("x[0]" if x_is_scalar else "x[i]", dtype_x, dtype_z)
    y = _cast("y[0]" if y_is_scalar else "y[i]", dtype_y, dtype_z)
    arguments = [
        ScalarArg(dtype_z, "a"), VectorArg(dtype_x, "x"), ScalarArg(dtype_z, "b"), VectorArg(dtype_y, "y"),
        VectorArg(dtype_z, "z"),
    ]  # fmt: skip
    return get_elwise_kernel(arguments, f"z[i] = a*({x}) + b*({y})", "axpbyz")


@context_dependent_memoize
def get_axpbz_kernel(dtype_x, dtype_z):
    """The prepared kernel of (a, x, b, z): z = a*x + b, a and b being of z's dtype."""
    arguments = [
        ScalarArg(dtype_z, "a"),
        VectorArg(dtype_x, "x"),
        ScalarArg(dtype_z, "b"),
        VectorArg(dtype_z, "z"),
    ]
    return get_elwise_kernel(arguments, f"z[i] = a*({_cast('x[i]', dtype_x, dtype_z)}) + b", "axpb")


@context_dependent_memoize
def get_linear_combination_kernel(summand_descriptors, dtype_z):
    """The kernel of a sum of scaled arrays, and its texture references.

    Parameters
    ----------
    summand_descriptors : tuple of (is_gpu_scalar, scalar_dtype, vector_dtype)
        Whether a coefficient lies on the device, where it is read through a texture; else it is an argument.
    dtype_z : dtype
        Of the result.

    Returns
    -------
    (function, texture references)
        The function takes for each summand its coefficient, unless that is on the device, and its array,
        then z.
    """
    arguments, preamble, terms, names = [], ["#include <pycuda-helpers.hpp>\n"], [], []
    for k, (on_device, scalar_dtype, vector_dtype) in enumerate(summand_descriptors):
        if on_device:
            held = dtype_to_ctype(scalar_dtype, with_fp_tex_hack=True)
            names.append(f"tex_a{k}")
            preamble.append(f"texture <{held}, 1, cudaReadModeElementType> tex_a{k};\n")
            scalar = f"fp_tex1Dfetch(tex_a{k}, 0)"
        else:
            arguments.append(ScalarArg(scalar_dtype, f"a{k}"))
            scalar = f"a{k}"
        arguments.append(VectorArg(vector_dtype, f"x{k}"))
        terms.append(f"({_cast(scalar, scalar_dtype, dtype_z)})*({_cast(f'x{k}[i]', vector_dtype, dtype_z)})")
    arguments += [VectorArg(dtype_z, "z"), SIZE]
    return _texture_kernel(
        arguments, "z[i] = " + " + ".join(terms), "linear_combination", "".join(preamble), names
    )


def _texture_kernel(arguments, operation, name, preamble, texture_names):
    """(prepared function, texture references)"""
    module = get_elwise_module(arguments, operation, name, preamble=preamble)
    textures = [module.get_texref(texture) for texture in texture_names]
    function = module.get_function(name)
    function._prepare_strided("".join(argument.struct_char for argument in arguments), texrefs=textures)
    return function, textures


# ---- two operands


def _binary_arguments(dtype_x, dtype_y, dtype_z, y_is_value=False):
    y = ScalarArg(dtype_y, "y") if y_is_value else VectorArg(dtype_y, "y")
    return [VectorArg(dtype_x, "x"), y, VectorArg(dtype_z, "z")]


@context_dependent_memoize
def get_binary_op_kernel(dtype_x, dtype_y, dtype_z, operator, x_is_scalar=False, y_is_scalar=False):
    """The prepared kernel of (x, y, z): a C operator between elements. x_is_scalar and y_is_scalar: that
    array has one element.
    """
    x, y = "x[0]" if x_is_scalar else "x[i]", "y[0]" if y_is_scalar else "y[i]"
    if _is_complex(dtype_z):
        x, y = f"({_cast(x, dtype_x, dtype_z)})", f"({_cast(y, dtype_y, dtype_z)})"
    return get_elwise_kernel(
        _binary_arguments(dtype_x, dtype_y, dtype_z), f"z[i] = {x} {operator} {y}", "binary_op"
    )


@context_dependent_memoize
def get_binary_func_kernel(func, dtype_x, dtype_y, dtype_z):
    """The prepared kernel of (x, y, z): a CUDA function of elements of both."""
    return get_elwise_kernel(
        _binary_arguments(dtype_x, dtype_y, dtype_z),
        f"z[i] = {func}(x[i], y[i])",
        f"{_name_part(func)}_kernel",
    )


@context_dependent_memoize
def get_binary_func_scalar_kernel(func, dtype_x, dtype_y, dtype_z):
    """The prepared kernel of (x, number, z): a CUDA function of each element and the number."""
    return get_elwise_kernel(
        _binary_arguments(dtype_x, dtype_y, dtype_z, y_is_value=True),
        f"z[i] = {func}(x[i], y)",
        f"{_name_part(func)}_kernel",
    )


@context_dependent_memoize
def get_binary_minmax_kernel(func, dtype_x, dtype_y, dtype_z, use_scalar):
    """The prepared kernel of (x, y, z), where y is a number with use_scalar. func is "max" or "min"; a NaN is
    ignored in favor of a number, and integers of different types are compared as C converts them.
    """
    y = "y" if use_scalar else "y[i]"
    common = np.result_type(dtype_x, dtype_y)
    if common.kind == "f":
        function = f"f{func}f" if common.itemsize < 8 else f"f{func}"
        text = f"{function}(x[i], {y})"
    else:
        a, b = _cast("x[i]", dtype_x, common), _cast(y, dtype_y, common)
        text = f"({a}) {'>' if func == 'max' else '<'} ({b}) ? ({a}) : ({b})"
    return get_elwise_kernel(
        _binary_arguments(dtype_x, dtype_y, dtype_z, use_scalar), f"z[i] = {text}", f"binary_{func}"
    )


@context_dependent_memoize
def get_rdivide_elwise_kernel(dtype_x, dtype_z):
    """The prepared kernel of (x, number, z): the number over each element, in z's dtype."""
    x = _cast("x[i]", dtype_x, dtype_z)
    return get_elwise_kernel(
        _binary_arguments(dtype_x, dtype_z, dtype_z, y_is_value=True), f"z[i] = y / ({x})", "divide_r"
    )


@context_dependent_memoize
def get_scalar_op_kernel(dtype_x, dtype_a, dtype_y, operator):
    """The prepared kernel of (x, a, y): a C operator between each element and a number."""
    x, a = "x[i]", "a"
    if _is_complex(dtype_y):
        x, a = f"({_cast(x, dtype_x, dtype_y)})", f"({_cast(a, dtype_a, dtype_y)})"
    arguments = [VectorArg(dtype_x, "x"), ScalarArg(dtype_a, "a"), VectorArg(dtype_y, "y")]
    return get_elwise_kernel(arguments, f"y[i] = {x} {operator} {a}", "scalarop_kernel")


def _power(base: str, exponent: str, dtype_x, dtype_y, dtype_z) -> str:
    """base ** exponent, computed in single precision when nothing is wider."""
    if any(map(_is_complex, (dtype_x, dtype_y))):
        wide = np.result_type(dtype_x, dtype_y)
        return f"pycuda::pow({_cast(base, dtype_x, wide)}, {_cast(exponent, dtype_y, wide)})"
    single = all(np.can_cast(dtype, np.float32) for dtype in (dtype_x, dtype_y))
    wide = np.float32 if single else np.float64
    return f"pow({_cast(base, dtype_x, wide)}, {_cast(exponent, dtype_y, wide)})"


@context_dependent_memoize
def get_pow_array_kernel(dtype_x, dtype_y, dtype_z, is_base_array, is_exp_array):
    """The prepared kernel of (x, y, z): x ** y. is_base_array and is_exp_array say which is an array; the
    other is a number. AssertionError when neither is.
    """
    if not (is_base_array or is_exp_array):
        raise AssertionError("one of base and exponent must be an array")
    arguments = [
        (VectorArg if is_base_array else ScalarArg)(dtype_x, "x"),
        (VectorArg if is_exp_array else ScalarArg)(dtype_y, "y"),
        VectorArg(dtype_z, "z"),
    ]
    power = _power(
        "x[i]" if is_base_array else "x", "y[i]" if is_exp_array else "y", dtype_x, dtype_y, dtype_z
    )
    return get_elwise_kernel(arguments, f"z[i] = {power}", "pow_method")


@context_dependent_memoize
def get_pow_kernel(dtype):
    """The prepared kernel of (exponent, in, out), as older releases had it."""
    arguments = [ScalarArg(dtype, "value"), VectorArg(dtype, "y"), VectorArg(dtype, "z")]
    return get_elwise_kernel(
        arguments, f"z[i] = {_power('y[i]', 'value', dtype, dtype, dtype)}", "pow_method"
    )


# ---- numbers made or taken apart


@context_dependent_memoize
def get_arange_kernel(dtype):
    """The prepared kernel of (z, start, step)."""
    arguments = [VectorArg(dtype, "z"), ScalarArg(dtype, "start"), ScalarArg(dtype, "step")]
    return get_elwise_kernel(arguments, f"z[i] = start + {_cast('i', np.uintp, dtype)}*step", "arange")


@context_dependent_memoize
def get_fmod_kernel():
    """The prepared kernel of (x, y, z), float32: the remainder of x / y, with the sign of x."""
    return get_elwise_kernel("float *arg, float *mod, float *z", "z[i] = fmod(arg[i], mod[i])", "fmod_kernel")


@context_dependent_memoize
def get_modf_kernel():
    """The prepared kernel of (x, whole part, fraction), float32."""
    return get_elwise_kernel(
        "float *x, float *intpart, float *fracpart", "fracpart[i] = modf(x[i], &intpart[i])", "modf_kernel"
    )


@context_dependent_memoize
def get_frexp_kernel():
    """The prepared kernel of (x, significand, exponent), float32."""
    operation = "int expt = 0; significand[i] = frexp(x[i], &expt); exponent[i] = expt"
    return get_elwise_kernel("float *x, float *significand, float *exponent", operation, "frexp_kernel")


@context_dependent_memoize
def get_ldexp_kernel():
    """The prepared kernel of (significand, exponent, z), float32."""
    return get_elwise_kernel(
        "float *sig, float *expt, float *z", "z[i] = ldexp(sig[i], int(expt[i]))", "ldexp_kernel"
    )


# ---- choices


@context_dependent_memoize
def get_if_positive_kernel(crit_dtype, dtype):
    """The prepared kernel of (crit, then, else, result): then where crit is above 0."""
    return _select_kernel("if_positive", f"crit[i] > ({dtype_to_ctype(crit_dtype)}) 0", crit_dtype, dtype)


@context_dependent_memoize
def get_where_kernel(crit_dtype, dtype):
    """The prepared kernel of (crit, then, else, result): then where crit is not 0."""
    return _select_kernel("where", f"crit[i] != ({dtype_to_ctype(crit_dtype)}) 0", crit_dtype, dtype)


def _select_kernel(name, condition, crit_dtype, dtype):
    arguments = _vectors(crit=crit_dtype, then_=dtype, else_=dtype, result=dtype)
    return get_elwise_kernel(arguments, f"result[i] = {condition} ? then_[i] : else_[i]", name)


# ---- by index


@context_dependent_memoize
def get_put_kernel(dtype, idx_dtype, vec_count=1):
    """The prepared kernel of (dest_idx, dests..., srcs...): dest[dest_idx[i]] = src[i] for each pair."""
    arguments = [
        VectorArg(idx_dtype, "gmem_dest_idx"),
        *(VectorArg(dtype, f"dest{k}") for k in range(vec_count)),
        *(VectorArg(dtype, f"src{k}") for k in range(vec_count)),
    ]
    lines = [f"{dtype_to_ctype(idx_dtype)} dest_idx = gmem_dest_idx[i];"]
    lines += [f"dest{k}[dest_idx] = src{k}[i];" for k in range(vec_count)]
    return get_elwise_kernel(arguments, "\n".join(lines), "put")


def _sources(dtype, count):
    """(preamble that declares textures for arrays of this dtype, their names)."""
    held = dtype_to_ctype(dtype, with_fp_tex_hack=True)
    names = [f"tex_src{k}" for k in range(count)]
    lines = [f"texture <{held}, 1, cudaReadModeElementType> {name};" for name in names]
    return "\n".join(["#include <pycuda-helpers.hpp>", *lines]) + "\n", names


@context_dependent_memoize
def get_take_kernel(dtype, idx_dtype, vec_count=1):
    """The prepared kernel of (idx, dests...) and the texture references of the sources, which are read at the
    indices.
    """
    arguments = [VectorArg(idx_dtype, "idx"), *(VectorArg(dtype, f"dest{k}") for k in range(vec_count)), SIZE]
    preamble, names = _sources(dtype, vec_count)
    lines = [f"{dtype_to_ctype(idx_dtype)} src_idx = idx[i];"]
    lines += [f"dest{k}[i] = fp_tex1Dfetch({name}, src_idx);" for k, name in enumerate(names)]
    return _texture_kernel(arguments, "\n".join(lines), "take", preamble, names)


@context_dependent_memoize
def get_take_put_kernel(dtype, idx_dtype, with_offsets, vec_count=1):
    """The prepared kernel of (dest_idx, src_idx, dests..., [offsets...]) and the texture references of the
    sources: dest[dest_idx[i]] = src[src_idx[i] + offset].
    """
    arguments = [
        VectorArg(idx_dtype, "gmem_dest_idx"),
        VectorArg(idx_dtype, "gmem_src_idx"),
        *(VectorArg(dtype, f"dest{k}") for k in range(vec_count)),
        *(ScalarArg(idx_dtype, f"offset{k}") for k in range(vec_count) if with_offsets),
        SIZE,
    ]
    preamble, names = _sources(dtype, vec_count)
    index = dtype_to_ctype(idx_dtype)
    lines = [f"{index} src_idx = gmem_src_idx[i]; {index} dest_idx = gmem_dest_idx[i];"]
    for k, name in enumerate(names):
        at = f"src_idx+offset{k}" if with_offsets else "src_idx"
        lines.append(f"dest{k}[dest_idx] = fp_tex1Dfetch({name}, {at});")
    return _texture_kernel(arguments, "\n".join(lines), "take_put", preamble, names)
