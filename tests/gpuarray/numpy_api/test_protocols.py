"""NumPy's protocols: which operand's class implements a call, keywords, methods of ufuncs, like=; results are
compared with NumPy's."""

import inspect
import subprocess
import sys

import numpy as np
import pytest
from against import NUMPY, same
from drawing import arrays, few
from hypothesis import given
from hypothesis import strategies as st

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda._array.numpy_api.protocols import implementation, places

pytestmark = pytest.mark.usefixtures("primary_context")

rng = np.random.default_rng(3)
NEAR = {"rtol": 1e-5, "atol": 1e-5}


# ---- which operand's class implements a call


class Other:
    """An array of a library that implements calls with GPUArrays: they return what was called."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return "other", ufunc.__name__, method

    def __array_function__(self, function, types, args, kwargs):
        return "other", function.__name__


class Silent:
    """An array of a library that does not implement calls with GPUArrays."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return NotImplemented

    def __array_function__(self, function, types, args, kwargs):
        return NotImplemented


def test_a_ufunc_calls_array_ufunc_of_the_other_operand():
    array, other = gpuarray.to_gpu(np.arange(3.0)), Other()
    assert np.add(array, other) == np.add(other, array) == ("other", "add", "__call__")
    assert np.add(array, 1, out=other) == ("other", "add", "__call__")
    assert np.matmul(array, other)[0] == "other" and np.add.outer(array, other)[2] == "outer"
    assert np.add.reduce(array, out=other)[2] == "reduce"
    assert np.sin(array, out=(other,))[1] == "sin"


def test_a_function_calls_array_function_of_the_other_operand():
    array, other = gpuarray.to_gpu(np.arange(3.0)), Other()
    assert np.concatenate([array, other]) == ("other", "concatenate")
    assert np.dot(array, other) == np.dot(other, array) == ("other", "dot")
    assert np.where(array > 1, array, other) == ("other", "where")
    assert np.sum(array, out=other) == ("other", "sum")
    assert np.linalg.norm(other) == ("other", "norm")


def test_a_call_that_no_operand_implements_is_a_type_error():
    array, silent = gpuarray.to_gpu(np.arange(3.0)), Silent()
    with pytest.raises(TypeError, match="NotImplemented"):
        np.add(array, silent)
    with pytest.raises(TypeError, match="no implementation found"):
        np.concatenate([array, silent])
    with pytest.raises(TypeError, match="no implementation found"):
        np.datetime_as_string(array)
    with pytest.raises(TypeError):
        array + silent


def test_operators_call_the_other_operands_reflected_method():
    class Reflecting:
        def __radd__(self, other):
            return "added"

        def __eq__(self, other):
            return "compared"

        __hash__ = None

    array = gpuarray.to_gpu(np.arange(3.0))
    assert array + Reflecting() == "added" and (array == Reflecting()) == "compared"


