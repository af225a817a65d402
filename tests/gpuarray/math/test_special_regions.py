"""scipy.special's ufuncs on GPUArrays in every region that is computed in its own way, and at their edges."""

import numpy as np
import pytest

from pycuda import gpuarray

special = pytest.importorskip("scipy.special")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of SciPy, about poles

COUNT = 2000
RNG = np.random.default_rng(11)


def line(low, high):
    return RNG.uniform(low, high, COUNT)


def decades(low, high):
    return 10 ** RNG.uniform(low, high, COUNT)


def signed(low, high):
    return decades(low, high) * RNG.choice([-1, 1], COUNT)


def near(x, low, high):
    """x and numbers at relative distances of these decades."""
    return x, x * (1 + signed(low, high))


# The operands, and how far results may be off in units in the last place, of float and of double: of the
# result, or of 1 if that is larger ("zero"). None where SciPy's own results in double are off.
REGIONS = {
    "erfc": [((line(-11, 11),), 6, 120), ((signed(-30, 1),), 6, 120)],
    "erfcx": [((line(-9.3, 9),), 6, 60), ((decades(0, 38),), 4, 4)],
    "ndtr": [((line(-15, 15),), 6, 400), ((signed(-30, 1),), 6, 200)],
    "log_ndtr": [((signed(-30, 1.5),), 8, 800), ((line(-2, 2),), 8, 60)],
    "logit": [((decades(-44, -0.5),), 3, 3), ((line(0.25, 0.35),), 4, 6), ((0.5 + signed(-8, -1),), 3, 3)],
    "rel_entr": [((decades(-18, 18), decades(-18, 18)), 4, 4), (near(decades(-30, 30), -7, -0.3), 4, 4)],
    "kl_div": [((decades(-18, 18), decades(-18, 18)), 5, None), (near(decades(-3, 3), -2, -0.3), 7, None)],
    "i0e": [((signed(-30, 30),), 4, 10), ((line(-10, 10),), 4, 10)],
    "i1e": [((signed(-30, 30),), 4, 16), ((line(-10, 10),), 4, 16)],
    "psi": [
        ((decades(-37, 37),), 3, 30),
        ((line(0.5, 2.5),), 4, 30),
        ((line(1.45, 1.47),), 3, 1e3),
        ((line(-30, 0),), 8, 1e4, "zero"),
    ],
}

for _name in ("gammainc", "gammaincc"):
    _a, _huge = decades(1, 6), decades(6, 13)
    REGIONS[_name] = [
        ((line(0, 10), line(0, 10)), 12, 1000),
        ((decades(-6, 0), decades(-6, 0)), 12, 1000),
        ((decades(-4, 1.5), decades(-4, 2)), 12, 1000),
        ((_a, _a * (1 + line(-3, 3) / np.sqrt(_a))), 10, 40000),
        ((_huge, _huge * (1 + line(-4, 4) / np.sqrt(_huge))), 10, None),
    ]
_p, _q = decades(3, 5), decades(3, 5)
REGIONS["betainc"] = [
    ((decades(-3, 3), decades(-3, 3), line(0, 1)), 24, None),
    ((line(0, 2), line(0, 2), line(0, 1)), 14, None),
    ((decades(0, 3), decades(0, 3), decades(-6, 0)), 14, None),
    ((decades(-2, 1), decades(-3, 0), 1 - decades(-7, -1)), 30, None),
    ((_p, _q, (_p + line(-3, 3) * np.sqrt(_p * _q / (_p + _q))) / (_p + _q)), 40, 4e4),
]
for _name, _more in (("beta", ()), ("betaln", ("zero",))):
    REGIONS[_name] = [
        ((decades(-36, 1), decades(-36, 1)), 9, 60, *_more),
        ((line(0, 3), line(0, 3)), 9, 60, *_more),
        ((decades(0, 4), decades(-2, 1)), 9, None, *_more),
        ((line(-20, 20), line(-20, 20)), 9, 1e4, *_more),
    ]
for _name in ("gammaln", "loggamma"):
    REGIONS[_name] = [((decades(-37, 37),), 4, 10, "zero"), ((line(0.5, 3.5),), 4, None)]
REGIONS["gamma"] = [((line(-36, 36),), 6, 60), ((signed(-37, 0),), 5, 5), ((line(0.5, 4),), 6, 10)]
REGIONS["gammaln"] += [((line(-10, 0),), 8, 60, "zero")]
REGIONS["_zeta"] = [
    ((1 + decades(-4, 1), decades(-30, 8)), 8, None),
    ((1 + decades(-4, 1), decades(-3, 8)), 8, 100),
    ((line(1, 5), line(0, 5)), 8, 10),
    ((decades(0, 2), decades(-2, 3)), 8, 10),
]
for _name in ("y0", "y1"):
    REGIONS[_name] = [
        ((decades(-38, 0),), 7, 30, "zero"),
        ((line(4.5, 5.5),), 4, 100, "zero"),
        ((decades(1, 7),), 4, None, "zero"),
    ]
CASES = [
    (name, k, char)
    for name, rows in REGIONS.items()
    for k, row in enumerate(rows)
    for char in "fd"
    if row[1 + (char == "d")]
]


@pytest.mark.parametrize("name,row,char", CASES)
def test_errors_are_within_the_regions_bound(name, row, char):
    """The bounds are in units in the last place, one for float32 and one for float64."""
    operands, *bounds = REGIONS[name][row]
    operands = [each.astype(char) for each in operands]
    function = getattr(special._ufuncs if name == "_zeta" else special, name)
    want = function(*[each.astype(float) for each in operands])
    got = function(*map(gpuarray.to_gpu, operands)).get()
    ordinary = np.isfinite(want.astype(char))
    np.testing.assert_array_equal(got[~ordinary], want.astype(char)[~ordinary])
    # "zero": the function has zeros, near which the bound is of the absolute error
    least = 1 if "zero" in bounds else np.finfo(char).tiny
    unit = np.spacing(np.maximum(abs(want[ordinary]), least).astype(char)).astype(float)
    off = abs(got[ordinary].astype(float) - want[ordinary]) / unit
    worst = off.argmax()
    assert off[worst] <= bounds[char == "d"], [each[ordinary][worst] for each in operands]
