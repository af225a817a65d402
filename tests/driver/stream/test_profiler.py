"""Profiler control, pointer attributes, limits and preferences of the context."""

import numpy as np
import pytest

import pycuda.driver as drv

# ---- Profiler


def test_start_and_stop():
    assert drv.start_profiler() is None
    assert drv.stop_profiler() is None


def test_initialize(tmp_path):
    """Newer drivers have no profiler of their own, and say so."""
    arguments = str(tmp_path / "config"), tmp_path / "output", drv.profiler_output_mode.CSV
    try:
        assert drv.initialize_profiler(*arguments) is None
    except drv.LogicError as problem:
        assert problem.routine == "cuProfilerInitialize"
    for position, wrong in enumerate([5, None, "CSV"]):
        with pytest.raises(TypeError):
            drv.initialize_profiler(*arguments[:position], wrong, *arguments[position + 1 :])


# ---- Pointers

ATTRIBUTES = drv.pointer_attribute


def test_a_device_pointer():
    memory = drv.mem_alloc(1000)
    assert drv.pointer_get_attribute(ATTRIBUTES.MEMORY_TYPE, memory) is drv.memory_type.DEVICE
    assert drv.pointer_get_attribute(ATTRIBUTES.DEVICE_POINTER, memory) == int(memory)
    assert drv.pointer_get_attribute(ATTRIBUTES.RANGE_START_ADDR, int(memory) + 10) == int(memory)
    assert drv.pointer_get_attribute(ATTRIBUTES.RANGE_SIZE, memory) == 1000
    assert drv.pointer_get_attribute(ATTRIBUTES.DEVICE_ORDINAL, memory) == 0
    assert drv.pointer_get_attribute(ATTRIBUTES.IS_MANAGED, memory) is False
    handle = drv.pointer_get_attribute(attr=ATTRIBUTES.CONTEXT, ptr=memory)
    assert handle == drv.Context.get_current().handle


def test_host_pointers():
    array = drv.pagelocked_empty(10, np.float32)
    address = array.ctypes.data
    assert drv.pointer_get_attribute(ATTRIBUTES.MEMORY_TYPE, address) is drv.memory_type.HOST
    assert drv.pointer_get_attribute(ATTRIBUTES.HOST_POINTER, address) == address
    managed = drv.managed_empty(10, np.float32)
    assert drv.pointer_get_attribute(ATTRIBUTES.IS_MANAGED, managed) is True


def test_unknown_pointers_and_attributes():
    with pytest.raises(drv.LogicError, match="cuPointerGetAttribute failed"):
        drv.pointer_get_attribute(ATTRIBUTES.MEMORY_TYPE, 16)
    with pytest.raises(drv.LogicError, match="cuPointerGetAttribute failed"):
        drv.pointer_get_attribute(9999, drv.mem_alloc(4))
    with pytest.raises(TypeError):
        drv.pointer_get_attribute("MEMORY_TYPE", 16)


# ---- The context


LIMITS = """
import pycuda.autoinit
import pycuda.driver as drv

for limit in (drv.limit.STACK_SIZE, drv.limit.PRINTF_FIFO_SIZE, drv.limit.MALLOC_HEAP_SIZE):
    before = drv.Context.get_limit(limit)
    assert before > 0
    drv.Context.set_limit(limit, 2 * before)
    assert drv.Context.get_limit(limit=limit) >= 2 * before
"""


def test_limits(run_python):
    """A process of its own is needed: some limits cannot be set once a kernel has used them."""
    run_python(LIMITS, check=True)


def test_an_unknown_limit():
    with pytest.raises(drv.LogicError, match="cuCtxGetLimit failed"):
        drv.Context.get_limit(9999)


def test_preferences():
    for config in (drv.func_cache.PREFER_L1, drv.func_cache.PREFER_NONE):
        drv.Context.set_cache_config(config)
        assert isinstance(drv.Context.get_cache_config(), drv.func_cache)
    drv.Context.set_shared_config(drv.shared_config.FOUR_BYTE_BANK_SIZE)
    assert drv.Context.get_shared_config() == drv.shared_config.FOUR_BYTE_BANK_SIZE
