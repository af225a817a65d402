"""curandom.md5_code, included in kernels, computes the compression function of MD5 for one block of 64
bytes."""

import hashlib

import numpy as np

import pycuda.driver as drv
from pycuda import curandom, gpuarray
from pycuda.compiler import SourceModule
from pycuda.elementwise import ElementwiseKernel, get_elwise_kernel

# md5_code makes its block of threadIdx, blockIdx, seed, i, n, blockDim, gridDim and a 0. Here variables of
# these names have the words of any block whose last word is 0.
DIGESTS = f"""
struct Place {{ unsigned int x, y, z; }};
__device__ uint4 digest(const unsigned int *m)
{{
    const Place threadIdx = {{m[0], m[1], m[2]}}, blockIdx = {{m[3], m[4], m[5]}};
    const Place blockDim = {{m[9], m[10], m[11]}}, gridDim = {{m[12], m[13], m[14]}};
    const unsigned int seed = m[6], i = m[7], n = m[8];
    {curandom.md5_code}
    return make_uint4(a, b, c, d);
}}
__global__ void digests(const unsigned int *blocks, uint4 *out)
{{
    out[threadIdx.x] = digest(blocks + 16 * threadIdx.x);
}}
"""


def padded(message):
    """A message of up to 55 bytes as a block of 64 bytes, as RFC 1321 pads it."""
    return message + b"\x80" + bytes(55 - len(message)) + (8 * len(message)).to_bytes(8, "little")


def test_digests_are_those_of_md5():
    generator = np.random.default_rng(3)
    messages = [b"", b"abc", b"message digest", *(generator.bytes(size) for size in range(1, 56))]
    blocks = np.frombuffer(b"".join(map(padded, messages)), np.uint32).copy()
    found = np.zeros((len(messages), 4), np.uint32)
    SourceModule(DIGESTS).get_function("digests")(drv.In(blocks), drv.Out(found), block=(len(messages), 1, 1))
    for message, row in zip(messages, found, strict=True):
        assert row.tobytes() == hashlib.md5(message).digest(), message


def compressed(words):
    """The four words of MD5's state after a first block of 16 words, by the steps of RFC 1321."""
    state = [0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476]
    a, b, c, d = state
    rotations = (7, 12, 17, 22), (5, 9, 14, 20), (4, 11, 16, 23), (6, 10, 15, 21)
    for step in range(64):
        mixed = ((b & c) | (~b & d), (b & d) | (c & ~d), b ^ c ^ d, c ^ (b | ~d))[step // 16]
        word = words[(step, 5 * step + 1, 3 * step + 5, 7 * step)[step // 16] % 16]
        total = (a + mixed + word + int(abs(np.sin(step + 1)) * 2**32)) % 2**32
        bits = rotations[step // 16][step % 4]
        a, b, c, d = d, (b + (total << bits | total >> 32 - bits)) % 2**32, b, c
    return [(x + y) % 2**32 for x, y in zip(state, (a, b, c, d), strict=True)]


def test_md5_in_a_kernel():
    source = f"""__global__ void k(unsigned int *out, unsigned int seed, int n)
{{
    for (int i = threadIdx.x + blockDim.x * blockIdx.x; i < n; i += blockDim.x * gridDim.x) {{
        {curandom.md5_code}
        ((uint4 *)out)[i] = make_uint4(a, b, c, d);
    }}
}}"""
    out = np.zeros((11, 4), np.uint32)
    kernel = SourceModule(source).get_function("k")
    kernel(drv.Out(out), np.uint32(2**32 - 5), np.int32(11), block=(4, 1, 1), grid=(2, 1))
    for i, row in enumerate(out):
        # threadIdx, blockIdx, seed, i, n, blockDim, gridDim, 0
        words = [i % 4, 0, 0, i // 4 % 2, 0, 0, 2**32 - 5, i, 11, 4, 1, 1, 2, 1, 1, 0]
        assert row.tolist() == compressed(words), i


def test_md5_in_an_elementwise_kernel():
    """Programs for PyCUDA use it in this way to make random numbers."""
    tail = "z[i] = a * (1 / 4294967296.0f); if ((i += total_threads) < n) z[i] = b * (1 / 4294967296.0f);"
    kernel = get_elwise_kernel("float *z, unsigned int seed", curandom.md5_code + tail, "md5_rng_float")
    drawn = gpuarray.zeros(10_001, np.float32)
    kernel.prepared_async_call(drawn._grid, drawn._block, None, drawn.gpudata, 17, drawn.size)
    values = drawn.get()
    assert ((values >= 0) & (values <= 1)).all() and np.unique(values).size > 9_900
    assert abs(values.mean() - 0.5) < 0.02 and abs(values.std() - 12**-0.5) < 0.02
    noise = ElementwiseKernel(
        "float *mat, float p, unsigned int seed",
        curandom.md5_code + "mat[i] = a * (1 / 4294967296.0f) < p ? 0.0f : mat[i];",
        "dropout",
    )
    kept = gpuarray.to_gpu(np.ones(20_000, np.float32))
    noise(kept, 0.25, 5)
    assert 0.73 < kept.get().mean() < 0.77
