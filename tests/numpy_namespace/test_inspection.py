"""__array_namespace__() of arrays, __array_namespace_info__() of the namespace, and finfo."""

import copy

import numpy as np
import pytest

import pycuda.driver as drv
import pycuda.numpy as xp

pytestmark = pytest.mark.usefixtures("primary_context")


def test_an_array_has_the_namespace():
    a = xp.ones(2)
    for version in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        assert a.__array_namespace__(api_version=version) is xp
    assert xp.__array_api_version__ == "2025.12"
    for version in ("2019.12", "2099.01", "", 2025):
        with pytest.raises(ValueError, match="unsupported api_version"):
            a.__array_namespace__(api_version=version)


def test_devices():
    info, here = xp.__array_namespace_info__(), drv.Context.get_device()
    assert info.default_device() == here and info.devices() == [here]
    assert xp.ones(2).device == here
    assert all(xp.ones(1, device=each).device == each for each in info.devices())


def test_capabilities_are_true():
    found = xp.__array_namespace_info__().capabilities()
    assert found == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    max_ndim = found["max dimensions"]
    assert xp.ones((1,) * max_ndim).ndim == max_ndim
    with pytest.raises(ValueError):
        xp.ones((1,) * (max_ndim + 1))
    a = xp.asarray([1, 2, 3])
    assert a[a > 1].get().tolist() == [2, 3]


def test_dtypes_by_kind_and_default_dtypes():
    info = xp.__array_namespace_info__()
    for dtype in info.default_dtypes(device=info.default_device()).values():
        assert isinstance(dtype, np.dtype)
    assert info.default_dtypes() == {
        "real floating": xp.ones(1).dtype,
        "complex floating": xp.asarray([1j]).dtype,
        "integral": xp.asarray([1]).dtype,
        "indexing": xp.argsort([1]).dtype,
    }
    kinds = "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating"
    for kind in (*kinds, "numeric", ("bool", "integral"), ()):
        found = info.dtypes(kind=kind)
        assert found == {name: dtype for name, dtype in info.dtypes().items() if np.isdtype(dtype, kind)}
    names = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"
    assert [*info.dtypes()] == names.split()
    for name, dtype in info.dtypes().items():
        assert getattr(xp, name) == dtype and xp.zeros(1, dtype=dtype).dtype == dtype
    with pytest.raises(ValueError, match="kind"):
        info.dtypes(kind="letters")
    with pytest.raises(ValueError, match="device"):
        info.dtypes(device="cpu")


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "complex64", "complex128"])
def test_finfo_has_numpys_limits_as_python_floats(name):
    """The limits of complex numbers are those of their parts."""
    for given in (getattr(xp, name), np.dtype(name), xp.zeros(2, dtype=name)):
        ours, theirs = xp.finfo(given), np.finfo(name)
        assert type(ours.bits) is int and ours.bits == theirs.bits and ours.dtype == theirs.dtype
        for attribute in ("eps", "max", "min", "smallest_normal", "tiny", "resolution"):
            value = getattr(ours, attribute)
            assert type(value) is float and value == getattr(theirs, attribute)
        assert repr(ours) == repr(theirs) and str(ours) == str(theirs) and "eps" in dir(ours)
    assert copy.copy(ours).eps == ours.eps


def test_finfo_of_integers_is_refused():
    for wrong in (xp.int32, xp.zeros(1, dtype=bool)):
        with pytest.raises(ValueError):
            xp.finfo(wrong)
    with pytest.raises(AttributeError):
        xp.finfo(xp.float32).nonsense  # noqa: B018
