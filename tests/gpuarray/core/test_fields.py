"""Fields of structured arrays: they are views, operands, and can be assigned to."""

import numpy as np
import pytest

import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.elementwise import ElementwiseKernel

pytestmark = pytest.mark.usefixtures("primary_context")

POINT = np.dtype([("x", np.float32), ("y", np.float32)])
MIXED = np.dtype(
    [("a", np.int32), ("b", np.float64), ("v", np.float32, (2, 3)), ("z", np.complex64), ("p", POINT)],
    align=True,
)


def structures(shape=(4, 3)):
    """A host array of structures, each of whose fields has another value in every element."""
    host = np.zeros(shape, MIXED)
    count = host.size
    host["a"] = np.arange(count).reshape(shape)
    host["b"] = np.arange(count).reshape(shape) / 4
    host["v"] = np.arange(count * 6).reshape(*shape, 2, 3)
    host["z"] = np.arange(count).reshape(shape) * (1 - 2j)
    host["p"]["y"] = -np.arange(count).reshape(shape)
    return host


@pytest.mark.parametrize("shape", [(4, 3), (5,), (), (0, 3)])
def test_fields_are_views(shape):
    host = structures(shape)
    device = gpuarray.to_gpu(host)
    for name in MIXED.names:
        view, expected = device[name], host[name]
        assert view.dtype == expected.dtype and view.shape == expected.shape and view.base is device
        assert not view.size or view.strides == expected.strides
        np.testing.assert_array_equal(view.get(), expected)
    np.testing.assert_array_equal(device["p"]["y"].get(), host["p"]["y"])


def test_fields_are_operands():
    host = structures()
    device = gpuarray.to_gpu(host)
    for found, expected in (
        (device["a"] + 1, host["a"] + 1),
        (device["b"].sum(axis=0), host["b"].sum(axis=0)),
        (np.exp(device["b"].T), np.exp(host["b"].T)),
        (device[1:, ::-1]["v"][..., 1], host[1:, ::-1]["v"][..., 1]),
        (device["z"].imag, host["z"].imag),
        (device["a"].view(np.uint32), host["a"].view(np.uint32)),
        (device[[2, 0]]["a"].cumsum(axis=1), host[[2, 0]]["a"].cumsum(axis=1)),
        (device[device["a"] > 5]["b"], host[host["a"] > 5]["b"]),
        (np.where(device["a"] > 3, device["a"], 0), np.where(host["a"] > 3, host["a"], 0)),
    ):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.get(), expected)


def test_fields_are_assigned_to():
    host = structures()
    device = gpuarray.to_gpu(host)
    values = np.arange(12.0).reshape(4, 3)
    device["b"], host["b"] = gpuarray.to_gpu(values), values
    device["a"] += 5
    host["a"] += 5
    device["p"]["x"], host["p"]["x"] = 9, 9
    device["v"][1], host["v"][1] = values[0, 0], values[0, 0]
    device["z"][:, 1].real, host["z"][:, 1].real = 7, 7
    device[0, 0], host[0, 0] = (1, 2.0, 3.0, 4j, (5, 6)), (1, 2.0, 3.0, 4j, (5, 6))
    device[3], host[3] = [host[1, 0]] * 3, [host[1, 0]] * 3
    np.testing.assert_array_equal(device.get(), host)


def test_names_that_are_not_a_field_are_refused():
    device = gpuarray.to_gpu(structures())
    with pytest.raises(ValueError, match="no field of name q"):
        device["q"]
    with pytest.raises(ValueError, match="no field of name q"):
        device["q"] = 1
    with pytest.raises(IndexError, match="are valid indices"):
        device["a"]["a"]
    with pytest.raises(IndexError, match="one field at a time"):
        device[["a", "b"]]


def test_structures_are_not_numbers():
    """No operation computes with them, sorts or compares them, or casts them to a number."""
    device = gpuarray.to_gpu(structures())
    for refused in (
        lambda: device + 1, device.sum, lambda: device.astype(np.float32), lambda: np.sort(device),
        lambda: device == device,
    ):  # fmt: skip
        with pytest.raises(TypeError):
            refused()


def test_unaligned_fields_are_refused():
    """Kernels cannot read a number whose address is not a multiple of its alignment."""
    packed = np.dtype([("a", np.int8), ("b", np.float64), ("c", np.int8)])
    device = gpuarray.to_gpu(np.zeros(4, packed))
    assert device["c"].get().tolist() == [0] * 4
    with pytest.raises(ValueError, match="align=True"):
        device["b"]


def test_addresses_of_fields_are_refused():
    """A kernel or a copy that got the address of a field would take its elements to be contiguous."""
    device = gpuarray.to_gpu(structures())
    with pytest.raises(ValueError):
        _ = device["a"].ptr
    with pytest.raises(ValueError):
        drv.memcpy_dtoh(np.zeros(12, np.int32), device["a"].gpudata)
    double = ElementwiseKernel("int *a", "a[i] *= 2", "twice")
    double(device["a"])
    np.testing.assert_array_equal(device["a"].get(), 2 * structures()["a"])
