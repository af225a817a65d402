"""Virtual memory that several threads change and free at the same time."""

import gc
import random
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from devices import free_bytes, repeats, tries

import pycuda.driver as drv

LATE = str(Path(__file__).parents[1].joinpath("late.ptx"))


@pytest.fixture
def unit(primary_context):
    return drv.mem_get_allocation_granularity()


@pytest.fixture
def together(primary_context, monkeypatch):
    """together(calls): makes the calls, (function, *arguments), at the same time, each in a thread of its
    own, and returns the exceptions that they raised. Threads are switched as often as possible, and after the
    test no error must have been reported."""
    context, unraisable = drv.Device(0).retain_primary_context(), []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: unraisable.append(what.exc_value))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def run(*calls):
        start, problems = threading.Barrier(len(calls)), []

        def one(call, *arguments):
            context.push()
            start.wait()
            try:
                call(*arguments)
            except Exception as problem:
                problems.append(problem)
            drv.Context.pop()

        threads = [threading.Thread(target=one, args=call) for call in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return problems

    yield run
    sys.setswitchinterval(interval)
    assert unraisable == []


def live():
    return {name: drv._live_objects()[name] for name in ("AddressRange", "PhysicalMemory")}


def test_free_during_other_calls(unit, together):
    """free() waits for calls that use the object, and releases all of it: none fails in the driver, and
    objects and free memory are as before in the end.
    """
    before, draw = (live(), free_bytes()), random.Random(5)
    for _ in range(repeats(400)):
        space, memory, mapped = drv.AddressRange(4 * unit), drv.PhysicalMemory(unit), drv.PhysicalMemory(unit)
        space.map(0, mapped)
        calls = [
            (space.map, unit, memory),
            (space.unmap,),
            (space.set_access, drv.mem_access_flags.PROT_READWRITE),
            (space.map, unit, mapped),
            (memory.free,),
        ]
        problems = together((space.free,), *draw.sample(calls, 3))
        assert not [each for each in problems if "cuMem" in str(each)], problems
        del space, memory, mapped, calls, problems
    gc.collect()  # exceptions keep the frames of their threads
    for _ in tries():
        if (live(), free_bytes()) == before:
            return
    assert (live(), free_bytes()) == before


def test_one_place_is_mapped_once(unit, together):
    for _ in range(repeats(100)):
        space = drv.AddressRange(2 * unit)
        pieces = [drv.PhysicalMemory(unit) for _ in range(3)]
        problems = together(*((space.map, unit, piece) for piece in pieces))
        assert ["already mapped there" in str(each) for each in problems] == [True, True]
        assert space.mappings == [(unit, unit)]
        problems = together(*((space.unmap,) for _ in range(3)))
        assert (len(problems), space.mappings) == (2, [])


def test_unmap_waits_for_the_context_of_the_range(unit):
    """Also while another context is current."""
    space, done = drv.AddressRange(unit), drv.Event()
    space.map(0, drv.PhysicalMemory(unit))
    drv.module_from_file(LATE).get_function("spin")(np.uint64(0.2e9), block=(1, 1, 1))
    done.record()
    other = drv.Device(0).make_context()
    space.unmap()
    drv.Context.pop()
    other.detach()
    assert done.query()
