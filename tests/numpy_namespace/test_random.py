"""pycuda.numpy.random: numbers by seed, distributions, parameters, permutations and choices. Seeds are fixed,
so that results do not change from run to run; with other seeds about one in ten thousand would exceed the
limits.
"""

import math

import numpy as np
import pytest

import pycuda.driver as drv
import pycuda.numpy as xp
from pycuda import gpuarray
from pycuda.numpy.random import Generator, SeedSequence, default_rng

SIZE = 20_000
SEED = 2718


@pytest.fixture
def rng(primary_context):
    """A new generator with the same seed for every test."""
    return default_rng(SEED)


def philox(counter, key):
    """Philox4x32-10 of Salmon, Moraes, Dror and Shaw: four random words for a counter (4 words) and a key
    (2)."""
    c, k = list(counter), list(key)
    for _ in range(10):
        x, z = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(z >> 32) ^ c[1] ^ k[0], z & 0xFFFFFFFF, (x >> 32) ^ c[3] ^ k[1], x & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def words(seed, call, index):
    """The four words of a block of numbers, by its index, of a generator's call, numbered from 0."""
    return philox((index, 0, call, 0), map(int, SeedSequence(seed).generate_state(2)))


def bits(seed, call, index, half=0):
    """The first (half=0) or last 64 bits of these words."""
    block = words(seed, call, index)
    return block[2 * half] | block[2 * half + 1] << 32


# ---- numbers by seed


