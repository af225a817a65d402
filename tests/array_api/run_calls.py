"""Calls the functions of SciPy, or of scikit-learn, that take every library's arrays: with GPUArrays and with
NumPy's arrays. Results must be GPUArrays on the device of the operands, where NumPy's are arrays, with the
same shapes, dtypes and values.

Usage: python run_calls.py scipy|sklearn [NAME ...]. It prints JSON: the version, what the library itself says
that it offers, and for each call null, or what was wrong.
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
    """The values that a result has in it."""
    if isinstance(result, dict):
        items = result.values()
    elif isinstance(result, tuple | list):
        items = result
    elif dataclasses.is_dataclass(result):
        items = vars(result).values()
    else:
        return [result]
    return [leaf for each in items for leaf in leaves(each)]


def called(text, names, host, namespace):
    """What a call returns, with arrays of one of the namespaces."""
    copies = {name: namespace.asarray(value, copy=True) for name, value in host.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return leaves(eval(text, {**names, **copies, "xp": namespace, "np": np}))


def check_array(got, want, relative):
    assert isinstance(got, GPUArray), f"the result is of {type(got).__name__}"
    assert got.device == pycuda.autoprimaryctx.device, f"the result is on {got.device}"
    given, wanted = (f"{each.dtype}{each.shape}" for each in (got, want))
    assert given == wanted, f"the result is {given}, NumPy's {wanted}"
    if want.dtype.kind in "fc":
        single = want.dtype.char in "fF"
        size = np.max(np.abs(want[np.isfinite(want)]), initial=0)
        bounds = (2e-5, 1e-6 * size) if single else (relative, 1e-12 * size)
        np.testing.assert_allclose(got.get(), want, *bounds)
    else:
        np.testing.assert_array_equal(got.get(), want)


def check(got, want, relative):
    if isinstance(want, np.ndarray | np.generic):
        return check_array(got, np.asarray(want), relative)
    assert type(got) is type(want), f"the result is of {type(got).__name__}, NumPy's of {type(want).__name__}"
    if isinstance(want, float):
        np.testing.assert_allclose(got, want, relative)
    elif isinstance(want, int | str):
        assert got == want, f"the result is {got}, NumPy's {want}"


def problem(text, names, host, relative):
    """None, or what is wrong with a call."""
    want = called(text, names, host, np)
    try:
        got = called(text, names, host, xp)
        assert len(got) == len(want), f"{len(got)} results, NumPy's {len(want)}"
        for pair in zip(got, want, strict=True):
            check(*pair, relative)
    except Exception as error:
        return f"{type(error).__name__}: {error}".strip().replace("\n", " ")[:300]
    return None


# ---- SciPy. scikit-learn's solvers stop at a tolerance.

RELATIVE = {"scipy": 1e-8, "sklearn": 1e-6}


def scipy_calls():
    """(names, arrays, calls) for SciPy."""
    import scipy_calls as table

    names = {}
    for module in SCIPY:
        importlib.import_module(f"scipy.{module}")
        first = module.partition(".")[0]
        names[first] = getattr(scipy, first)
    for name in ("RigidTransform", "Rotation"):
        names[name] = getattr(names["spatial"].transform, name)
    calls = table.calls()
    if (
        tuple(map(int, scipy.__version__.split(".")[:2])) in table.KNOWN
    ):  # others may mark fewer and have fewer
        return names, table.HOST, calls | table.marked_as_cpu()
    marked = marked_by_scipy()
    return names, table.HOST, {name: call for name, call in calls.items() if name in marked}


def marked_by_scipy():
    """The public functions that SciPy marks as neither for NumPy nor for the CPU alone."""
    from scipy._lib._array_api import xp_capabilities_table as capabilities

    found = {}
    for module in SCIPY:
        for name, value in vars(importlib.import_module(f"scipy.{module}")).items():
            with contextlib.suppress(TypeError):  # of what has no hash
                if name[0] != "_" and value in capabilities:
                    found.setdefault(value, f"{module}.{name}")
    limits = ("np_only", "cpu_only", "out_of_scope")
    return sorted(name for value, name in found.items() if not any(map(capabilities[value].get, limits)))


# ---- scikit-learn


def sklearn_calls():
    """(names, arrays, calls) for scikit-learn."""
    import sklearn
    import sklearn_calls as table
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401

    sklearn.set_config(array_api_dispatch=True)
    names = {}
    for module in SKLEARN:
        names |= vars(importlib.import_module(f"sklearn.{module}"))
    return names, table.HOST, table.calls()


def marked_by_sklearn():
    """The estimators whose tags say so, as they are made without arguments, and the metrics of its tests."""
    from sklearn.metrics.cluster.tests.test_common import array_api_metric_checkers as of_clusters
    from sklearn.metrics.tests.test_common import array_api_metric_checkers
    from sklearn.utils import all_estimators, get_tags

    found = {getattr(each, "func", each).__name__ for each in (*array_api_metric_checkers, *of_clusters)}
    for name, kind in all_estimators():
        with contextlib.suppress(Exception):  # of those that need arguments
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
