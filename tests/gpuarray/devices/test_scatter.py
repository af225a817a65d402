"""pycuda.devices: scatter and gather."""

import numpy as np
import pytest

from pycuda import devices, gpuarray


def check_round_trip():
    """Of arrays on the host and on either device, along each axis, in any number of parts."""
    from pairs import FIRST, SECOND, on

    host = np.arange(7 * 5 * 4.0).reshape(7, 5, 4)
    for source in host, on(FIRST, host), on(SECOND, host), on(FIRST, host).T, host[::-1, ::2]:
        values = source.get() if isinstance(source, gpuarray.GPUArray) else source
        for axis in range(-3, 3):
            for places in [0, 1], [1], [1, 0, FIRST, SECOND, 1], None, [1] * 9:
                with FIRST:
                    parts = devices.scatter(source, places, axis)
                    wanted = np.array_split(values, len(parts), axis)
                    for part, expected, place in zip(parts, wanted, places or [0, 1], strict=True):
                        number = getattr(place, "handle", place)
                        number = {FIRST.handle: 0, SECOND.handle: 1}.get(number, number)
                        assert part.shape == expected.shape
                        assert not part.size or part.device.handle == number
                        assert (part.get() == expected).all()
                    for device in None, 0, 1, SECOND:
                        whole = devices.gather(parts, axis, device)
                        assert whole.device.handle == (device in (1, SECOND))
                        assert (whole.get() == values).all()
                    assert (devices.gather(parts, axis, "cpu") == values).all()


def test_round_trip(on_two_devices):
    on_two_devices(check_round_trip)


def check_work_between():
    """Parts are worked on where they are; nothing has to be waited for."""
    from pairs import FIRST

    host = np.random.default_rng(0).random((1000, 50))
    with FIRST:
        for _ in range(5):
            parts = devices.scatter(gpuarray.to_gpu(host) * 2, axis=0)
            done = []
            for part in parts:
                with part.device.retain_primary_context():
                    done.append(np.sqrt(part) + part.sum(axis=1, keepdims=True))
            expected = np.sqrt(2 * host) + (2 * host).sum(axis=1, keepdims=True)
            assert np.allclose(devices.gather(done).get(), expected)


def test_work_between(on_two_devices):
    on_two_devices(check_work_between)


def test_one_device(primary_context):
    a = gpuarray.to_gpu(np.arange(10, dtype=np.int16))
    parts = devices.scatter(a, [0, 0, 0])
    assert [part.get().tolist() for part in parts] == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]
    parts[0].fill(-1)  # a view
    whole = devices.gather(parts)
    assert whole.get().tolist() == [-1] * 4 + list(range(4, 10)) and whole.dtype == np.int16
    for wrong, error in ([], ValueError), ([99], ValueError), ("x", ValueError), ([1.0], TypeError):
        for source in a, a.get():
            with pytest.raises(error):
                devices.scatter(source, wrong)
    for axis in 1, -2:
        with pytest.raises(np.exceptions.AxisError, match="out of bounds for array of dimension 1"):
            devices.scatter(a, [0], axis)
    with pytest.raises(ValueError):
        devices.gather([])
    with pytest.raises(ValueError):
        devices.gather(parts, device=99)


def test_what_scatter_and_gather_take(primary_context):
    class Foreign:
        def __init__(self, array):
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    a = gpuarray.to_gpu(np.arange(5.0))
    for source in [0.0, 1, 2, 3, 4], Foreign(a), np.arange(5.0)[::-1][::-1]:
        parts = devices.scatter(source, [0, 0])
        assert [part.get().tolist() for part in parts] == [[0, 1, 2], [3, 4]]
        for device in None, "cpu":
            whole = devices.gather([Foreign(part) for part in parts], device=device)
            assert (whole.get() if device is None else whole).tolist() == [0, 1, 2, 3, 4]
    for device in None, "cpu":
        with pytest.raises(TypeError, match="part 1, ndarray, is in host memory"):
            devices.gather([a, np.arange(5.0)], device=device)
    with pytest.raises(np.exceptions.AxisError, match="dimension 0"):
        devices.scatter(np.float64(1), [0])


@pytest.mark.parametrize("dtype", ["datetime64[s]", "timedelta64[ns]", "S5", "U3", "V7", "i4,f8"])
def test_elements_that_are_only_moved(primary_context, dtype):
    host = np.arange(12).astype("u1").repeat(np.dtype(dtype).itemsize)
    if dtype == "U3":
        host = host.reshape(12, -1)
        host[:, [1, 2, 3, 5, 6, 7, 9, 10, 11]] = 0
    host = host.view(dtype).reshape(3, 4)
    for source in host, host.T, host[::-1, ::2], host[:0]:
        for axis in 0, 1:
            whole = devices.gather(devices.scatter(gpuarray.to_gpu(source), [0, 0], axis), axis)
            assert whole.dtype == host.dtype and whole.get().tolist() == source.tolist()
