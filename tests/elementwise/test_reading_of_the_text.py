"""pycuda._kernels.user.parsing: what it concludes from the text of an operation. In doubt it must assume the
worst."""

import pytest

from pycuda._kernels.user import parsing

# (indexed, subscripted): used only as x[i]; only with subscripts; otherwise.
INDEXED, SUBSCRIPTED, POINTER = (True, True), (False, True), (False, False)


def use(text, preamble="", name="x"):
    """How an operation uses an argument: its entry in the analysis."""
    return parsing.analyse([name, "y", "z"], [text], preamble).uses[name]


@pytest.mark.parametrize(
    "text, kind",
    [
        ("z[i] = x[i]", INDEXED),
        ("z[i] = x [ i ] // x", INDEXED),
        ('printf("x"); /* x */ z[i] = x[i]', INDEXED),
        ("z[i] = p.x + q->x + x[i]", INDEXED),
        ("z[i] = y[i] & x[i]", INDEXED),
        ("z[i] = y[i] && x[i]", INDEXED),
        ("z[i] = (y[i]) & x[i]", INDEXED),
        ("atomicAdd(&x[i], 1)", INDEXED),
        ("z[i] = x[i + 1]", SUBSCRIPTED),
        ("z[i] = x[y[i]]", SUBSCRIPTED),
        ("x[i] = 1; i += total_threads", SUBSCRIPTED),
        ("for (int i = 0; i < 3; i++) z[0] += x[i]", SUBSCRIPTED),
        ("z[i] = *(x + i)", POINTER),
        ("z[i] = f(&x[i])", POINTER),
        ("z[i] = *(float2 *)&x[i]", POINTER),
        ("float *p = &x[i]; *p = 1", POINTER),
        ("z[i] = f(x)", POINTER),
        ("atomicAdd(x, 1)", POINTER),
    ],
)
def test_kind_of_use(text, kind):
    assert use(text)[:2] == kind


@pytest.mark.parametrize("body", ["if (c) continue", "if (c) {", "for (; c;)", "c; } else {"])
def test_a_macro_that_may_decide_what_is_reached_leaves_nothing_certain(body):
    assert not use("SKIP(y[i] < 0); x[i] = 3", f"#define SKIP(c) {body}").assigned
    assert use("SKIP(y[i] < 0); x[i] = 3", "#define SKIP(c) (void)(c)").assigned


@pytest.mark.parametrize(
    "text, written, assigned, read",
    [
        ("z[i] = x[i]", False, False, True),
        ("z[i] = x[i] == 3", False, False, True),
        ("x[i] = 3", True, True, False),
        ("x[i] = x[i] + 1", True, True, True),
        ("y[i] = x[i]; x[i] = 3", True, True, True),
        ("x[i] = 3; y[i] = x[i]", True, True, False),
        ("x[i] += 3", True, False, True),
        ("x[i]++", True, False, True),
        ("--x[i]", True, False, True),
        ("x[i].x = 3", True, False, True),
        ("x[i].real(3)", True, False, True),
        ("z[i] = x[i].real()", False, False, True),
        ("if (y[i]) x[i] = 3", True, False, True),
        ("if (y[i]) { x[i] = 3; }", True, False, True),
        ("if (y[i]) z[i] = 2; else x[i] = 3", True, False, True),
        ("if (y[i]) z[i] = 2; x[i] = 3", True, True, False),
        ("float s = 0; for (int k = 0; k < 3; k++) { s += k; } x[i] = s", True, True, False),
        ("do { y[i]++; } while (y[i] < 3); x[i] = 1", True, True, False),
        ("while (y[i]) if (z[i]) y[i]--; x[i] = 1", True, True, False),
        ("if (y[i]) continue; x[i] = 3", True, False, True),
        ("{ x[i] = 3; }", True, False, True),
        ("z[i] = x[i] = 3", True, False, True),
        ("z[i] = 3, x[i] = 3", True, False, True),
        ("y[i] ? x[i] = 3 : 0", True, False, True),
        ("\n#if 0\nx[i] = 3;\n#endif\n", True, False, True),
        ("float &r = x[i]; r = 3", True, False, True),
        ("auto f = [&](int k) { x[i] = k; }; f(3)", True, False, True),
    ],
)
def test_reads_and_writes(text, written, assigned, read):
    assert use(text)[2:5] == (written, assigned, read)


def test_atomic_functions_write_without_a_store():
    assert use("atomicAdd(&x[i], 1)")[2:] == (True, False, True, False)
    assert use("atomicAdd(&x[i], 1); x[i] = 2").stored
    assert use("f(&x[i])").stored and not use("z[i] = x[i]").stored


def test_macros_of_the_preamble():
    assert use("y[i] = 1", "#define SET x[i] = 0\n")[2:5] == (True, False, True)
    assert use("x[i] = 2; y[i] = OLD", "#define OLD x[i]\n")[2:5] == (True, True, True)
    assert use("z[i] = x[i]", "#define SQUARE(x) \\\n  ((x)*(x))\n")[:2] == INDEXED
    assert use("z[i] = NEXT", "#define NEXT x[i + 1]\n")[:2] == SUBSCRIPTED
    assert not parsing.analyse(["x"], ["x[i] = HERE"], "#define HERE (i)\n").order_free
    assert not parsing.analyse(["x"], ["x[i] = HERE"], '#include "mine.h"\n').order_free
    assert parsing.analyse(["x"], ["x[i] = HERE"], "#define HERE tid\n").own_loop


def test_functions_of_the_preamble():
    by_reference = "__device__ void bump(float &a, const float &b) { a += b; }"
    assert use("bump(x[i], y[i])", by_reference).written
    assert not use("z[i] = f(x[i])", "__device__ float f(float a) { return a; }").written
    assert not use("z[i] = f(x[i])", "__device__ float f(const float &a) { return a; }").written


@pytest.mark.parametrize(
    "preamble, stateful",
    [
        ("__constant__ float c[3];", True),
        ("__device__ int counter;", True),
        ("__device__ int counter = 3;", True),
        ("__device__ float table[4] = {1, 2, 3, 4};", True),
        ("texture<float, 1> t;", True),
        ("texture < float > t;", True),
        ("__device__ float f(float x) { return x; }", False),
        ("__device__ float f(float);", False),
        ("struct s { float x; __device__ s &operator=(const s &o) { x = o.x; return *this; } };", False),
        ("struct s { float x[3]; __device__ float operator[](int k) const { return x[k]; } };", False),
        ("// __constant__ int a;\n#define A 3\n", False),
    ],
)
def test_variables_of_the_module(preamble, stateful):
    assert parsing.analyse(["x"], ["x[i] = 1"], preamble).stateful is stateful


@pytest.mark.parametrize(
    "text",
    ["x[i] = tid", "if (x[i]) break", "x[i] = threadIdx.x", "__syncthreads(); x[i] = 1", "x[i] = 1; i++"],
)
def test_texts_that_need_pycudas_loop(text):
    assert parsing.analyse(["x"], [text]).own_loop


def test_reading_of_arguments():
    names = [
        argument.name
        for argument in parsing.read_arguments("pycuda::complex<float> *a, const int b , float4 c[]")
    ]
    assert names == ["a", "b", "c"]
    assert parsing.read_arguments("  ") == []
    with pytest.raises(ValueError):
        parsing.read_arguments("float *x,")
    with pytest.raises(TypeError, match="VectorArg or a ScalarArg"):
        parsing.read_arguments(["float *x"])
