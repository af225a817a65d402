"""From CPython 3.14 on the result of an operator takes the memory of an operand that only the interpreter's
stack refers to, as the product in a * b + c; nothing else of a program shows it."""

import importlib.util
import operator
import shutil
import subprocess
import sys
import sysconfig
import weakref
from pathlib import Path

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.tools import DeviceMemoryPool

KNOWN = (3, 14) <= sys.version_info[:2] < (3, 15)
SHAPE = (30, 40)


@pytest.fixture
def pool(primary_context):
    return DeviceMemoryPool()


@pytest.fixture
def arrays(pool):
    """Four arrays of float32, and the same on the host."""
    host = [np.linspace(1, 2 + i, 1200, dtype=np.float32).reshape(SHAPE) for i in range(4)]
    allocate = pool.allocate
    return [gpuarray.to_gpu(a, allocator=allocate) for a in host], host


def new_arrays(pool, calculate, *operands):
    """(result, number of arrays of the operands' size that were in use at once besides the operands)."""
    before = pool.active_bytes
    pool.reset_high()
    result = calculate(*operands)
    return result, (pool.active_bytes_high - before) / operands[0].nbytes


CHAINS = [
    # calculation, arrays at once where temporaries are reused, and where they are not
    (lambda a, b, c, d: a * b + c, 1, 2),
    (lambda a, b, c, d: c - a * b, 1, 2),
    (lambda a, b, c, d: a * b + c * d - a, 2, 3),
    (lambda a, b, c, d: -(a * b) / 2 + 1, 1, 2),
    (lambda a, b, c, d: 3 - (a + b) ** 2, 1, 2),
    (lambda a, b, c, d: (a + b) ** c // d % np.float32(7), 1, 2),
    (lambda a, b, c, d: (a + b) ** 0.5, 1, 2),
    (lambda a, b, c, d: a * b + c[0], 1, 2),
    (lambda a, b, c, d: c[:, :1] - a * b, 1, 2),
]


@pytest.mark.parametrize("chain", range(len(CHAINS)))
def test_a_chain_needs_less_memory(pool, arrays, chain):
    calculate, reused, separate = CHAINS[chain]
    ours, host = arrays
    result, count = new_arrays(pool, calculate, *ours)
    assert count == (reused if KNOWN else separate)
    np.testing.assert_allclose(result.get(), calculate(*host), rtol=1e-5)
    for array, values in zip(ours, host, strict=True):
        assert (array.get() == values).all()


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_result_is_described_as_a_new_one(pool, order):
    host = np.asarray(np.arange(1200, dtype=np.float64).reshape(SHAPE), order=order)
    a = gpuarray.to_gpu(host, allocator=pool.allocate)
    result, count = new_arrays(pool, lambda a: a * a + a, a)
    product = a * a
    separate = product + a
    assert (result.strides, result.dtype, result.flags.f_contiguous) == (
        separate.strides,
        separate.dtype,
        separate.flags.f_contiguous,
    )
    assert result.allocator == separate.allocator and result.base is None and vars(result) == {}
    assert count == (1 if KNOWN else 2)
    assert (result.get() == host * host + host).all()


def test_integers_and_booleans(pool):
    host = np.arange(1200, dtype=np.int32)
    a = gpuarray.to_gpu(host, allocator=pool.allocate)

    def calculate(a):
        return ~(((a & 12) | 3) ^ (a << 2)) >> 1

    result, count = new_arrays(pool, calculate, a)
    assert count == (2 if KNOWN else 3) and (result.get() == calculate(host)).all()
    mask = (a > 3) & (a < 90) | (a == 100)
    assert (mask.get() == ((host > 3) & (host < 90) | (host == 100))).all()


# What keeps a second reference, or shows the array to the program; each gives (result, what to compare).
def keep_by_name(a, b):
    return (t := a * b) + a, t


def keep_in_list(a, b):
    kept = []
    return (kept.append(t := a * b) or kept[0]) + a, t


def keep_by_view(a, b):
    kept = []

    def product():
        t = a * b
        kept.append(t[1:])
        return t

    return product() + a, (a * b)[1:], kept[0]


def keep_by_memory(a, b):
    kept = []

    def product():
        t = a * b
        kept.append(t.gpudata)
        return t

    result = product() + a
    return result, a * b, gpuarray.GPUArray(a.shape, a.dtype, gpudata=kept[0])


def keep_by_dlpack(a, b):
    kept = []

    def product():
        t = a * b
        kept.append(t.__dlpack__())
        return t

    result = product() + a
    return result, a * b, gpuarray.from_dlpack(Capsule(kept[0]))


class Capsule:
    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return (2, 0)


def keep_by_closure(a, b):
    t = a * b

    def get():
        return t

    return get() + a, t


def keep_by_generator(a, b):
    def products():
        t = a * b
        yield t
        yield t

    running = products()
    return next(running) + a, next(running)


def keep_by_argument(a, b):
    return (lambda t: (t + a, t))(a * b)


KEEPERS = [
    keep_by_name,
    keep_in_list,
    keep_by_view,
    keep_by_memory,
    keep_by_dlpack,
    keep_by_closure,
    keep_by_generator,
    keep_by_argument,
]


@pytest.mark.parametrize("keep", KEEPERS, ids=lambda keep: keep.__name__)
def test_what_is_referenced_stays(arrays, keep):
    (a, b, *_), (x, y, *_) = arrays
    result, expected, *seen = keep(a, b)
    assert (result.get() == x * y + x).all()
    product = (x * y)[1:] if keep is keep_by_view else x * y
    for array in (expected, *seen):
        assert (array.get() == product).all()


def test_an_array_with_a_weak_reference_stays(arrays):
    (a, b, *_), (x, y, *_) = arrays
    seen = []

    def product():
        t = a * b
        seen.append(weakref.ref(t))
        return t

    result = product() + a
    assert seen[0]() is None and (result.get() == x * y + x).all()


def test_attributes_of_a_temporary_do_not_reach_the_result(arrays):
    a, b, *_ = arrays[0]

    def product():
        t = a * b
        t.name = "product"
        return t

    assert vars(product() + a) == {}


def test_a_subclass_is_made_anew(pool, arrays):
    made = []

    class Named(gpuarray.GPUArray):
        def __init__(self, *args, **keywords):
            super().__init__(*args, **keywords)
            made.append(self.shape)

    a = Named(SHAPE, np.float32, allocator=pool.allocate).fill(3)
    made.clear()
    result = a * a + a
    assert made == [SHAPE, SHAPE] and type(result) is Named and (result.get() == 12).all()


@pytest.mark.parametrize(
    "calculate",
    [
        lambda a, b: (a * b) + np.arange(3.0),  # another dtype: refused or promoted, not in place
        lambda a, b: (a[0] * b[0]) + a,  # a larger result
        lambda a, b: (a * b).T + a.T,
        lambda a, b: (a * b)[::2] - 1,
        lambda a, b: (a * b) / np.float64(3),
        lambda a, b: (a * b) * 2j,
    ],
)
def test_other_shapes_and_dtypes_are_as_before(arrays, calculate):
    (a, b, *_), (x, y, *_) = arrays
    try:
        expected = calculate(x, y)
    except ValueError:
        with pytest.raises((TypeError, ValueError)):
            calculate(a, b)
        return
    result = calculate(a, b)
    assert result.dtype == expected.dtype and result.shape == expected.shape
    np.testing.assert_allclose(result.get(), expected, rtol=1e-6)


def test_memory_that_another_stream_uses_is_not_written(arrays):
    (a, b, *_), (x, y, *_) = arrays
    other = drv.Stream()
    host = drv.pagelocked_empty(SHAPE, np.float32)

    def product():
        t = a * b
        drv.Context.synchronize()
        t.get_async(other, host)
        return t

    result = product() + a
    drv.Context.synchronize()
    assert (host == x * y).all() and (result.get() == x * y + x).all()


def test_a_graph_gets_new_arrays(pool, arrays):
    (a, b, *_), (x, y, *_) = arrays
    a * b + a  # what is loaded first is not captured
    stream = drv.Stream()
    before = pool.active_blocks
    with stream.capture() as graph, stream:
        result = a * b + a
    assert pool.active_blocks == before + 2
    execution = graph.instantiate()
    for _ in range(2):
        result.fill(0)
        drv.Context.synchronize()
        execution.launch(stream)
        stream.synchronize()
        assert (result.get() == x * y + x).all()


def test_an_operator_called_by_a_function_in_c_makes_a_new_array(pool, arrays):
    (a, b, *_), (x, y, *_) = arrays
    result, count = new_arrays(pool, lambda a, b: operator.add(a * b, a), a, b)
    assert count == 2 and (result.get() == x * y + x).all()
    result = sum([b, b], a * b)
    np.testing.assert_allclose(result.get(), x * y + y + y, rtol=1e-6)


SOURCE = r"""
#include <Python.h>

/* As Cython compiles `def twice(x): return (x + 1, x)`: the arguments stay the caller's. */
static PyObject *twice(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyObject *one = PyLong_FromLong(1), *sum = PyNumber_Add(args[0], one);
    Py_DECREF(one);
    return sum ? Py_BuildValue("(NO)", sum, args[0]) : NULL;
}

/* The same, by an operator of a type in C. */
static PyObject *add(PyObject *left, PyObject *right)
{
    PyObject *other = PyFloat_Check(left) ? right : left;
    return twice(NULL, &other, 1);
}

static PyType_Slot slots[] = {{Py_nb_add, add}, {Py_nb_subtract, add}, {0, NULL}};
static PyType_Spec spec = {"borrows.Number", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

static PyMethodDef functions[] = {{"twice", (PyCFunction)(void (*)(void))twice, METH_FASTCALL, NULL}, {NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "borrows", NULL, -1, functions};

PyMODINIT_FUNC PyInit_borrows(void)
{
    PyObject *module = PyModule_Create(&definition);
    PyObject *type = PyType_FromSpecWithBases(&spec, (PyObject *)&PyFloat_Type);
    if (!module || !type || PyModule_AddObjectRef(module, "Number", type) < 0) return NULL;
#ifdef Py_GIL_DISABLED
    PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#endif
    return module;
}
"""


@pytest.fixture(scope="module")
def borrows(tmp_path_factory):
    """A module in C that computes with an argument to which it has no reference of its own, twice."""
    include, compiler = sysconfig.get_path("include"), shutil.which("cc")
    if not compiler or not Path(include, "Python.h").exists():
        pytest.skip("needs a compiler and the headers of Python")
    folder = tmp_path_factory.mktemp("borrows")
    (folder / "borrows.c").write_text(SOURCE)
    path = folder / f"borrows{sysconfig.get_config_var('EXT_SUFFIX')}"
    subprocess.run(
        [compiler, "-shared", "-fPIC", f"-I{include}", "-o", path, folder / "borrows.c"], check=True
    )
    spec = importlib.util.spec_from_file_location("borrows", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_argument_of_a_function_in_c_stays(arrays, borrows):
    (a, b, *_), (x, y, *_) = arrays
    total, product = borrows.twice(a * b)
    assert (total.get() == x * y + 1).all() and (product.get() == x * y).all()


@pytest.mark.parametrize("operate", ["left + right", "right + left", "left - right", "right - left"])
def test_an_operand_of_an_operator_in_c_stays(arrays, borrows, operate):
    (a, b, *_), (x, y, *_) = arrays
    names = {"left": "(a * b)", "right": "number"}
    expression = " ".join(names.get(word, word) for word in operate.split())
    found = eval(expression, {"a": a, "b": b, "number": borrows.Number(3)})
    if isinstance(found, tuple):  # GPUArray computes with a float on the right itself
        total, product = found
        assert (total.get() == x * y + 1).all() and (product.get() == x * y).all()
    else:
        np.testing.assert_allclose(found.get(), eval(operate, {"left": x * y, "right": np.float32(3)}))


def test_a_failing_operator_leaves_its_operands(arrays):
    (a, b, *_), (x, y, *_) = arrays
    with pytest.raises((TypeError, ValueError)):
        a * b + np.ones(3)
    with pytest.raises(ValueError, match="broadcast"):
        a * b + a[:3, :3]
    assert (a.get() == x).all() and (b.get() == y).all() and ((a * b + a).get() == x * y + x).all()
