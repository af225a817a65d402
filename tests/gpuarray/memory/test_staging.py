"""get() by way of page-locked memory: small arrays of every size, from many threads, in contexts that come
and go. (Where there is none: tests/faults.)"""

import threading

import numpy as np
import pytest

import pycuda.driver as drv
from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")

MIB = 1 << 20


@pytest.mark.parametrize("nbytes", [1, 4096, MIB - 1, MIB, MIB + 1, 3 * MIB])
def test_sizes(nbytes):
    numbers = np.random.default_rng(nbytes).integers(0, 256, nbytes).astype(np.uint8)
    array = gpuarray.to_gpu(numbers)
    assert (array.get() == numbers).all()
    array.fill(7)
    assert (array.get() == 7).all()
    assert (numbers != 7).any()


def test_results_are_apart():
    array = gpuarray.zeros(1000, np.int32)
    first = array.get()
    array.fill(5)
    second = array.get()
    assert (first == 0).all() and (second == 5).all() and second.flags.writeable


def test_threads():
    context, wrong = drv.Context.get_current(), []

    def work(number):
        context.push()
        try:
            array = gpuarray.to_gpu(np.full(1 << 16, number, np.int32))
            for _ in range(40):
                if not (array.get() == number).all():
                    wrong.append(number)
        finally:
            drv.Context.pop()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_contexts_that_come_and_go():
    for _ in range(4):
        context = drv.Device(0).make_context()
        try:
            assert (gpuarray.to_gpu(np.arange(100)).get() == np.arange(100)).all()
        finally:
            context.pop()
            context.detach()


def test_a_context_that_another_thread_destroys_meanwhile():
    """What was read is right, or the call says that the context is gone."""
    numbers, wrong = np.arange(1 << 16, dtype=np.int32), []

    def work(context, ready):
        context.push()
        array = gpuarray.to_gpu(numbers)
        try:
            while True:
                if (array.get() != numbers).any():
                    wrong.append("numbers")
                ready.set()
        except drv.Error:
            pass

    for _ in range(20):
        context, ready = drv.Device(0).make_context(), threading.Event()
        drv.Context.pop()
        thread = threading.Thread(target=work, args=(context, ready))
        thread.start()
        assert ready.wait(60)
        context.detach()
        thread.join(60)
        assert not thread.is_alive() and not wrong
