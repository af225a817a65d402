"""pycuda-complex.hpp against NumPy's complex numbers."""

import itertools
import operator
import re

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda.compiler import SourceModule

# C expressions of z, of the type C with parts of the type T, and the same in NumPy.
UNARY = {
    "conj(z)": np.conj,
    "exp(z)": np.exp,
    "log(z)": np.log,
    "log10(z)": np.log10,
    "sqrt(z)": np.sqrt,
    "sin(z)": np.sin,
    "cos(z)": np.cos,
    "tan(z)": np.tan,
    "sinh(z)": np.sinh,
    "cosh(z)": np.cosh,
    "tanh(z)": np.tanh,
    "asin(z)": np.arcsin,
    "acos(z)": np.arccos,
    "atan(z)": np.arctan,
    "asinh(z)": np.arcsinh,
    "acosh(z)": np.arccosh,
    "atanh(z)": np.arctanh,
    "expm1(z)": np.expm1,
    "log1p(z)": np.log1p,
    "-z": np.negative,
    "C(abs(z))": np.abs,
    "C(arg(z))": np.angle,
    "C(norm(z))": lambda z: np.abs(z) ** 2,
    "z * z": lambda z: z * z,
    "z + T(2)": lambda z: z + 2,
    "T(2) - z": lambda z: 2 - z,
    "T(2) / z": lambda z: 2 / z,
    "z / C(3, -4)": lambda z: z / (3 - 4j),
    "pow(z, T(3))": lambda z: z**3,
    "pow(z, z)": lambda z: z**z,
    "C(z.imag(), real(z))": lambda z: z.imag + 1j * z.real,
    "pycuda::polar(z.real(), z.imag())": lambda z: z.real * np.exp(1j * z.imag),
}


@pytest.mark.parametrize("dtype, part", [(np.complex64, "float"), (np.complex128, "double")])
def test_functions_and_operators(dtype, part):
    lines = "".join(f"    result[{i} * n + i] = {text};\n" for i, text in enumerate(UNARY))
    source = f"""#include <pycuda-complex.hpp>
typedef {part} T;
typedef pycuda::complex<T> C;
__global__ void k(C *result, const C *input, int n)
{{
    const int i = threadIdx.x;
    const C z = input[i];
{lines}}}"""
    values = np.array([x + 1j * y for x in (-2.25, -0.5, 0.75, 1.5) for y in (-1.25, -0.5, 0.25, 2.0)], dtype)
    result = np.zeros((len(UNARY), values.size), dtype)
    kernel = SourceModule(source).get_function("k")
    kernel(drv.Out(result), drv.In(values), np.int32(values.size), block=(values.size, 1, 1))
    for (text, function), row in zip(UNARY.items(), result, strict=True):
        expected = function(values.astype(np.complex128))
        assert np.allclose(row, expected, rtol=40 * np.finfo(dtype).eps, atol=0), text


def test_mixed_precision():
    source = """#include <pycuda-complex.hpp>
__global__ void k(pycuda::complex<double> *a)
{
    pycuda::complex<float> single(1.5f, -2.0f);
    volatile pycuda::complex<double> kept;
    kept = pycuda::complex<double>(single);
    a[0] = kept;
    a[0] += single;
    a[0] *= 2.0;
    a[1] = pycuda::complex<float>(a[0]);
    a[2] = pycuda::complex<double>(a[0] == a[1], a[0] != a[1]);
}"""
    result = np.zeros(3, np.complex128)
    SourceModule(source).get_function("k")(drv.Out(result), block=(1, 1, 1))
    assert list(result) == [6 - 8j, 6 - 8j, 1]


# Real numbers in C, of every type, and their values.
REALS = {
    "3": 3, "-2": -2, "2u": 2, "3l": 3, "2ll": 2, "3ull": 3, "0.5f": 0.5, "0.5": 0.5, "short(2)": 2,
}  # fmt: skip


@pytest.mark.parametrize("dtype, part", [(np.complex64, "float"), (np.complex128, "double")])
def test_powers_with_every_type_of_number(dtype, part):
    lines = [text for real in REALS for text in (f"pow(z, {real})", f"pow({real}, z)")]
    body = "".join(f"    result[{i}] = {text};\n" for i, text in enumerate(lines))
    source = f"""#include <pycuda-complex.hpp>
__global__ void k(pycuda::complex<{part}> *result)
{{
    const pycuda::complex<{part}> z(1.25, -0.75);
{body}}}"""
    z = 1.25 - 0.75j
    expected = [value for real in REALS.values() for value in (z**real, (real + 0j) ** z)]
    result = np.zeros(len(lines), dtype)
    SourceModule(source).get_function("k")(drv.Out(result), block=(1, 1, 1))
    for text, found, value in zip(lines, result, expected, strict=True):
        assert np.allclose(found, value, rtol=40 * np.finfo(dtype).eps, atol=0), text


