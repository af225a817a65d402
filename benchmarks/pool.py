"""Host time of one allocation and its release: our pool, the driver with and without its own, CuPy, torch."""

import ctypes
import statistics

from common import build_raw, burst, driver_library, rounds, table

import pycuda.autoinit
import pycuda.driver as drv

SIZES = {"4 KiB": 1 << 12, "16 MiB": 1 << 24}
COUNT = 400


# Each returns {name: measure}, where a measure returns nanoseconds of one allocation of `size` bytes and its
# release.


def raw_measures(size):
    raw, driver = build_raw(), driver_library()
    bytes = ctypes.c_size_t(size)
    return {
        "raw C, cuMemAllocAsync + cuMemFreeAsync": lambda: raw.raw_allocate_async(
            driver.cuMemAllocAsync, driver.cuMemFreeAsync, driver.cuCtxSynchronize, bytes, COUNT
        ),
        "raw C, cuMemAlloc + cuMemFree": lambda: raw.raw_allocate(
            driver.cuMemAlloc_v2, driver.cuMemFree_v2, bytes, COUNT
        ),
    }


def our_measures(size):
    pool, stream = drv.DeviceMemoryPool(), drv.Stream()
    ordered, managed = drv.StreamOrderedMemoryPool(), drv.ManagedMemoryPool()
    calls = {
        "pycuda pool.allocate()": lambda: pool.allocate(size),
        "pycuda pool.allocate(stream)": lambda: pool.allocate(size, stream),
        "pycuda default_allocate()": lambda: drv.default_allocate(size),
        "pycuda StreamOrderedMemoryPool.allocate(stream)": lambda: ordered.allocate(size, stream),
        "pycuda ManagedMemoryPool.allocate()": lambda: managed.allocate(size),
        "pycuda mem_alloc()": lambda: drv.mem_alloc(size),
    }
    return {
        name: lambda call=call: burst(call, drv.Context.synchronize, COUNT) for name, call in calls.items()
    }


def cupy_measures(size):
    try:
        import cupy
    except ImportError:
        return {}
    pool = cupy.cuda.MemoryPool()
    return {
        "CuPy MemoryPool.malloc()": lambda: burst(
            lambda: pool.malloc(size), cupy.cuda.runtime.deviceSynchronize, COUNT
        )
    }


def torch_measures(size):
    try:
        import torch
    except ImportError:
        return {}
    if not torch.cuda.is_available():
        return {}
    return {
        "torch.empty() on the device": lambda: burst(
            lambda: torch.empty(size, dtype=torch.uint8, device="cuda"), torch.cuda.synchronize, COUNT
        )
    }


def rows_of(label, size):
    """The table's rows for one size of memory."""
    times = rounds(
        {
            **raw_measures(size),
            **our_measures(size),
            "(an empty Python lambda)": lambda: burst(lambda: None, lambda: None, COUNT),
            **cupy_measures(size),
            **torch_measures(size),
        }
    )
    failed = [name for name, values in times.items() if min(values) < 0]
    for name in failed:
        print(f"{name}: failed with CUDA error {-min(times.pop(name)):.0f}")
    floor = times.get("raw C, cuMemAllocAsync + cuMemFreeAsync")
    for name, mine in times.items():
        ratio = statistics.median(a / b for a, b in zip(mine, floor, strict=True)) if floor else ""
        yield (
            f"{name}, {label}",
            f"{statistics.median(mine) / 1e3:.3f}",
            f"{min(mine) / 1e3:.3f}",
            f"{max(mine) / 1e3:.3f}",
            f"{ratio:.2f}" if floor else "",
        )


def main():
    rows = [row for label, size in SIZES.items() for row in rows_of(label, size)]
    table(
        "Host time of one allocation and its release",
        ["call", "us", "min", "max", "x cuMemAllocAsync"],
        rows,
    )


if __name__ == "__main__":
    print(pycuda.autoinit.device.name())
    main()
