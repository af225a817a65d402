"""The native module. Everything public in it is pycuda.driver's too.

Parameters and defaults are those of the docstrings in ext/: stubtest, a part of `make lint`, compares them.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Protocol, TypeAlias, final

import numpy as np
from numpy.typing import DTypeLike
from typing_extensions import Buffer, Self

from pycuda._pool_snapshot import PoolSnapshot

class _Index(Protocol):
    def __index__(self) -> int: ...

class _HasStream(Protocol):
    def __cuda_stream__(self) -> tuple[int, int]: ...

# What stands for device memory: an address, an allocation, an array.
_Pointer: TypeAlias = _Index | PointerHolderBase | GPUArray | Any
_Stream: TypeAlias = Stream | _HasStream | None
_Nodes: TypeAlias = GraphNode | Iterable[GraphNode] | None
_Shape: TypeAlias = int | Iterable[int]
_Grid: TypeAlias = Sequence[int]

# ---- errors

class Error(Exception):
    # None when the error is not the driver's.
    code: int | None
    name: str | None
    routine: str | None

class MemoryError(Error): ...
class LogicError(Error): ...
class LaunchError(Error): ...
class RuntimeError(Error): ...
class KernelError(LaunchError, LogicError): ...

# ---- the driver

def init(flags: int = 0) -> None: ...
def get_version() -> tuple[int, int, int]: ...
def get_driver_version() -> int: ...
def _live_objects() -> dict[str, int]: ...
def _finish() -> None: ...
def _fault_arm(n: int, code: int = 2) -> bool: ...
def _fault_delay(name: str, milliseconds: int) -> bool: ...
def _fault_calls() -> int: ...
def _fault_count(name: str, /) -> int: ...
def _fault_failed() -> str | None: ...

class Device:
    def __new__(cls, number: int | str) -> Self: ...
    @classmethod
    def count(cls) -> int: ...
    @property
    def handle(self) -> int: ...
    def name(self) -> str: ...
    def pci_bus_id(self) -> str: ...
    def compute_capability(self) -> tuple[int, int]: ...
    def total_memory(self) -> int: ...
    def get_attribute(self, attr: int, /) -> int: ...
    def get_attributes(self) -> dict[device_attribute, int]: ...
    def make_context(self, flags: int = 0) -> Context: ...
    def retain_primary_context(self) -> Context: ...
    def get_resource(self, type: int = 1) -> DeviceResource: ...
    def can_access_peer(self, dev: Device, /) -> bool: ...
    # The attributes by name, in lower case.
    def __getattr__(self, name: str) -> int: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class DeviceResource:
    @property
    def device(self) -> Device: ...
    @property
    def sm_count(self) -> int: ...
    @property
    def min_partition_size(self) -> int: ...
    @property
    def coscheduled_alignment(self) -> int: ...
    def split(
        self, min_count: int, groups: int | None = None, flags: int = 0
    ) -> tuple[list[DeviceResource], DeviceResource | None]: ...

class Context:
    @property
    def handle(self) -> int: ...
    def push(self) -> None: ...
    def detach(self) -> None: ...
    def get_resource(self, type: int = 1) -> DeviceResource: ...
    def get_api_version(self) -> int: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    @classmethod
    def pop(cls) -> None: ...
    @classmethod
    def get_current(cls) -> Context | None: ...
    @classmethod
    def attach(cls, flags: int = 0) -> Context: ...
    @classmethod
    def get_device(cls) -> Device: ...
    @classmethod
    def synchronize(cls) -> None: ...
    @classmethod
    def set_limit(cls, limit: int, value: int) -> None: ...
    @classmethod
    def get_limit(cls, limit: int) -> int: ...
    @classmethod
    def set_cache_config(cls, cc: int, /) -> None: ...
    @classmethod
    def get_cache_config(cls) -> func_cache: ...
    @classmethod
    def set_shared_config(cls, sc: int, /) -> None: ...
    @classmethod
    def get_shared_config(cls) -> shared_config: ...
    @classmethod
    def get_stream_priority_range(cls) -> tuple[int, int]: ...
    @classmethod
    def enable_peer_access(cls, peer: Context, flags: int = 0) -> None: ...
    @classmethod
    def disable_peer_access(cls, peer: Context, flags: int = 0) -> None: ...

@final
class GreenContext(Context):
    def __new__(cls, resources: DeviceResource | Sequence[DeviceResource]) -> Self: ...
    @property
    def id(self) -> int: ...
    def create_stream(self, priority: int = 0) -> Stream: ...
    def record_event(self, evt: Event, /) -> Event: ...
    def wait_for_event(self, evt: Event, /) -> None: ...

class Stream:
    def __new__(cls, flags: int = 0, priority: int | None = None) -> Self: ...
    @property
    def handle(self) -> int: ...
    @property
    def priority(self) -> int: ...
    @property
    def is_capturing(self) -> bool: ...
    @property
    def green_context(self) -> GreenContext | None: ...
    @property
    def flags(self) -> int: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, /, *exception: object) -> None: ...
    def synchronize(self) -> None: ...
    def is_done(self) -> bool: ...
    def wait_for_event(self, evt: Event, /) -> None: ...
    def launch_host_func(self, function: Callable[..., object], /, *args: object) -> None: ...
    def add_callback(self, function: Callable[..., object], /, *args: object) -> None: ...
    def capture(
        self,
        mode: str | int = "relaxed",
        graph: Graph | None = None,
        depends_on: _Nodes = None,
    ) -> StreamCapture: ...
    def __cuda_stream__(self) -> tuple[int, int]: ...

def current_stream() -> Stream | None: ...

class Event:
    def __new__(cls, flags: int = 0) -> Self: ...
    @property
    def handle(self) -> int: ...
    def record(self, stream: _Stream = None) -> Self: ...
    def synchronize(self) -> Self: ...
    def query(self) -> bool: ...
    def time_since(self, event: Event, /) -> float: ...
    def time_till(self, event: Event, /) -> float: ...
    def ipc_handle(self) -> bytearray: ...
    @classmethod
    def from_ipc_handle(cls, handle: bytes | bytearray, /) -> Event: ...

# ---- graphs

@final
class StreamCapture:
    def __enter__(self) -> Graph: ...
    def __exit__(self, /, *exception: object) -> None: ...

@final
class Graph:
    def __new__(cls) -> Self: ...
    @property
    def handle(self) -> int: ...
    @property
    def nodes(self) -> tuple[GraphNode, ...]: ...
    @property
    def root_nodes(self) -> tuple[GraphNode, ...]: ...
    @property
    def edges(self) -> tuple[tuple[GraphNode, GraphNode], ...]: ...
    @property
    def edge_data(self) -> tuple[tuple[int, int, int], ...]: ...
    def instantiate(self, auto_free_on_launch: bool = False) -> GraphExec: ...
    def clone(self) -> Graph: ...
    def debug_dot(self, path: str | bytes | os.PathLike[str], verbose: bool = False) -> None: ...
    def add_edge(
        self, from_node: _Nodes, to_node: _Nodes, data: tuple[int, int, int] | None = None
    ) -> None: ...
    def remove_edge(self, from_node: _Nodes, to_node: _Nodes) -> None: ...
    def add_kernel(
        self,
        function: Function,
        /,
        *args: Any,
        block: tuple[int, int, int] | None = None,
        grid: tuple[int, ...] | None = None,
        shared: int = 0,
        cooperative: bool = False,
        cluster: tuple[int, ...] | None = None,
        priority: int | None = None,
        carveout: int | None = None,
        depends_on: _Nodes = None,
    ) -> GraphNode: ...
    def add_memcpy(
        self, dest: Any, src: Any, size: int | None = None, depends_on: _Nodes = None
    ) -> GraphNode: ...
    def add_memset(
        self, dest: _Pointer, data: int, size: int, itemsize: int = 4, depends_on: _Nodes = None
    ) -> GraphNode: ...
    def add_host(
        self, function: Callable[..., object], /, *args: object, depends_on: _Nodes = None
    ) -> GraphNode: ...
    def add_child(self, child: Graph, depends_on: _Nodes = None) -> GraphNode: ...
    def add_event_record(self, evt: Event, depends_on: _Nodes = None) -> GraphNode: ...
    def add_event_wait(self, evt: Event, depends_on: _Nodes = None) -> GraphNode: ...
    def add_empty(self, depends_on: _Nodes = None) -> GraphNode: ...
    def add_mem_alloc(self, size: int, depends_on: _Nodes = None) -> GraphNode: ...
    def add_mem_free(self, address: int, depends_on: _Nodes = None) -> GraphNode: ...
    def add_condition(self, default: int | None = None) -> int: ...
    def add_conditional(
        self, kind: str, condition: int, size: int = 1, depends_on: _Nodes = None
    ) -> tuple[GraphNode, tuple[Graph, ...]]: ...

@final
class GraphNode:
    @property
    def type(self) -> graph_node_type: ...
    @property
    def dependencies(self) -> tuple[GraphNode, ...]: ...
    @property
    def dependents(self) -> tuple[GraphNode, ...]: ...
    @property
    def graph(self) -> Graph: ...
    @property
    def child_graph(self) -> Graph: ...
    @property
    def bodies(self) -> tuple[Graph, ...]: ...
    @property
    def address(self) -> int: ...
    @property
    def handle(self) -> int: ...
    def set_args(self, /, *args: Any) -> None: ...
    def set_memcpy(self, dest: Any, src: Any, size: int | None = None) -> None: ...
    def set_memset(self, dest: _Pointer, data: int, size: int, itemsize: int = 4) -> None: ...
    def set_event(self, evt: Event) -> None: ...
    def set_host(self, function: Callable[..., object], /, *args: object) -> None: ...
    def destroy(self) -> None: ...

@final
class GraphExec:
    @property
    def handle(self) -> int: ...
    def launch(self, stream: _Stream = None) -> None: ...
    def upload(self, stream: _Stream = None) -> None: ...
    def update(self, graph: Graph, /) -> None: ...
    def set_args(self, node: GraphNode, /, *args: Any) -> None: ...
    def set_memcpy(self, node: GraphNode, dest: Any, src: Any, size: int | None = None) -> None: ...
    def set_memset(
        self, node: GraphNode, dest: _Pointer, data: int, size: int, itemsize: int = 4
    ) -> None: ...
    def set_event(self, node: GraphNode, evt: Event) -> None: ...
    def set_host(self, node: GraphNode, function: Callable[..., object], /, *args: object) -> None: ...
    def set_child(self, node: GraphNode, child: Graph) -> None: ...
    def set_enabled(self, node: GraphNode, enabled: bool) -> None: ...
    def is_enabled(self, node: GraphNode) -> bool: ...

# ---- memory

class DeviceAllocation:
    @property
    def size(self) -> int: ...
    def free(self) -> None: ...
    def as_buffer(self, size: int, offset: int = 0) -> memoryview: ...
    def __int__(self) -> int: ...
    def __long__(self) -> int: ...
    def __index__(self) -> int: ...

@final
class ManagedAllocation(DeviceAllocation):
    def get_device_pointer(self) -> int: ...
    def attach(self, mem_flags: int, stream: _Stream = None) -> None: ...

ManagedAllocationOrStub = ManagedAllocation

class MemoryPool:
    @property
    def held_blocks(self) -> int: ...
    @property
    def active_blocks(self) -> int: ...
    @property
    def managed_bytes(self) -> int: ...
    @property
    def active_bytes(self) -> int: ...
    @property
    def managed_bytes_high(self) -> int: ...
    @property
    def active_bytes_high(self) -> int: ...
    limit: int | None
    def free_held(self) -> None: ...
    def stop_holding(self) -> None: ...
    def trim(self, bytes: int = 0) -> None: ...
    def reset_high(self) -> None: ...
    def snapshot(self) -> PoolSnapshot: ...
    def bin_number(self, size: int, /) -> int: ...
    def alloc_size(self, bin: int, /) -> int: ...

class DeviceMemoryPool(MemoryPool):
    def __init__(self, leading_bits_in_bin_id: int = 4) -> None: ...
    def allocate(self, size: int, stream: _Stream = None) -> PooledDeviceAllocation: ...

class ManagedMemoryPool(DeviceMemoryPool):
    def __init__(self, leading_bits_in_bin_id: int = 4) -> None: ...

class StreamOrderedMemoryPool(DeviceMemoryPool):
    def __init__(self, release_threshold: int | None = None, max_size: int = 0) -> None: ...
    @property
    def reserved_mem_current(self) -> int: ...
    @property
    def reserved_mem_high(self) -> int: ...
    @property
    def used_mem_current(self) -> int: ...
    @property
    def used_mem_high(self) -> int: ...
    release_threshold: int
    reuse_follow_event_dependencies: bool
    reuse_allow_opportunistic: bool
    reuse_allow_internal_dependencies: bool
    def trim_to(self, min_bytes_to_keep: int = 0) -> None: ...

class ExternalMemoryPool(DeviceMemoryPool):
    def __init__(self, resource: Any) -> None: ...
    @property
    def resource(self) -> Any: ...

@final
class PooledDeviceAllocation(DeviceAllocation):
    def free(self, stream: _Stream = None) -> None: ...
    def __len__(self) -> int: ...

def default_allocate(size: int, stream: _Stream = None) -> PooledDeviceAllocation: ...
def default_memory_pool() -> DeviceMemoryPool: ...
def set_default_memory_pool(pool: DeviceMemoryPool | None) -> None: ...
def bitlog2(n: int, /) -> int: ...

class PointerHolderBase:
    def get_pointer(self) -> int: ...
    def as_buffer(self, size: int, offset: int = 0) -> memoryview: ...
    def __int__(self) -> int: ...
    def __long__(self) -> int: ...
    def __index__(self) -> int: ...

def mem_alloc(bytes: _Index) -> DeviceAllocation: ...
def mem_alloc_like(ary: Any, /) -> DeviceAllocation: ...
def mem_alloc_pitch(width: int, height: int, access_size: int) -> tuple[DeviceAllocation, int]: ...
def mem_get_info() -> tuple[int, int]: ...
def mem_get_address_range(ptr: _Pointer, /) -> tuple[int, int]: ...
def to_device(bf: Buffer, /) -> DeviceAllocation: ...
def from_device(
    devptr: _Pointer, shape: _Shape, dtype: DTypeLike, order: str = "C"
) -> np.ndarray[Any, Any]: ...
def from_device_like(devptr: _Pointer, other_ary: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]: ...
def pagelocked_empty(
    shape: _Shape, dtype: DTypeLike, order: str = "C", mem_flags: int = 0
) -> np.ndarray[Any, Any]: ...
def pagelocked_zeros(
    shape: _Shape, dtype: DTypeLike, order: str = "C", mem_flags: int = 0
) -> np.ndarray[Any, Any]: ...
def pagelocked_empty_like(array: np.ndarray[Any, Any], mem_flags: int = 0) -> np.ndarray[Any, Any]: ...
def pagelocked_zeros_like(array: np.ndarray[Any, Any], mem_flags: int = 0) -> np.ndarray[Any, Any]: ...
def managed_empty(
    shape: _Shape, dtype: DTypeLike, order: str = "C", mem_flags: int = 1
) -> np.ndarray[Any, Any]: ...
def managed_zeros(
    shape: _Shape, dtype: DTypeLike, order: str = "C", mem_flags: int = 1
) -> np.ndarray[Any, Any]: ...
def managed_empty_like(array: np.ndarray[Any, Any], mem_flags: int = 1) -> np.ndarray[Any, Any]: ...
def managed_zeros_like(array: np.ndarray[Any, Any], mem_flags: int = 1) -> np.ndarray[Any, Any]: ...
def aligned_empty(
    shape: _Shape, dtype: DTypeLike, order: str = "C", alignment: int = 4096
) -> np.ndarray[Any, Any]: ...
def aligned_zeros(
    shape: _Shape, dtype: DTypeLike, order: str = "C", alignment: int = 4096
) -> np.ndarray[Any, Any]: ...
def aligned_empty_like(array: np.ndarray[Any, Any], alignment: int = 4096) -> np.ndarray[Any, Any]: ...
def aligned_zeros_like(array: np.ndarray[Any, Any], alignment: int = 4096) -> np.ndarray[Any, Any]: ...
def register_host_memory(ary: np.ndarray[Any, Any], flags: int = 0) -> np.ndarray[Any, Any]: ...

class HostPointer:
    @property
    def size(self) -> int: ...
    def get_device_pointer(self) -> int: ...

@final
class PagelockedHostAllocation(HostPointer):
    def free(self) -> None: ...
    def get_flags(self) -> int: ...

HostAllocation = PagelockedHostAllocation

class PageLockedAllocator:
    def __new__(cls, flags: int = 0) -> Self: ...
    @property
    def flags(self) -> int: ...

class PageLockedMemoryPool(MemoryPool):
    def __init__(
        self, allocator: PageLockedAllocator | None = None, leading_bits_in_bin_id: int = 4
    ) -> None: ...
    def allocate(self, shape: _Shape, dtype: DTypeLike, order: str = "C") -> np.ndarray[Any, Any]: ...

@final
class PooledHostAllocation(HostPointer):
    def free(self) -> None: ...
    def __len__(self) -> int: ...

@final
class AlignedHostAllocation(HostPointer):
    def free(self) -> None: ...

@final
class RegisteredHostMemory(HostPointer):
    @property
    def base(self) -> Any: ...
    def unregister(self) -> None: ...
    def free(self) -> None: ...

def memcpy_htod(dest: _Pointer, src: Buffer) -> None: ...
def memcpy_htod_async(dest: _Pointer, src: Buffer, stream: _Stream = None) -> None: ...
def memcpy_dtoh(dest: Buffer, src: _Pointer) -> None: ...
def memcpy_dtoh_async(dest: Buffer, src: _Pointer, stream: _Stream = None) -> None: ...
def memcpy_dtod(dest: _Pointer, src: _Pointer, size: int) -> None: ...
def memcpy_dtod_async(dest: _Pointer, src: _Pointer, size: int, stream: _Stream = None) -> None: ...
def memcpy_peer(
    dest: _Pointer,
    src: _Pointer,
    size: int,
    dest_context: Context | None = None,
    src_context: Context | None = None,
) -> None: ...
def memcpy_peer_async(
    dest: _Pointer,
    src: _Pointer,
    size: int,
    dest_context: Context | None = None,
    src_context: Context | None = None,
    stream: _Stream = None,
) -> None: ...
def memset_d8(dest: _Pointer, data: int, size: int) -> None: ...
def memset_d16(dest: _Pointer, data: int, size: int) -> None: ...
def memset_d32(dest: _Pointer, data: int, size: int) -> None: ...
def memset_d8_async(dest: _Pointer, data: int, size: int, stream: _Stream = None) -> None: ...
def memset_d16_async(dest: _Pointer, data: int, size: int, stream: _Stream = None) -> None: ...
def memset_d32_async(dest: _Pointer, data: int, size: int, stream: _Stream = None) -> None: ...
def memset_d2d8(dest: _Pointer, pitch: int, data: int, width: int, height: int) -> None: ...
def memset_d2d8_async(
    dest: _Pointer, pitch: int, data: int, width: int, height: int, stream: _Stream = None
) -> None: ...
def memset_d2d16(dest: _Pointer, pitch: int, data: int, width: int, height: int) -> None: ...
def memset_d2d16_async(
    dest: _Pointer, pitch: int, data: int, width: int, height: int, stream: _Stream = None
) -> None: ...
def memset_d2d32(dest: _Pointer, pitch: int, data: int, width: int, height: int) -> None: ...
def memset_d2d32_async(
    dest: _Pointer, pitch: int, data: int, width: int, height: int, stream: _Stream = None
) -> None: ...
def pointer_get_attribute(attr: int, ptr: _Pointer) -> Any: ...
def mem_get_ipc_handle(devptr: _Pointer) -> bytearray: ...
@final
class IPCMemoryHandle(PointerHolderBase):
    def __init__(self, ipc_handle: bytes | bytearray, flags: int = 1) -> None: ...
    def close(self) -> None: ...

# ---- virtual memory

def mem_get_allocation_granularity(device: Device | None = None, option: int = 0) -> int: ...
@final
class PhysicalMemory:
    def __new__(cls, size: int, device: Device | None = None, handle_type: int = 0) -> Self: ...
    @property
    def size(self) -> int: ...
    @property
    def device(self) -> Device: ...
    @property
    def handle_type(self) -> mem_handle_type: ...
    @property
    def handle(self) -> int: ...
    def export_fd(self) -> int: ...
    @classmethod
    def from_fd(cls, fd: int, size: int) -> Self: ...
    def free(self) -> None: ...

@final
class AddressRange(PointerHolderBase):
    def __init__(self, size: int, alignment: int = 0, address: int = 0) -> None: ...
    @property
    def ptr(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def mappings(self) -> list[tuple[int, int]]: ...
    def map(self, offset: int, physical: PhysicalMemory, access: int = 3) -> None: ...
    def unmap(self, offset: int = 0, size: int | None = None) -> None: ...
    def set_access(
        self, access: int, device: Device | None = None, offset: int = 0, size: int | None = None
    ) -> None: ...
    def get_access(self, device: Device | None = None, offset: int = 0) -> mem_access_flags: ...
    def free(self) -> None: ...

# ---- buffers and images of OpenGL

class RegisteredObject:
    def gl_handle(self) -> int: ...
    def unregister(self) -> None: ...
    def map(self, stream: Stream | None = None) -> RegisteredMapping: ...

class RegisteredBuffer(RegisteredObject):
    def __new__(cls, gl_handle: int, flags: int = 0) -> Self: ...

class RegisteredImage(RegisteredObject):
    def __new__(cls, gl_handle: int, target: int, flags: int = 0) -> Self: ...

@final
class RegisteredMapping:
    def unmap(self, stream: Stream | None = None) -> None: ...
    def device_ptr_and_size(self) -> tuple[int, int]: ...
    def array(self, index: int, level: int) -> Array: ...

def make_gl_context(dev: Device, flags: int = 0) -> Context: ...

# ---- arrays of textures and surfaces, shaped copies

class ArrayDescriptor:
    width: int
    height: int
    format: int
    num_channels: int

class ArrayDescriptor3D:
    width: int
    height: int
    depth: int
    format: int
    num_channels: int
    flags: int

class Array:
    def __new__(cls, descriptor: ArrayDescriptor | ArrayDescriptor3D) -> Self: ...
    @property
    def handle(self) -> int: ...
    def free(self) -> None: ...
    def get_descriptor(self) -> ArrayDescriptor: ...
    def get_descriptor_3d(self) -> ArrayDescriptor3D: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class MipmappedArray:
    def __new__(
        cls, descriptor: ArrayDescriptor | ArrayDescriptor3D, num_levels: int | None = None
    ) -> Self: ...
    @property
    def handle(self) -> int: ...
    @property
    def num_levels(self) -> int: ...
    @property
    def descriptor(self) -> ArrayDescriptor3D: ...
    def get_level(self, level: int) -> Array: ...
    def free(self) -> None: ...

def memcpy_dtoa(ary: Array, index: int, src: _Pointer, len: int) -> None: ...
def memcpy_atod(dest: _Pointer, ary: Array, index: int, len: int) -> None: ...
def memcpy_htoa(ary: Array, index: int, src: Buffer) -> None: ...
def memcpy_atoh(dest: Buffer, ary: Array, index: int) -> None: ...
def memcpy_atoa(dest: Array, dest_index: int, src: Array, src_index: int, len: int) -> None: ...

py_memcpy_htoa = memcpy_htoa
py_memcpy_atoh = memcpy_atoh

class Memcpy2D:
    src_x_in_bytes: int
    src_y: int
    src_memory_type: int
    src_device: _Pointer
    src_pitch: int
    dst_x_in_bytes: int
    dst_y: int
    dst_memory_type: int
    dst_device: _Pointer
    dst_pitch: int
    width_in_bytes: int
    height: int
    def set_src_host(self, buffer: Buffer, /) -> None: ...
    def set_src_array(self, array: Array, /) -> None: ...
    def set_src_device(self, devptr: _Pointer, /) -> None: ...
    def set_src_unified(self, buffer: Any, /) -> None: ...
    def set_dst_host(self, buffer: Buffer, /) -> None: ...
    def set_dst_array(self, array: Array, /) -> None: ...
    def set_dst_device(self, devptr: _Pointer, /) -> None: ...
    def set_dst_unified(self, buffer: Any, /) -> None: ...
    def __call__(self, aligned: bool | _Stream = True, stream: _Stream = None) -> None: ...

class Memcpy3D:
    src_x_in_bytes: int
    src_y: int
    src_z: int
    src_lod: int
    src_memory_type: int
    src_device: _Pointer
    src_pitch: int
    src_height: int
    dst_x_in_bytes: int
    dst_y: int
    dst_z: int
    dst_lod: int
    dst_memory_type: int
    dst_device: _Pointer
    dst_pitch: int
    dst_height: int
    width_in_bytes: int
    height: int
    depth: int
    def set_src_host(self, buffer: Buffer, /) -> None: ...
    def set_src_array(self, array: Array, /) -> None: ...
    def set_src_device(self, devptr: _Pointer, /) -> None: ...
    def set_src_unified(self, buffer: Any, /) -> None: ...
    def set_dst_host(self, buffer: Buffer, /) -> None: ...
    def set_dst_array(self, array: Array, /) -> None: ...
    def set_dst_device(self, devptr: _Pointer, /) -> None: ...
    def set_dst_unified(self, buffer: Any, /) -> None: ...
    def __call__(self, stream: _Stream = None) -> None: ...

class Memcpy3DPeer:
    src_x_in_bytes: int
    src_y: int
    src_z: int
    src_lod: int
    src_memory_type: int
    src_device: _Pointer
    src_pitch: int
    src_height: int
    dst_x_in_bytes: int
    dst_y: int
    dst_z: int
    dst_lod: int
    dst_memory_type: int
    dst_device: _Pointer
    dst_pitch: int
    dst_height: int
    width_in_bytes: int
    height: int
    depth: int
    def set_src_host(self, buffer: Buffer, /) -> None: ...
    def set_src_array(self, array: Array, /) -> None: ...
    def set_src_device(self, devptr: _Pointer, /) -> None: ...
    def set_src_unified(self, buffer: Any, /) -> None: ...
    def set_dst_host(self, buffer: Buffer, /) -> None: ...
    def set_dst_array(self, array: Array, /) -> None: ...
    def set_dst_device(self, devptr: _Pointer, /) -> None: ...
    def set_dst_unified(self, buffer: Any, /) -> None: ...
    def set_src_context(self, ctx: Context | None, /) -> None: ...
    def set_dst_context(self, ctx: Context | None, /) -> None: ...
    def __call__(self, stream: _Stream = None) -> None: ...

TRSA_OVERRIDE_FORMAT: int
TRSF_READ_AS_INTEGER: int
TRSF_NORMALIZED_COORDINATES: int
TRSF_SRGB: int
TR_DEFAULT: int

@final
class TextureObject:
    def __new__(
        cls,
        source: Array | MipmappedArray | _Pointer,
        descr: ArrayDescriptor | None = None,
        pitch: int = 0,
        address_mode: int | Sequence[int] = 1,
        filter_mode: int = 0,
        flags: int = 0,
        border_color: Sequence[float] = (0, 0, 0, 0),
        max_anisotropy: int = 0,
        mipmap_filter_mode: int = 0,
        mipmap_level_bias: float = 0.0,
        min_mipmap_level_clamp: float = 0.0,
        max_mipmap_level_clamp: float | None = None,
        first_mipmap_level: int = 0,
        last_mipmap_level: int | None = None,
    ) -> Self: ...
    @property
    def source(self) -> Any: ...
    @property
    def handle(self) -> int: ...
    def free(self) -> None: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...

@final
class SurfaceObject:
    def __new__(cls, array: Array) -> Self: ...
    @property
    def array(self) -> Array: ...
    @property
    def handle(self) -> int: ...
    def free(self) -> None: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...

@final
class TextureReference:
    def __init__(self) -> None: ...
    def set_array(self, array: Array) -> None: ...
    def set_mipmapped_array(self, mipmapped_array: MipmappedArray) -> None: ...
    def set_address(self, devptr: _Pointer, bytes: int, allow_offset: bool = False) -> int: ...
    def set_address_2d(self, devptr: _Pointer, descr: ArrayDescriptor, pitch: int) -> None: ...
    def set_format(self, fmt: int, num_components: int) -> None: ...
    def set_address_mode(self, dim: int, am: int) -> None: ...
    def set_filter_mode(self, fm: int) -> None: ...
    def set_mipmap_filter_mode(self, fm: int) -> None: ...
    def set_mipmap_level_bias(self, bias: float) -> None: ...
    def set_mipmap_level_clamp(self, minimum: float, maximum: float) -> None: ...
    def set_flags(self, flags: int) -> None: ...
    def get_array(self) -> Array: ...
    def get_mipmapped_array(self) -> MipmappedArray: ...
    def get_address(self) -> int: ...
    def get_address_mode(self, dim: int) -> address_mode: ...
    def get_filter_mode(self) -> filter_mode: ...
    def get_mipmap_filter_mode(self) -> filter_mode: ...
    def get_mipmap_level_bias(self) -> float: ...
    def get_mipmap_level_clamp(self) -> tuple[float, float]: ...
    def get_format(self) -> tuple[array_format, int]: ...
    def get_flags(self) -> int: ...

@final
class SurfaceReference:
    def set_array(self, array: Array, flags: int = 0) -> None: ...
    def get_array(self) -> Array: ...

# ---- profiler

def initialize_profiler(config_file: str, output_file: str, output_mode: int) -> None: ...
def start_profiler() -> None: ...
def stop_profiler() -> None: ...
def stop() -> None: ...

# ---- code

_MessageHandler: TypeAlias = Callable[[bool, str, str], object]

@final
class Module:
    @property
    def handle(self) -> int: ...
    def get_function(self, name: str) -> Function: ...
    def get_global(self, name: str) -> tuple[int, int]: ...
    def get_texref(self, name: str) -> TextureReference: ...
    def get_surfref(self, name: str) -> SurfaceReference: ...

def module_from_file(filename: str) -> Module: ...
def module_from_buffer(
    buffer: Buffer,
    options: Iterable[tuple[int, int]] = (),
    message_handler: _MessageHandler | None = None,
) -> Module: ...

class Linker:
    def __init__(
        self,
        message_handler: _MessageHandler | None = None,
        options: Iterable[tuple[int, int]] | None = None,
        log_verbose: bool = False,
    ) -> None: ...
    def add_data(self, data: Buffer, input_type: int, name: str = "unknown") -> None: ...
    def add_file(self, filename: str, input_type: int) -> None: ...
    def link_module(self) -> Module: ...

@final
class Function:
    arg_format: str
    texrefs: list[TextureReference]
    @property
    def name(self) -> str: ...
    @property
    def __name__(self) -> str: ...
    @property
    def handle(self) -> int: ...
    def __call__(
        self,
        *args: Any,
        block: _Grid,
        grid: _Grid = (1, 1),
        stream: _Stream = None,
        shared: int = 0,
        texrefs: Sequence[TextureReference] = (),
        time_kernel: bool = False,
        cooperative: bool = False,
        cluster: Sequence[int] | None = None,
        programmatic: bool = False,
        priority: int | None = None,
        carveout: int | None = None,
    ) -> float | None: ...
    def prepare(
        self,
        arg_types: str | Iterable[Any],
        shared: int | None = None,
        texrefs: Sequence[TextureReference] | None = None,
    ) -> Self: ...
    def _prepare_strided(
        self,
        arg_types: str | Iterable[Any],
        shared: int | None = None,
        texrefs: Sequence[TextureReference] | None = None,
    ) -> Self: ...
    def prepared_call(
        self,
        grid: _Grid,
        block: _Grid,
        /,
        *args: Any,
        shared_size: int = 0,
        cooperative: bool = False,
        cluster: Sequence[int] | None = None,
        programmatic: bool = False,
        priority: int | None = None,
        carveout: int | None = None,
    ) -> None: ...
    def prepared_async_call(
        self,
        grid: _Grid,
        block: _Grid,
        stream: _Stream,
        /,
        *args: Any,
        shared_size: int = 0,
        cooperative: bool = False,
        cluster: Sequence[int] | None = None,
        programmatic: bool = False,
        priority: int | None = None,
        carveout: int | None = None,
    ) -> None: ...
    def prepared_timed_call(
        self,
        grid: _Grid,
        block: _Grid,
        /,
        *args: Any,
        shared_size: int = 0,
        cooperative: bool = False,
        cluster: Sequence[int] | None = None,
        programmatic: bool = False,
        priority: int | None = None,
        carveout: int | None = None,
    ) -> Callable[[], float]: ...
    def get_attribute(self, attr: int) -> int: ...
    def max_active_blocks_per_multiprocessor(self, block_size: int, shared: int = 0) -> int: ...
    def max_active_clusters(self, block_size: int, cluster: Sequence[int], shared: int = 0) -> int: ...
    def max_potential_cluster_size(self, block_size: int, shared: int = 0) -> int: ...
    def set_attribute(self, attr: int, value: int) -> None: ...
    def set_cache_config(self, fc: int) -> None: ...
    def set_shared_config(self, sc: int) -> None: ...
    def param_set_texref(self, texref: TextureReference, /) -> None: ...
    # The attributes by name, in lower case.
    @property
    def max_threads_per_block(self) -> int: ...
    @property
    def shared_size_bytes(self) -> int: ...
    @property
    def const_size_bytes(self) -> int: ...
    @property
    def local_size_bytes(self) -> int: ...
    @property
    def num_regs(self) -> int: ...
    @property
    def ptx_version(self) -> int: ...
    @property
    def binary_version(self) -> int: ...
    @property
    def cache_mode_ca(self) -> int: ...
    @property
    def max_dynamic_shared_size_bytes(self) -> int: ...
    @property
    def preferred_shared_memory_carveout(self) -> int: ...
    @property
    def cluster_size_must_be_set(self) -> int: ...
    @property
    def required_cluster_width(self) -> int: ...
    @property
    def required_cluster_height(self) -> int: ...
    @property
    def required_cluster_depth(self) -> int: ...
    @property
    def non_portable_cluster_size_allowed(self) -> int: ...
    @property
    def cluster_scheduling_policy_preference(self) -> int: ...
    # Deprecated.
    def set_shared_size(self, bytes: int, /) -> None: ...
    def set_block_shape(self, x: int, y: int, z: int, /) -> None: ...
    def param_set(self, *args: Any) -> None: ...
    def param_set_size(self, bytes: int, /) -> None: ...
    def param_seti(self, offset: int, value: int, /) -> None: ...
    def param_setf(self, offset: int, value: float, /) -> None: ...
    def param_setv(self, offset: int, buffer: Buffer, /) -> None: ...
    def launch(self) -> None: ...
    def launch_grid(self, width: int, height: int, /) -> None: ...
    def launch_grid_async(self, width: int, height: int, stream: _Stream, /) -> None: ...

class ArgumentHandler:
    array: Any
    dev_alloc: DeviceAllocation | None
    def __init__(self, ary: Any) -> None: ...
    def get_device_alloc(self) -> DeviceAllocation | None: ...
    def pre_call(self, stream: _Stream, /) -> None: ...

class In(ArgumentHandler): ...

class Out(ArgumentHandler):
    def post_call(self, stream: _Stream, /) -> None: ...

class InOut(ArgumentHandler):
    def post_call(self, stream: _Stream, /) -> None: ...

# ---- arrays

_Axes = int | tuple[int, ...] | None

class _Resource(Protocol):
    # allocate(nbytes, stream), with an address that deallocate takes or an object that owns the memory.
    def allocate(self, nbytes: int, stream: Any, /) -> Any: ...

_Allocator: TypeAlias = Callable[[int], Any] | DeviceMemoryPool | _Resource | None

class GPUArray:
    def __init__(
        self,
        shape: _Shape,
        dtype: DTypeLike,
        allocator: _Allocator = None,
        base: Any = None,
        gpudata: Any = None,
        strides: Sequence[int] | None = None,
        order: str = "C",
    ) -> None: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def size(self) -> int: ...
    @property
    def mem_size(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def ndim(self) -> int: ...
    @property
    def ptr(self) -> int: ...
    @property
    def flags(self) -> Any: ...
    @property
    def T(self) -> GPUArray: ...
    @property
    def mT(self) -> GPUArray: ...
    @property
    def data(self) -> Any: ...
    flat: Any
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    __array_priority__: ClassVar[float]
    __dlpack_c_exchange_api__: ClassVar[Any]
    gpudata: Any
    base: Any
    allocator: Any
    def __len__(self) -> int: ...
    def set(
        self, ary: np.ndarray[Any, Any] | GPUArray, async_: bool = False, stream: _Stream = None
    ) -> None: ...
    def set_async(self, ary: np.ndarray[Any, Any] | GPUArray, stream: _Stream = None) -> None: ...
    def get(
        self,
        ary: np.ndarray[Any, Any] | None = None,
        pagelocked: bool = False,
        async_: bool = False,
        stream: _Stream = None,
    ) -> np.ndarray[Any, Any]: ...
    def get_async(
        self, stream: _Stream = None, ary: np.ndarray[Any, Any] | None = None
    ) -> np.ndarray[Any, Any]: ...
    def copy(self, order: str = "K", stream: _Stream = None) -> GPUArray: ...
    def reshape(
        self, *shape: Any, order: str = "C", copy: bool | None = None, stream: _Stream = None
    ) -> GPUArray: ...
    def ravel(self, order: str = "C", stream: _Stream = None) -> GPUArray: ...
    def transpose(self, axes: Any = None) -> GPUArray: ...
    def squeeze(self, axis: _Axes = None) -> GPUArray: ...
    def swapaxes(self, axis1: int, axis2: int) -> GPUArray: ...
    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> GPUArray: ...
    def trace(
        self,
        offset: int = 0,
        axis1: int = 0,
        axis2: int = 1,
        dtype: DTypeLike | None = None,
        out: GPUArray | None = None,
    ) -> GPUArray: ...
    def dot(self, b: Any, out: GPUArray | None = None) -> GPUArray: ...
    def choose(self, choices: Any, out: GPUArray | None = None, mode: str = "raise") -> GPUArray: ...
    def view(self, dtype: DTypeLike | None = None) -> GPUArray: ...
    def bind_to_texref(self, texref: TextureReference, allow_offset: bool = False) -> float: ...
    def bind_to_texref_ext(
        self,
        texref: TextureReference,
        channels: int = 1,
        allow_double_hack: bool = False,
        allow_complex_hack: bool = False,
        allow_offset: bool = False,
    ) -> float: ...
    def sum(
        self,
        axis: _Axes = None,
        dtype: DTypeLike | None = None,
        out: GPUArray | None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: GPUArray | bool = True,
        *,
        stream: _Stream = None,
        allocator: _Allocator = None,
    ) -> GPUArray: ...
    def prod(
        self,
        axis: _Axes = None,
        dtype: DTypeLike | None = None,
        out: GPUArray | None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: GPUArray | bool = True,
        *,
        stream: _Stream = None,
        allocator: _Allocator = None,
    ) -> GPUArray: ...
    def max(
        self,
        axis: _Axes = None,
        out: GPUArray | None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: GPUArray | bool = True,
        *,
        stream: _Stream = None,
        allocator: _Allocator = None,
    ) -> GPUArray: ...
    def min(
        self,
        axis: _Axes = None,
        out: GPUArray | None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: GPUArray | bool = True,
        *,
        stream: _Stream = None,
        allocator: _Allocator = None,
    ) -> GPUArray: ...
    def any(
        self,
        axis: _Axes = None,
        out: GPUArray | None = None,
        keepdims: bool = False,
        *,
        where: GPUArray | bool = True,
        stream: _Stream = None,
        allocator: _Allocator = None,
    ) -> GPUArray: ...
    def all(
        self,
        axis: _Axes = None,
        out: GPUArray | None = None,
        keepdims: bool = False,
        *,
        where: GPUArray | bool = True,
        stream: _Stream = None,
        allocator: _Allocator = None,
    ) -> GPUArray: ...
    def mean(
        self,
        axis: _Axes = None,
        dtype: DTypeLike | None = None,
        out: GPUArray | None = None,
        keepdims: bool = False,
        *,
        where: GPUArray | bool = True,
        stream: _Stream = None,
        allocator: _Allocator = None,
    ) -> GPUArray: ...
    def var(
        self,
        axis: _Axes = None,
        dtype: DTypeLike | None = None,
        out: GPUArray | None = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: GPUArray | bool = True,
        mean: GPUArray | None = None,
        correction: float | None = None,
        stream: _Stream = None,
        allocator: _Allocator = None,
    ) -> GPUArray: ...
    def std(
        self,
        axis: _Axes = None,
        dtype: DTypeLike | None = None,
        out: GPUArray | None = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: GPUArray | bool = True,
        mean: GPUArray | None = None,
        correction: float | None = None,
        stream: _Stream = None,
        allocator: _Allocator = None,
    ) -> GPUArray: ...
    def argmax(
        self,
        axis: int | None = None,
        out: GPUArray | None = None,
        keepdims: bool = False,
        *,
        stream: _Stream = None,
        allocator: _Allocator = None,
    ) -> GPUArray: ...
    def argmin(
        self,
        axis: int | None = None,
        out: GPUArray | None = None,
        keepdims: bool = False,
        *,
        stream: _Stream = None,
        allocator: _Allocator = None,
    ) -> GPUArray: ...
    def cumsum(
        self,
        axis: int | None = None,
        dtype: DTypeLike | None = None,
        out: GPUArray | None = None,
        *,
        stream: _Stream = None,
        allocator: _Allocator = None,
    ) -> GPUArray: ...
    def cumprod(
        self,
        axis: int | None = None,
        dtype: DTypeLike | None = None,
        out: GPUArray | None = None,
        *,
        stream: _Stream = None,
        allocator: _Allocator = None,
    ) -> GPUArray: ...
    def nonzero(self, *, stream: _Stream = None) -> tuple[GPUArray, ...]: ...
    def take(
        self,
        indices: Any,
        axis: int | None = None,
        out: GPUArray | None = None,
        mode: str = "raise",
        *,
        stream: _Stream = None,
        allocator: _Allocator = None,
    ) -> GPUArray: ...
    def put(self, indices: Any, values: Any, mode: str = "raise", *, stream: _Stream = None) -> None: ...
    def compress(
        self, condition: Any, axis: int | None = None, out: GPUArray | None = None, *, stream: _Stream = None
    ) -> GPUArray: ...
    def repeat(
        self, repeats: Any, axis: int | None = None, *, stream: _Stream = None, allocator: _Allocator = None
    ) -> GPUArray: ...
    def flatten(self, order: str = "C", *, stream: _Stream = None) -> GPUArray: ...
    def sort(
        self,
        axis: int = -1,
        kind: str | None = None,
        order: None = None,
        *,
        stable: bool | None = None,
        descending: bool | None = None,
        stream: _Stream = None,
    ) -> None: ...
    def argsort(
        self,
        axis: int | None = -1,
        kind: str | None = None,
        order: None = None,
        *,
        stable: bool | None = None,
        descending: bool | None = None,
        stream: _Stream = None,
        allocator: _Allocator = None,
    ) -> GPUArray: ...
    def partition(
        self,
        kth: Any,
        axis: int = -1,
        kind: str = "introselect",
        order: None = None,
        *,
        stream: _Stream = None,
    ) -> None: ...
    def argpartition(
        self,
        kth: Any,
        axis: int | None = -1,
        kind: str = "introselect",
        order: None = None,
        *,
        stream: _Stream = None,
        allocator: _Allocator = None,
    ) -> GPUArray: ...
    def searchsorted(
        self,
        v: Any,
        side: str = "left",
        sorter: Any = None,
        *,
        stream: _Stream = None,
        allocator: _Allocator = None,
    ) -> GPUArray: ...
    def clip(
        self, min: Any = None, max: Any = None, out: GPUArray | None = None, *, stream: _Stream = None
    ) -> GPUArray: ...
    def round(
        self, decimals: int = 0, out: GPUArray | None = None, *, stream: _Stream = None
    ) -> GPUArray: ...
    def __getitem__(self, key: Any, /) -> GPUArray: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def astype(
        self,
        dtype: Any,
        order: Any = "K",
        copy: Any = True,
        *,
        casting: str = "unsafe",
        subok: bool = True,
        stream: _Stream = None,
    ) -> GPUArray: ...
    def fill(self, value: Any, stream: _Stream = None) -> GPUArray: ...
    def conj(self, out: GPUArray | None = None, *, stream: _Stream = None) -> GPUArray: ...
    def conjugate(self, out: GPUArray | None = None, *, stream: _Stream = None) -> GPUArray: ...
    def mul_add(
        self,
        selffac: Any,
        other: Any,
        otherfac: Any,
        add_timer: Any = None,
        stream: _Stream = None,
        out: GPUArray | None = None,
    ) -> GPUArray: ...
    def reverse(self, stream: _Stream = None) -> GPUArray: ...
    def _axpbyz(
        self,
        selffac: Any,
        other: Any,
        otherfac: Any,
        out: GPUArray,
        add_timer: Any = None,
        stream: _Stream = None,
    ) -> GPUArray: ...
    def _axpbz(self, selffac: Any, other: Any, out: GPUArray, stream: _Stream = None) -> GPUArray: ...
    def _elwise_multiply(self, other: Any, out: GPUArray, stream: _Stream = None) -> GPUArray: ...
    def _div(self, other: Any, out: GPUArray, stream: _Stream = None) -> GPUArray: ...
    def _new_like_me(self, dtype: Any = None, order: Any = "C") -> GPUArray: ...
    def item(self, *args: Any) -> Any: ...
    def tolist(self) -> Any: ...
    def tobytes(self, order: str = "C") -> bytes: ...
    def __format__(self, format_spec: str, /) -> str: ...
    def __contains__(self, key: Any, /) -> bool: ...
    def __dask_tokenize__(self) -> Any: ...
    def __reduce_ex__(self, protocol: Any, /) -> Any: ...
    def __copy__(self) -> Any: ...
    def __bytes__(self) -> bytes: ...
    def __deepcopy__(self, memo: Any) -> Any: ...
    def __complex__(self) -> complex: ...
    def __array__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, **kwargs: Any) -> Any: ...
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any: ...
    def __add__(self, value: Any, /) -> GPUArray: ...
    def __radd__(self, value: Any, /) -> GPUArray: ...
    def __iadd__(self, value: Any, /) -> Any: ...
    def __sub__(self, value: Any, /) -> GPUArray: ...
    def __rsub__(self, value: Any, /) -> GPUArray: ...
    def __isub__(self, value: Any, /) -> Any: ...
    def __mul__(self, value: Any, /) -> GPUArray: ...
    def __rmul__(self, value: Any, /) -> GPUArray: ...
    def __imul__(self, value: Any, /) -> Any: ...
    def __truediv__(self, value: Any, /) -> GPUArray: ...
    def __rtruediv__(self, value: Any, /) -> GPUArray: ...
    def __itruediv__(self, value: Any, /) -> Any: ...
    def __floordiv__(self, value: Any, /) -> GPUArray: ...
    def __rfloordiv__(self, value: Any, /) -> GPUArray: ...
    def __ifloordiv__(self, value: Any, /) -> Any: ...
    def __mod__(self, value: Any, /) -> GPUArray: ...
    def __rmod__(self, value: Any, /) -> GPUArray: ...
    def __imod__(self, value: Any, /) -> Any: ...
    def __pow__(self, value: Any, mod: Any = None, /) -> GPUArray: ...
    def __rpow__(self, value: Any, mod: Any = None, /) -> GPUArray: ...
    def __ipow__(self, value: Any, /) -> Any: ...  # type: ignore[misc]
    def __and__(self, value: Any, /) -> GPUArray: ...
    def __rand__(self, value: Any, /) -> GPUArray: ...
    def __iand__(self, value: Any, /) -> Any: ...
    def __or__(self, value: Any, /) -> GPUArray: ...
    def __ror__(self, value: Any, /) -> GPUArray: ...
    def __ior__(self, value: Any, /) -> Any: ...
    def __xor__(self, value: Any, /) -> GPUArray: ...
    def __rxor__(self, value: Any, /) -> GPUArray: ...
    def __ixor__(self, value: Any, /) -> Any: ...
    def __lshift__(self, value: Any, /) -> GPUArray: ...
    def __rlshift__(self, value: Any, /) -> GPUArray: ...
    def __ilshift__(self, value: Any, /) -> Any: ...
    def __rshift__(self, value: Any, /) -> GPUArray: ...
    def __rrshift__(self, value: Any, /) -> GPUArray: ...
    def __irshift__(self, value: Any, /) -> Any: ...
    def __divmod__(self, value: Any, /) -> tuple[GPUArray, GPUArray]: ...
    def __rdivmod__(self, value: Any, /) -> tuple[GPUArray, GPUArray]: ...
    def __matmul__(self, value: Any, /) -> GPUArray: ...
    def __rmatmul__(self, value: Any, /) -> GPUArray: ...
    def __imatmul__(self, value: Any, /) -> Any: ...
    def __neg__(self) -> GPUArray: ...
    def __pos__(self) -> GPUArray: ...
    def __abs__(self) -> GPUArray: ...
    def __invert__(self) -> GPUArray: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __index__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __lt__(self, value: Any, /) -> GPUArray: ...
    def __le__(self, value: Any, /) -> GPUArray: ...
    def __gt__(self, value: Any, /) -> GPUArray: ...
    def __ge__(self, value: Any, /) -> GPUArray: ...
    def __eq__(self, value: Any, /) -> GPUArray: ...  # type: ignore[override]
    def __ne__(self, value: Any, /) -> GPUArray: ...  # type: ignore[override]
    @property
    def real(self) -> GPUArray: ...
    @real.setter
    def real(self, value: Any) -> None: ...
    @property
    def imag(self) -> GPUArray: ...
    @imag.setter
    def imag(self, value: Any) -> None: ...
    @property
    def _address(self) -> int: ...

def _to_gpu(ary: np.ndarray[Any, Any] | GPUArray, allocator: _Allocator = None) -> GPUArray: ...
def _to_gpu_async(
    ary: np.ndarray[Any, Any] | GPUArray,
    allocator: _Allocator = None,
    stream: _Stream = None,
) -> GPUArray: ...

# ---- what the package itself uses

def _elementwise(
    name: str,
    operands: tuple[Any, ...],
    out: Any = None,
    dtype: DTypeLike | None = None,
    stream: _Stream = None,
    allocator: _Allocator = None,
    casting: str | None = None,
) -> Any: ...
def _forget_kernels() -> None: ...
def _share_memory(a: GPUArray, b: GPUArray | None, /) -> bool: ...
def _empty_like(
    array: GPUArray, dtype: DTypeLike | None = None, order: str = "K", stream: _Stream = None
) -> GPUArray: ...
def _on_stream(stream: _Stream, function: Callable[..., Any], /, *args: Any) -> Any: ...
def _from_table(x: Any, stream: _Stream = None) -> GPUArray | None: ...
def _from_capsule(capsule: Any, stream: _Stream = None) -> GPUArray: ...
@final
class _Calls:
    def __new__(
        cls,
        positions: tuple[int, ...],
        aligned: bool = False,
        limit: int = 2048,
        written: tuple[int, ...] = (),
    ) -> Self: ...
    def launch(
        self, values: tuple[Any, ...], stream: _Stream = None, allocator: _Allocator = None
    ) -> Any: ...
    def find(self, values: tuple[Any, ...], /) -> Any: ...
    def remember(self, values: tuple[Any, ...], plan: Any, launch: tuple[Any, ...] | None = None) -> None: ...
    def clear(self) -> None: ...

def _is_captured(stream: _Stream, /) -> bool: ...
def _before_capture(stream: _Stream, /) -> Event | None: ...
def _beside_captures(function: Callable[..., Any], /, *args: Any) -> Any: ...
def _views(values: tuple[Any, ...], stream: _Stream = None) -> tuple[Any, ...]: ...

class _ArrayFunction:
    def __new__(cls, function: Callable[..., Any], quick: str | _Calls = ..., /) -> Self: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

@final
class _KernelCall(_ArrayFunction): ...

@final
class Borrowed: ...

class _PackError(TypeError): ...

@final
class _PackStruct:
    def __new__(cls, format: str | bytes) -> Self: ...
    @property
    def format(self) -> str: ...
    @property
    def size(self) -> int: ...
    def pack(self, /, *values: Any) -> bytes: ...
    def pack_into(self, buffer: Buffer, offset: int, /, *values: Any) -> None: ...
    def unpack(self, buffer: Buffer, /) -> tuple[Any, ...]: ...
    def unpack_from(self, buffer: Buffer, offset: int = 0) -> tuple[Any, ...]: ...

def _nvrtc_open(path: str, /) -> tuple[int, int]: ...
def _nvrtc_compile(
    source: str | bytes, name: str, options: Iterable[str], want: str
) -> tuple[bytes | None, str]: ...

# ---- constants

class Constant(int):
    def __new__(cls, value: int, /) -> Self: ...
    name: str | None
    names: ClassVar[dict[str, Any]]
    values: ClassVar[dict[int, Any]]

class address_mode(Constant):
    WRAP: ClassVar[address_mode]
    CLAMP: ClassVar[address_mode]
    MIRROR: ClassVar[address_mode]
    BORDER: ClassVar[address_mode]

class array_cubemap_face(Constant):
    POSITIVE_X: ClassVar[array_cubemap_face]
    NEGATIVE_X: ClassVar[array_cubemap_face]
    POSITIVE_Y: ClassVar[array_cubemap_face]
    NEGATIVE_Y: ClassVar[array_cubemap_face]
    POSITIVE_Z: ClassVar[array_cubemap_face]
    NEGATIVE_Z: ClassVar[array_cubemap_face]

class array_format(Constant):
    UNSIGNED_INT8: ClassVar[array_format]
    UNSIGNED_INT16: ClassVar[array_format]
    UNSIGNED_INT32: ClassVar[array_format]
    SIGNED_INT8: ClassVar[array_format]
    SIGNED_INT16: ClassVar[array_format]
    SIGNED_INT32: ClassVar[array_format]
    HALF: ClassVar[array_format]
    FLOAT: ClassVar[array_format]
    NV12: ClassVar[array_format]
    UNORM_INT8X1: ClassVar[array_format]
    UNORM_INT8X2: ClassVar[array_format]
    UNORM_INT8X4: ClassVar[array_format]
    UNORM_INT16X1: ClassVar[array_format]
    UNORM_INT16X2: ClassVar[array_format]
    UNORM_INT16X4: ClassVar[array_format]
    SNORM_INT8X1: ClassVar[array_format]
    SNORM_INT8X2: ClassVar[array_format]
    SNORM_INT8X4: ClassVar[array_format]
    SNORM_INT16X1: ClassVar[array_format]
    SNORM_INT16X2: ClassVar[array_format]
    SNORM_INT16X4: ClassVar[array_format]
    BC1_UNORM: ClassVar[array_format]
    BC1_UNORM_SRGB: ClassVar[array_format]
    BC2_UNORM: ClassVar[array_format]
    BC2_UNORM_SRGB: ClassVar[array_format]
    BC3_UNORM: ClassVar[array_format]
    BC3_UNORM_SRGB: ClassVar[array_format]
    BC4_UNORM: ClassVar[array_format]
    BC4_SNORM: ClassVar[array_format]
    BC5_UNORM: ClassVar[array_format]
    BC5_SNORM: ClassVar[array_format]
    BC6H_UF16: ClassVar[array_format]
    BC6H_SF16: ClassVar[array_format]
    BC7_UNORM: ClassVar[array_format]
    BC7_UNORM_SRGB: ClassVar[array_format]
    P010: ClassVar[array_format]
    P016: ClassVar[array_format]
    NV16: ClassVar[array_format]
    P210: ClassVar[array_format]
    P216: ClassVar[array_format]
    YUY2: ClassVar[array_format]
    Y210: ClassVar[array_format]
    Y216: ClassVar[array_format]
    AYUV: ClassVar[array_format]
    Y410: ClassVar[array_format]
    Y416: ClassVar[array_format]
    Y444_PLANAR8: ClassVar[array_format]
    Y444_PLANAR10: ClassVar[array_format]
    YUV444_8bit_SemiPlanar: ClassVar[array_format]
    YUV444_16bit_SemiPlanar: ClassVar[array_format]
    UNORM_INT_101010_2: ClassVar[array_format]

class compute_mode(Constant):
    DEFAULT: ClassVar[compute_mode]
    EXCLUSIVE: ClassVar[compute_mode]
    PROHIBITED: ClassVar[compute_mode]
    EXCLUSIVE_PROCESS: ClassVar[compute_mode]

class ctx_flags(Constant):
    SCHED_AUTO: ClassVar[ctx_flags]
    SCHED_SPIN: ClassVar[ctx_flags]
    SCHED_YIELD: ClassVar[ctx_flags]
    SCHED_BLOCKING_SYNC: ClassVar[ctx_flags]
    BLOCKING_SYNC: ClassVar[ctx_flags]
    SCHED_MASK: ClassVar[ctx_flags]
    MAP_HOST: ClassVar[ctx_flags]
    LMEM_RESIZE_TO_MAX: ClassVar[ctx_flags]
    COREDUMP_ENABLE: ClassVar[ctx_flags]
    USER_COREDUMP_ENABLE: ClassVar[ctx_flags]
    SYNC_MEMOPS: ClassVar[ctx_flags]
    FLAGS_MASK: ClassVar[ctx_flags]

class device_attribute(Constant):
    MAX_THREADS_PER_BLOCK: ClassVar[device_attribute]
    MAX_BLOCK_DIM_X: ClassVar[device_attribute]
    MAX_BLOCK_DIM_Y: ClassVar[device_attribute]
    MAX_BLOCK_DIM_Z: ClassVar[device_attribute]
    MAX_GRID_DIM_X: ClassVar[device_attribute]
    MAX_GRID_DIM_Y: ClassVar[device_attribute]
    MAX_GRID_DIM_Z: ClassVar[device_attribute]
    MAX_SHARED_MEMORY_PER_BLOCK: ClassVar[device_attribute]
    SHARED_MEMORY_PER_BLOCK: ClassVar[device_attribute]
    TOTAL_CONSTANT_MEMORY: ClassVar[device_attribute]
    WARP_SIZE: ClassVar[device_attribute]
    MAX_PITCH: ClassVar[device_attribute]
    MAX_REGISTERS_PER_BLOCK: ClassVar[device_attribute]
    REGISTERS_PER_BLOCK: ClassVar[device_attribute]
    CLOCK_RATE: ClassVar[device_attribute]
    TEXTURE_ALIGNMENT: ClassVar[device_attribute]
    GPU_OVERLAP: ClassVar[device_attribute]
    MULTIPROCESSOR_COUNT: ClassVar[device_attribute]
    KERNEL_EXEC_TIMEOUT: ClassVar[device_attribute]
    INTEGRATED: ClassVar[device_attribute]
    CAN_MAP_HOST_MEMORY: ClassVar[device_attribute]
    COMPUTE_MODE: ClassVar[device_attribute]
    MAXIMUM_TEXTURE1D_WIDTH: ClassVar[device_attribute]
    MAXIMUM_TEXTURE2D_WIDTH: ClassVar[device_attribute]
    MAXIMUM_TEXTURE2D_HEIGHT: ClassVar[device_attribute]
    MAXIMUM_TEXTURE3D_WIDTH: ClassVar[device_attribute]
    MAXIMUM_TEXTURE3D_HEIGHT: ClassVar[device_attribute]
    MAXIMUM_TEXTURE3D_DEPTH: ClassVar[device_attribute]
    MAXIMUM_TEXTURE2D_LAYERED_WIDTH: ClassVar[device_attribute]
    MAXIMUM_TEXTURE2D_LAYERED_HEIGHT: ClassVar[device_attribute]
    MAXIMUM_TEXTURE2D_LAYERED_LAYERS: ClassVar[device_attribute]
    MAXIMUM_TEXTURE2D_ARRAY_WIDTH: ClassVar[device_attribute]
    MAXIMUM_TEXTURE2D_ARRAY_HEIGHT: ClassVar[device_attribute]
    MAXIMUM_TEXTURE2D_ARRAY_NUMSLICES: ClassVar[device_attribute]
    SURFACE_ALIGNMENT: ClassVar[device_attribute]
    CONCURRENT_KERNELS: ClassVar[device_attribute]
    ECC_ENABLED: ClassVar[device_attribute]
    PCI_BUS_ID: ClassVar[device_attribute]
    PCI_DEVICE_ID: ClassVar[device_attribute]
    TCC_DRIVER: ClassVar[device_attribute]
    MEMORY_CLOCK_RATE: ClassVar[device_attribute]
    GLOBAL_MEMORY_BUS_WIDTH: ClassVar[device_attribute]
    L2_CACHE_SIZE: ClassVar[device_attribute]
    MAX_THREADS_PER_MULTIPROCESSOR: ClassVar[device_attribute]
    ASYNC_ENGINE_COUNT: ClassVar[device_attribute]
    UNIFIED_ADDRESSING: ClassVar[device_attribute]
    MAXIMUM_TEXTURE1D_LAYERED_WIDTH: ClassVar[device_attribute]
    MAXIMUM_TEXTURE1D_LAYERED_LAYERS: ClassVar[device_attribute]
    CAN_TEX2D_GATHER: ClassVar[device_attribute]
    MAXIMUM_TEXTURE2D_GATHER_WIDTH: ClassVar[device_attribute]
    MAXIMUM_TEXTURE2D_GATHER_HEIGHT: ClassVar[device_attribute]
    MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE: ClassVar[device_attribute]
    MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE: ClassVar[device_attribute]
    MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE: ClassVar[device_attribute]
    PCI_DOMAIN_ID: ClassVar[device_attribute]
    TEXTURE_PITCH_ALIGNMENT: ClassVar[device_attribute]
    MAXIMUM_TEXTURECUBEMAP_WIDTH: ClassVar[device_attribute]
    MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH: ClassVar[device_attribute]
    MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS: ClassVar[device_attribute]
    MAXIMUM_SURFACE1D_WIDTH: ClassVar[device_attribute]
    MAXIMUM_SURFACE2D_WIDTH: ClassVar[device_attribute]
    MAXIMUM_SURFACE2D_HEIGHT: ClassVar[device_attribute]
    MAXIMUM_SURFACE3D_WIDTH: ClassVar[device_attribute]
    MAXIMUM_SURFACE3D_HEIGHT: ClassVar[device_attribute]
    MAXIMUM_SURFACE3D_DEPTH: ClassVar[device_attribute]
    MAXIMUM_SURFACE1D_LAYERED_WIDTH: ClassVar[device_attribute]
    MAXIMUM_SURFACE1D_LAYERED_LAYERS: ClassVar[device_attribute]
    MAXIMUM_SURFACE2D_LAYERED_WIDTH: ClassVar[device_attribute]
    MAXIMUM_SURFACE2D_LAYERED_HEIGHT: ClassVar[device_attribute]
    MAXIMUM_SURFACE2D_LAYERED_LAYERS: ClassVar[device_attribute]
    MAXIMUM_SURFACECUBEMAP_WIDTH: ClassVar[device_attribute]
    MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH: ClassVar[device_attribute]
    MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS: ClassVar[device_attribute]
    MAXIMUM_TEXTURE1D_LINEAR_WIDTH: ClassVar[device_attribute]
    MAXIMUM_TEXTURE2D_LINEAR_WIDTH: ClassVar[device_attribute]
    MAXIMUM_TEXTURE2D_LINEAR_HEIGHT: ClassVar[device_attribute]
    MAXIMUM_TEXTURE2D_LINEAR_PITCH: ClassVar[device_attribute]
    MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH: ClassVar[device_attribute]
    MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT: ClassVar[device_attribute]
    COMPUTE_CAPABILITY_MAJOR: ClassVar[device_attribute]
    COMPUTE_CAPABILITY_MINOR: ClassVar[device_attribute]
    MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH: ClassVar[device_attribute]
    STREAM_PRIORITIES_SUPPORTED: ClassVar[device_attribute]
    GLOBAL_L1_CACHE_SUPPORTED: ClassVar[device_attribute]
    LOCAL_L1_CACHE_SUPPORTED: ClassVar[device_attribute]
    MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: ClassVar[device_attribute]
    MAX_REGISTERS_PER_MULTIPROCESSOR: ClassVar[device_attribute]
    MANAGED_MEMORY: ClassVar[device_attribute]
    MULTI_GPU_BOARD: ClassVar[device_attribute]
    MULTI_GPU_BOARD_GROUP_ID: ClassVar[device_attribute]
    HOST_NATIVE_ATOMIC_SUPPORTED: ClassVar[device_attribute]
    SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO: ClassVar[device_attribute]
    PAGEABLE_MEMORY_ACCESS: ClassVar[device_attribute]
    CONCURRENT_MANAGED_ACCESS: ClassVar[device_attribute]
    COMPUTE_PREEMPTION_SUPPORTED: ClassVar[device_attribute]
    CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM: ClassVar[device_attribute]
    CAN_USE_STREAM_MEM_OPS_V1: ClassVar[device_attribute]
    CAN_USE_64_BIT_STREAM_MEM_OPS_V1: ClassVar[device_attribute]
    CAN_USE_STREAM_WAIT_VALUE_NOR_V1: ClassVar[device_attribute]
    COOPERATIVE_LAUNCH: ClassVar[device_attribute]
    COOPERATIVE_MULTI_DEVICE_LAUNCH: ClassVar[device_attribute]
    MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: ClassVar[device_attribute]
    CAN_FLUSH_REMOTE_WRITES: ClassVar[device_attribute]
    HOST_REGISTER_SUPPORTED: ClassVar[device_attribute]
    PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES: ClassVar[device_attribute]
    DIRECT_MANAGED_MEM_ACCESS_FROM_HOST: ClassVar[device_attribute]
    VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED: ClassVar[device_attribute]
    VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: ClassVar[device_attribute]
    HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED: ClassVar[device_attribute]
    HANDLE_TYPE_WIN32_HANDLE_SUPPORTED: ClassVar[device_attribute]
    HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED: ClassVar[device_attribute]
    MAX_BLOCKS_PER_MULTIPROCESSOR: ClassVar[device_attribute]
    GENERIC_COMPRESSION_SUPPORTED: ClassVar[device_attribute]
    MAX_PERSISTING_L2_CACHE_SIZE: ClassVar[device_attribute]
    MAX_ACCESS_POLICY_WINDOW_SIZE: ClassVar[device_attribute]
    GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED: ClassVar[device_attribute]
    RESERVED_SHARED_MEMORY_PER_BLOCK: ClassVar[device_attribute]
    SPARSE_CUDA_ARRAY_SUPPORTED: ClassVar[device_attribute]
    READ_ONLY_HOST_REGISTER_SUPPORTED: ClassVar[device_attribute]
    TIMELINE_SEMAPHORE_INTEROP_SUPPORTED: ClassVar[device_attribute]
    MEMORY_POOLS_SUPPORTED: ClassVar[device_attribute]
    GPU_DIRECT_RDMA_SUPPORTED: ClassVar[device_attribute]
    GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS: ClassVar[device_attribute]
    GPU_DIRECT_RDMA_WRITES_ORDERING: ClassVar[device_attribute]
    MEMPOOL_SUPPORTED_HANDLE_TYPES: ClassVar[device_attribute]
    CLUSTER_LAUNCH: ClassVar[device_attribute]
    DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED: ClassVar[device_attribute]
    CAN_USE_64_BIT_STREAM_MEM_OPS: ClassVar[device_attribute]
    CAN_USE_STREAM_WAIT_VALUE_NOR: ClassVar[device_attribute]
    DMA_BUF_SUPPORTED: ClassVar[device_attribute]
    IPC_EVENT_SUPPORTED: ClassVar[device_attribute]
    MEM_SYNC_DOMAIN_COUNT: ClassVar[device_attribute]
    TENSOR_MAP_ACCESS_SUPPORTED: ClassVar[device_attribute]
    HANDLE_TYPE_FABRIC_SUPPORTED: ClassVar[device_attribute]
    UNIFIED_FUNCTION_POINTERS: ClassVar[device_attribute]
    NUMA_CONFIG: ClassVar[device_attribute]
    NUMA_ID: ClassVar[device_attribute]
    MULTICAST_SUPPORTED: ClassVar[device_attribute]
    MPS_ENABLED: ClassVar[device_attribute]
    HOST_NUMA_ID: ClassVar[device_attribute]
    D3D12_CIG_SUPPORTED: ClassVar[device_attribute]
    MEM_DECOMPRESS_ALGORITHM_MASK: ClassVar[device_attribute]
    MEM_DECOMPRESS_MAXIMUM_LENGTH: ClassVar[device_attribute]
    VULKAN_CIG_SUPPORTED: ClassVar[device_attribute]
    GPU_PCI_DEVICE_ID: ClassVar[device_attribute]
    GPU_PCI_SUBSYSTEM_ID: ClassVar[device_attribute]
    HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: ClassVar[device_attribute]
    HOST_NUMA_MEMORY_POOLS_SUPPORTED: ClassVar[device_attribute]
    HOST_NUMA_MULTINODE_IPC_SUPPORTED: ClassVar[device_attribute]
    HOST_MEMORY_POOLS_SUPPORTED: ClassVar[device_attribute]
    HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: ClassVar[device_attribute]
    HOST_ALLOC_DMA_BUF_SUPPORTED: ClassVar[device_attribute]
    ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED: ClassVar[device_attribute]

class stream_capture_mode(Constant):
    GLOBAL: ClassVar[stream_capture_mode]
    THREAD_LOCAL: ClassVar[stream_capture_mode]
    RELAXED: ClassVar[stream_capture_mode]

class graph_node_type(Constant):
    KERNEL: ClassVar[graph_node_type]
    MEMCPY: ClassVar[graph_node_type]
    MEMSET: ClassVar[graph_node_type]
    HOST: ClassVar[graph_node_type]
    GRAPH: ClassVar[graph_node_type]
    EMPTY: ClassVar[graph_node_type]
    WAIT_EVENT: ClassVar[graph_node_type]
    EVENT_RECORD: ClassVar[graph_node_type]
    EXT_SEMAS_SIGNAL: ClassVar[graph_node_type]
    EXT_SEMAS_WAIT: ClassVar[graph_node_type]
    MEM_ALLOC: ClassVar[graph_node_type]
    MEM_FREE: ClassVar[graph_node_type]
    BATCH_MEM_OP: ClassVar[graph_node_type]
    CONDITIONAL: ClassVar[graph_node_type]

class graph_dependency_type(Constant):
    DEFAULT: ClassVar[graph_dependency_type]
    PROGRAMMATIC: ClassVar[graph_dependency_type]

class graph_kernel_node_port(Constant):
    DEFAULT: ClassVar[graph_kernel_node_port]
    PROGRAMMATIC: ClassVar[graph_kernel_node_port]
    LAUNCH_ORDER: ClassVar[graph_kernel_node_port]

class event_flags(Constant):
    DEFAULT: ClassVar[event_flags]
    BLOCKING_SYNC: ClassVar[event_flags]
    DISABLE_TIMING: ClassVar[event_flags]
    INTERPROCESS: ClassVar[event_flags]

class filter_mode(Constant):
    POINT: ClassVar[filter_mode]
    LINEAR: ClassVar[filter_mode]

class func_cache(Constant):
    PREFER_NONE: ClassVar[func_cache]
    PREFER_SHARED: ClassVar[func_cache]
    PREFER_L1: ClassVar[func_cache]
    PREFER_EQUAL: ClassVar[func_cache]

class function_attribute(Constant):
    MAX_THREADS_PER_BLOCK: ClassVar[function_attribute]
    SHARED_SIZE_BYTES: ClassVar[function_attribute]
    CONST_SIZE_BYTES: ClassVar[function_attribute]
    LOCAL_SIZE_BYTES: ClassVar[function_attribute]
    NUM_REGS: ClassVar[function_attribute]
    PTX_VERSION: ClassVar[function_attribute]
    BINARY_VERSION: ClassVar[function_attribute]
    CACHE_MODE_CA: ClassVar[function_attribute]
    MAX_DYNAMIC_SHARED_SIZE_BYTES: ClassVar[function_attribute]
    PREFERRED_SHARED_MEMORY_CARVEOUT: ClassVar[function_attribute]
    CLUSTER_SIZE_MUST_BE_SET: ClassVar[function_attribute]
    REQUIRED_CLUSTER_WIDTH: ClassVar[function_attribute]
    REQUIRED_CLUSTER_HEIGHT: ClassVar[function_attribute]
    REQUIRED_CLUSTER_DEPTH: ClassVar[function_attribute]
    NON_PORTABLE_CLUSTER_SIZE_ALLOWED: ClassVar[function_attribute]
    CLUSTER_SCHEDULING_POLICY_PREFERENCE: ClassVar[function_attribute]
    MAX: ClassVar[function_attribute]

class graphics_map_flags(Constant):
    NONE: ClassVar[graphics_map_flags]
    READ_ONLY: ClassVar[graphics_map_flags]
    WRITE_DISCARD: ClassVar[graphics_map_flags]

class graphics_register_flags(Constant):
    NONE: ClassVar[graphics_register_flags]
    READ_ONLY: ClassVar[graphics_register_flags]
    WRITE_DISCARD: ClassVar[graphics_register_flags]
    SURFACE_LDST: ClassVar[graphics_register_flags]
    TEXTURE_GATHER: ClassVar[graphics_register_flags]

class ipc_mem_flags(Constant):
    LAZY_ENABLE_PEER_ACCESS: ClassVar[ipc_mem_flags]

class jit_fallback(Constant):
    PREFER_PTX: ClassVar[jit_fallback]
    PREFER_BINARY: ClassVar[jit_fallback]

class jit_input_type(Constant):
    CUBIN: ClassVar[jit_input_type]
    PTX: ClassVar[jit_input_type]
    FATBINARY: ClassVar[jit_input_type]
    OBJECT: ClassVar[jit_input_type]
    LIBRARY: ClassVar[jit_input_type]
    NVVM: ClassVar[jit_input_type]

class jit_option(Constant):
    MAX_REGISTERS: ClassVar[jit_option]
    THREADS_PER_BLOCK: ClassVar[jit_option]
    WALL_TIME: ClassVar[jit_option]
    INFO_LOG_BUFFER: ClassVar[jit_option]
    INFO_LOG_BUFFER_SIZE_BYTES: ClassVar[jit_option]
    ERROR_LOG_BUFFER: ClassVar[jit_option]
    ERROR_LOG_BUFFER_SIZE_BYTES: ClassVar[jit_option]
    OPTIMIZATION_LEVEL: ClassVar[jit_option]
    TARGET_FROM_CUCONTEXT: ClassVar[jit_option]
    TARGET: ClassVar[jit_option]
    FALLBACK_STRATEGY: ClassVar[jit_option]
    GENERATE_DEBUG_INFO: ClassVar[jit_option]
    LOG_VERBOSE: ClassVar[jit_option]
    GENERATE_LINE_INFO: ClassVar[jit_option]
    CACHE_MODE: ClassVar[jit_option]
    NEW_SM3X_OPT: ClassVar[jit_option]
    FAST_COMPILE: ClassVar[jit_option]
    GLOBAL_SYMBOL_NAMES: ClassVar[jit_option]
    GLOBAL_SYMBOL_ADDRESSES: ClassVar[jit_option]
    GLOBAL_SYMBOL_COUNT: ClassVar[jit_option]
    LTO: ClassVar[jit_option]
    FTZ: ClassVar[jit_option]
    PREC_DIV: ClassVar[jit_option]
    PREC_SQRT: ClassVar[jit_option]
    FMA: ClassVar[jit_option]
    REFERENCED_KERNEL_NAMES: ClassVar[jit_option]
    REFERENCED_KERNEL_COUNT: ClassVar[jit_option]
    REFERENCED_VARIABLE_NAMES: ClassVar[jit_option]
    REFERENCED_VARIABLE_COUNT: ClassVar[jit_option]
    OPTIMIZE_UNUSED_DEVICE_VARIABLES: ClassVar[jit_option]
    POSITION_INDEPENDENT_CODE: ClassVar[jit_option]
    MIN_CTA_PER_SM: ClassVar[jit_option]
    MAX_THREADS_PER_BLOCK: ClassVar[jit_option]
    OVERRIDE_DIRECTIVE_VALUES: ClassVar[jit_option]
    SPLIT_COMPILE: ClassVar[jit_option]

class jit_target(Constant):
    COMPUTE_10: ClassVar[jit_target]
    COMPUTE_11: ClassVar[jit_target]
    COMPUTE_12: ClassVar[jit_target]
    COMPUTE_13: ClassVar[jit_target]
    COMPUTE_20: ClassVar[jit_target]
    COMPUTE_21: ClassVar[jit_target]
    COMPUTE_30: ClassVar[jit_target]
    COMPUTE_32: ClassVar[jit_target]
    COMPUTE_35: ClassVar[jit_target]
    COMPUTE_37: ClassVar[jit_target]
    COMPUTE_50: ClassVar[jit_target]
    COMPUTE_52: ClassVar[jit_target]
    COMPUTE_53: ClassVar[jit_target]
    COMPUTE_60: ClassVar[jit_target]
    COMPUTE_61: ClassVar[jit_target]
    COMPUTE_62: ClassVar[jit_target]
    COMPUTE_70: ClassVar[jit_target]
    COMPUTE_72: ClassVar[jit_target]
    COMPUTE_75: ClassVar[jit_target]
    COMPUTE_80: ClassVar[jit_target]
    COMPUTE_86: ClassVar[jit_target]
    COMPUTE_87: ClassVar[jit_target]
    COMPUTE_89: ClassVar[jit_target]
    COMPUTE_90: ClassVar[jit_target]
    COMPUTE_100: ClassVar[jit_target]
    COMPUTE_110: ClassVar[jit_target]
    COMPUTE_103: ClassVar[jit_target]
    COMPUTE_120: ClassVar[jit_target]
    COMPUTE_121: ClassVar[jit_target]
    COMPUTE_90A: ClassVar[jit_target]
    COMPUTE_100A: ClassVar[jit_target]
    COMPUTE_110A: ClassVar[jit_target]
    COMPUTE_103A: ClassVar[jit_target]
    COMPUTE_120A: ClassVar[jit_target]
    COMPUTE_121A: ClassVar[jit_target]
    COMPUTE_100F: ClassVar[jit_target]
    COMPUTE_110F: ClassVar[jit_target]
    COMPUTE_103F: ClassVar[jit_target]
    COMPUTE_120F: ClassVar[jit_target]
    COMPUTE_121F: ClassVar[jit_target]

class limit(Constant):
    STACK_SIZE: ClassVar[limit]
    PRINTF_FIFO_SIZE: ClassVar[limit]
    MALLOC_HEAP_SIZE: ClassVar[limit]
    DEV_RUNTIME_SYNC_DEPTH: ClassVar[limit]
    DEV_RUNTIME_PENDING_LAUNCH_COUNT: ClassVar[limit]
    MAX_L2_FETCH_GRANULARITY: ClassVar[limit]
    PERSISTING_L2_CACHE_SIZE: ClassVar[limit]
    SHMEM_SIZE: ClassVar[limit]
    CIG_ENABLED: ClassVar[limit]
    CIG_SHMEM_FALLBACK_ENABLED: ClassVar[limit]

class dev_resource_type(Constant):
    SM: ClassVar[dev_resource_type]

class dev_sm_resource_split_flags(Constant):
    IGNORE_SM_COSCHEDULING: ClassVar[dev_sm_resource_split_flags]
    MAX_POTENTIAL_CLUSTER_SIZE: ClassVar[dev_sm_resource_split_flags]

class mem_advise(Constant):
    SET_READ_MOSTLY: ClassVar[mem_advise]
    UNSET_READ_MOSTLY: ClassVar[mem_advise]
    SET_PREFERRED_LOCATION: ClassVar[mem_advise]
    UNSET_PREFERRED_LOCATION: ClassVar[mem_advise]
    SET_ACCESSED_BY: ClassVar[mem_advise]
    UNSET_ACCESSED_BY: ClassVar[mem_advise]

class mem_access_flags(Constant):
    PROT_NONE: ClassVar[mem_access_flags]
    PROT_READ: ClassVar[mem_access_flags]
    PROT_READWRITE: ClassVar[mem_access_flags]

class mem_alloc_granularity(Constant):
    MINIMUM: ClassVar[mem_alloc_granularity]
    RECOMMENDED: ClassVar[mem_alloc_granularity]

class mem_attach_flags(Constant):
    GLOBAL: ClassVar[mem_attach_flags]
    HOST: ClassVar[mem_attach_flags]
    SINGLE: ClassVar[mem_attach_flags]

class memory_type(Constant):
    HOST: ClassVar[memory_type]
    DEVICE: ClassVar[memory_type]
    ARRAY: ClassVar[memory_type]
    UNIFIED: ClassVar[memory_type]

class pointer_attribute(Constant):
    CONTEXT: ClassVar[pointer_attribute]
    MEMORY_TYPE: ClassVar[pointer_attribute]
    DEVICE_POINTER: ClassVar[pointer_attribute]
    HOST_POINTER: ClassVar[pointer_attribute]
    P2P_TOKENS: ClassVar[pointer_attribute]
    SYNC_MEMOPS: ClassVar[pointer_attribute]
    BUFFER_ID: ClassVar[pointer_attribute]
    IS_MANAGED: ClassVar[pointer_attribute]
    DEVICE_ORDINAL: ClassVar[pointer_attribute]
    IS_LEGACY_CUDA_IPC_CAPABLE: ClassVar[pointer_attribute]
    RANGE_START_ADDR: ClassVar[pointer_attribute]
    RANGE_SIZE: ClassVar[pointer_attribute]
    MAPPED: ClassVar[pointer_attribute]
    ALLOWED_HANDLE_TYPES: ClassVar[pointer_attribute]
    IS_GPU_DIRECT_RDMA_CAPABLE: ClassVar[pointer_attribute]
    ACCESS_FLAGS: ClassVar[pointer_attribute]
    MEMPOOL_HANDLE: ClassVar[pointer_attribute]
    MAPPING_SIZE: ClassVar[pointer_attribute]
    MAPPING_BASE_ADDR: ClassVar[pointer_attribute]
    MEMORY_BLOCK_ID: ClassVar[pointer_attribute]
    IS_HW_DECOMPRESS_CAPABLE: ClassVar[pointer_attribute]

class profiler_output_mode(Constant):
    KEY_VALUE_PAIR: ClassVar[profiler_output_mode]
    CSV: ClassVar[profiler_output_mode]

class resource_type(Constant):
    ARRAY: ClassVar[resource_type]
    MIPMAPPED_ARRAY: ClassVar[resource_type]
    LINEAR: ClassVar[resource_type]
    PITCH2D: ClassVar[resource_type]

class shared_config(Constant):
    DEFAULT_BANK_SIZE: ClassVar[shared_config]
    FOUR_BYTE_BANK_SIZE: ClassVar[shared_config]
    EIGHT_BYTE_BANK_SIZE: ClassVar[shared_config]

class stream_flags(Constant):
    DEFAULT: ClassVar[stream_flags]
    NON_BLOCKING: ClassVar[stream_flags]

class array3d_flags:
    LAYERED: ClassVar[int]
    SURFACE_LDST: ClassVar[int]
    CUBEMAP: ClassVar[int]
    TEXTURE_GATHER: ClassVar[int]
    DEPTH_TEXTURE: ClassVar[int]
    COLOR_ATTACHMENT: ClassVar[int]
    SPARSE: ClassVar[int]
    DEFERRED_MAPPING: ClassVar[int]
    VIDEO_ENCODE_DECODE: ClassVar[int]
    ARRAY3D_LAYERED: ClassVar[int]
    ARRAY3D_2DARRAY: ClassVar[int]

class host_alloc_flags:
    PORTABLE: ClassVar[int]
    DEVICEMAP: ClassVar[int]
    WRITECOMBINED: ClassVar[int]

class mem_handle_type(Constant):
    NONE: ClassVar[mem_handle_type]
    POSIX_FILE_DESCRIPTOR: ClassVar[mem_handle_type]

class mem_host_register_flags:
    PORTABLE: ClassVar[int]
    DEVICEMAP: ClassVar[int]
    IOMEMORY: ClassVar[int]
    READ_ONLY: ClassVar[int]
