"""The elementwise functions, a row for each: its name, the rule for dtypes, its expressions.

An expression is C++ over the operands a, b, c, d. A row has an expression for each kind of the first operand:
"b" bool, "i" integers, "f" floats, "c" complex. Expressions of functions with several results assign to x and
y.

The dtypes are NumPy's: the rule of a row is the ufunc whose dtypes it has, or a function of the operands'
dtypes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Function(NamedTuple):
    """One row."""

    name: str
    rule: Any  # for dtypes: a ufunc, a FloatLoops, or a function that takes and returns dtypes
    body: dict[str, str]  # the expression by kind
    outputs: int = 1  # the number of results
    complex_functions: bool = False  # the "c" expression needs pycuda-complex-functions.hpp
    special: bool = False  # the expression needs pycuda-special.hpp


def _analytic(name: str, rule: np.ufunc, real: str, of_complex: str | None = None) -> Function:
    """A function of floats and complex numbers."""
    return Function(name, rule, _kinds(f=real, c=of_complex or real), complex_functions=True)


def _for_all_kinds(expression: str) -> dict[str, str]:
    return dict.fromkeys("bifc", expression)


def _kinds(**bodies: str) -> dict[str, str]:
    """Expressions by kind: _kinds(i=first, fc=second) is {"i": first, "f": second, "c": second}."""
    return {kind: body for kinds, body in bodies.items() for kind in kinds}


# ---- NumPy's dtypes of ufuncs

_WEAK = frozenset((int, float, complex))


def weak_dtype(value):
    """The operand's dtype, or its class if it is one of Python's numbers: int, float or complex."""
    return type(value) if type(value) in _WEAK else getattr(value, "dtype", None) or np.asarray(value).dtype


def ufunc_dtypes(ufunc, operands, dtype=None, casting="same_kind", reduction=False) -> tuple[np.dtype, ...]:
    """The dtypes of the loop: inputs, then outputs. TypeError where NumPy raises one.

    operands: a dtype for each input, or int, float or complex for Python's numbers, and None for the first
    one of a reduction without out=. Others must not reach NumPy: in some of its versions, other classes,
    among them bool, and Python's numbers with casting="equiv", crash the process.
    """
    for each in operands:
        if not (isinstance(each, np.dtype) or each in _WEAK or (each is None and reduction)):
            raise TypeError(f"{each!r} is not a dtype")
    # They differ in byte orders only, of which there is one here.
    casting = "no" if casting == "equiv" else casting
    given = (*operands, *(None,) * ufunc.nout)
    if dtype is None:
        return ufunc.resolve_dtypes(given, casting=casting, reduction=reduction)
    signature = (dtype, None, None) if reduction else (*(None,) * ufunc.nin, *(dtype,) * ufunc.nout)
    return ufunc.resolve_dtypes(given, signature=signature, casting=casting, reduction=reduction)


class FloatLoops(NamedTuple):
    """The dtype rule of SciPy's ufuncs that have a loop of float32 and one of float64: the first to which all
    operands can be cast."""

    name: str

    def dtypes(self, operands, dtype=None, casting="same_kind") -> tuple[np.dtype, ...]:
        """The dtypes of the loop: inputs, then the output. TypeError where SciPy has no such loop, and for
        complex numbers."""
        if any(each is complex or getattr(each, "kind", "") == "c" for each in (*operands, dtype)):
            raise TypeError(f"{self.name} of complex numbers is not implemented on the device")
        given = [each for each in operands if isinstance(each, np.dtype)] or [np.dtype(float)]
        for loop in map(np.dtype, "fd"):
            if dtype == loop or (dtype is None and all(np.can_cast(each, loop) for each in given)):
                if all(np.can_cast(each, loop, casting) for each in given):
                    return (loop,) * (len(operands) + 1)
                break
        kinds = ", ".join(map(str, given))
        raise TypeError(
            f"ufunc {self.name!r} has no loop for ({kinds}) and dtype={dtype}, casting={casting!r}"
        )


# ---- dtype rules of functions that are not ufuncs. They take dtypes, or int, float, complex for Python's
# numbers, and return the dtypes of the loop: inputs, then outputs.


def _result_type(*operands):
    examples = [operand(0) if isinstance(operand, type) else operand for operand in operands]
    return np.result_type(*examples)


def copy(source):
    """The operand's dtype for both. A result of another dtype is converted when it is stored."""
    same = np.result_type(source(0)) if isinstance(source, type) else source
    return same, same


def where(condition, a, b):
    """The condition as it is, both branches in their common dtype."""
    common = _result_type(a, b)
    test = np.dtype(bool) if isinstance(condition, type) else condition
    return test, common, common, common


