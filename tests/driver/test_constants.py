"""The classes of constants: ints that know their names."""

import pickle

import pytest

import pycuda.driver as drv

NAMESPACES = ["host_alloc_flags", "mem_host_register_flags", "array3d_flags"]
CLASSES = [
    "ctx_flags",
    "event_flags",
    "device_attribute",
    "pointer_attribute",
    "profiler_output_mode",
    "function_attribute",
    "func_cache",
    "shared_config",
    "array_format",
    "address_mode",
    "filter_mode",
    "memory_type",
    "compute_mode",
    "jit_option",
    "jit_target",
    "jit_fallback",
    "jit_input_type",
    "mem_attach_flags",
    "mem_access_flags",
    "mem_handle_type",
    "mem_alloc_granularity",
    "limit",
    "ipc_mem_flags",
    "graphics_register_flags",
    "array_cubemap_face",
]


@pytest.mark.parametrize("name", CLASSES)
def test_members_know_their_names(name):
    cls = getattr(drv, name)
    members = {key: getattr(cls, key) for key in dir(cls) if key[0].isupper()}
    assert members and members == cls.names
    for key, member in members.items():
        assert isinstance(member, cls) and isinstance(member, int)
        assert str(member) == member.name == key
        assert cls.values[int(member)] == member


@pytest.mark.parametrize("name", NAMESPACES)
def test_namespaces_hold_plain_ints(name):
    cls = getattr(drv, name)
    members = [getattr(cls, key) for key in dir(cls) if key[0].isupper()]
    assert members and all(type(member) is int for member in members)


# The values are those of cuda.h.
@pytest.mark.parametrize(
    ("name", "member", "value"),
    [
        ("ctx_flags", "MAP_HOST", 8),
        ("ctx_flags", "BLOCKING_SYNC", 4),
        ("event_flags", "DISABLE_TIMING", 2),
        ("device_attribute", "WARP_SIZE", 10),
        ("device_attribute", "COMPUTE_CAPABILITY_MAJOR", 75),
        ("device_attribute", "MEMORY_POOLS_SUPPORTED", 115),
        ("function_attribute", "MAX_DYNAMIC_SHARED_SIZE_BYTES", 8),
        ("func_cache", "PREFER_L1", 2),
        ("array_format", "FLOAT", 0x20),
        ("limit", "MALLOC_HEAP_SIZE", 2),
        ("jit_target", "COMPUTE_90A", 0x10000 + 90),
        ("memory_type", "UNIFIED", 4),
        ("host_alloc_flags", "WRITECOMBINED", 4),
        ("mem_attach_flags", "GLOBAL", 1),
    ],
)
def test_values(name, member, value):
    assert getattr(getattr(drv, name), member) == value


def test_two_names_of_one_value():
    assert str(drv.device_attribute.SHARED_MEMORY_PER_BLOCK) == "SHARED_MEMORY_PER_BLOCK"
    assert str(drv.device_attribute.MAX_SHARED_MEMORY_PER_BLOCK) == "MAX_SHARED_MEMORY_PER_BLOCK"
    assert drv.device_attribute.SHARED_MEMORY_PER_BLOCK == drv.device_attribute.MAX_SHARED_MEMORY_PER_BLOCK


def test_names_that_begin_with_a_digit():
    assert getattr(drv.array3d_flags, "2DARRAY") == drv.array3d_flags.ARRAY3D_2DARRAY == 1
    assert drv.array3d_flags.LAYERED == drv.array3d_flags.ARRAY3D_LAYERED


def test_combining_gives_a_plain_int():
    both = drv.ctx_flags.MAP_HOST | drv.ctx_flags.SCHED_YIELD
    assert type(both) is int and both == 8 + 2


def test_a_member_is_a_dict_key_like_its_value():
    assert {drv.limit.STACK_SIZE: "x"}[0] == "x"


def test_repr_is_the_qualified_name():
    assert repr(drv.limit.STACK_SIZE) == "pycuda.driver.limit.STACK_SIZE"


def test_unnamed_values():
    assert str(drv.limit(77)) == "77" and drv.limit(77).name is None


def test_pickle():
    copy = pickle.loads(pickle.dumps(drv.func_cache.PREFER_L1))
    assert copy == drv.func_cache.PREFER_L1 and copy.name == "PREFER_L1" and type(copy) is drv.func_cache