def test_subclasses_of_numpys_arrays():
    class Quantity(np.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return "quantity"

    array = gpuarray.to_gpu(np.arange(3.0))
    assert np.add(array, np.arange(3.0).view(Quantity)) == "quantity"
    with pytest.raises(TypeError, match="to_gpu"):
        np.add(array, np.ma.masked_array(np.arange(3.0)))


def test_arrays_in_host_memory_are_refused():
    array, host = gpuarray.to_gpu(np.arange(3.0)), np.arange(3.0)
    for call in (
        lambda: np.add(array, host),
        lambda: np.add(array, [1, 2, 3]),
        lambda: np.concatenate([array, host]),
        lambda: np.where(array > 1, array, host),
        lambda: np.isclose(array, host),
        lambda: np.dot(host, array),
        lambda: np.outer(array, [1, 2]),
        lambda: np.interp(array, host, host),
        lambda: np.stack([array, host]),
        lambda: np.tensordot(array, host, 1),
        lambda: np.copyto(array, host),
    ):
        with pytest.raises(TypeError, match="to_gpu"):
            call()
    with pytest.raises(TypeError, match="NumPy"):
        np.add(array, array, out=host)


def test_scalars_and_0d_arrays_of_numpy_are_operands():
    """Such operands are arguments of the launch, and need no copy."""
    array = gpuarray.to_gpu(np.arange(3, dtype=np.float32))
    for number in (2, 2.5, np.float32(2), np.array(2.0), np.array(2), True):
        same(lambda a, n=number: np.add(a, n), array.get())
        same(lambda a, n=number: np.where(a > 1, a, n), array.get())


# ---- ufuncs


KEYWORDS = {
    "dtype": {"dtype": "f8"},
    "order": {"order": "F"},
    "subok": {"subok": False},
    "unsafe": {"dtype": "i4", "casting": "unsafe"},
    "safe": {"casting": "safe"},
    "no": {"casting": "no"},
    "same_kind": {"dtype": "i4"},
}


@pytest.mark.parametrize("name", KEYWORDS)
def test_keywords_of_a_call(name):
    a, b = rng.normal(size=(3, 4)).astype("f4"), rng.normal(size=4)
    same(lambda a, b: np.add(a, b, **KEYWORDS[name]), a, b)
    same(lambda a, b: np.add(a, a, **KEYWORDS[name]), a, b)
    same(lambda a, b: np.multiply(a, 3, **KEYWORDS[name]), a, b)
    same(lambda a, b: np.sqrt(a, **KEYWORDS[name]), abs(a), b, **NEAR)
    if name == "order":
        assert np.add(*map(gpuarray.to_gpu, (a, b)), order="F").flags.f_contiguous


@pytest.mark.filterwarnings("ignore:'where' used without 'out'")
@few
@given(data=st.data())
def test_where_of_a_call(data):
    pair = data.draw(arrays(["f4", "i4"], max_ndim=3))
    mask = np.asarray(rng.random(pair[0].shape[-1:]) < 0.5)
    out = np.full(pair[0].shape, 7.5)
    same(lambda a, m, o: (np.add(a, 1, out=o, where=m), o), pair, mask, out)
    same(lambda a, m, o: np.where(m, np.multiply(a, 2, where=m), 0), pair, mask, out)
    same(lambda a, m, o: np.divmod(a, 3, out=(o, o.copy()), where=m)[1], pair, mask, out, **NEAR)


def test_where_must_be_boolean_and_broadcast():
    array = gpuarray.to_gpu(np.arange(3.0))
    with pytest.raises(TypeError, match="according to the rule 'safe'"):
        np.add(array, 1, where=array)
    with pytest.raises(ValueError, match="shape"):
        np.add(array, 1, where=array > 1, out=gpuarray.zeros(4))
    with pytest.raises(TypeError, match="signature"):
        np.add(array, 1, signature="dd->d")


def test_where_with_a_stream():
    stream = drv.Stream()
    array = gpuarray.to_gpu(np.arange(3.0))
    with stream:
        result = np.add(array, 1, out=array.copy(), where=array > 0)
        assert array.sum(where=array > 0, stream=stream).get() == 3
    assert result.get().tolist() == [0, 2, 3]


ASSOCIATIVE = """add multiply maximum minimum fmax fmin logical_and logical_or logical_xor bitwise_and
bitwise_or bitwise_xor gcd lcm logaddexp logaddexp2 hypot""".split()
INTEGERS = {"bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm"}


def operands(name, shape):
    """A random array of NumPy for a ufunc: of integers if it takes only these, otherwise of floats."""
    if name in INTEGERS:
        return rng.integers(1, 9, shape)
    return rng.normal(size=shape).round(1).astype("f8" if name.startswith(("log", "hyp")) else "f4")


def call_directly(ufunc, method, host, *args, **kwargs):
    """Calls __array_ufunc__ for calls that raise: NumPy leaks the operands of its ufuncs' methods after an
    error."""
    array = gpuarray.to_gpu(host)
    return array.__array_ufunc__(ufunc, method, array, *args, **kwargs)


@pytest.mark.parametrize("name", ASSOCIATIVE)
def test_reduce(name):
    ufunc = getattr(np, name)
    host = operands(name, (3, 5, 4))
    if name == "lcm":
        host = host % 3 + 1  # so that results do not overflow
    for axis in (0, 1, -1, None, (0, 2), ()):
        if (np.ndim(axis) or axis is None) and name in ("lcm", "gcd", "hypot", "logaddexp", "logaddexp2"):
            continue  # NumPy does not reduce these over several axes
        same(lambda a, x=axis: ufunc.reduce(a, axis=x), host, **NEAR)
        same(lambda a, x=axis: ufunc.reduce(a, axis=x, keepdims=True), host, **NEAR)
    if ufunc.identity is not None:
        same(lambda a: ufunc.reduce(a[:, :0], axis=1), host)
    else:
        with pytest.raises(ValueError, match="identity"):
            call_directly(ufunc, "reduce", np.zeros((0, 3), host.dtype))
    out = np.zeros((5, 4), host.dtype if name in INTEGERS else "f8")
    same(lambda a, o: (ufunc.reduce(a, axis=0, out=o), o), host, out, **NEAR)
    if not name.startswith("logical"):
        same(lambda a: ufunc.reduce(a, axis=1, initial=3), host, **NEAR)
    if name in ("add", "maximum", "bitwise_or", "fmax"):
        same(lambda a: ufunc.reduce(a, axis=1, initial=3, where=a > 2), host, **NEAR)
    if name in ("add", "bitwise_or"):
        same(lambda a: ufunc.reduce(a, axis=1, where=a > 2), host, **NEAR)


@pytest.mark.parametrize("name", ASSOCIATIVE)
def test_accumulate_reduceat_and_outer(name):
    ufunc = getattr(np, name)
    host = operands(name, (6, 9))
    if name == "lcm":
        host = host % 3 + 1
    for axis in (0, 1, -1):
        same(lambda a, x=axis: ufunc.accumulate(a, axis=x), host, **NEAR)
        same(lambda a, x=axis: ufunc.reduceat(a, [0, 3, 1, 5], axis=x), host, **NEAR)
    same(lambda a: ufunc.reduceat(a, [8, 0], axis=1), host, **NEAR)
    with pytest.raises(IndexError):
        call_directly(ufunc, "reduceat", host, [9, 0], axis=1)
    same(lambda a, i: ufunc.reduceat(a, i, axis=1), host, np.array([0, 4]), **NEAR)
    same(lambda a: ufunc.outer(a[0], a[:, :2]), host, **NEAR)
    same(lambda a: ufunc.outer(a[0], 2), host, **NEAR)


@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "divide", "maximum", "bitwise_or", "logical_or"]
)
def test_at(name):
    ufunc = getattr(np, name)
    for size in (5, 300):
        host = np.arange(1, 13).reshape(3, 4).astype("i8" if name in INTEGERS else "f8")
        numbers = rng.integers(0, 3, size)
        values = rng.integers(1, 3, (size, 4)).astype(host.dtype)
        if size == 300 and name in ("multiply", "divide"):
            values = np.ones_like(values)  # so that results stay finite

        def changed(a, index, v):
            ufunc.at(a, index, v)
            return a

        same(changed, host, numbers, values, **NEAR)
        same(lambda a, n, v: changed(a, (n, 1), v[:, 0]), host, numbers, values, **NEAR)
        same(lambda a, n, v: changed(a.T, n, 1), host, numbers, values, **NEAR)
        same(lambda a, n, v: changed(a, [0, 0, 2], v[0]), host, numbers, values, **NEAR)


