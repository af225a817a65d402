"""Random number generators of curand_kernel.h against the same generators written with NumPy."""

import numpy as np

import pycuda.driver as drv

SOURCE = r"""
#include <curand_kernel.h>

extern "C" __global__ void xorwow(unsigned long long seed, unsigned long long offset, unsigned *words,
                                  float *floats, double *doubles, float *normals)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    curandStateXORWOW_t state;
    curand_init(seed, i, offset, &state);
    for (int k = 0; k < 4; k++)
        words[i * 4 + k] = curand(&state);
    floats[i] = curand_uniform(&state);
    doubles[i] = curand_uniform_double(&state);
    normals[i] = curand_normal(&state);
}

extern "C" __global__ void philox(unsigned long long seed, unsigned long long offset, uint4 *words)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    curandStatePhilox4_32_10_t state;
    curand_init(seed, i, offset, &state);
    words[i * 2] = curand4(&state);
    words[i * 2 + 1] = curand4(&state);
}
"""
SEED, COUNT = 0x123456789ABCDEF, 128


def step(v):
    """The state (five words) after one step of xorshift."""
    t = v[0] ^ (v[0] >> 2)
    new = ((v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1))) & 0xFFFFFFFF
    return [*v[1:], new]


def to_bits(v):
    """The state as a vector of 160 zeros and ones."""
    return np.array([word >> k & 1 for word in v for k in range(32)], np.float32)


def from_bits(bits):
    """The state of such a vector."""
    return [sum(int(bit) << k for k, bit in enumerate(word)) for word in np.reshape(bits, (5, 32))]


def jump():
    """The matrix (mod 2) that does 2 ** 67 steps at once: from the start of a sequence to that of
    the next.
    """
    columns = [to_bits(step(from_bits(unit))) for unit in np.eye(160)]
    matrix = np.array(columns).T
    for _ in range(67):
        matrix = matrix @ matrix % 2
    return matrix


class Xorwow:
    """curandStateXORWOW_t, from the seed's first sequence; the constants are those of curand_kernel.h."""

    def __init__(self, seed):
        low, high = (seed & 0xFFFFFFFF) ^ 0xAAD26B49, (seed >> 32) ^ 0xF7DCEFDD
        a, b = 1099087573 * low & 0xFFFFFFFF, 2591861531 * high & 0xFFFFFFFF
        start = [123456789 + a, 362436069 ^ a, 521288629 + b, 88675123 ^ b, 5783321 + a]
        self.v, self.d = [word & 0xFFFFFFFF for word in start], (6615241 + a + b) & 0xFFFFFFFF

    def next(self):
        """The next 32 bits."""
        self.v, self.d = step(self.v), (self.d + 362437) & 0xFFFFFFFF
        return (self.v[4] + self.d) & 0xFFFFFFFF


def test_xorwow(programs):
    words = np.empty((COUNT, 4), np.uint32)
    floats, doubles, normals = np.empty(COUNT, np.float32), np.empty(COUNT), np.empty(COUNT, np.float32)
    programs.get_function("xorwow")(
        np.uint64(SEED),
        np.uint64(1003),
        *map(drv.Out, (words, floats, doubles, normals)),
        block=(64, 1, 1),
        grid=(2, 1),
    )
    between, start = jump(), to_bits(Xorwow(SEED).v)
    for i in range(COUNT):
        wanted = Xorwow(SEED)
        wanted.v = from_bits(start)
        start = between @ start % 2
        for _ in range(1003):
            wanted.next()
        assert (words[i] == [wanted.next() for _ in range(4)]).all()
        assert floats[i] == np.float32(np.float32(wanted.next()) * np.float32(2**-32) + np.float32(2**-33))
        x, y = wanted.next(), wanted.next()
        assert doubles[i] == (x ^ y << 21) * 2.0**-53 + 2.0**-54
        u, v = ((wanted.next() + 0.5) * 2.0**-32 for _ in range(2))
        normal = np.sqrt(-2 * np.log(u)) * np.sin(2 * np.pi * v)
        np.testing.assert_allclose(normals[i], normal, rtol=2e-5, atol=2e-6)


def philox(counter, key):
    """The four words that ten rounds of Philox 4x32 make of a counter and a key; the constants are
    Philox's.
    """
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [
            b >> 32 ^ counter[1] ^ key[0],
            b & 0xFFFFFFFF,
            a >> 32 ^ counter[3] ^ key[1],
            a & 0xFFFFFFFF,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def test_philox(programs):
    words = np.empty((COUNT, 2, 4), np.uint32)
    programs.get_function("philox")(
        np.uint64(SEED), np.uint64(4 * 77), drv.Out(words), block=(64, 1, 1), grid=(2, 1)
    )
    key = [SEED & 0xFFFFFFFF, SEED >> 32]
    assert (words == [[philox([77 + k, 0, i, 0], key) for k in range(2)] for i in range(COUNT)]).all()
