"""Every name of PyCUDA's elementwise, reduction and scan is there and has PyCUDA's parameters."""

import importlib
import inspect

import pytest

NAMES = {
    "pycuda.elementwise": """
        ElementwiseKernel(arguments, operation, name, keep, options, *, preamble, loop_prep, after_loop)
        get_elwise_module(arguments, operation, name, keep, options, preamble, loop_prep, after_loop)
        get_elwise_range_module(arguments, operation, name, keep, options, preamble, loop_prep, after_loop)
        get_elwise_kernel_and_types(arguments, operation, name, keep, options, use_range, **kwargs)
        get_elwise_kernel(arguments, operation, name, keep, options, **kwargs)
        ScalarArg(dtype, name)
        VectorArg(dtype, name)
        context_dependent_memoize(func)
        dtype_to_ctype(dtype, with_fp_tex_hack)
        get_copy_kernel(dtype_dest, dtype_src)
        get_fill_kernel(dtype)
        get_reverse_kernel(dtype)
        get_real_kernel(dtype, real_dtype)
        get_imag_kernel(dtype, real_dtype)
        get_conj_kernel(dtype, conj_dtype)
        get_unary_func_kernel(func_name, in_dtype, out_dtype)
        get_axpbyz_kernel(dtype_x, dtype_y, dtype_z, x_is_scalar, y_is_scalar)
        get_axpbz_kernel(dtype_x, dtype_z)
        get_binary_op_kernel(dtype_x, dtype_y, dtype_z, operator, x_is_scalar, y_is_scalar)
        get_binary_func_kernel(func, dtype_x, dtype_y, dtype_z)
        get_binary_func_scalar_kernel(func, dtype_x, dtype_y, dtype_z)
        get_rdivide_elwise_kernel(dtype_x, dtype_z)
        get_binary_minmax_kernel(func, dtype_x, dtype_y, dtype_z, use_scalar)
        get_scalar_op_kernel(dtype_x, dtype_a, dtype_y, operator)
        get_pow_array_kernel(dtype_x, dtype_y, dtype_z, is_base_array, is_exp_array)
        get_pow_kernel(dtype)
        get_arange_kernel(dtype)
        get_fmod_kernel()
        get_ldexp_kernel()
        get_modf_kernel()
        get_frexp_kernel()
        get_if_positive_kernel(crit_dtype, dtype)
        get_where_kernel(crit_dtype, dtype)
        get_logical_not_kernel(dtype_x, dtype_out)
        get_put_kernel(dtype, idx_dtype, vec_count)
        get_take_kernel(dtype, idx_dtype, vec_count)
        get_take_put_kernel(dtype, idx_dtype, with_offsets, vec_count)
        get_linear_combination_kernel(summand_descriptors, dtype_z)""",
    "pycuda.reduction": """
        ReductionKernel(dtype_out, neutral, reduce_expr, map_expr, arguments, name, keep, options, preamble)
        get_reduction_module(out_type, block_size, neutral, reduce_expr, map_expr, arguments, \
            name, keep, options, preamble)
        get_reduction_kernel_and_types(stage, out_type, block_size, neutral, reduce_expr, map_expr, \
            arguments, name, keep, options, preamble)
        get_sum_kernel(dtype_out, dtype_in)
        get_any_kernel(dtype_out, dtype_in)
        get_all_kernel(dtype_out, dtype_in)
        get_subset_sum_kernel(dtype_out, dtype_subset, dtype_in)
        get_dot_kernel(dtype_out, dtype_a, dtype_b)
        get_subset_dot_kernel(dtype_out, dtype_subset, dtype_a, dtype_b)
        get_minmax_neutral(what, dtype)
        get_minmax_kernel(what, dtype)
        get_subset_minmax_kernel(what, dtype, dtype_subset)""",
    "pycuda.scan": """
        ExclusiveScanKernel(dtype, scan_expr, neutral, name_prefix, options, preamble, devices)
        InclusiveScanKernel(dtype, scan_expr, neutral, name_prefix, options, preamble, devices)""",
}  # fmt: skip
ROWS = [(module, row.strip()) for module, rows in NAMES.items() for row in rows.strip().split("\n")]


def parameters_of(function):
    """The names of a function's parameters as NAMES writes them, without those that begin with an
    underscore."""
    parts, keyword_only = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            parts.append("*")
        parts.append("**" * (parameter.kind is parameter.VAR_KEYWORD) + parameter.name)
    return [part for part in parts if not part.startswith("_")]


@pytest.mark.parametrize("module, row", ROWS, ids=[row.split("(")[0] for _, row in ROWS])
def test_names_have_pycudas_parameters(module, row):
    name, _, parameters = row.rstrip(")").partition("(")
    found = getattr(importlib.import_module(module), name)
    wanted = [part.strip() for part in parameters.split(",") if part.strip()]
    got = parameters_of(found)
    assert (got[: len(wanted)] if name == "ReductionKernel" else got) == wanted
    kinds = {each.kind for each in inspect.signature(found).parameters.values()}
    assert inspect.Parameter.POSITIONAL_ONLY not in kinds
    assert inspect.getdoc(found)
    assert name in importlib.import_module(module).__all__
