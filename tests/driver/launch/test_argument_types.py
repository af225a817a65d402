"""Arguments are compared with the types of a kernel's parameters, where these are known from the source or
from PTX."""

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda._compile import signatures
from pycuda.compiler import SourceModule

PRELUDE = '''
import warnings
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

module = SourceModule("""
typedef float real;
__global__ void typed(float *a, const double * __restrict__ b, int n, float x, double y, long long k,
                      unsigned char *c /* , int d */, real *r, float4 *v, float2 z) {}
""")
typed = module.get_function("typed")
f4, f8, i4, c8 = (gpuarray.zeros(4, dtype) for dtype in ("f4", "f8", "i4", "c8"))
GOOD = [f4, f8, np.int32(1), np.float32(1), np.float64(2), np.int64(3), i4, f8, f4, np.complex64(1)]


def said(function, arguments):
    """What a launch reports: "", the text of the TypeError, or those of the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function(*arguments, block=(1, 1, 1))
        except TypeError as error:
            return f"TypeError {error}"
    return "".join(f"warning {each.message}" for each in caught)


def says(position, *values):
    """The error texts of launches of `typed` with each value at that position. Checks that a launch with good
    arguments in between reports nothing, and a repeated launch the same."""
    texts = []
    for value in values:
        wrong = [*GOOD[:position], value, *GOOD[position + 1 :]]
        texts.append(said(typed, wrong))
        assert said(typed, GOOD) == "", said(typed, GOOD)
        assert said(typed, wrong) == texts[-1]
    return texts
'''

# Wrong numbers are errors, arrays of another dtype warnings; what is accepted; what the switch turns off.
REPORTED = """
numbers = says(2, np.float32(1)) + says(3, np.int32(1), np.uint32(1))
numbers += says(4, np.int64(1), f4, np.complex64(1)) + says(5, np.float64(1)) + says(0, np.float64(1))
assert all(text.startswith("TypeError kernel 'typed': argument") for text in numbers), numbers
assert "argument 3 is numpy.int32, the kernel's parameter is a float: pass numpy.float32" in numbers[1]
arrays = says(0, f8, i4, drv.In(np.zeros(3)), drv.InOut(np.zeros(3, np.int32))) + says(1, f4, c8)
assert all(text.startswith("warning kernel 'typed': argument") for text in arrays), arrays
assert "argument 0 is an array of float64, the kernel's parameter is float *" in arrays[0]
"""
ACCEPTED = """
fine = says(0, c8, f4.gpudata, np.uintp(0), drv.In(np.zeros(3, np.float32)), gpuarray.zeros(4, np.uint8))
fine += says(2, np.uint32(1), np.int64(1)) + says(5, np.uint64(1), f4) + says(6, f8, c8) + says(7, i4)
fine += says(8, f8) + says(9, np.float64(1), np.int64(3))
assert set(fine) == {""}, fine
"""
OFF = """
texts = says(2, np.float32(1)) + says(3, np.int32(1)) + says(0, f8, np.float64(1))
assert set(texts) == {""}, texts
"""


@pytest.mark.parametrize("program", [REPORTED, ACCEPTED], ids=["reported", "accepted"])
def test_switched_on(run_python, program):
    run_python(PRELUDE + program, env={"PYCUDA_CHECK_ARGUMENTS": "1"}, check=True)


@pytest.mark.cpu("it is on by default there")
def test_default_of_the_cpu_device(run_python):
    run_python(PRELUDE + REPORTED + ACCEPTED, check=True)


@pytest.mark.gpu("it is off by default there")
def test_default_of_a_gpu(run_python):
    run_python(PRELUDE + OFF, check=True)


def test_switched_off(run_python):
    run_python(PRELUDE + OFF, env={"PYCUDA_CHECK_ARGUMENTS": "0"}, check=True)


def test_integers_of_another_size():
    """They are converted to the size of an integer parameter, if it can hold the number."""
    source = "__global__ void store(long long *to, int a, short b, float c) { to[0] = a; to[1] = b; }"
    store, out = SourceModule(source).get_function("store"), np.zeros(2, np.int64)
    store(drv.Out(out), np.int64(-7), np.int32(200), np.float32(1), block=(1, 1, 1))
    assert out.tolist() == [-7, 200]
    for position, wrong in (1, np.int64(1 << 32)), (2, np.int64(-32769)), (3, np.int64(1)):
        given = [drv.Out(out), np.int32(1), np.int16(1), np.float32(1)]
        given[position] = wrong
        with pytest.raises(TypeError, match=f"argument {position} has 8 bytes"):
            store(*given, block=(1, 1, 1))