@pytest.mark.parametrize("ufunc, method, args", [
    (np.power, "at", ([0], 2)), (np.sin, "at", ([0],)), (np.fmax, "reduce", (0, None, None, False, None, 5)),
])  # fmt: skip
def test_methods_of_ufuncs_that_are_not_supported_raise(ufunc, method, args):
    with pytest.raises((TypeError, ValueError), match="GPUArrays|two operands|initial"):
        call_directly(ufunc, method, np.arange(1.0, 4), *args)


# ---- functions


def parameters(function):
    """The names of a function's parameters, without *args and **kwargs."""
    return [
        name
        for name, each in inspect.signature(function).parameters.items()
        if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]


@pytest.mark.skipif(NUMPY < "2.4.0", reason="older versions lack parameters, or have some that were removed")
def test_every_function_has_numpys_parameters():
    """Names and order are NumPy's; further parameters may follow. like= is removed before a call is
    dispatched."""
    wrong = []
    for theirs in places():
        ours = implementation(theirs)
        try:
            wanted = parameters(theirs)
        except ValueError:
            continue  # without a signature
        takes_any = any(each.kind == each.VAR_KEYWORD for each in inspect.signature(ours).parameters.values())
        found = parameters(ours)
        kinds = inspect.signature(theirs).parameters
        positional = [each for each in wanted if kinds[each].kind != inspect.Parameter.KEYWORD_ONLY]
        kept = [each for each in wanted if each != "like"]
        if not takes_any and (set(kept) - set(found) or found[: len(positional)] != positional):
            wrong.append(f"{theirs.__name__}{inspect.signature(theirs)}: {inspect.signature(ours)}")
    assert not wrong, "\n".join(wrong)


