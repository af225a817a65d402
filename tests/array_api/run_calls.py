"""Calls the functions of SciPy or scikit-learn that accept arrays of any library, once with NumPy's arrays
and once with GPUArrays. Where NumPy's result is an array, the other must be a GPUArray on the device of the
operands, with the same shape and dtype and close values.

Usage: python run_calls.py scipy|sklearn [NAME ...]. It prints a JSON object: "version", the library's
version; "marked", the names that the library itself declares to support the array API; "problems", for each
call null or what was wrong.
"""

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # is read when SciPy is imported

import contextlib
import dataclasses
import importlib
import json
import sys
import warnings

import numpy as np
import scipy

import pycuda.autoprimaryctx
import pycuda.numpy as xp
from pycuda.gpuarray import GPUArray

SCIPY = """cluster.hierarchy cluster.vq constants differentiate fft integrate interpolate linalg optimize
optimize.elementwise signal signal.windows sparse sparse.linalg spatial.transform special stats
stats.qmc""".split()
SKLEARN = """calibration decomposition discriminant_analysis frozen kernel_approximation linear_model
metrics.pairwise metrics mixture model_selection naive_bayes pipeline preprocessing utils.extmath""".split()


def leaves(result):
    """A list of the values of a result, from nested tuples, lists, dictionaries and dataclasses."""
    if isinstance(result, dict):
        items = result.values()
    elif isinstance(result, tuple | list):
        items = result
    elif dataclasses.is_dataclass(result):
        items = vars(result).values()
    else:
        return [result]
    return [leaf for each in items for leaf in leaves(each)]


def call_with(namespace, text, names, host):
    """The leaves of what a call returns when the arrays of `host` are made by `namespace` (np or xp).

    text: the call, an expression; names: the other global variables that it uses; host: {name: NumPy array}.
    """
    copies = {name: namespace.asarray(value, copy=True) for name, value in host.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return leaves(eval(text, {**names, **copies, "xp": namespace, "np": np}))


def check_array(got, want, relative):
    """Asserts that a GPUArray agrees with NumPy's; relative: the bound of the relative error in double."""
    assert isinstance(got, GPUArray), f"the result is of {type(got).__name__}"
    assert got.device == pycuda.autoprimaryctx.device, f"the result is on {got.device}"
    got_type, want_type = (f"{array.dtype}{array.shape}" for array in (got, want))
    assert got_type == want_type, f"the result is {got_type}, NumPy's {want_type}"
    if want.dtype.kind in "fc":
        single = want.dtype.char in "fF"
        largest = np.max(np.abs(want[np.isfinite(want)]), initial=0)
        rtol, atol = (2e-5, 1e-6 * largest) if single else (relative, 1e-12 * largest)
        np.testing.assert_allclose(got.get(), want, rtol=rtol, atol=atol)
    else:
        np.testing.assert_array_equal(got.get(), want)


def check(got, want, relative):
    """Asserts that one leaf agrees with NumPy's: an array, a Python number or a string."""
    if isinstance(want, np.ndarray | np.generic):
        return check_array(got, np.asarray(want), relative)
    assert type(got) is type(want), f"the result is of {type(got).__name__}, NumPy's of {type(want).__name__}"
    if isinstance(want, float):
        np.testing.assert_allclose(got, want, relative)
    elif isinstance(want, int | str):
        assert got == want, f"the result is {got}, NumPy's {want}"


def problem(text, names, host, relative):
    """Makes a call (see call_with) both ways: None if the results agree, else one line that says what is
    wrong."""
    want = call_with(np, text, names, host)
    try:
        got = call_with(xp, text, names, host)
        assert len(got) == len(want), f"{len(got)} results, NumPy's {len(want)}"
        for got_leaf, want_leaf in zip(got, want, strict=True):
            check(got_leaf, want_leaf, relative)
    except Exception as error:
        return f"{type(error).__name__}: {error}".strip().replace("\n", " ")[:300]
    return None


# Relative errors in double precision. scikit-learn's solvers stop at a tolerance, so they agree less closely.
RELATIVE = {"scipy": 1e-8, "sklearn": 1e-6}

# ---- SciPy


def scipy_calls():
    """(names, arrays, calls) for SciPy: global variables of the calls, {name: NumPy array}, {name: call}."""
    import scipy_calls as table

    names = {}
    for module in SCIPY:
        importlib.import_module(f"scipy.{module}")
        first = module.partition(".")[0]
        names[first] = getattr(scipy, first)
    for name in ("RigidTransform", "Rotation"):
        names[name] = getattr(names["spatial"].transform, name)
    calls = table.calls()
    version = tuple(map(int, scipy.__version__.split(".")[:2]))
    if version in table.KNOWN:
        return names, table.HOST, calls | table.marked_as_cpu()
    marked = marked_by_scipy()  # another version may lack some functions, or support the array API in fewer
    return names, table.HOST, {name: call for name, call in calls.items() if name in marked}


def marked_by_scipy():
    """The public functions in SciPy's table of array API support that are not limited to NumPy or to the
    CPU."""
    from scipy._lib._array_api import xp_capabilities_table as capabilities

    found = {}
    for module in SCIPY:
        for name, value in vars(importlib.import_module(f"scipy.{module}")).items():
            with contextlib.suppress(TypeError):  # raised by `in` for values that have no hash
                if name[0] != "_" and value in capabilities:
                    found.setdefault(value, f"{module}.{name}")
    limits = ("np_only", "cpu_only", "out_of_scope")
    return sorted(name for value, name in found.items() if not any(map(capabilities[value].get, limits)))


# ---- scikit-learn


def sklearn_calls():
    """(names, arrays, calls) for scikit-learn, as scipy_calls()."""
    import sklearn
    import sklearn_calls as table
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401

    sklearn.set_config(array_api_dispatch=True)
    names = {}
    for module in SKLEARN:
        names |= vars(importlib.import_module(f"sklearn.{module}"))
    return names, table.HOST, table.calls()


def marked_by_sklearn():
    """The estimators, made without arguments, whose tags declare array API support, and the metrics that
    scikit-learn's own tests call with other libraries' arrays."""
    from sklearn.metrics.cluster.tests.test_common import array_api_metric_checkers as cluster_checkers
    from sklearn.metrics.tests.test_common import array_api_metric_checkers
    from sklearn.utils import all_estimators, get_tags

    found = {getattr(each, "func", each).__name__ for each in (*array_api_metric_checkers, *cluster_checkers)}
    for name, kind in all_estimators():
        with contextlib.suppress(Exception):  # raised by estimators that need arguments
            if get_tags(kind()).array_api_support:
                found.add(name)
    return sorted(found)


def main():
    library, *only = sys.argv[1:]
    names, host, calls = scipy_calls() if library == "scipy" else sklearn_calls()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        marked = marked_by_scipy() if library == "scipy" else marked_by_sklearn()
    found = {
        "version": importlib.import_module(library).__version__,
        "marked": marked,
        "problems": {
            name: problem(calls[name], names, host, RELATIVE[library])
            for name in only or calls
            if name in calls
        },
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
