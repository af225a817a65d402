"""Operators and ufuncs, with their keywords and methods."""

import re

import numpy as np

# Ufuncs by the kinds (dtype.kind) of operands that they are called with. Results of EXACT ones have NumPy's
# bits, those of ROUNDED ones may differ by rounding.
EXACT_UNARY = {
    "biufc": "positive negative square isnan isfinite isinf logical_not conjugate sign",
    "biuf": "absolute floor ceil trunc rint fabs",
    "biu": "invert",
    "f": "modf frexp",
    "fc": "reciprocal",
    "fi": "sqrt",
}
ROUNDED_UNARY = {
    "biuf": "exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh "
    "arcsinh arccosh "
    "arctanh cbrt deg2rad rad2deg degrees radians sinc",
    "c": "absolute exp log sin cos tan tanh sqrt arctan",
}
EXACT_BINARY = {
    "biufc": "add subtract multiply equal not_equal less less_equal greater greater_equal "
    "logical_and logical_or "
    "logical_xor",
    "biuf": "divide floor_divide remainder fmod divmod copysign heaviside nextafter",
    "biu": "bitwise_and bitwise_or bitwise_xor left_shift right_shift",
    "iu": "gcd lcm",
}
ROUNDED_BINARY = {
    "biufc": "maximum minimum fmax fmin",
    "biuf": "power float_power hypot arctan2 logaddexp logaddexp2",
    "c": "divide power",
}
OPERATORS = "+ - * / // % == != < <= > >= & | ^ << >> **"
# Ufuncs whose at() is a TypeError with ours: several operands for one element cannot be combined into one.
NOT_AT = "copysign equal power floor_divide remainder".split()
FOLDED = (
    "add subtract multiply divide maximum minimum fmax fmin logical_and logical_or logical_xor bitwise_and "
    "bitwise_or bitwise_xor hypot logaddexp floor_divide remainder gcd copysign"
)


def name_of(draw, table):
    """The name of a ufunc of one of the tables above, and the kinds of its operands."""
    kinds = draw.pick(list(table))
    return draw.pick(table[kinds]), kinds


def tolerance(draw, kinds):
    """Set the tolerance of results of ROUNDED ufuncs."""
    draw.ulp = 256 if "c" in kinds else 8


def operand(draw, name, kinds):
    """A second operand: an array, or a number."""
    return draw.like(name, kinds) if draw.chance(0.7) else draw.number(draw.pick(kinds))


def result(draw, call):
    """NumPy's result of a call; None if it raises."""
    try:
        with np.errstate(all="ignore"):
            return eval(call, draw.host | {"np": np, "nan": np.nan, "inf": np.inf})
    except Exception:
        return None


def with_keywords(draw, name, operands):
    """The text of a ufunc's call with some of out=, where=, dtype=, casting=. An out= has the shape of
    NumPy's result, and mostly its dtype.
    """
    want = result(draw, f"np.{name}({operands})")
    text = operands
    if isinstance(want, np.ndarray | np.generic) and want.ndim and draw.chance(0.35):
        text += draw.out(want.shape, want.dtype.str, 0.7)
        if "out=" in text and draw.chance(0.4):
            where = f", where={draw.array('b', want.shape)}"
            # NumPy 2.4 crashes if it compares unsigned integers with a negative number and where=.
            text += "" if want.dtype == bool and re.search(r"(^|, )-1", text) else where
        text += draw.keywords(0.15, casting=["'unsafe'", "'same_kind'", "'no'"])
        text += draw.keywords(0.1, dtype=["'f4'", "'f8'", "'i4'", "'c8'"])
    return f"np.{name}({text})"


def unary(draw):
    name, kinds = name_of(draw, EXACT_UNARY)
    if name in ("sqrt", "reciprocal"):
        return f"np.{name}({draw.array(kinds)})"  # NaN as an integer in out= would be undefined
    a = draw.array(kinds)
    if name == "sign" and draw.host[a].dtype.kind == "c":
        draw.ulp = 4  # z / hypot(z), which CUDA rounds to one of the nearest
    return with_keywords(draw, name, a)


def rounded_unary(draw):
    name, kinds = name_of(draw, ROUNDED_UNARY)
    tolerance(draw, kinds)
    return f"np.{name}({draw.array(kinds, special=0 if kinds == 'c' else 0.25)})"


def binary(draw):
    name, kinds = name_of(draw, EXACT_BINARY)
    a = draw.array(kinds)
    pair = [a, operand(draw, a, kinds)]
    if draw.chance(0.2):
        pair.reverse()
    return with_keywords(draw, name, ", ".join(pair))


def rounded_binary(draw):
    name, kinds = name_of(draw, ROUNDED_BINARY)
    tolerance(draw, kinds)  # also for maximum, because either of two zeros may be the greater
    a = draw.array(kinds)
    return f"np.{name}({a}, {operand(draw, a, kinds)})"


def operators(draw):
    sign = draw.pick(OPERATORS)
    kinds = "biu" if sign in "& | ^ << >>".split() else "biuf" if sign in ("//", "%") else "biufc"
    a = draw.array(kinds)
    b = operand(draw, a, kinds)
    if sign in ("/", "**"):
        draw.ulp = 256
    return f"{a} {sign} {b}" if draw.chance(0.8) else f"{b} {sign} {a}"