def test_creation_functions_with_like():
    ones = gpuarray.ones(3)
    for order in "CF":
        assert np.empty((2, 3), order=order, like=ones).flags[f"{order}_CONTIGUOUS"]
        assert np.asarray(gpuarray.zeros((2, 3)), order=order, like=ones).flags[f"{order}_CONTIGUOUS"]
    calls = (
        lambda **like: np.array([[1, 2], [3, 4]], "f4", ndmin=3, **like),
        lambda **like: np.asarray(np.arange(6).reshape(2, 3).T, **like),
        lambda **like: np.asarray(7.5, **like),
        lambda **like: np.asarray([], dtype="i8", **like),
        lambda **like: np.arange(5, **like),
        lambda **like: np.arange(2, 5, 0.5, **like),
        lambda **like: np.arange(5, dtype="f4", **like),
        lambda **like: np.arange(0, **like),
        lambda **like: np.full((2, 2), 1 + 2j, **like),
        lambda **like: np.full(3, [1, 2, 3], **like),
        lambda **like: np.ones(3, **like),
        lambda **like: np.zeros((2, 0), "i2", "F", **like),
        lambda **like: np.eye(3, k=-1, order="F", **like),
        lambda **like: np.identity(2, "f4", **like),
        lambda **like: np.tri(3, 2, 1, "i4", **like),
        lambda **like: np.fromfunction(lambda i, j: i + 10 * j, (2, 3), dtype=int, **like),
        lambda **like: np.require([[1, 2]], "f8", "F", **like),
    )
    for call in calls:
        same(
            lambda a, call=call: call(**({"like": a} if isinstance(a, gpuarray.GPUArray) else {})), np.ones(3)
        )
    parts = [gpuarray.to_gpu(np.array(float(each))) for each in range(3)]
    assert np.array(parts, like=ones).get().tolist() == [0, 1, 2]
    same_array = np.asarray(ones, like=ones)
    assert same_array is ones and np.array(ones, like=ones) is not ones


@pytest.mark.parametrize("order", ["K", "A", "C", "F"])
def test_like_with_another_shape(order):
    for host in (np.zeros((2, 3, 4)), np.zeros((2, 3, 4)).transpose(2, 0, 1), np.zeros((2, 3, 4), order="F")):
        for shape in (None, (5, 6), (5, 6, 7), 4):
            on_device = np.ones_like(gpuarray.to_gpu(host), "f4", order, shape=shape)
            want = np.ones_like(host, "f4", order, shape=shape)
            assert (on_device.shape, on_device.dtype) == (want.shape, want.dtype)
            assert on_device.strides == want.strides
            assert (on_device.get() == 1).all()
    same(lambda a: np.full_like(a, 7, shape=(2, 2)), np.zeros(3, "i4"))
    same(lambda a: np.zeros_like(a, subok=False), np.zeros(3, "i4"))


def test_linspace_logspace_and_geomspace_of_arrays():
    a, b = rng.random(3) + 1, rng.random((2, 3)) + 3
    near = {"rtol": 1e-12, "atol": 1e-12}
    for options in ({}, {"endpoint": False}, {"axis": -1}, {"dtype": "f4"}, {"retstep": True}):
        same(
            lambda a, b, o=options: np.linspace(a, b, 7, **o), a, b, **(NEAR if "dtype" in options else near)
        )
    same(lambda a, b: np.linspace(a, 2, 5, dtype=int), a * 10, b)
    same(lambda a, b: np.linspace(a, a, 5), a, b)
    for num in (0, 1, 2):
        same(lambda a, b, n=num: np.linspace(a, b, n), a, b)
        same(lambda a, b, n=num: np.logspace(a, b, n), a, b, **near)
        same(lambda a, b, n=num: np.geomspace(a, b, n), a, b, **near)
    same(lambda a, b: np.geomspace(-a, -b, 4, axis=1), a, b, **near)
    same(lambda a, b: np.geomspace(a * 0, b), a, b)
    same(lambda a, b: np.meshgrid(a, b[0], indexing="ij"), a, b)


