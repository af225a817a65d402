# pycuda.numpy.special: cbrt digamma entr erf erfc erfcinv erfcx erfinv exp10 exp2 expit expm1 gamma gammaln
# pycuda.numpy.special: i0 i0e i1 i1e j0 j1 log1p log_expit log_ndtr loggamma logit ndtr ndtri psi y0 y1
import numpy as np
import pycuda.autoinit
import pycuda.numpy as xp

x = xp.array([0.25, 0.5, 0.75])
assert np.allclose(xp.special.erf(x).get(), [0.27632639, 0.52049988, 0.71115563])
assert np.allclose(xp.special.gamma(x).get(), [3.62560991, 1.77245385, 1.22541670])
assert np.allclose(xp.special.erfinv(xp.special.erf(x)).get(), x.get())
assert np.allclose(xp.special.expit(xp.special.logit(x)).get(), x.get())

# pycuda.numpy.special: beta betaln kl_div rel_entr xlogy xlog1py gammainc gammaincc yn zeta polygamma
# pycuda.numpy.special: betainc fdtr fdtrc multigammaln
import numpy as np
import pycuda.autoinit
import pycuda.numpy as xp

a, b = xp.array([1.0, 2.0, 3.0]), xp.array([0.5, 1.5, 2.5])
assert np.allclose(xp.special.beta(a, 1).get(), [1, 1 / 2, 1 / 3])
assert np.allclose((xp.special.gammainc(a, b) + xp.special.gammaincc(a, b)).get(), 1)
assert np.allclose(xp.special.xlogy(0, b).get(), 0)
assert np.allclose(xp.special.betainc(a, 1, 0.5).get(), [0.5, 0.25, 0.125])