def in_place(draw):
    sign = draw.pick("+ - * / // % & | ^ << >> ** @")
    kinds = "biu" if sign in "& | ^ << >>".split() else "f" if sign == "@" else "biufc"
    a = draw.array(kinds)
    b = operand(draw, a, kinds)
    if draw.host[a].dtype.kind in "biu" and sign in ("/", "//", "%", "**"):
        b = draw.pick("1 2 3 7")  # others may give floats that the integer dtype cannot hold
    if sign in ("/", "**", "@"):
        draw.ulp = 256 if draw.host[a].dtype.kind == "c" else 16
    return f"{a} {sign}= {b}"


def methods(draw):
    """reduce, accumulate, reduceat, outer, at."""
    name = draw.pick(FOLDED)
    kinds = "biufc" if name in "add subtract multiply divide".split() else "biuf"
    # Not in float16, which is rounded at each step: results in another order would be far off.
    avoids_half = name in ("hypot", "logaddexp")
    a = draw.array(kinds, special=0.1, dtype=draw.pick("f4 f8 i4 u1") if avoids_half else None)
    if draw.host[a].dtype == "f2":
        draw.ulp = 4096
    elif name in ("maximum", "minimum", "fmax", "fmin", "copysign"):
        draw.ulp = 0
    else:
        draw.ulp = 64
    method = draw.pick("reduce reduce accumulate reduceat outer at")
    if name in ("multiply", "divide"):
        a = draw.array(
            kinds, (17,), special=0
        )  # whether longer products overflow depends on the order of factors
    if method == "at" and (name == "divide" or draw.host[a].dtype.kind == "u"):
        name = "add"  # others would convert floats that the integer dtype cannot hold
    length = draw.host[a].shape[-1] if draw.host[a].ndim else 1
    if method == "reduce":
        text = draw.keywords(axis=lambda: draw.axis(a, several=True), keepdims=["True"])
        text += draw.keywords(0.2, initial=["0", "3", "True"])
        if name not in ("floor_divide", "remainder", "copysign"):  # without an identity where= is a TypeError
            text += draw.keywords(0.2, where=lambda: draw.like(a, "b", dtype="?"))
        return f"np.{name}.reduce({a}{text})"
    if method == "accumulate":
        return f"np.{name}.accumulate({a}{draw.keywords(axis=lambda: draw.axis(a, none=False))})"
    if method == "reduceat":
        indices = [draw.integer(0, max(length - 1, 0)) for _ in range(draw.integer(1, 4))]
        return f"np.{name}.reduceat({a}, {indices}, axis=-1)"
    if method == "outer":
        return f"np.{name}.outer({a}, {draw.array('biuf', min_ndim=0, max_ndim=1)})"
    indices = sorted(draw.rng.sample(range(max(length, 1)), min(length, 3)))
    if name in NOT_AT or not draw.host[a].ndim:
        return f"np.add.outer({a}, {a})" if draw.host[a].size < 100 else f"np.add.reduce({a})"
    return f"np.{name}.at({a}, (..., np.array({indices}, 'i8')), {draw.pick('1 2 -3')})"


def casts(draw):
    a = draw.array(special=0.1)
    dtype = draw.pick("? i1 i2 i4 i8 u1 u4 u8 f2 f4 f8 c8 c16")
    if dtype[0] == "u" or (dtype[0] == "i" and draw.host[a].dtype.kind in "fc"):
        a = draw.array("biu", special=0)  # floats that the integer dtype cannot hold are undefined in C
    more = draw.keywords(0.2, casting=["'no'", "'safe'", "'same_kind'"], order=["'C'", "'F'", "'A'", "'K'"])
    return f"{a}.astype('{dtype}'{more})"


def methods_of_arrays(draw):
    a = draw.array()
    return draw.pick(
        [
            f"+{a}",
            f"-{a}",
            f"{a}.conj()",
            f"{a}.round({draw.pick('0 1')})",
            f"np.real({a})",
            f"np.imag({a})",
            f"np.fabs({draw.array('f')})",
            f"np.round({a}, {draw.pick('0 1')})",
            f"{a}.clip({draw.number('i')}, {draw.number('i')})",
            f"np.clip({a}, {draw.number('f')}, None)",
            f"np.nan_to_num({a})",
            f"np.fix({draw.array('f')})",
            f"np.isreal({a})",
            f"np.iscomplex({a})",
            f"np.isclose({a}, {draw.like(a)}, equal_nan=True)",
            f"np.allclose({a}, {a})",
            f"np.array_equal({a}, {draw.like(a)})",
            f"np.array_equiv({a}, {draw.like(a)})",
            f"np.isposinf({draw.array('iuf')})",
            f"np.isneginf({draw.array('iuf')})",
            f"np.real_if_close({a})",
            f"np.ldexp({draw.array('f', (4,))}, {draw.array('i', (4,), special=0)})",
            f"np.sort_complex({a})",
            f"{a}.item()",
            f"{a}.tolist()",
            f"len({a})",
            f"bool({a})",
            f"float({draw.array('biuf')})",
            f"({a}.fill({draw.number('i')}), None)[1]",
        ]
    )


CALLS = [
    unary,
    binary,
    binary,
    rounded_unary,
    rounded_binary,
    operators,
    operators,
    in_place,
    in_place,
    methods,
    methods,
    casts,
    methods_of_arrays,
]