def test_assignment_between_precisions():
    source = """#include <pycuda-complex.hpp>
__global__ void k(pycuda::complex<float> *a)
{
    pycuda::complex<double> z(0.1, -0.2);
    pycuda::complex<float> single;
    single = z;
    a[0] = single;
    z = single;
    a[1] = z;
    a[2] = pycuda::complex<float>(pow(z, 2));
}"""
    result = np.zeros(3, np.complex64)
    SourceModule(source).get_function("k")(drv.Out(result), block=(1, 1, 1))
    z = np.complex64(0.1 - 0.2j)
    assert result.tolist()[:2] == [z, z] and np.allclose(result[2], z**2)


# The names of variables of each type, and of its second operand with a 2 after it.
TYPES = {
    "cf": "pycuda::complex<float>",
    "cd": "pycuda::complex<double>",
    "f": "float",
    "d": "double",
    "i": "int",
}
OPERANDS = {"cf": 1.25 - 0.75j, "cd": -0.5 + 1.5j, "f": 1.5, "d": 0.75, "i": 3}  # exact in every type
OPERATORS = {
    "a + b": operator.add,
    "a - b": operator.sub,
    "a * b": operator.mul,
    "a / b": operator.truediv,
    "a == b": operator.eq,
    "a != b": operator.ne,
    "pow(a, b)": lambda a, b: complex(a) ** b,
}
COMPLEX, REAL = ("cf", "cd"), ("f", "d", "i")


def of_type(text, kind):
    """The text with its operands a and b replaced by the names kind["a"] and kind["b"]."""
    for letter in "ab":
        text = re.sub(rf"\b{letter}\b", kind[letter], text)
    return text


def two_operands():
    """Yields, for each operator and pair of types of which one is complex, (statement that defines r, its
    expected value, the key in TYPES of the type that decides about its precision).
    """
    for a, b in itertools.product(TYPES, TYPES):
        if not {a, b} & set(COMPLEX):
            continue
        result = "cd" if "cd" in (a, b) else "cf"
        for text, function in OPERATORS.items():
            kind = "bool" if "=" in text else TYPES[result]
            typed = of_type(text, {"a": a, "b": b + "2"})
            check = f'static_assert(same<decltype({typed}), {kind}>::value, "");'
            yield f"{check} {kind} r = {typed};", function(OPERANDS[a], second(b)), result


def second(kind):
    """The value of the second operand of a type, whose name is that of the type with a 2: cf2."""
    return OPERANDS[kind] + 1


def one_operand():
    """Yields tuples as of two_operands() for constructors, conversions and compound assignments."""
    for to, a in itertools.product(COMPLEX, TYPES):
        yield f"{TYPES[to]} r({a});", OPERANDS[a], to
        yield f"volatile {TYPES[to]} kept({a}); {TYPES[to]} r(kept);", OPERANDS[a], to
        yield f"{TYPES[to]} r; r = {a};", OPERANDS[a], to
        if (to, a) != ("cf", "cd"):  # that conversion must be explicit
            yield f"{TYPES[to]} r = {a};", OPERANDS[a], to
        for sign in "+-*/":
            value = OPERATORS[f"a {sign} b"](second(to), OPERANDS[a])
            yield f"{TYPES[to]} r({to}2); r {sign}= {a};", value, to
    for to, a, b in itertools.product(COMPLEX, REAL, REAL):
        yield f"{TYPES[to]} r({a}, {b});", complex(OPERANDS[a], OPERANDS[b]), to


def test_every_pair_of_types():
    """Each block of one kernel computes one row's r."""
    rows = [*two_operands(), *one_operand()]
    names = [kind + suffix for kind in TYPES for suffix in ("", "2")]
    values = np.array([value for kind in TYPES for value in (OPERANDS[kind], second(kind))], np.complex128)
    operands = "".join(
        f"const {TYPES[name.rstrip('2')]} {name}(in[{i}]{'' if name[0] == 'c' else '.real()'});\n"
        for i, name in enumerate(names)
    )
    body = "".join(
        f"case {i}: {{ {text} out[row] = Out(r); break; }}\n" for i, (text, _, _) in enumerate(rows)
    )
    source = f"""#include <pycuda-complex.hpp>
typedef pycuda::complex<double> Out;
template <class T, class U> struct same {{ static const bool value = false; }};
template <class T> struct same<T, T> {{ static const bool value = true; }};
extern "C" __global__ void k(Out *out, const Out *in)
{{
const int row = blockIdx.x;
{operands}
switch (row) {{
{body}}}
}}"""
    found = np.zeros(len(rows), np.complex128)
    SourceModule(source, no_extern_c=True).get_function("k")(
        drv.Out(found), drv.In(values), block=(1, 1, 1), grid=(len(rows), 1)
    )
    for (text, value, result), seen in zip(rows, found, strict=True):
        eps = np.finfo(np.float32 if result == "cf" else np.float64).eps
        assert abs(seen - value) <= 40 * eps * abs(value), text


@pytest.mark.parametrize(
    "text", ["pycuda::complex<float> r = z;", "float r = z;", "z < z;", "z + p;", "float r(z);"]
)
def test_operations_that_complex_numbers_lack_do_not_compile(text):
    source = f"""#include <pycuda-complex.hpp>
__global__ void k(pycuda::complex<double> z, float *p) {{ {text} }}"""
    with pytest.raises(drv.CompileError):
        SourceModule(source)