def test_calls_with_less_common_arguments():
    a = rng.normal(size=(3, 4)).astype("f4")
    same(lambda a: np.clip(a, a_min=0, a_max=1), a)
    same(lambda a: np.clip(a, None, 0.5), a)
    same(lambda a: np.clip(a, min=0), a)
    same(lambda a: np.clip(a, 0), a)
    if NUMPY >= "2.1.0":
        same(lambda a: np.clip(a, 0, 1, min=3), a)
    same(lambda a, o: (np.clip(a, 0, 1, out=o), o), a, np.zeros((3, 4)))
    same(lambda a: a.astype("i4", casting="safe"), a)
    same(lambda a: a.astype("f8", casting="safe", subok=False, copy=False), a)
    same(lambda a: np.split(ary=a, indices_or_sections=2, axis=1), a)
    same(lambda a: np.split(a, 5), a)
    same(lambda a: np.tile(A=a, reps=(1, 2)), a)
    same(lambda a: np.take(a, 2), a)
    same(lambda a: np.round(a, decimals=1), a, **NEAR)
    same(lambda a: np.argmax(a, axis=1, keepdims=True), a)
    same(lambda a: np.sum(a=a, axis=0, keepdims=True), a, **NEAR)
    same(lambda a: np.repeat(a, repeats=[1, 2, 0], axis=0), a)
    same(lambda a: np.maximum.accumulate(a, 1), a)


def test_text_and_files(tmp_path):
    host = rng.normal(size=(3, 4))
    array = gpuarray.to_gpu(host)
    assert np.array2string(array, precision=3) == np.array2string(host, precision=3)
    assert np.array_str(array, precision=2) == np.array_str(host, precision=2)
    large = np.arange(3000)
    assert np.array2string(gpuarray.to_gpu(large), threshold=5, edgeitems=1) == "[   0 ... 2999]"
    np.save(tmp_path / "one.npy", array)
    np.savez(tmp_path / "two.npz", host, named=array)
    np.savetxt(tmp_path / "three.txt", array)
    assert (np.load(tmp_path / "one.npy") == host).all()
    with np.load(tmp_path / "two.npz") as read:
        assert (read["named"] == host).all() and (read["arr_0"] == host).all()
    np.testing.assert_allclose(np.loadtxt(tmp_path / "three.txt"), host)


def test_functions_for_dask_are_registered_by_the_import(tmp_path):
    """Importing pycuda registers them even if dask was imported before, as in a worker."""
    pytest.importorskip("dask.base")
    program = (
        "import dask, pycuda.driver as drv, numpy as np\n"
        "drv.init(); context = drv.Device(0).retain_primary_context(); context.push()\n"
        "from pycuda import gpuarray\n"
        "from dask.array.dispatch import numel_lookup\n"
        "print(type(numel_lookup(gpuarray.zeros((2, 3)), axis=0)).__name__)\n"
        "context.pop()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "GPUArray\n", done.stderr


def test_functions_for_dask_are_registered_after_an_import_by_dask(tmp_path):
    """dask.array imports the module `sparse`, which here imports pycuda: dask.array is not complete then."""
    pytest.importorskip("dask.base")
    (tmp_path / "sparse.py").write_text("from pycuda import gpuarray\n\nclass SparseArray: pass\n")
    program = (
        "import dask.array as da\n"
        "from pycuda import driver as drv, gpuarray\n"
        "drv.init(); context = drv.Device(0).retain_primary_context(); context.push()\n"
        "a = gpuarray.zeros((2, 3))\n"
        "lazy = da.from_array(a)\n"
        "print(isinstance(a + lazy, da.Array), type(lazy.mean(axis=0).compute()).__name__)\n"
        "context.pop()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "True GPUArray\n", done.stderr