@pytest.mark.cpu("PTX is read by the CPU device")
def test_types_of_ptx_for_calls_and_prepare(run_python):
    """Code that is loaded as PTX: the types of its parameters are compared with arguments and with
    prepare()'s."""
    run_python(
        PRELUDE
        + """
from pycuda.compiler import compile
ptx = compile("__global__ void f(float x, int n, short h) {}", target="ptx")
f = drv.module_from_buffer(ptx).get_function("f")
assert "argument 0 is numpy.int32" in said(f, [np.int32(1), np.int32(1), np.int16(1)])
assert "argument 1 is numpy.float32" in said(f, [np.float32(1), np.float32(1), np.int16(1)])
assert said(f, [np.float32(1), np.int32(1), np.float16(1)]) == ""  # the bits of a half
f.prepare("fih")
for wrong in "iih", "ffh", [np.float32, np.float32, np.int16]:
    try:
        f.prepare(wrong)
        raise SystemExit(wrong)
    except TypeError as error:
        assert "by its type, the kernel's parameter is a" in str(error), error
""",
        check=True,
    )


# (source, the types that signatures.types() finds): two bytes for each parameter. f, i: a float or integer,
# with its size; F, I: a pointer to such, with its size; G, J: a pointer to such pointers; p: one to pointers
# to something else; s: a structure; zeros: unknown. None: nothing is known.
SIGNATURES = [
    ("__global__ void k(float *a, int n) {}", b"F\4i\4"),
    ("__global__ void __launch_bounds__(64) k(const unsigned int *const __restrict__ a) {}", b"I\4"),
    ('extern "C" __global__ void k(double x, size_t n, long long *p) {}', b"f\x08i\x08I\x08"),
    ("__global__ void k(void) {}", b""),
    ("__global__ void k(char *b, float4 *c, float d[3], T *e, bool f, float ***g) {}", b"\0\0" * 6),
    ("__global__ void k(float **a, const long *const *b, double * *__restrict__ c) {}", b"G\4J\x08G\x08"),
    ("__global__ void k(half **a, float4 **b, T *const *const c) {}", b"p\0" * 3),
    ("#define float double\n__global__ void k(float *a, int n) {}", b"\0\0i\4"),
    ("#define ARGS float *a\n__global__ void k(ARGS) {}", b"\0\0"),
    (
        "// __global__ void k(int a) {}\n/* __global__ void k(int a) {} */\n__global__ void k(float a) {}",
        b"f\4",
    ),
    ("#if A\n__global__ void k(int a) {}\n#else\n__global__ void k(float a) {}\n#endif", None),
    ("__global__ void k(int a);\n__global__ void k(int a) {}", b"i\4"),
    ("#define k other\n__global__ void k(int a) {}", None),
    ("__global__ void other(int a) {}", None),
    ("__global__ void k(void (*f)(int), int n) {}", None),
    ("__global__ void k(float const *a, unsigned n) {}", b"F\4i\4"),
    ("__global__ void k(int, float *) {}", b"\0\0" * 2),
    ("__global__ void k(float2 a, const uchar4 b, float2 *c) {}", b"s\0" * 2 + b"\0\0"),
    ("__global__ void k(pycuda::complex<float> z, complex<double> w) {}", b"s\0" * 2),
    ("struct __align__(8) A { int i; };\n__global__ void k(A a, struct A b) {}", b"s\0" * 2),
    ("struct A;\nenum B { b };\n__global__ void k(A a, B b, A *c) {}", b"\0\0" * 3),
    ("typedef struct { int i; } A, *P;\n__global__ void k(P a) {}", b"\0\0"),
    ("typedef union { int i; } A;\nclass C : A { };\n__global__ void k(A a, C c) {}", b"s\0" * 2),
    ("struct A { int i; };\n#define A float *\n__global__ void k(A a) {}", b"\0\0"),
]


@pytest.mark.parametrize("source, types", SIGNATURES)
def test_types_of_parameters_in_a_source(source, types):
    assert signatures.types(source, (), "k") == types


def test_macros_defined_by_options():
    """A macro of the name of a type or kernel makes that unknown."""
    source = "__global__ void k(float *a) {}"
    assert signatures.types(source, ("-Dfloat=double",), "k") == b"\0\0"
    assert signatures.types(source, ("-D", "k=j"), "k") is None
    assert signatures.types(source, ("-DN=3",), "k") == b"F\4"
