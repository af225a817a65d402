"""Functions, reductions, scans, products and random numbers have the same bits on every device.

recorded_bits.txt has a hash of each result of a GPU; where versions of NVRTC give different bits, one for
each.

    python test_recorded_bits.py record     writes it again, on a GPU
"""

import hashlib
import sys
from pathlib import Path

import numpy as np
import pytest

import pycuda
import pycuda.autoprimaryctx
import pycuda.driver as drv
from pycuda import curandom, gpuarray
from pycuda._array.core.elementwise import apply
from pycuda._kernels.builtin.functions import TABLE
from pycuda.reduction import ReductionKernel
from pycuda.scan import ExclusiveScanKernel, InclusiveScanKernel

FILE = Path(__file__).parent / "recorded_bits.txt"
FLOATS = "efdFD"
SIZES = 1, 100, 4097, 100_003
GENERATORS = {
    "XORWOW": "Ifd", "MRG32k3a": "Ifd", "Philox4x32_10": "Ifd", "Sobol32": "Ifd", "ScrambledSobol32": "Ifd",
    "Sobol64": "IQfd", "ScrambledSobol64": "IQfd",
}  # fmt: skip


def raw(count, seed):
    """Random integers of 64 bits: the bit generator's own output, which is the same in every version of
    NumPy."""
    return np.random.PCG64(seed).random_raw(count)


def unit_interval(words):
    """Random doubles from -1 to 1, of the upper 53 bits of random words of 64 bits."""
    return (words >> np.uint64(11)).astype("d") * 2.0**-52 - 1


def real(char, count, seed):
    """A quarter of `count` each of random bit patterns, of numbers of magnitude 2**-12 to 2**12 and of
    numbers near 1; then special values."""
    dtype, quarter = np.dtype(char), count // 4
    word = np.dtype(f"u{dtype.itemsize}")
    any_bits = raw(quarter, seed).astype(word).view(dtype)
    unit = unit_interval(raw(quarter, seed + 1))
    exponent = (raw(quarter, seed + 2) % np.uint64(24)).astype("i")
    with np.errstate(all="ignore"):
        mild, near = np.ldexp(unit, exponent - 12), 1 + np.ldexp(unit, -exponent)
    limits = np.finfo(dtype)
    special = [0, -0.0, 0.5, 1, -1, 2, limits.max, -limits.max, limits.tiny, limits.smallest_subnormal]
    parts = any_bits, mild, near, special, [np.inf, -np.inf, np.nan]
    return np.concatenate([np.asarray(part).astype(dtype) for part in parts])


def operand(char, seed, count=4096):
    """Numbers of a dtype, special values among them, which depend on the arguments alone."""
    if char not in "FD":
        return real(char, count, seed)
    part = char.lower()
    x = real(part, count, seed)
    z = np.empty(len(x), char)
    z.real, z.imag = x, np.roll(real(part, count, seed + 50), 7)
    return z


def finite(char, count, seed):
    """Numbers whose parts are between -1 and 1."""
    x = unit_interval(raw(count, seed))
    return (x + 1j * np.roll(x, 1) if char in "FD" else x).astype(char)


def digest(*arrays):
    """A hash of the bits of GPUArrays, as text. All NaNs are taken as the same bits."""
    text = hashlib.blake2b(digest_size=6)
    for array in arrays:
        host = array.get()
        for part in (host.real, host.imag) if host.dtype.kind == "c" else (host,):
            part = np.array(part)
            if part.dtype.kind == "f":
                part[np.isnan(part)] = np.nan
            text.update(part.tobytes())
    return text.hexdigest()


# ldexp has an operand of integers; spacing is newer than the recording.
NOT_RECORDED = {"ldexp", "spacing"}


# Each of the functions below is a group: it yields (label, sequence of arrays whose bits are recorded).


def functions():
    for name, row in TABLE.items():
        if not isinstance(row.rule, np.ufunc) or row.rule.nin > 2 or name in NOT_RECORDED:
            continue
        for char in FLOATS:
            if ("c" if char in "FD" else "f") not in row.body:
                continue
            operands = [gpuarray.to_gpu(operand(char, seed)) for seed in range(row.rule.nin)]
            try:
                got = apply(name, *operands)
            except TypeError:  # NumPy's ufunc has no loop for the dtype either
                continue
            yield f"{name} {char}", got if isinstance(got, tuple) else (got,)