def test_numbers_are_philoxs_of_seed_call_and_index(primary_context):
    """Doubles have the upper 53 of 64 bits, floats the upper 24 of 32; integers in a range the upper half of
    64 bits times the range's size.
    """
    rng = default_rng(99)
    for call in range(3):
        got = rng.random(1000).get()
        for i in (0, 1, 255, 256, 999):
            assert got[i] == (bits(99, call, i // 2, i % 2) >> 11) * 2.0**-53
    assert rng.random(10, np.float32).get()[7] == np.float32((words(99, 3, 1)[3] >> 8) * 2.0**-24)
    assert rng.integers(0, 1 << 64, 4, np.uint64).get()[2] == bits(99, 4, 2)
    assert rng.integers(-10, 90, 4).get()[1] == -10 + (bits(99, 5, 1) * 100 >> 64)


def test_equal_seeds_give_equal_numbers(primary_context):
    want = default_rng(3).normal(size=5).get()
    for seed in (3, [3], np.array([3]), SeedSequence(3), np.int64(3)):
        assert (default_rng(seed).normal(size=5).get() == want).all()
    assert not (default_rng(4).normal(size=5).get() == want).any()
    assert not (default_rng().normal(size=5).get() == default_rng().normal(size=5).get()).any()
    rng = default_rng(3)
    assert default_rng(rng) is rng and isinstance(rng, Generator) and rng.seed_sequence.entropy == 3
    children = rng.spawn(2) + [rng]
    assert len({float(each.random()) for each in children}) == 3
    for wrong in (-1, "seed", 1.5):
        with pytest.raises((ValueError, TypeError)):
            default_rng(wrong)
    with pytest.raises(TypeError, match="default_rng"):
        Generator(3)


def test_numbers_depend_neither_on_the_shape_nor_on_the_stream(rng):
    twin = default_rng(SEED)  # draws the numbers of rng
    assert (rng.gamma(0.5, size=(300, 7)).get().ravel() == twin.gamma(0.5, size=2100).get()).all()
    stream = drv.Stream()
    with stream:
        other = rng.poisson(3, 100)
    assert (other.get() == twin.poisson(3, 100).get()).all()


def test_each_launch_of_a_graph_has_other_numbers(rng):
    stream, out = drv.Stream(), xp.zeros(64)
    rng.random(out=out)  # compiles
    drv.Context.synchronize()
    with stream.capture() as graph:
        rng.random(out=out)
    run, seen = graph.instantiate(), []
    for _ in range(3):
        run.launch(stream)
        stream.synchronize()
        seen.append(out.get())
    assert all(each.min() >= 0 and each.max() < 1 for each in seen)
    assert len({tuple(each) for each in seen}) == 3


# ---- distributions


def distance(values, distribution):
    """The Kolmogorov-Smirnov distance of values from a distribution function, times the square root of their
    number: it is above 2.2 with a probability of 1 in 10,000."""
    values = np.sort(values)
    below = np.array([distribution(each) for each in values])
    steps = np.arange(values.size + 1) / values.size
    return max(abs(below - steps[1:]).max(), abs(below - steps[:-1]).max()) * math.sqrt(values.size)


def normal_below(x):
    """The distribution function of the standard normal distribution."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


# By name: (draws SIZE numbers, the distribution function).
CONTINUOUS = {
    "random": (lambda rng: rng.random(SIZE), lambda x: x),
    "random float32": (lambda rng: rng.random(SIZE, np.float32), lambda x: x),
    "uniform": (lambda rng: rng.uniform(-1, 3, SIZE), lambda x: (x + 1) / 4),
    "standard_normal": (lambda rng: rng.standard_normal(SIZE), normal_below),
    "standard_normal float32": (lambda rng: rng.standard_normal(SIZE, np.float32), normal_below),
    "normal": (lambda rng: rng.normal(5, 2, SIZE), lambda x: normal_below((x - 5) / 2)),
    "lognormal": (lambda rng: rng.lognormal(1, 0.5, SIZE), lambda x: normal_below((math.log(x) - 1) / 0.5)),
    "standard_exponential": (lambda rng: rng.standard_exponential(SIZE), lambda x: 1 - math.exp(-x)),
    "standard_exponential float32": (
        lambda rng: rng.standard_exponential(SIZE, np.float32),
        lambda x: 1 - math.exp(-x),
    ),
    "exponential": (lambda rng: rng.exponential(3, SIZE), lambda x: 1 - math.exp(-x / 3)),
    "gamma 1": (lambda rng: rng.gamma(1, 2, SIZE), lambda x: 1 - math.exp(-x / 2)),
    "gamma 2": (lambda rng: rng.standard_gamma(2, SIZE), lambda x: 1 - math.exp(-x) * (1 + x)),
    "gamma 1/2": (lambda rng: rng.gamma(0.5, 1, SIZE), lambda x: math.erf(math.sqrt(x))),
    "chisquare": (lambda rng: rng.chisquare(4, SIZE), lambda x: 1 - math.exp(-x / 2) * (1 + x / 2)),
    "laplace": (
        lambda rng: rng.laplace(1, 2, SIZE),
        lambda x: math.exp((x - 1) / 2) / 2 if x < 1 else 1 - math.exp((1 - x) / 2) / 2,
    ),
    "logistic": (lambda rng: rng.logistic(1, 2, SIZE), lambda x: 1 / (1 + math.exp((1 - x) / 2))),
    "gumbel": (lambda rng: rng.gumbel(1, 2, SIZE), lambda x: math.exp(-math.exp((1 - x) / 2))),
    "rayleigh": (lambda rng: rng.rayleigh(2, SIZE), lambda x: 1 - math.exp(-x * x / 8)),
    "weibull": (lambda rng: rng.weibull(3, SIZE), lambda x: 1 - math.exp(-(x**3))),
    "pareto": (lambda rng: rng.pareto(3, SIZE), lambda x: 1 - (1 + x) ** -3.0),
    "power": (lambda rng: rng.power(3, SIZE), lambda x: x**3),
    "standard_cauchy": (lambda rng: rng.standard_cauchy(SIZE), lambda x: 0.5 + math.atan(x) / math.pi),
    "standard_t": (lambda rng: rng.standard_t(2, SIZE), lambda x: 0.5 + x / (2 * math.sqrt(2 + x * x))),
    "dirichlet": (lambda rng: rng.dirichlet([1, 2, 1], SIZE)[:, 0], lambda x: 1 - (1 - x) ** 3),
    "beta 1 3": (lambda rng: rng.beta(1, 3, SIZE), lambda x: 1 - (1 - x) ** 3),
    "beta 1/2 1/2": (lambda rng: rng.beta(0.5, 0.5, SIZE), lambda x: 2 / math.pi * math.asin(math.sqrt(x))),
    "beta 0.1 1": (lambda rng: rng.beta(0.1, 1, SIZE), lambda x: x**0.1),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_distributions(rng, name):
    draw, distribution = CONTINUOUS[name]
    values = draw(rng)
    assert values.dtype == ("float32" if "float32" in name else "float64")
    assert distance(values.get().astype(float), distribution) < 2.2


def binomial(n, p):
    """The function that returns the probability of k successes in n trials."""

    def probability(k):
        if k > n:
            return 0
        choices = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        return math.exp(choices + k * math.log(p) + (n - k) * math.log1p(-p))

    return probability


# By name: (draws SIZE numbers, the function that returns the probability of a number).
DISCRETE = {
    "integers": (lambda rng: rng.integers(-3, 4, SIZE), lambda k: 1 / 7 if -3 <= k < 4 else 0),
    "integers int8": (lambda rng: rng.integers(5, size=SIZE, dtype=np.int8), lambda k: 0.2 if k < 5 else 0),
    "integers endpoint": (lambda rng: rng.integers(1, 6, SIZE, endpoint=True), lambda k: 1 / 6),
    "integers bool": (lambda rng: rng.integers(0, 2, SIZE, bool), lambda k: 0.5),
    "binomial small": (lambda rng: rng.binomial(20, 0.15, SIZE), binomial(20, 0.15)),
    "binomial large": (lambda rng: rng.binomial(100, 0.4, SIZE), binomial(100, 0.4)),
    "binomial, p > 1/2": (lambda rng: rng.binomial(60, 0.8, SIZE), binomial(60, 0.8)),
    "poisson": (lambda rng: rng.poisson(3, SIZE), lambda k: math.exp(-3) * 3**k / math.factorial(k)),
    "poisson large": (
        lambda rng: rng.poisson(100, SIZE), lambda k: math.exp(k * math.log(100) - 100 - math.lgamma(k + 1))
    ),
    "geometric": (lambda rng: rng.geometric(0.3, SIZE), lambda k: 0.3 * 0.7 ** (k - 1) if k > 0 else 0),
    "negative_binomial": (
        lambda rng: rng.negative_binomial(2, 0.4, SIZE), lambda k: (k + 1) * 0.4**2 * 0.6**k
    ),
    "choice": (
        lambda rng: rng.choice(4, SIZE, p=[0.1, 0.2, 0.3, 0.4]), lambda k: (k + 1) / 10 if k < 4 else 0
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_distributions(rng, name):
    """Pearson's chi-squared test of the values that are expected more than 20 times, with all other values as
    one. Its limit is some standard deviations above the mean, which is the number of degrees of freedom. No
    value without a probability is drawn.
    """
    draw, probability = DISCRETE[name]
    values, counts = np.unique(draw(rng).get().astype(int), return_counts=True)
    possible = values if "integers" in name else range(max(values.min() - 2, 0), values.max() + 3)
    expected = {int(k): SIZE * probability(int(k)) for k in possible}
    often = {k for k, number in expected.items() if number > 20}
    found = dict(zip(values.tolist(), counts.tolist(), strict=True))
    total = sum((found.get(k, 0) - expected[k]) ** 2 / expected[k] for k in often)
    rest = SIZE - sum(expected[k] for k in often)
    if rest > 1:
        total += (SIZE - sum(found.get(k, 0) for k in often) - rest) ** 2 / rest
    degrees_of_freedom = len(often) - (rest <= 1)
    assert total < degrees_of_freedom + 4 * math.sqrt(2 * degrees_of_freedom) + 8
    assert all(expected.get(k, 0) > 0 for k in found)


def test_large_binomial_numbers(rng):
    n, p = 10**12, 0.3
    values = rng.binomial(n, p, SIZE).get()
    assert abs((values - n * p).mean()) < 4 * math.sqrt(n * p * (1 - p) / SIZE)
    assert abs(values.std() / math.sqrt(n * p * (1 - p)) - 1) < 4 / math.sqrt(2 * SIZE)


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
def test_normal_vectors(rng, factorizations, method):
    mean, cov = [1.0, -2, 0], [[2, 0.5, 0], [0.5, 1, -0.3], [0, -0.3, 0.5]]
    values = rng.multivariate_normal(mean, cov, (100, 200), method=method)
    assert values.shape == (100, 200, 3)
    found = values.get().reshape(-1, 3)
    assert abs(found.mean(0) - mean).max() < 0.05 and abs(np.cov(found.T) - cov).max() < 0.1
    assert rng.multivariate_normal(mean, cov).shape == (3,)


def test_covariances_are_checked(rng, factorizations):
    bad = [[1.0, 2], [2, 1]]
    with pytest.warns(RuntimeWarning, match="positive-semidefinite"):
        rng.multivariate_normal([0, 0], bad)
    with pytest.raises(ValueError, match="positive-semidefinite"):
        rng.multivariate_normal([0, 0], bad, check_valid="raise", method="eigh")
    assert rng.multivariate_normal([0, 0], bad, check_valid="ignore").shape == (2,)
    with pytest.raises(ValueError, match="same length"):
        rng.multivariate_normal([0, 0, 0], bad)


# ---- parameters


def test_parameters_broadcast(rng):
    assert rng.normal([0.0, 100], [[1.0], [2], [3]]).shape == (3, 2)
    assert rng.normal(xp.asarray([0.0, 100]), 1, (5, 2)).get().mean(0).round(-2).tolist() == [0, 100]
    assert rng.integers([0, 10, 20], [1, 11, 21]).get().tolist() == [0, 10, 20]
    assert rng.integers(xp.asarray([-5, 5]), 6, (4, 2)).get().min(0).tolist() >= [-5, 5]
    assert rng.binomial([0, 5], [0.5, 1.0]).get().tolist() == [0, 5]
    assert rng.uniform([0, 5], [0, 5]).get().tolist() == [0, 5]
    assert rng.laplace([0, 1], [[1.0], [2]]).shape == rng.weibull([[1.0, 2]], (2, 2)).shape == (2, 2)
    assert rng.geometric([1.0, 0.5], (4, 2)).get()[:, 0].tolist() == [1, 1, 1, 1]
    assert np.allclose(rng.dirichlet([1, 2, 3], (4, 2)).sum(axis=-1).get(), 1)
    for draw in (
        rng.random,
        rng.normal,
        lambda: rng.gamma(2),
        lambda: rng.poisson(),
        lambda: rng.integers(3),
    ):
        assert isinstance(draw(), gpuarray.GPUArray) and draw().shape == ()
    assert rng.random((2, 0, 3)).shape == (2, 0, 3) and rng.random(4).shape == (4,)
    with pytest.raises(ValueError, match="broadcast"):
        rng.normal([0, 1], size=3)


def test_invalid_parameters(rng):
    """Parameters in host memory raise; those on the device are not read by the host and give NaN."""
    for call, text in [
        (lambda: rng.normal(0, -1), "scale < 0"), (lambda: rng.exponential([1, -1]), "scale < 0"),
        (lambda: rng.gamma(-1), "shape < 0"), (lambda: rng.beta(0, 1), "a <= 0"),
        (lambda: rng.binomial(-1, 0.5), "n < 0"), (lambda: rng.binomial(1, 1.5), "p < 0, p > 1 or p is NaN"),
        (lambda: rng.poisson(-1), "lam < 0"), (lambda: rng.integers(5, 5), "low >= high"),
        (lambda: rng.integers(0, 300, 3, np.uint8), "high is out of bounds"),
        (lambda: rng.integers(-1, 3, 3, np.uint8), "low is out of bounds"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=text):
            call()
    for call in (
        lambda: rng.random(3, np.int32), lambda: rng.integers(0, 3, 3, float),
        lambda: rng.standard_normal(dtype=np.float16), lambda: rng.shuffle(np.arange(3)),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            call()
    found = rng.gamma(xp.asarray([-1.0, 0.0, 1.0])).get()
    assert math.isnan(found[0]) and found[1] == 0 and found[2] > 0


def test_out_has_the_numbers_of_a_new_array(rng):
    twin = default_rng(SEED)  # draws the numbers of rng
    out = xp.zeros((3, 4))[:, ::2]
    assert rng.random(out=out) is out
    assert (out.get().ravel() == twin.random(6).get()).all()
    with pytest.raises(ValueError):
        rng.random(4, out=out)
    with pytest.raises(TypeError):
        rng.standard_normal(out=xp.zeros(3, dtype=np.float32))


def test_extremes_of_integers(rng):
    assert rng.integers(-(2**63), 2**63, 1000).get().min() < -(2**61)
    assert rng.integers(0, 2**64, 1000, np.uint64).get().max() > 2**63
    assert rng.integers(-128, 127, 1000, np.int8, endpoint=True).get().min() < -100
    assert len(rng.bytes(5)) == 5


# ---- permutations and choices


def test_permutation_permuted_and_shuffle(rng):
    assert sorted(rng.permutation(50).get().tolist()) == list(range(50))
    rows = np.arange(12).reshape(6, 2)
    got = rng.permutation(rows).get()
    assert sorted(got.tolist()) == rows.tolist() and got.tolist() != rows.tolist()
    assert sorted(rng.permutation(rows, 1).get().T.tolist()) == rows.T.tolist()
    each = rng.permuted(np.tile(np.arange(20), (3, 1)), axis=1).get()
    assert (np.sort(each, 1) == np.arange(20)).all() and len({tuple(row) for row in each}) == 3
    assert sorted(rng.permuted(rows).get().ravel().tolist()) == list(range(12))
    x = xp.asarray(rows)
    assert rng.shuffle(x) is None
    assert sorted(x.get().tolist()) == rows.tolist()
    counts = np.zeros((3, 3))
    for _ in range(60):
        counts[np.arange(3), rng.permutation(3).get()] += 1
    assert counts.min() >= 5


def test_choice(rng):
    assert {*rng.choice(3, 100).get().tolist()} == {0, 1, 2}
    assert {*rng.choice([10, 20], (3, 40)).get().ravel().tolist()} == {10, 20}
    assert sorted(rng.choice(6, 6, replace=False).get().tolist()) == list(range(6))
    chosen = rng.choice(np.arange(10, 20), 4, replace=False).get()
    assert len({*chosen.tolist()}) == 4 and chosen.min() >= 10
    assert sorted(rng.choice(3, 2, replace=False, p=[0.5, 0, 0.5]).get().tolist()) == [0, 2]
    assert rng.choice(np.arange(12).reshape(3, 4), 2, axis=1).shape == (3, 2)
    assert rng.choice(5).shape == () and rng.choice(5, 0).shape == (0,)
    for call, text in [
        (lambda: rng.choice(3, 4, replace=False), "larger sample"), (lambda: rng.choice(0, 1), "empty"),
        (lambda: rng.choice(2, 1, p=[0.5, 0.6]), "sum to 1"),
        (lambda: rng.choice(2, 1, p=[1.0]), "same size"),
        (lambda: rng.choice(2, 1, p=[1.5, -0.5]), "negative"),
        (lambda: rng.choice(2, 2, False, [1, 0]), "Fewer non-zero"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=text):
            call()


def test_weighted_choices_without_replacement(rng):
    """The first choice has the probabilities p, the second one those of the rest, scaled to a sum of 1."""
    p = [0.6, 0.3, 0.1]
    pairs = [tuple(rng.choice(3, 2, replace=False, p=p).get().tolist()) for _ in range(300)]
    for first, second in {*pairs}:
        expected = 300 * p[first] * p[second] / (1 - p[first])
        assert abs(pairs.count((first, second)) - expected) < 4.5 * math.sqrt(expected)
