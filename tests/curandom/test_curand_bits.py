"""Generators have the bits of cuRAND's device interface, which a kernel with NVIDIA's header computes."""

import numpy as np
import pytest

import pycuda.curandom as curandom
import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda.compiler import SourceModule
from pycuda.tools import context_dependent_memoize

pytestmark = pytest.mark.usefixtures("primary_context", "fresh_caches")

SOURCE = r"""
#include <curand_kernel.h>
typedef unsigned long long u64;

enum { RAW, UNIFORM, UNIFORM_DOUBLE, NORMAL, NORMAL_DOUBLE, LOG_NORMAL, LOG_NORMAL_DOUBLE };

template <class S> __device__ double2 two_uniform(S *s)
{
    double x = curand_uniform_double(s);
    return make_double2(x, curand_uniform_double(s));
}
__device__ double2 two_uniform(curandStatePhilox4_32_10_t *s) { return curand_uniform2_double(s); }

template <class S, class W> __device__ void draw(S *s, int what, void *out, int count)
{
    for (int k = 0; k < count; k++) {
        if (what == RAW) ((W *)out)[k] = curand(s);
        if (what == UNIFORM) ((float *)out)[k] = curand_uniform(s);
        if (what == NORMAL) ((float *)out)[k] = curand_normal(s);
        if (what == LOG_NORMAL) ((float *)out)[k] = curand_log_normal(s, 0.5f, 0.25f);
        if (what == NORMAL_DOUBLE) ((double *)out)[k] = curand_normal_double(s);
        if (what == LOG_NORMAL_DOUBLE) ((double *)out)[k] = curand_log_normal_double(s, 0.5, 0.25);
        if (what == UNIFORM_DOUBLE && k % 2 == 0) {
            double2 pair = two_uniform(s);
            ((double *)out)[k] = pair.x;
            ((double *)out)[k + 1] = pair.y;
        }
    }
}

#define PSEUDO(STATE, SUBSEQUENCES)                                                                        \
    extern "C" __global__ void STATE##_draw(const int *seeds, const int *which, u64 offset, int kind,      \
                                            const u64 *times, int what, char *out, int count, int bytes)   \
    {                                                                                                      \
        STATE##_t s;                                                                                       \
        int g = which[threadIdx.x];                                                                        \
        curand_init((u64)(long long)seeds[g], g, offset, &s);                                              \
        if (kind == 0) skipahead(times[g], &s);                                                            \
        if (kind == 1) skipahead_sequence(times[g], &s);                                                   \
        SUBSEQUENCES                                                                                       \
        draw<STATE##_t, unsigned>(&s, what, out + threadIdx.x * count * bytes, count);                     \
    }
PSEUDO(curandStateXORWOW, )
PSEUDO(curandStateMRG32k3a, if (kind == 2) skipahead_subsequence(times[g], &s);)
PSEUDO(curandStatePhilox4_32_10, )

#define QUASI(STATE, W, SCRAMBLE)                                                                          \
    extern "C" __global__ void STATE##_draw(const W *vectors, const W *scramble, u64 offset, int what,     \
                                            char *out, int count, int bytes)                               \
    {                                                                                                      \
        STATE##_t s;                                                                                       \
        int d = blockIdx.x * blockDim.x + threadIdx.x;                                                     \
        W own[8 * sizeof(W)];                                                                              \
        for (int k = 0; k < 8 * sizeof(W); k++) own[k] = vectors[d * 8 * sizeof(W) + k];                   \
        curand_init(own, SCRAMBLE (W)offset, &s);                                                          \
        draw<STATE##_t, W>(&s, what, out + d * count * bytes, count);                                      \
    }
#define SCRAMBLED scramble[d],
QUASI(curandStateSobol32, unsigned, )
QUASI(curandStateScrambledSobol32, unsigned, SCRAMBLED)
QUASI(curandStateSobol64, u64, )
QUASI(curandStateScrambledSobol64, u64, SCRAMBLED)
"""

