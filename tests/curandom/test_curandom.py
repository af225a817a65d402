"""pycuda.curandom: arguments, results and errors of its functions and generators."""

import hashlib

import numpy as np
import pytest

import pycuda.curandom as curandom
import pycuda.driver as drv
import pycuda.gpuarray as gpuarray
from pycuda import _driver
from pycuda._kernels.random import sobol
from pycuda.compiler import SourceModule

pytestmark = pytest.mark.usefixtures("primary_context", "fresh_caches")

XORWOW = curandom.XORWOWRandomNumberGenerator
MRG = curandom.MRG32k3aRandomNumberGenerator
PHILOX = curandom.Philox4x32_10RandomNumberGenerator
PSEUDO = [XORWOW, MRG, PHILOX]
QUASI = [
    curandom.Sobol32RandomNumberGenerator,
    curandom.ScrambledSobol32RandomNumberGenerator,
    curandom.Sobol64RandomNumberGenerator,
    curandom.ScrambledSobol64RandomNumberGenerator,
]
ALL = PSEUDO + QUASI


def counting(n):
    """Seeds 1, 2, 3, ..."""
    return gpuarray.to_gpu(np.arange(1, n + 1, dtype=np.int32))


def new(cls):
    """A generator of this class that makes the same numbers each time."""
    return cls(counting) if cls in PSEUDO else cls()


# Random123's test vectors for philox4x32 with 10 rounds: counter, key, result.
KNOWN = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


@pytest.mark.parametrize("counter, key, expected", KNOWN)
def test_philox_known_answers(counter, key, expected):
    source = """#include "random/pycuda-random-philox.hpp"
    extern "C" __global__ void known(const unsigned *c, unsigned *out)
    {
        uint4 x = pycuda::philox(make_uint4(c[0], c[1], c[2], c[3]), c[4], c[5]);
        out[0] = x.x, out[1] = x.y, out[2] = x.z, out[3] = x.w;
    }"""
    out = np.zeros(4, np.uint32)
    known = SourceModule(source, no_extern_c=True).get_function("known")
    known(drv.In(np.array(counter + key, np.uint32)), drv.Out(out), grid=(1, 1), block=(1, 1, 1))
    assert out.tolist() == expected
    assert sobol.philox(np.array([counter], np.uint32), tuple(key)).tolist() == [expected]


# ---- rand


