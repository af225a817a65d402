"""get() copies small arrays through page-locked memory: arrays of several sizes, from several threads, in
contexts that are destroyed meanwhile. (tests/faults tests get() without page-locked memory.)"""

import threading

import numpy as np
import pytest
from devices import repeats

import pycuda.driver as drv
from pycuda import gpuarray

pytestmark = pytest.mark.usefixtures("primary_context")

MIB = 1 << 20


@pytest.mark.parametrize("nbytes", [1, 4096, MIB - 1, MIB, MIB + 1, 3 * MIB])
def test_sizes_around_the_staging_buffers(nbytes):
    numbers = np.random.default_rng(nbytes).integers(0, 256, nbytes).astype(np.uint8)
    array = gpuarray.to_gpu(numbers)
    assert (array.get() == numbers).all()
    array.fill(7)
    assert (array.get() == 7).all()
    assert (numbers != 7).any()


def test_a_result_does_not_share_memory_with_a_later_one():
    array = gpuarray.zeros(1000, np.int32)
    first = array.get()
    array.fill(5)
    second = array.get()
    assert (first == 0).all() and (second == 5).all() and second.flags.writeable


def test_threads_do_not_mix_their_numbers():
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


def test_contexts_made_and_destroyed_in_turn():
    for _ in range(4):
        context = drv.Device(0).make_context()
        try:
            assert (gpuarray.to_gpu(np.arange(100)).get() == np.arange(100)).all()
        finally:
            context.pop()
            context.detach()


def test_a_context_that_another_thread_destroys_meanwhile():
    """Each get() returns the right numbers, until one raises an error because the context was destroyed."""
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

    for _ in range(repeats(20)):
        context, ready = drv.Device(0).make_context(), threading.Event()
        drv.Context.pop()
        thread = threading.Thread(target=work, args=(context, ready))
        thread.start()
        assert ready.wait(60)
        context.detach()
        thread.join(60)
        assert not thread.is_alive() and not wrong