PSEUDO = {
    cls.state_type: cls
    for cls in (
        curandom.XORWOWRandomNumberGenerator,
        curandom.MRG32k3aRandomNumberGenerator,
        curandom.Philox4x32_10RandomNumberGenerator,
    )
}
QUASI = {
    cls.state_type: cls
    for cls in (
        curandom.Sobol32RandomNumberGenerator,
        curandom.ScrambledSobol32RandomNumberGenerator,
        curandom.Sobol64RandomNumberGenerator,
        curandom.ScrambledSobol64RandomNumberGenerator,
    )
}
# (number of the distribution in the reference's kernel, method gen_NAME of ours, dtype, its parameters)
WHAT = [
    (0, "uniform", np.uint32, ()),
    (1, "uniform", np.float32, ()),
    (2, "uniform", np.float64, ()),
    (3, "normal", np.float32, ()),
    (4, "normal", np.float64, ()),
    (5, "log_normal", np.float32, (0.5, 0.25)),
    (6, "log_normal", np.float64, (0.5, 0.25)),
]
RAW, UNIFORM_DOUBLE = 0, 2  # of these
GENERATORS = 65536
WHICH = np.array([0, 1, 2, 77, 4096, 65535], np.int32)  # the generators that are compared
NO_SKIP = -1  # a kind of skip, besides 0: by numbers, 1: by sequences, 2: by subsequences


@context_dependent_memoize
def reference():
    """The module with cuRAND's own device functions, which the generators are compared with."""
    try:
        return SourceModule(SOURCE, no_extern_c=True)
    except drv.CompileError as error:
        if "curand_kernel.h" in str(error):
            pytest.skip("curand_kernel.h is not installed (the package nvidia-curand has it)")
        raise


def seeds():
    """A seed for each generator; 0 and -1 are among them."""
    values = np.random.default_rng(5).integers(-(2**31), 2**31, GENERATORS).astype(np.int32)
    values[[0, 2]] = 0, -1
    return values


def theirs(state, what, dtype, count, offset=0, kind=NO_SKIP, times=None):
    """The first `count` numbers of each of cuRAND's generators WHICH, after a skip by `times` of this
    kind."""
    times = np.zeros(GENERATORS, np.uint64) if times is None else times
    out = np.zeros((len(WHICH), count), dtype)
    reference().get_function(f"{state}_draw")(
        drv.In(seeds()), drv.In(WHICH), np.uint64(offset), np.int32(kind), drv.In(times), np.int32(what),
        drv.Out(out), np.int32(count), np.int32(out.itemsize), grid=(1, 1), block=(len(WHICH), 1, 1),
    )  # fmt: skip
    return out


def ours(generator, method, dtype, rounds, *args):
    """The first 4 * rounds numbers of each of our generators WHICH. In an array, each generator has four
    numbers in each round."""
    array = getattr(generator, f"gen_{method}")(rounds * 4 * GENERATORS, dtype, *args).get()
    groups = array.reshape(rounds, GENERATORS, 4)[:, WHICH]
    return groups.transpose(1, 0, 2).reshape(len(WHICH), rounds * 4)


def same(a, b):
    """Asserts the same dtype, shape and bytes."""
    assert a.dtype == b.dtype and a.shape == b.shape
    assert a.tobytes() == b.tobytes(), (a, b)


@pytest.mark.parametrize("state", PSEUDO)
def test_every_distribution(state):
    """Distributions are drawn one after another from the same generators, each of which continues its
    sequence."""
    generator, offset = PSEUDO[state](lambda n: gpuarray.to_gpu(seeds())), 0
    for what, method, dtype, args in WHAT:
        same(ours(generator, method, dtype, 2, *args), theirs(state, what, dtype, 8, offset))
        # How much of the sequence 8 numbers take: a double takes two outputs of 32 bits, of MRG32k3a one.
        offset += 16 if dtype is np.float64 and state != "curandStateMRG32k3a" else 8


