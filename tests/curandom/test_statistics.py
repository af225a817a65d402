"""Statistical tests of the numbers of rand() and of generators. Seeds are fixed, so that results do not
change from run to run.

With other seeds, good numbers would exceed a limit in about one of ten thousand cases.
"""

import math

import numpy as np
import pytest

import pycuda.curandom as curandom
import pycuda.gpuarray as gpuarray

pytestmark = pytest.mark.usefixtures("primary_context", "fresh_caches")

SIZE = 200_000
LIMIT = 4.0  # in standard deviations
KOLMOGOROV_LIMIT = 2.23  # of kolmogorov()
PSEUDO = [
    curandom.XORWOWRandomNumberGenerator,
    curandom.MRG32k3aRandomNumberGenerator,
    curandom.Philox4x32_10RandomNumberGenerator,
]
QUASI = [
    curandom.Sobol32RandomNumberGenerator,
    curandom.ScrambledSobol32RandomNumberGenerator,
    curandom.Sobol64RandomNumberGenerator,
    curandom.ScrambledSobol64RandomNumberGenerator,
]


def new(cls, seed=11):
    """A generator of this class that makes the same numbers each time."""
    if cls in QUASI:
        return cls(offset=1)  # the first point of a plain sequence is 0 everywhere
    np.random.seed(seed)
    return cls()


def normal_cdf(x):
    """The distribution function of the standard normal distribution."""
    return 0.5 * np.array([math.erfc(-each / math.sqrt(2)) for each in x])


def kolmogorov(probabilities):
    """The statistic of Kolmogorov and Smirnov times the square root of the size. For numbers that are
    uniformly distributed it exceeds KOLMOGOROV_LIMIT in one of 10^4 cases.
    """
    p = np.sort(probabilities)
    rank = np.arange(len(p) + 1) / len(p)
    return max((rank[1:] - p).max(), (p - rank[:-1]).max()) * math.sqrt(len(p))


def chi_square(counts, expected):
    """The chi-square statistic as standard deviations of a normal number (Wilson and Hilferty)."""
    counts, expected = np.asarray(counts, float), np.asarray(expected, float)
    degrees = len(counts) - 1
    ratio = ((counts - expected) ** 2 / expected).sum() / degrees
    return (ratio ** (1 / 3) - 1 + 2 / (9 * degrees)) / math.sqrt(2 / (9 * degrees))


def correlation(x, lag):
    """The correlation of numbers `lag` places apart, in standard deviations."""
    x = (x - x.mean()) / x.std()
    return (x[lag:] * x[:-lag]).sum() / math.sqrt(len(x) - lag)


def check_uniform(x):
    """Assert that the numbers are uniformly distributed between 0 and 1, alone and in pairs, and not
    correlated.
    """
    x = x.astype(np.float64)
    assert x.min() >= 0 and x.max() <= 1
    assert kolmogorov(x) < KOLMOGOROV_LIMIT
    counts = np.bincount((x * 1024).astype(int).clip(0, 1023))
    assert abs(chi_square(counts, np.full(1024, len(x) / 1024))) < LIMIT
    # Serial test: pairs, in 32 x 32 cells.
    cells = (x * 32).astype(int).clip(0, 31)
    pairs = np.bincount(cells[0::2] * 32 + cells[1::2], minlength=1024)
    assert abs(chi_square(pairs, np.full(1024, len(x) / 2048))) < LIMIT
    for lag in 1, 2, 3, 4, 7, 128, 1024:
        assert abs(correlation(x, lag)) < LIMIT, lag


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_rand(dtype):
    np.random.seed(2)
    x = curandom.rand(SIZE, dtype).get().astype(np.float64)
    # float16 numbers are multiples of 2**-11: as multiples plus a half they are spread evenly.
    check_uniform(x + (2.0**-12 if dtype is np.float16 else 0))


def test_bits_of_rand():
    """Each bit is set in half of the words, and no two bits of a word are correlated."""
    np.random.seed(4)
    words = curandom.rand(SIZE, np.uint32).get()
    bits = np.unpackbits(words.view(np.uint8), bitorder="little").reshape(SIZE, 32).astype(np.float32)
    assert np.abs(bits.sum(0) - SIZE / 2).max() < LIMIT * math.sqrt(SIZE / 4)
    together = (2 * bits - 1).T @ (2 * bits - 1)
    np.fill_diagonal(together, 0)
    assert np.abs(together).max() < 5 * math.sqrt(SIZE)


@pytest.mark.parametrize("cls", PSEUDO)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_uniform(cls, dtype):
    check_uniform(new(cls).gen_uniform(SIZE, dtype).get())


@pytest.mark.parametrize("cls", PSEUDO)
def test_one_generator_over_time(cls):
    """A generator's own sequence, round after round, without the other generators."""
    generator = new(cls)
    x = generator.gen_uniform(65536 * 4 * 16, np.float32).get().reshape(16, 65536, 4)
    check_uniform(np.ascontiguousarray(x[:, ::5].transpose(1, 0, 2)).ravel())


@pytest.mark.parametrize("cls", PSEUDO)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normal(cls, dtype):
    x = new(cls, 5).gen_normal(SIZE, dtype).get().astype(np.float64)
    check_uniform(normal_cdf(x))
    # (power, its mean, its variance) for a normal number
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((x**power).mean() - mean) < LIMIT * math.sqrt(variance / SIZE)


