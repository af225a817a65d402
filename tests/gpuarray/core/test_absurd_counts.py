"""Counts larger than any array: the call returns or raises at once, and never loops over the count."""

import signal

import numpy as np
import pytest

from pycuda import gpuarray

COUNTS = 2**31, 2**63, 2**65, 10**400, np.uint64(2**64 - 1)


@pytest.fixture
def within_seconds(primary_context):
    """Fails a test that takes ten seconds, by a signal."""

    def late(number, frame):
        raise AssertionError("the call seems to loop over the count")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("split", [np.array_split, gpuarray.split, np.split])
@pytest.mark.parametrize("length", [0, 6])
def test_a_split_into_absurdly_many_parts_raises_at_once(within_seconds, split, length):
    array = gpuarray.zeros(length, np.float32)
    for count in COUNTS:
        with pytest.raises((MemoryError, OverflowError, ValueError)):
            split(array, count)


def test_a_split_into_more_parts_than_elements_has_empty_ones(primary_context):
    for length, count in (0, 3), (2, 5), (7, 3), (6, 3), (1, 1):
        host = np.arange(length)
        ours = np.array_split(gpuarray.to_gpu(host), count)
        assert [part.get().tolist() for part in ours] == [p.tolist() for p in np.array_split(host, count)]


def test_differences_of_an_absurd_order_leave_no_element(within_seconds):
    host = np.arange(6.0) ** 2
    array = gpuarray.to_gpu(host)
    for count in COUNTS:
        assert np.diff(array, count).shape == (0,)
    for count in range(8):
        assert np.diff(array, count).get().tolist() == np.diff(host, count).tolist()
    with pytest.raises(TypeError):
        np.diff(array, 1.5)
