"""pycuda.numpy has NumPy's names, except for those with a reason, and no others; its import adds few
modules."""

import inspect
import pickle
import sys

import numpy as np
import pytest

import pycuda.numpy as xp
from pycuda import gpuarray

MODULES = [(xp, np), (xp.linalg, np.linalg), (xp.fft, np.fft)]

# Names of NumPy that pycuda.numpy does not have, by reason.
NOT_HERE = {
    "elements that kernels do not know: dates, texts, objects, long double": """
        bytes_ busday_count busday_offset busdaycalendar char character clongdouble complex256 datetime64
        datetime_as_string datetime_data float128 complex160 float96 complex192 is_busday isnat longdouble
        object_ rec recarray record str_ strings timedelta64""",
    "a Python loop over single elements": "frompyfunc ndenumerate nditer nested_iters vectorize flatiter",
    "classes and modules of host arrays": """
        asarray_chkfinite asmatrix bmat broadcast core ctypeslib dtypes emath f2py lib ma matrix memmap poly1d
        polynomial testing typing""",
    "read from files that hold host arrays": "fromregex load",
    "about NumPy itself": """
        __version__ get_include getbufsize geterrcall info setbufsize seterrcall show_config show_runtime
        test""",
    "names from before NumPy 2": "in1d row_stack trapz",
}
# Names whose values are neither NumPy's nor functions instead of NumPy's.
OWN = {
    "asnumpy",
    "fft",
    "finfo",
    "linalg",
    "random",
    "special",
    "ufunc",
    "ndarray",
    "from_dlpack",
    "__array_namespace_info__",
}
KNOWN = {(2, 2), (2, 3), (2, 4)}  # versions of NumPy all of whose names are listed


@pytest.mark.skipif(
    tuple(map(int, np.__version__.split(".")[:2])) not in KNOWN,
    reason="the names of this NumPy are not listed",
)
def test_every_name_of_numpy_is_there_or_has_a_reason():
    reasons = {name for names in NOT_HERE.values() for name in names.split()}
    missing = {*np.__all__} - {*xp.__all__}
    assert missing - reasons == set()
    assert reasons & {*xp.__all__} == set()
    assert {*np.linalg.__all__} - {*xp.linalg.__all__} == set()
    assert {*np.fft.__all__} - {*xp.fft.__all__} == set()


def test_no_other_name_is_there():
    later = {"cumulative_prod", "cumulative_sum", "unstack", "__array_namespace_info__"}  # of NumPy 2.1
    assert {*xp.__all__} - {*np.__all__} - later == {"asnumpy", "special"}
    for module, theirs in MODULES[1:]:
        assert {*module.__all__} == {name for name in theirs.__all__ if name != "test"}


@pytest.mark.parametrize("module, theirs", MODULES, ids=lambda module: module.__name__)
def test_each_name_can_be_looked_up(module, theirs):
    assert dir(module) == module.__all__ and len(module.__all__) > 15
    for name in module.__all__:
        value, other = getattr(module, name), getattr(theirs, name, None)
        assert getattr(module, name) is value
        if name in OWN:
            continue
        assert isinstance(value, xp.ufunc) == isinstance(other, np.ufunc), name
        if isinstance(value, xp.ufunc) or getattr(value, "__module__", "").startswith("pycuda"):
            assert value.__module__ in ("pycuda.numpy", module.__name__)
            assert value.__name__ == getattr(other, "__name__", name)
            assert value.__doc__
            assert pickle.loads(pickle.dumps(value)) is value
        else:
            assert value is other, name


def test_names_of_one_function_are_one_object():
    for first, second in [
        ("acos", "arccos"), ("concat", "concatenate"), ("permute_dims", "transpose"), ("pow", "power"),
        ("bitwise_invert", "invert"), ("abs", "absolute"), ("conj", "conjugate"),
    ]:  # fmt: skip
        assert getattr(xp, first) is getattr(xp, second)
    assert xp.concat.__name__ == "concatenate"
    assert xp.linalg.cross is not xp.cross


def test_errors_of_missing_names_say_what_to_do():
    with pytest.raises(AttributeError, match=r"'longdouble'.*array\.get\(\)"):
        xp.longdouble  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'in1d'$"):
        xp.in1d  # noqa: B018
    with pytest.raises(AttributeError, match=r"'pycuda\.numpy\.linalg' has no attribute 'nonsense'$"):
        xp.linalg.nonsense  # noqa: B018


def test_numpys_own_objects_are_numpys():
    assert xp.newaxis is None and xp.pi is np.pi and xp.float32 is np.float32 and xp.dtype is np.dtype
    for name in "iinfo isdtype result_type can_cast promote_types broadcast_shapes errstate".split():
        assert getattr(xp, name) is getattr(np, name)
    assert xp.linalg.LinAlgError is np.linalg.LinAlgError
    assert xp.ndarray is gpuarray.GPUArray


def test_signatures_of_ufuncs_and_functions():
    assert str(inspect.signature(xp.add)).startswith("(x1, x2, /, out=None, *, where=True, casting=")
    assert str(inspect.signature(xp.modf)).startswith("(x, /, out=(None, None), *, where=True")
    assert "where" not in str(inspect.signature(xp.matmul))
    assert str(inspect.signature(xp.ufunc)) == "(ufunc: 'np.ufunc') -> 'None'"
    assert list(inspect.signature(xp.linalg.solve).parameters) == ["a", "b"]


def test_star_imports_all(run_python):
    done = run_python(
        "import pycuda.numpy\nfrom pycuda.numpy import *\nassert linspace is pycuda.numpy.linspace\n"
        "assert linalg is pycuda.numpy.linalg"
    )
    assert done.returncode == 0, done.stderr


def test_the_import_costs_little_more_than_that_of_gpuarray(run_python):
    """The cost is measured by the number of modules, which does not depend on the machine."""
    program = "import sys, pycuda.gpuarray\nbefore = {*sys.modules}\nimport pycuda.numpy\n"
    program += "print(*sorted({*sys.modules} - before))"
    done = run_python(program)
    assert done.returncode == 0, done.stderr
    new = done.stdout.split()
    assert "pycuda.numpy" in new and len(new) < 12
    assert all(name.startswith("pycuda.") for name in new)
    assert "pycuda.numpy" in sys.modules