@pytest.mark.parametrize("state", PSEUDO)
@pytest.mark.parametrize("offset", [1, 4, 1234567890123456789])
def test_offset(state, offset):
    generator = PSEUDO[state](lambda n: gpuarray.to_gpu(seeds()), offset)
    same(ours(generator, "uniform", np.uint32, 1), theirs(state, 0, np.uint32, 4, offset))


@pytest.mark.parametrize("state", PSEUDO)
@pytest.mark.parametrize("kind", [0, 1, 2])
def test_skip_ahead(state, kind):
    """Skips by one number and by an array, a number for each generator, add up."""
    name = "call_skip_ahead" + ["", "_sequence", "_subsequence"][kind]
    if not hasattr(PSEUDO[state], name):
        assert kind == 2
        return
    # Less than 2**50 each: the header's tables end where a sequence would be used up.
    times = np.zeros(GENERATORS, np.uint64)
    times[WHICH] = 0, 1, 2, *np.random.default_rng(kind).integers(0, 2**50, 3)
    generator = PSEUDO[state](lambda n: gpuarray.to_gpu(seeds()), 3)
    getattr(generator, name)(12345)
    getattr(generator, name + "_array")(gpuarray.to_gpu(times))
    same(
        ours(generator, "uniform", np.uint32, 1),
        theirs(state, 0, np.uint32, 4, 3, kind, times + np.uint64(12345)),
    )


@pytest.mark.parametrize("state", QUASI)
@pytest.mark.parametrize("offset", [0, 1023, 2**32 - 1500])
def test_sobol(state, offset):
    """Arrays of quasi-random numbers, point after point, have the bits of cuRAND's generators, one for each
    dimension."""
    count = 2100 if offset else 5
    generator = QUASI[state](offset=offset)
    wide = generator.generator_bits == 64
    kind = curandom.direction_vector_set
    if "Scrambled" in state:
        vectors = curandom.generate_direction_vectors(
            256, kind.SCRAMBLED_VECTOR_64 if wide else kind.SCRAMBLED_VECTOR_32
        )
        scramble = getattr(curandom, f"generate_scramble_constants{64 if wide else 32}")(256)
    else:
        vectors = curandom.generate_direction_vectors(256, kind.VECTOR_64 if wide else kind.VECTOR_32)
        scramble = vectors
    for what, method, dtype, args in WHAT if not offset else WHAT[:1]:
        if what == RAW and wide:
            dtype = np.uint64
        # An odd number of elements, so that the next array begins in the middle of a point.
        generator = QUASI[state](offset=offset)
        parts = [getattr(generator, f"gen_{method}")(n, dtype, *args).get() for n in (256 * count - 1, 256)]
        drawn = count + count % 2 if what == UNIFORM_DOUBLE else count  # doubles come in pairs
        out = np.zeros((256, drawn), dtype)
        reference().get_function(f"{state}_draw")(
            vectors, scramble, np.uint64(offset), np.int32(what), drv.Out(out), np.int32(drawn),
            np.int32(out.itemsize), grid=(4, 1), block=(64, 1, 1),
        )  # fmt: skip
        same(parts[0], np.ascontiguousarray(out[:, :count].T).ravel()[: 256 * count - 1])
        if what == UNIFORM_DOUBLE:
            assert parts[1][255] == out[255, count - 1]


def test_sobol_dimensions_at_different_points():
    """A thread computes four dimensions, which a skip by an array brings to different points."""
    times = gpuarray.to_gpu(np.arange(256, dtype=np.int32) * 1000)
    one, other = curandom.Sobol32RandomNumberGenerator(), curandom.Sobol32RandomNumberGenerator()
    one.call_skip_ahead_array(times // 50)
    got = one.gen_uniform((3000, 256), np.uint32).get()
    plain = other.gen_uniform((8200, 256), np.uint32).get()
    for d in 0, 1, 2, 130, 255:
        assert (got[:, d] == plain[20 * d : 20 * d + 3000, d]).all()
