"""pycuda.numpy.special: ufuncs and functions with scipy.special's names, which do not need SciPy."""

import math
import pickle

import numpy as np
import pytest

import pycuda.numpy as xp
from pycuda.gpuarray import GPUArray

pytestmark = pytest.mark.usefixtures("primary_context")
HOST = np.linspace(0.1, 3, 12).reshape(3, 4)


def test_names_of_the_module():
    assert dir(xp.special) == xp.special.__all__ and len(xp.special.__all__) > 40
    for name in xp.special.__all__:
        function = getattr(xp.special, name)
        assert getattr(xp.special, name) is function and function.__doc__
        assert pickle.loads(pickle.dumps(function)) is function
    assert xp.special.digamma is xp.special.psi
    with pytest.raises(AttributeError, match=r"has no attribute 'kv'.*array\.get\(\)"):
        xp.special.kv  # noqa: B018


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of SciPy, about poles
def test_each_function_is_scipys():
    special = pytest.importorskip("scipy.special")
    for name in xp.special.__all__:
        ours, theirs = getattr(xp.special, name), getattr(special, name)
        if isinstance(ours, xp.ufunc):
            assert (ours.nin, ours.nout, ours.nargs) == (theirs.nin, theirs.nout, theirs.nargs), name
            operands = [HOST / (1 + HOST.max())] * ours.nin
        else:
            operands = {"zeta": (HOST + 1, HOST), "polygamma": (2, HOST), "multigammaln": (HOST + 2, 3)}[name]
        got = ours(*[xp.asarray(each) if isinstance(each, np.ndarray) else each for each in operands])
        assert type(got) is GPUArray
        np.testing.assert_allclose(got.get(), theirs(*operands), rtol=1e-11, err_msg=name)


@pytest.mark.parametrize("char", "?bhiIfdeF")
def test_dtypes_of_operands_and_results(char):
    host = np.array([0, 1, 1], char)
    if char == "F":
        with pytest.raises(TypeError, match="complex numbers is not implemented"):
            xp.special.erf(xp.asarray(host))
        return
    got = xp.special.erf(xp.asarray(host))
    assert got.dtype == ("f" if np.can_cast(host.dtype, "f") else "d")
    np.testing.assert_allclose(got.get(), [math.erf(each) for each in host], rtol=1e-6)


def test_keywords_and_host_data():
    a = xp.asarray(HOST)
    erf = np.vectorize(math.erf)(HOST)
    out = xp.empty((3, 4))
    assert xp.special.erf(a, out=out) is out
    np.testing.assert_allclose(out.get(), erf)
    xp.special.expit(a, out=out, where=a > 1)
    np.testing.assert_allclose(out.get(), np.where(HOST > 1, 1 / (1 + np.exp(-HOST)), erf))
    assert xp.special.erf(a.astype("f"), dtype="d").dtype == "d"
    np.testing.assert_allclose(xp.special.erf(HOST.tolist()).get(), erf)
    assert float(xp.special.erf(0.5)) == pytest.approx(math.erf(0.5))
    np.testing.assert_allclose(
        xp.special.xlogy.outer(a[0], a[0]).get(), np.multiply.outer(HOST[0], np.log(HOST[0]))
    )
    for wrong in (
        lambda: xp.special.xlogy(a),
        lambda: xp.special.erf("a"),
        lambda: xp.special.beta.reduce(a),
    ):
        with pytest.raises(TypeError):
            wrong()


def test_functions_of_several_ufuncs():
    x = xp.asarray([0.5, 1, 2])
    assert xp.special.zeta(x + 1.5).dtype == "d" and xp.special.zeta(x.astype("f"), 2).dtype == "f"
    np.testing.assert_allclose(xp.special.zeta(xp.asarray(2.0)).get(), math.pi**2 / 6)
    np.testing.assert_allclose(xp.special.polygamma(1, 1).get(), math.pi**2 / 6)
    np.testing.assert_allclose(xp.special.polygamma([0, 1], 1.0).get()[0], -np.euler_gamma)
    for a, d in ((x, 2), (3.0, 1.5), (3.0, 0)):
        with pytest.raises(ValueError, match="d must be|greater than"):
            xp.special.multigammaln(a, d)