@pytest.mark.parametrize("cls", PSEUDO + QUASI)
def test_log_normal_is_of_normal(cls):
    for dtype, tolerance in (np.float32, 3e-6), (np.float64, 1e-14):
        normal = new(cls).gen_normal(5000, dtype).get().astype(np.float64)
        log_normal = new(cls).gen_log_normal(5000, dtype, 0.5, 0.25).get()
        assert np.allclose(log_normal, np.exp(0.5 + 0.25 * normal), rtol=tolerance, atol=0)


def poisson_pmf(mean):
    """(first count, the probabilities of it and the counts after it). Counts further than 12 standard
    deviations from the mean, whose probability is negligible, are left out.
    """
    first = max(0, int(mean - 12 * math.sqrt(mean) - 12))
    counts = range(first, int(mean + 12 * math.sqrt(mean) + 30))
    return first, np.array([math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in counts])


@pytest.mark.parametrize("mean", [0.01, 1.0, 10.0, 63.9, 64.0, 500.0, 1e5])
@pytest.mark.parametrize("cls", [PSEUDO[1], PSEUDO[2]])
def test_poisson(cls, mean):
    x = new(cls, 21).gen_poisson(SIZE, np.uint32, mean).get().astype(np.int64)
    assert abs(x.mean() - mean) < LIMIT * math.sqrt(mean / SIZE)
    assert abs(x.var() - mean) < LIMIT * math.sqrt((mean + 2 * mean**2) / SIZE)
    first, p = poisson_pmf(mean)
    # Cells of neighboring counts, each expected for at least 50 numbers: cell i begins with the count
    # edges[i].
    edges, sums = [first], [0.0]
    for k, each in enumerate(p, first):
        sums[-1] += each * SIZE
        if sums[-1] > 50:
            edges.append(k + 1)
            sums.append(0.0)
    rest = sums.pop()
    sums[-1] += rest
    counts = np.bincount(np.searchsorted(edges[:-1], x, "right") - 1, minlength=len(sums))
    if len(sums) > 2:
        assert abs(chi_square(counts, sums)) < LIMIT


@pytest.mark.parametrize("mean", [0.5, 5.0, 40.0, 64.0, 80.0, 300.0, 4000.0, 1e6])
@pytest.mark.parametrize("cls", QUASI)
def test_poisson_is_the_inverse(cls, mean):
    """Quasi-random counts are the inverse distribution function of the uniform numbers: never falling, and
    off by one only where a number is at the border between two counts.
    """
    u = new(cls).gen_uniform(20_000, np.float64).get()
    x = new(cls).gen_poisson(20_000, np.float64, mean).get()
    first, p = poisson_pmf(mean)
    expected = first + np.searchsorted(np.cumsum(p), u)
    assert (np.diff(x[np.argsort(u)]) >= 0).all()
    assert np.abs(x - expected).max() <= 1
    assert (x != expected).mean() <= 2e-3


@pytest.mark.parametrize("cls", PSEUDO[:2] + QUASI[:1])
def test_poisson_of_each_element(cls):
    means = np.tile([0, 0.25, 3, 50, 100, 1000, -1, np.nan], 4000)
    for dtype in np.float32, np.float64, np.uint32:
        given = np.nan_to_num(np.maximum(means, 0)) if dtype is np.uint32 else means
        data = gpuarray.to_gpu(given.astype(dtype))
        new(cls, 6).fill_poisson(data)
        got = data.get().astype(np.float64).reshape(4000, 8)
        assert (got == got.round()).all() and not got[:, [0, 6, 7]].any()
        expected = given.astype(dtype).astype(float)[1:6]
        assert (np.abs(got[:, 1:6].mean(0) - expected) <= LIMIT * np.sqrt(expected / 4000)).all()
        same = new(cls, 6).gen_poisson(32_000, dtype, float(expected[3])).get().reshape(4000, 8)
        assert (same[:, 4] == got[:, 4]).all()
    with pytest.raises(ValueError, match="lambda_value"):
        new(cls).gen_poisson(3, np.uint32, -1)
    with pytest.raises(ValueError, match="lambda_value"):
        new(cls).gen_poisson(3, np.uint32, float("inf"))


@pytest.mark.parametrize("cls", QUASI)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sobol_is_even(cls, dtype):
    """Means over each of 256 dimensions are nearer to 1/2 than those of random numbers would be."""
    generator = cls()
    points = 4096
    x = generator.gen_uniform((points, 256), dtype).get().astype(np.float64)
    error = np.abs(x.mean(0) - 0.5)
    assert error.max() < 5e-4  # random numbers: 1.5e-2 in the worst of 256
    for a, b in (0, 1), (3, 9), (100, 200):
        row, column = ((x[:, d] * 16).astype(int).clip(0, 15) for d in (a, b))
        assert np.abs(np.bincount(row * 16 + column, minlength=256) - 16).max() < 16
    normal = cls(offset=1).gen_normal((points, 256), dtype).get().astype(np.float64)
    assert np.isfinite(normal).all()
    assert np.abs(normal.mean(0)).max() < 5e-3 and np.abs(normal.var(0) - 1).max() < 2e-2
