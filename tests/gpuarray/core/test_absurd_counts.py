"""Counts that no array has: an answer at once, never a loop over the count."""

import signal

import numpy as np
import pytest

from pycuda import gpuarray

COUNTS = 2**31, 2**63, 2**65, 10**400, np.uint64(2**64 - 1)


@pytest.fixture
def soon(primary_context):
    """The test fails when it takes seconds."""

    def late(number, frame):
        raise AssertionError("it is counting")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("split", [np.array_split, gpuarray.split, np.split])
@pytest.mark.parametrize("length", [0, 6])
def test_a_split_into_absurdly_many_parts_raises_at_once(soon, split, length):
    array = gpuarray.zeros(length, np.float32)
    for count in COUNTS:
        with pytest.raises((MemoryError, OverflowError, ValueError)):
            split(array, count)


def test_a_split_into_more_parts_than_elements_has_empty_ones(primary_context):
    for length, count in (0, 3), (2, 5), (7, 3), (6, 3), (1, 1):
        host = np.arange(length)
        ours = np.array_split(gpuarray.to_gpu(host), count)
        assert [part.get().tolist() for part in ours] == [p.tolist() for p in np.array_split(host, count)]


def test_absurdly_many_differences_leave_no_element(soon):
    host = np.arange(6.0) ** 2
    array = gpuarray.to_gpu(host)
    for count in COUNTS:
        assert np.diff(array, count).shape == (0,)
    for count in range(8):
        assert np.diff(array, count).get().tolist() == np.diff(host, count).tolist()
    with pytest.raises(TypeError):
        np.diff(array, 1.5)