def reductions():
    shape = 70, 9, 31
    for char in FLOATS:
        for size in SIZES:
            a = gpuarray.to_gpu(finite(char, size, size))
            for name in "sum", "mean", "var", "prod":
                yield f"{name} {char} {size}", [getattr(a, name)()]
            yield f"dot {char} {size}", [gpuarray.dot(a, a)]
        a = gpuarray.to_gpu(finite(char, 70 * 9 * 31, 5).reshape(shape))
        for layout, view in (("C", a), ("T", a.T), ("steps", a[::-1, :, ::2])):
            for axis in 0, 1, 2, (0, 2):
                yield f"sum {char} {layout} along {axis}".replace(", ", "+"), [view.sum(axis=axis)]
    norm = ReductionKernel(np.float32, "0", "a+b", "x[i]*y[i]", "const float *x, const double *y")
    x, y = gpuarray.to_gpu(finite("f", 50_001, 1)), gpuarray.to_gpu(finite("d", 50_001, 2))
    yield "ReductionKernel", [norm(x, y)]


def scans():
    for char in "fdFD":
        for size in SIZES:
            a = gpuarray.to_gpu(finite(char, size, size))
            yield f"InclusiveScanKernel {char} {size}", [InclusiveScanKernel(a.dtype, "a+b")(a, "new")]
            yield f"ExclusiveScanKernel {char} {size}", [ExclusiveScanKernel(a.dtype, "a+b", "0")(a, "new")]
    for char in FLOATS:
        a = gpuarray.to_gpu(finite(char, 90 * 700, 3).reshape(90, 700))
        for axis in None, 0, 1:
            yield f"cumsum {char} along {axis}", [a.cumsum(axis=axis)]


def products():
    for char in FLOATS:
        a, b = gpuarray.to_gpu(finite(char, 6000, 1)), gpuarray.to_gpu(finite(char, 6000, 2))
        yield f"matrices {char}", [a.reshape(60, 100) @ b.reshape(100, 60), a.reshape(100, 60).T @ b[:100]]
    places = gpuarray.to_gpu((raw(40_000, 1) % np.uint64(300)).astype("i"))
    yield "bincount", [gpuarray.bincount(places, gpuarray.to_gpu(finite("d", 40_000, 2)))]


def random_numbers():
    size = 3 * 65536 + 1237  # more numbers than any generator has threads, and not a multiple of them
    seeds = raw(1 << 16, 7).astype(np.int32)
    for name, dtypes in GENERATORS.items():
        kind = getattr(curandom, f"{name}RandomNumberGenerator")
        generator = kind(offset=1) if "Sobol" in name else kind(lambda n: gpuarray.to_gpu(seeds[:n]), 5)
        for char in dtypes:
            yield f"{name} uniform {char}", [generator.gen_uniform(size, np.dtype(char))]
        for char in "fd":
            yield f"{name} normal {char}", [generator.gen_normal(size, np.dtype(char))]
            yield f"{name} log_normal {char}", [generator.gen_log_normal(size, np.dtype(char), 0.5, 0.25)]
        for mean in 3.5, 1000.0:
            yield f"{name} poisson {mean}", [generator.gen_poisson(size, np.uint32, mean)]
        generator.call_skip_ahead(10**12 + 1)
        yield f"{name} after a skip", [generator.gen_uniform(size, np.uint32)]


GROUPS = {each.__name__: each for each in (functions, reductions, scans, products, random_numbers)}


def lines(group):
    """A group's results as lines of recorded_bits.txt: label and hash."""
    with pycuda.same_bits():
        return [f"{name.replace(' ', '_')} {digest(*arrays)}" for name, arrays in GROUPS[group]()]


@pytest.mark.parametrize("group", GROUPS)
def test_the_same_bits(group):
    recorded = set(FILE.read_text().splitlines())
    got = lines(group)
    assert got and not set(got) - recorded


def record():
    version = ".".join(map(str, drv.get_version()))
    head = f"# {drv.Context.get_device().name()}, CUDA {version}"
    FILE.write_text("\n".join([head, *(line for group in GROUPS for line in lines(group))]) + "\n")


if __name__ == "__main__" and sys.argv[1:] == ["record"]:
    record()
