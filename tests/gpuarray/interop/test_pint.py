"""pint: quantities whose magnitudes are GPUArrays."""

import numpy as np
import pytest

from pycuda import gpuarray
from pycuda.gpuarray import GPUArray

pint = pytest.importorskip("pint", reason="in the extra `test`")

pytestmark = pytest.mark.usefixtures("primary_context")

HOST = np.arange(1, 7, dtype=np.float64).reshape(2, 3)


@pytest.fixture(scope="module")
def units():
    return pint.UnitRegistry()


CALLS = {
    "array * unit": lambda x, u: x.magnitude * u.m,
    "unit * array": lambda x, u: u.m * x.magnitude,
    "+": lambda x, u: x + x.to("cm"),
    "* number": lambda x, u: 2 * x,
    "*": lambda x, u: x * x,
    "/": lambda x, u: x / (2 * u.second),
    "**": lambda x, u: x**2,
    "@": lambda x, u: x @ x.T,
    "to": lambda x, u: x.to("cm"),
    "offset": lambda x, u: u.Quantity(x.magnitude, "degC").to("kelvin"),
    "index": lambda x, u: x[0],
    "sum": lambda x, u: x.sum(),
    "mean": lambda x, u: x.mean(axis=0),
    "np.sqrt": lambda x, u: np.sqrt(x),
    "np.sin": lambda x, u: np.sin(u.Quantity(x.magnitude, "degree")),
    "np.add": lambda x, u: np.add(x, x),
    "np.max": lambda x, u: np.max(x),
    "np.std": lambda x, u: np.std(x),
    "np.cumsum": lambda x, u: np.cumsum(x, axis=1),
    "np.concatenate": lambda x, u: np.concatenate([x, x.to("cm")]),
    "np.where": lambda x, u: np.where(x.magnitude > 3, x, u.Quantity(0, "m")),
    "np.clip": lambda x, u: np.clip(x, u.Quantity(200, "cm"), u.Quantity(3, "m")),
}


@pytest.mark.parametrize("name", CALLS)
def test_operation(units, name):
    got = CALLS[name](units.Quantity(gpuarray.to_gpu(HOST), "m"), units)
    want = CALLS[name](units.Quantity(HOST, "m"), units)
    assert got.units == want.units and type(got.magnitude) is GPUArray
    np.testing.assert_allclose(got.magnitude.get(), want.magnitude)


def test_comparison_and_assignment(units):
    x = units.Quantity(gpuarray.to_gpu(HOST), "m")
    assert (x > units.Quantity(350, "cm")).get().tolist() == (HOST > 3.5).tolist()
    x[0] = units.Quantity(50, "cm")
    np.testing.assert_array_equal(x.magnitude.get()[0], 0.5)


def test_units_that_do_not_fit_are_refused(units):
    x = units.Quantity(gpuarray.to_gpu(HOST), "m")
    with pytest.raises(pint.DimensionalityError):
        x + x.magnitude