def real_part(a):
    """complex64 gives float32."""
    same = np.result_type(a(0)) if isinstance(a, type) else a
    real = np.empty(0, same).real.dtype
    return same, real


def angle(a):
    """The dtypes of numpy.angle, which is pi for negative real numbers, in the dtype of arctan2."""
    given, real = real_part(a)
    return (given, real) if given.kind == "c" else ufunc_dtypes(np.arctan2, (int, given))[1:]


def same(a):
    """One dtype for operand and result."""
    dtype = np.result_type(a(0)) if isinstance(a, type) else a
    return dtype, dtype


def inexact(a):
    """Integers as float64."""
    dtype = same(a)[0]
    return (np.dtype(np.float64),) * 2 if dtype.kind in "biu" else (dtype, dtype)


def products(*operands):
    """One dtype for all."""
    return (_result_type(*operands),) * (len(operands) + 1)


def first(a, b):
    """The dtype of the first operand, unless that is a Python number."""
    dtype = _result_type(a, b) if isinstance(a, type) else a
    return dtype, dtype, dtype


_clip = (np._core if hasattr(np, "_core") else np.core).umath.clip

# ---- the table

_ROWS = (
    # arithmetic
    Function("add", np.add, _kinds(b="a || b", ifc="a + b")),
    Function(
        "sum_of_products",
        products,
        _kinds(
            b="(a && b) || (c && d)", fi="a * b + c * d", c="pycuda::product(a, b) + pycuda::product(c, d)"
        ),
    ),
    Function("subtract", np.subtract, _kinds(ifc="a - b")),
    Function("multiply", np.multiply, _kinds(b="a && b", fi="a * b", c="pycuda::product(a, b)")),
    Function("divide", np.true_divide, _kinds(fc="a / b")),
    Function(
        "floor_divide",
        np.floor_divide,
        _kinds(i="pycuda::floor_divide(a, b)", f="pycuda::float_floor_divide(a, b)"),
    ),
    Function("remainder", np.remainder, _kinds(i="pycuda::modulo(a, b)", f="pycuda::float_modulo(a, b)")),
    Function("fmod", np.fmod, _kinds(i="pycuda::truncated_modulo(a, b)", f="fmod(a, b)")),
    Function(
        "divmod",
        np.divmod,
        _kinds(
            i="x = pycuda::floor_divide(a, b); y = pycuda::modulo(a, b)",
            f="x = pycuda::float_divmod(a, b, y)",
        ),
        2,
    ),
    # Negative exponents of integers are refused where they are numbers (ext/gpuarray/elementwise.c); those in
    # arrays give 1 / a ** -b truncated.
    Function(
        "power",
        np.power,
        _kinds(i="pycuda::integer_power(a, b)", fc="pow(a, b)"),
        complex_functions=True,
    ),
    _analytic("float_power", np.float_power, "pow(a, b)"),
    Function("negative", np.negative, _kinds(ifc="-a")),
    Function("positive", np.positive, _kinds(ifc="a")),
    Function(
        "absolute",
        np.absolute,
        _kinds(b="a", i="pycuda::absolute(a)", f="fabs(a)", c="pycuda::hypotenuse(a._M_re, a._M_im)"),
    ),
    Function("fabs", np.fabs, _kinds(f="fabs(a)")),
    Function("sign", np.sign, _kinds(ifc="pycuda::sign(a)")),
    Function(
        "reciprocal",
        np.reciprocal,
        _kinds(i="a ? L1(1) / a : L1(0)", f="L1(1) / a", c="pycuda::reciprocal(a)"),
    ),
    Function("square", np.square, _kinds(fi="a * a", c="pycuda::product(a, a)")),
    Function("conjugate", np.conjugate, _kinds(bif="a", c="conj(a)")),
    Function("real", real_part, _kinds(bif="a", c="a._M_re")),
    Function("imag", real_part, _kinds(bif="L1(0)", c="a._M_im")),
    Function("angle", angle, _kinds(f="atan2(L1(0), a)", c="atan2(a._M_im, a._M_re)")),
    Function("gcd", np.gcd, _kinds(i="pycuda::gcd(a, b)")),
    Function("lcm", np.lcm, _kinds(i="pycuda::lcm(a, b)")),
    Function("heaviside", np.heaviside, _kinds(f="a != a ? a : a == 0 ? b : L1(a > 0)")),
    # bits
    Function("bitwise_and", np.bitwise_and, _kinds(b="a && b", i="a & b")),
    Function("bitwise_or", np.bitwise_or, _kinds(b="a || b", i="a | b")),
    Function("bitwise_xor", np.bitwise_xor, _kinds(b="a != b", i="a ^ b")),
    Function("invert", np.invert, _kinds(b="!a", i="~a")),
    Function("bitwise_count", np.bitwise_count, _kinds(b="a", i="pycuda::bit_count(a)")),
    Function("left_shift", np.left_shift, _kinds(i="pycuda::shift_left(a, b)")),
    Function("right_shift", np.right_shift, _kinds(i="pycuda::shift_right(a, b)")),
    # comparison and logic
    Function("equal", np.equal, _for_all_kinds("pycuda::equal(a, b)")),
    Function("not_equal", np.not_equal, _for_all_kinds("!pycuda::equal(a, b)")),
    Function("less", np.less, _for_all_kinds("pycuda::less(a, b)")),
    Function("less_equal", np.less_equal, _for_all_kinds("pycuda::less_equal(a, b)")),
    Function("greater", np.greater, _for_all_kinds("pycuda::less(b, a)")),
    Function("greater_equal", np.greater_equal, _for_all_kinds("pycuda::less_equal(b, a)")),
    Function("logical_and", np.logical_and, _for_all_kinds("TRUE(a) && TRUE(b)")),
    Function("logical_or", np.logical_or, _for_all_kinds("TRUE(a) || TRUE(b)")),
    Function("logical_xor", np.logical_xor, _for_all_kinds("TRUE(a) != TRUE(b)")),
    Function("logical_not", np.logical_not, _for_all_kinds("!TRUE(a)")),
    Function("isnan", np.isnan, _for_all_kinds("pycuda::is_nan(a)")),
    Function("isinf", np.isinf, _kinds(bi="false", f="isinf(a)", c="isinf(a._M_re) || isinf(a._M_im)")),
    Function(
        "isfinite",
        np.isfinite,
        _kinds(bi="true", f="isfinite(a)", c="isfinite(a._M_re) && isfinite(a._M_im)"),
    ),
    Function("signbit", np.signbit, _kinds(f="signbit(a)")),
    Function("maximum", np.maximum, _kinds(b="a || b", ifc="pycuda::maximum(a, b)")),
    Function("minimum", np.minimum, _kinds(b="a && b", ifc="pycuda::minimum(a, b)")),
    Function("fmax", np.fmax, _kinds(b="a || b", ifc="pycuda::fmaximum(a, b)")),
    Function("fmin", np.fmin, _kinds(b="a && b", ifc="pycuda::fminimum(a, b)")),
    Function("clip", _clip, _kinds(bifc="pycuda::minimum(pycuda::maximum(a, b), c)")),
    # exponentials and roots
    _analytic("exp", np.exp, "exp(a)"),
    _analytic("exp2", np.exp2, "exp2(a)", "exp(a * R1(0.693147180559945309417))"),
    _analytic("expm1", np.expm1, "expm1(a)"),
    _analytic("log", np.log, "log(a)"),
    _analytic("log2", np.log2, "log2(a)", "log(a) * R1(1.44269504088896340736)"),
    _analytic("log10", np.log10, "log10(a)"),
    _analytic("log1p", np.log1p, "log1p(a)"),
    _analytic("sqrt", np.sqrt, "sqrt(a)"),
    Function("cbrt", np.cbrt, _kinds(f="cbrt(a)")),
    Function("logaddexp", np.logaddexp, _kinds(f="pycuda::log_sum_exp(a, b)")),
    Function("logaddexp2", np.logaddexp2, _kinds(f="pycuda::log_sum_exp2(a, b)")),
    # trigonometry
    _analytic("sin", np.sin, "sin(a)"),
    _analytic("cos", np.cos, "cos(a)"),
    _analytic("tan", np.tan, "tan(a)"),
    _analytic("arcsin", np.arcsin, "asin(a)"),
    _analytic("arccos", np.arccos, "acos(a)"),
    _analytic("arctan", np.arctan, "atan(a)"),
    Function("arctan2", np.arctan2, _kinds(f="atan2(a, b)")),
    Function("hypot", np.hypot, _kinds(f="pycuda::hypotenuse(a, b)")),
    _analytic("sinh", np.sinh, "sinh(a)"),
    _analytic("cosh", np.cosh, "cosh(a)"),
    _analytic("tanh", np.tanh, "tanh(a)"),
    _analytic("arcsinh", np.arcsinh, "asinh(a)"),
    _analytic("arccosh", np.arccosh, "acosh(a)"),
    _analytic("arctanh", np.arctanh, "atanh(a)"),
    Function("degrees", np.degrees, _kinds(f="a * L1(57.295779513082320876798)")),
    Function("radians", np.radians, _kinds(f="a * L1(0.017453292519943295769)")),
    Function("rad2deg", np.rad2deg, _kinds(f="a * L1(57.295779513082320876798)")),
    Function("deg2rad", np.deg2rad, _kinds(f="a * L1(0.017453292519943295769)")),
    # parts of floats
    Function("floor", np.floor, _kinds(bi="a", f="floor(a)")),
    Function("ceil", np.ceil, _kinds(bi="a", f="ceil(a)")),
    Function("trunc", np.trunc, _kinds(bi="a", f="trunc(a)")),
    Function("rint", np.rint, _kinds(f="rint(a)", c="L1(rint(a._M_re), rint(a._M_im))")),
    Function("copysign", np.copysign, _kinds(f="copysign(a, b)")),
    Function("nextafter", np.nextafter, _kinds(f="pycuda::next_number<S1>(a, b)")),
    Function(
        "spacing",
        np.spacing,
        _kinds(f="a - a == 0 ? pycuda::spacing<S1>(a) : a - a"),
    ),
    Function("i0", inexact, _kinds(f="cyl_bessel_i0(a)")),
    Function("ldexp", np.ldexp, _kinds(f="ldexp(a, pycuda::exponent(b))")),
    Function("frexp", np.frexp, _kinds(f="int e; x = frexp(a, &e); y = e"), 2),
    Function("modf", np.modf, _kinds(f="x = copysign(isinf(a) ? L1(0) : a - trunc(a), a); y = trunc(a)"), 2),
    # choices and copies
    Function("copy", copy, {**_for_all_kinds("a"), "V": "a"}),
    Function("where", where, {**_for_all_kinds("TRUE(a) ? b : c")}),
    Function("if_positive", where, _kinds(bif="a > L1(0) ? b : c")),
)