def philox_bytes(seed, nbytes):
    """The random bytes of which rand() makes numbers after np.random.seed(seed)."""
    np.random.seed(seed)
    key = np.random.randint(0, 1 << 32, 2, np.uint32).tolist()
    counters = np.zeros((-(-nbytes // 16), 4), np.uint32)
    counters[:, 0] = np.arange(len(counters))
    return sobol.philox(counters, key).tobytes()[:nbytes]


@pytest.mark.parametrize("size", [1, 3, 4, 17, 4096, 4097, 16385])
def test_rand_is_philox(size):
    """Integers have all bits of the bytes, floats the upper `keep` bits of a word of their size."""
    for dtype in "bBhHiIqQ":
        bits = philox_bytes(size, size * np.dtype(dtype).itemsize)
        np.random.seed(size)
        assert curandom.rand(size, dtype).get().tobytes() == bits
    for dtype, unsigned, keep in ("e", "u2", 11), ("f", "u4", 24), ("d", "u8", 53):
        bits = np.frombuffer(philox_bytes(size, size * np.dtype(dtype).itemsize), unsigned)
        np.random.seed(size)
        got = curandom.rand((size, 1), dtype).get()[:, 0]
        drop = bits.itemsize * 8 - keep
        assert (got.astype(np.float64) * 2.0**keep == bits >> np.array(drop, unsigned)).all()


def test_rand_takes_shapes_names_and_streams():
    assert curandom.rand(5).dtype == np.float32
    assert curandom.rand((2, 3, 4), "float64").shape == (2, 3, 4)
    assert curandom.rand((0, 3)).shape == (0, 3) and curandom.rand(()).shape == ()
    stream = drv.Stream()
    np.random.seed(3)
    with_stream = curandom.rand(1000, np.int32, stream=stream)
    stream.synchronize()
    np.random.seed(3)
    assert (with_stream.get() == curandom.rand(1000, np.int32).get()).all()
    assert (curandom.rand(1000, np.int32).get() != with_stream.get()).any()


@pytest.mark.parametrize("dtype", [np.complex64, bool, "S3", ">f4", [("a", "f4")]])
def test_rand_refuses_other_dtypes(dtype):
    with pytest.raises(NotImplementedError, match="rand makes"):
        curandom.rand(3, np.dtype(dtype))


def test_floats_are_below_one():
    for dtype in "efd":
        x = curandom.rand(300_000, dtype).get()
        assert x.min() >= 0 and x.max() < 1


# ---- generators


@pytest.mark.parametrize("cls", ALL)
def test_attributes_of_generators(cls):
    generator = new(cls)
    count = generator.block_count * generator.generators_per_block
    assert count == (65536 if cls in PSEUDO else 256)
    assert generator.generator_bits == (64 if "64" in cls.__name__ and cls in QUASI else 32)
    assert generator.has_box_muller == (cls in PSEUDO)
    assert generator.state_type.startswith("curandState")
    assert isinstance(generator.state, gpuarray.GPUArray) and generator.module.get_function("skip")
    assert isinstance(generator.generators["uniform_float"], drv.Function)


def test_seed_getters():
    np.random.seed(8)
    uniform, unique = curandom.seed_getter_uniform(n=10).get(), curandom.seed_getter_unique(n=1000).get()
    assert uniform.dtype == unique.dtype == np.int32
    assert len(set(uniform.tolist())) == 1 and len(set(unique.tolist())) > 990
    np.random.seed(8)
    assert (curandom.seed_getter_uniform(10).get() == uniform).all()
    first = XORWOW(curandom.seed_getter_uniform).gen_uniform(100, np.uint32).get()
    np.random.seed(8)
    assert (XORWOW(curandom.seed_getter_uniform).gen_uniform(100, np.uint32).get() != first).all()
    assert curandom.get_curand_version() >= (3, 2, 0)


def test_default_seeds_are_numpys():
    for cls in PSEUDO:
        np.random.seed(3)
        one = cls().gen_uniform(50, np.float32).get()
        np.random.seed(3)
        assert (cls().gen_uniform(50, np.float32).get() == one).all()


@pytest.mark.parametrize("cls", PSEUDO)
def test_a_number_as_a_seed(cls):
    def numbers(seed):
        return cls(seed).gen_uniform(50, np.uint32).get()

    assert (numbers(5) == numbers(np.int64(5))).all()
    assert (numbers(5) == numbers(np.random.SeedSequence(5))).all()
    assert (numbers(5) != numbers(6)).any() and len(set(numbers(5))) > 40
    with pytest.raises(ValueError):
        cls(-1)
    for wrong in (0.5, "5", [5]):
        with pytest.raises(TypeError, match="seed_getter must be a function"):
            cls(wrong)


@pytest.mark.parametrize("cls", PSEUDO)
def test_wrong_seeds(cls):
    for wrong in (
        lambda n: np.zeros(n, np.int32),
        lambda n: gpuarray.zeros(n, np.uint32),
        lambda n: gpuarray.zeros(n - 1, np.int32),
    ):
        with pytest.raises(TypeError, match="seed_getter"):
            cls(wrong)
    with pytest.raises(ValueError, match="cannot skip"):
        cls(counting, -1)


def test_a_change_of_the_seeds_after_construction_has_no_effect():
    kept = []

    def getter(n):
        kept.append(counting(n))
        return kept[0]

    generator = XORWOW(getter)
    kept[0].fill(0)
    expected = new(XORWOW).gen_uniform(100, np.uint32).get()
    assert (generator.gen_uniform(100, np.uint32).get() == expected).all()


def test_wrong_directions():
    for cls, wide in zip(QUASI, (False, False, True, True), strict=True):
        good = curandom.generate_direction_vectors(256, 103 if wide else 101)
        cls(good)
        other = curandom.generate_direction_vectors(256, 101 if wide else 103)
        for wrong in (good.get(), other, good[:255], good.reshape(-1)):
            with pytest.raises(TypeError, match="dir_vector"):
                cls(wrong)
        if "Scrambled" in cls.__name__:
            with pytest.raises(TypeError, match="scramble_vector"):
                cls(good, gpuarray.zeros(255, good.dtype))
            with pytest.raises(TypeError, match="scramble_vector"):
                cls(good, gpuarray.zeros(256, np.float32))


@pytest.mark.parametrize("cls", ALL)
def test_dtypes_that_a_generator_refuses(cls):
    generator = new(cls)
    wide = generator.generator_bits == 64
    allowed = {
        "uniform": "fdiI" + "qQ" * wide, "normal": "fd", "log_normal": "fd", "poisson": "fdI",
    }  # fmt: skip
    for method, codes in allowed.items():
        args = {"log_normal": (0, 1), "poisson": (3.0,)}.get(method, ())
        for dtype in map(np.dtype, "efdbBhHiIqQFD?"):
            if dtype.char in codes:
                continue
            with pytest.raises(NotImplementedError):
                getattr(generator, f"gen_{method}")(5, dtype, *args)
            if dtype.char in "eqQ":
                with pytest.raises(NotImplementedError):
                    getattr(generator, f"fill_{method}")(gpuarray.empty(5, dtype), *args)
    assert generator.gen_uniform((2, 3), "uint32").dtype == np.uint32
    assert generator.gen_uniform(4, np.int32).dtype == np.int32
    with pytest.raises(TypeError, match="GPUArray"):
        generator.fill_uniform(np.zeros(4, np.float32))


@pytest.mark.parametrize("cls", ALL)
def test_raw_outputs(cls):
    """gen_raw() and fill_raw() give the numbers of gen_uniform() of integers, by default unsigned and of the
    generator's size."""
    one, other = new(cls), new(cls)
    word = np.dtype(f"u{cls.generator_bits // 8}")
    raw = one.gen_raw((3, 5))
    assert raw.dtype == word and raw.shape == (3, 5)
    assert (raw.get() == other.gen_uniform((3, 5), word).get()).all()
    signed = gpuarray.empty(7, np.dtype(f"i{word.itemsize}"))
    one.fill_raw(signed)
    assert (signed.get().view(word) == other.gen_raw(7).get()).all()
    for dtype in np.float32, np.uint16, "U3":
        with pytest.raises(NotImplementedError, match="does not support such numbers of dtype"):
            one.gen_raw(3, dtype)


@pytest.mark.parametrize("cls", PSEUDO)
def test_skips_by_arrays_have_pycudas_parameter_name(cls):
    generator = new(cls)
    times = gpuarray.zeros(generator.block_count * generator.generators_per_block, np.uint32)
    for name in dir(generator):
        if name.startswith("call_skip_ahead") and name.endswith("_array"):
            getattr(generator, name)(i_gpu=times)


@pytest.mark.parametrize("cls", ALL)
def test_fill_gives_the_numbers_of_gen(cls):
    """fill_uniform() writes to addresses of any alignment, on a stream, and to strided arrays, and nothing
    else."""
    expected = new(cls).gen_uniform((61, 40), np.float32).get()
    stream = drv.Stream()
    for shift in 0, 1, 2:
        memory = gpuarray.zeros(61 * 40 + 8, np.float32)
        new(cls).fill_uniform(memory[shift : shift + 61 * 40], stream=stream)
        stream.synchronize()
        got = memory.get()
        assert (got[shift : shift + 61 * 40] == expected.ravel()).all()
        assert not got[:shift].any() and not got[shift + 61 * 40 :].any()
    strided = gpuarray.zeros((61, 80), np.float32)
    new(cls).fill_uniform(strided[:, ::2])
    got = strided.get()
    assert (got[:, ::2] == expected).all() and not got[:, 1::2].any()


@pytest.mark.parametrize("cls", ALL)
def test_a_second_call_continues_where_the_first_ended(cls):
    """Two calls for whole rounds have the numbers of one call for both, even on different streams."""
    count = 4 * 65536
    both = new(cls).gen_uniform(2 * count, np.uint32).get()
    generator = new(cls)
    first = generator.gen_uniform(count, np.uint32, drv.Stream())
    second = generator.gen_uniform(count, np.uint32, drv.Stream())
    third = generator.gen_uniform(count, np.uint32)
    drv.Context.synchronize()
    assert (first.get() == both[:count]).all() and (second.get() == both[count:]).all()
    assert (third.get() != second.get()).any()


@pytest.mark.parametrize(
    "method, dtype", [("uniform", np.uint32), ("normal", np.float64), ("poisson", np.float32)]
)
def test_many_rounds_at_once(method, dtype):
    """Philox's rounds are divided among blocks: one call for many rounds has the numbers of a call for each
    round."""
    args = (3.0,) if method == "poisson" else ()
    counts = [65536 * 4] * 33 + [65536 * 2 + 7]
    one, other = new(PHILOX), new(PHILOX)
    whole = getattr(one, f"gen_{method}")(sum(counts), dtype, *args).get()
    parts = [getattr(other, f"gen_{method}")(count, dtype, *args).get() for count in counts]
    assert (whole == np.concatenate(parts)).all()
    assert (one.state.get() == other.state.get()).all()


@pytest.mark.parametrize("cls", ALL)
def test_empty_arrays_and_skips_by_0_change_no_state(cls):
    generator = new(cls)
    before = generator.state.get()
    assert generator.gen_uniform((0, 3), np.float32).shape == (0, 3)
    generator.fill_normal(gpuarray.empty(0, np.float64))
    generator.call_skip_ahead(0)
    assert (generator.state.get() == before).all()


@pytest.mark.parametrize("cls", ALL)
def test_wrong_skips(cls):
    generator = new(cls)
    count = generator.block_count * generator.generators_per_block
    names = [name for name in dir(generator) if name.startswith("call_skip_ahead")]
    assert len(names) == {XORWOW: 4, PHILOX: 4, MRG: 6}.get(cls, 2)
    for name in names:
        call = getattr(generator, name)
        if name.endswith("_array"):
            with pytest.raises(TypeError):
                call(np.zeros(count, np.int64))
            with pytest.raises(TypeError):
                call(gpuarray.zeros(count, np.float32))
            with pytest.raises(ValueError, match="generators"):
                call(gpuarray.zeros(count + 1, np.uint32))
        else:
            with pytest.raises(TypeError):
                call(1.5)
            for wrong in -1, 1 << 64:
                with pytest.raises(ValueError, match="cannot skip"):
                    call(wrong)


@pytest.mark.parametrize("cls", ALL)
def test_a_skip_is_like_drawing_as_many_numbers(cls):
    one, other = new(cls), new(cls)
    count = 65536 * 4
    one.gen_uniform(count * 3, np.uint32)
    other.call_skip_ahead(12 if cls in PSEUDO else 3 * count // 256)
    assert (one.gen_uniform(3000, np.uint32).get() == other.gen_uniform(3000, np.uint32).get()).all()


# Hashes of raw and uniform numbers, which exact operations make: they are the same on every device.
HASHES = {
    "XORWOWRandomNumberGenerator": "1a820f541a7a4626",
    "MRG32k3aRandomNumberGenerator": "fbb676ebee1ca6a3",
    "Philox4x32_10RandomNumberGenerator": "2fa09f66f14e5b89",
    "Sobol32RandomNumberGenerator": "9214b1536ce52953",
    "ScrambledSobol32RandomNumberGenerator": "cbb02a1d3cb2e1fc",
    "Sobol64RandomNumberGenerator": "f07fc8c0192ab2ef",
    "ScrambledSobol64RandomNumberGenerator": "525249282ae1a0fe",
}


@pytest.mark.parametrize("cls", ALL)
def test_numbers_have_the_recorded_hashes(cls):
    """A generator's numbers must not change between versions."""
    generator = new(cls)
    digest = hashlib.sha256()
    for size, dtype in (1000, np.uint32), (777, np.float32), (10_001, np.float64), (3, np.uint32):
        digest.update(generator.gen_uniform(size, dtype).get().tobytes())
    assert digest.hexdigest()[:16] == HASHES[cls.__name__]


# ---- direction vectors


def test_direction_vectors():
    kind = curandom.direction_vector_set
    narrow = curandom.generate_direction_vectors(481, kind.VECTOR_32).get()
    wide = curandom.generate_direction_vectors(481, kind.VECTOR_64).get()
    assert narrow.shape == (481, 32) and narrow.dtype == np.uint32
    assert wide.shape == (481, 64) and wide.dtype == np.uint64
    assert (narrow == (wide[:, :32] >> np.uint64(32))).all()
    assert narrow[0].tolist() == [1 << (31 - k) for k in range(32)]
    # Vector k has bit 31 - k as its lowest bit: so the first 2^32 points are all different.
    for k in range(32):
        assert (narrow[:, k] >> np.uint32(31 - k) & 1 == 1).all()
        assert ((narrow[:, k] & np.uint32((1 << (31 - k)) - 1)) == 0).all()
    assert curandom.generate_direction_vectors(0).shape == (0, 32)
    with pytest.raises(ValueError):
        curandom.generate_direction_vectors(-1)
    with pytest.raises(ValueError, match="direction_vector_set"):
        curandom.generate_direction_vectors(1, 7)


def test_direction_vectors_are_curands():
    if sobol.library() is None:
        pytest.skip("libcurand is not installed (the package nvidia-curand has it)")
    whole = curandom.generate_direction_vectors(20_002, curandom.direction_vector_set.VECTOR_64).get()
    assert (whole[:481] == sobol.vectors(481)).all()
    assert (whole[20_000:] == whole[:2]).all()


def test_more_than_481_dimensions_need_libcurand(monkeypatch):
    sobol._from_library.cache_clear()
    monkeypatch.setattr(sobol, "library", lambda: None)
    assert curandom.get_curand_version() == (10, 4, 5)
    assert curandom.generate_direction_vectors(481).shape == (481, 32)
    with pytest.raises(RuntimeError, match="libcurand"):
        curandom.generate_direction_vectors(482)


def test_the_first_points_are_evenly_distributed():
    """Each of 2^k equal intervals has one of the first 2^k numbers of a dimension."""
    for cls in QUASI:
        x = cls().gen_uniform((256, 256), np.uint32).get()
        for k in 3, 8:
            cells = np.sort(x[: 1 << k] >> np.uint32(32 - k), axis=0)
            assert (cells == np.arange(1 << k)[:, None]).all()
    constants = curandom.generate_scramble_constants64(20_003).get()
    assert constants.dtype == np.uint64 and (constants[20_000:] == constants[:3]).all()
    assert len(set(constants.tolist())) == 20_000
    assert (curandom.generate_scramble_constants32(5).get() == constants[:5] >> np.uint64(32)).all()


@pytest.mark.gpu("needs 9 GB, and takes minutes")
def test_more_than_2_to_the_31_elements():
    size = 2**31 + 4 * 65536 + 3
    big = curandom.rand(size, np.uint8)
    assert big[-(1 << 20) :].get().mean() > 120
    del big
    for cls in ALL:
        data = gpuarray.zeros(size, np.uint32)
        new(cls).fill_uniform(data)
        tail = data[-(4 * 65536 + 3) :].get()
        ahead = new(cls)
        ahead.call_skip_ahead(2**31 // 65536 if cls in PSEUDO else 2**31 // 256)
        assert (ahead.gen_uniform(tail.size, np.uint32).get() == tail).all()
        del data


def test_arrays_of_other_layouts_are_filled():
    """One in Fortran order in the order of its memory; a strided one of means; one with two axes."""
    expected = new(PHILOX).gen_normal(35, np.float64).get()
    data = gpuarray.zeros((5, 7), np.float64, order="F")
    new(PHILOX).fill_normal(data)
    assert (data.get().ravel("F") == expected).all()
    column = gpuarray.to_gpu(np.zeros(3, np.float32))
    means = gpuarray.to_gpu(np.full((6, 6), 1000, np.uint32))[::2, ::-1]
    new(PHILOX).fill_poisson(means)
    assert (abs(means.get().astype(int) - 1000) < 200).all()
    new(PHILOX).fill_uniform(column.reshape(3, 1))
    assert (column.get() == new(PHILOX).gen_uniform(3, np.float32).get()).all()


def test_a_block_of_a_stream_waits_for_the_default_stream(monkeypatch):
    """A generator that was used on the default stream and is used on another makes the latter wait for an
    event. It is recorded in LEGACY_DEFAULT_STREAM: None would mean the block's own stream. Events are
    replaced to note the stream.
    """
    streams, event = [], drv.Event

    class Event:
        def __init__(self, flags):
            self.flags = flags

        def record(self, stream):
            streams.append(stream)
            return event(self.flags).record(stream)

    monkeypatch.setattr(_driver, "Event", Event)
    generator, data = PHILOX(counting), gpuarray.zeros(100, np.float32)
    generator.fill_uniform(data)
    with drv.Stream(1):
        generator.fill_uniform(data)
    assert streams == [drv.LEGACY_DEFAULT_STREAM]