# ---- SciPy's ufuncs of real numbers, by their names in scipy.special: CUDA's headers have them, perhaps
# under another name, or pycuda-special.hpp does.


def _special(name: str, expression: str) -> Function:
    # CUDA's own functions do without pycuda-special.hpp, which takes as long to compile as their kernels.
    return Function(
        f"special_{name}", FloatLoops(name), _kinds(f=expression), special="pycuda::" in expression
    )


SCIPY_FUNCTIONS = {
    name: _special(name, expression)
    for name, expression in {
        # error functions, the normal distribution
        "erf": "erf(a)",
        "erfc": "pycuda::complementary_error(a)",
        "erfinv": "erfinv(a)",
        "erfcinv": "erfcinv(a)",
        "erfcx": "pycuda::scaled_complementary_error(a)",
        "ndtr": "pycuda::normal_cdf(a)",
        "ndtri": "normcdfinv(a)",
        "log_ndtr": "pycuda::log_normal_cdf(a)",
        # gamma and beta functions
        "gamma": "pycuda::gamma_function(a)",
        "gammaln": "pycuda::log_gamma(a)",
        "loggamma": "a < L1(0) ? L1(NAN) : pycuda::log_gamma(a)",
        "psi": "pycuda::digamma(a)",
        "beta": "pycuda::beta(a, b)",
        "betaln": "pycuda::log_beta(a, b)",
        "betainc": "pycuda::incomplete_beta(a, b, c)",
        "fdtr": "pycuda::f_distribution(a, b, c)",
        "fdtrc": "pycuda::f_tail(a, b, c)",
        "gammainc": "pycuda::lower_gamma(a, b)",
        "gammaincc": "pycuda::upper_gamma(a, b)",
        "zeta": "pycuda::hurwitz_zeta(a, b)",
        "riemann_zeta": "pycuda::riemann_zeta(a)",
        # Bessel functions
        "j0": "j0(a)",
        "j1": "j1(a)",
        "y0": "pycuda::bessel_y0(a)",
        "y1": "pycuda::bessel_y1(a)",
        "yn": "pycuda::bessel_y(a, b)",
        "i0": "cyl_bessel_i0(a)",
        "i1": "cyl_bessel_i1(a)",
        "i0e": "pycuda::scaled_bessel_i<0>(a)",
        "i1e": "pycuda::scaled_bessel_i<1>(a)",
        # logistic functions, entropies
        "expit": "pycuda::logistic(a)",
        "logit": "pycuda::logit(a)",
        "log_expit": "pycuda::log_logistic(a)",
        "xlogy": "a == L1(0) && b == b ? L1(0) : a * log(b)",
        "xlog1py": "a == L1(0) && b == b ? L1(0) : a * log1p(b)",
        "entr": "pycuda::entropy(a)",
        "rel_entr": "pycuda::relative_entropy(a, b)",
        "kl_div": "pycuda::kl_divergence(a, b)",
        # exponentials and roots
        "exp2": "exp2(a)",
        "exp10": "exp10(a)",
        "expm1": "expm1(a)",
        "log1p": "log1p(a)",
        "cbrt": "cbrt(a)",
    }.items()
}

TABLE = {row.name: row for row in (*_ROWS, *SCIPY_FUNCTIONS.values())}
