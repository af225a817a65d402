"""A call of each public function of SciPy that SciPy declares to accept arrays of any library.

A row is a function's name in scipy and the call. Names of one letter are the arrays of HOST, made by NumPy or
by pycuda.numpy; `xp` is that namespace.
"""

import numpy as np

# Versions of SciPy whose functions are all below.
KNOWN = {(1, 18)}

_drawn = np.random.default_rng(5)
HOST = {
    "m": np.array([[3, 1, 2, 5], [0.5, 4, -1, 2], [7, -3, 1, 0.25]]),
    "s": np.array([[2, 1, 0], [1, 3, -1], [0, -1, 4]], np.float64),
    "p": _drawn.gamma(2.0, size=(4, 12)),  # positive
    "v": _drawn.normal(size=24),
    "w": _drawn.normal(0.5, 2, size=24),
    "x": np.linspace(0.1, 0.9, 9),
    "y": np.linspace(0, 2, 33),
    "f": _drawn.normal(size=(4, 10)).astype(np.float32),
    "c": _drawn.normal(size=(4, 10)) + 1j * _drawn.normal(size=(4, 10)),
    "i": np.array([3, 0, 2, 1, 3, 3, 2]),
    "q": np.array([0.25, 0.5, 0.75]),
    "r": np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.5, -0.5, 0.5], [0, 0, 0.6, 0.8]]),  # rotations
    "o": np.array([[1, 2, 1, 1, 0.3, 0.2], [2, 1, 0.5, 1, -0.4, 0.1]]),  # second-order sections of a filter
    "z": np.array([[0, 1, 0.5, 2], [2, 3, 1.0, 2], [4, 5, 2.5, 4]]),  # a linkage of 4 observations
}

CALLS = """
cluster.hierarchy.correspond cluster.hierarchy.correspond(z, x[:6])
cluster.hierarchy.is_isomorphic cluster.hierarchy.is_isomorphic(i, 5 - i)
cluster.hierarchy.is_monotonic cluster.hierarchy.is_monotonic(z)
cluster.hierarchy.is_valid_im cluster.hierarchy.is_valid_im(xp.abs(z))
cluster.hierarchy.is_valid_linkage cluster.hierarchy.is_valid_linkage(z)
cluster.hierarchy.num_obs_linkage cluster.hierarchy.num_obs_linkage(z)
cluster.hierarchy.to_mlab_linkage cluster.hierarchy.to_mlab_linkage(z)
cluster.hierarchy.to_tree cluster.hierarchy.to_tree(z).pre_order()
cluster.vq.whiten cluster.vq.whiten(p)
constants.convert_temperature constants.convert_temperature(m, "Celsius", "Kelvin")
constants.lambda2nu constants.lambda2nu(p)
constants.nu2lambda constants.nu2lambda(p)
differentiate.derivative differentiate.derivative(xp.exp, x)
differentiate.hessian differentiate.hessian(optimize.rosen, q)
differentiate.jacobian differentiate.jacobian(lambda t: xp.stack([t[0] * t[1], xp.sin(t[2])]), q)
fft.fft fft.fft(c)
fft.fft2 fft.fft2(c, norm="ortho")
fft.fftn fft.fftn(f)
fft.hfft fft.hfft(c)
fft.hfft2 fft.hfft2(c)
fft.hfftn fft.hfftn(c)
fft.ifft fft.ifft(c, n=16)
fft.ifft2 fft.ifft2(c)
fft.ifftn fft.ifftn(c, axes=(0,))
fft.ihfft fft.ihfft(f)
fft.ihfft2 fft.ihfft2(f)
fft.ihfftn fft.ihfftn(f)
fft.irfft fft.irfft(c)
fft.irfft2 fft.irfft2(c)
fft.irfftn fft.irfftn(c)
fft.rfft fft.rfft(f)
fft.rfft2 fft.rfft2(f)
fft.rfftn fft.rfftn(m)
fft.fht fft.fht(p, 0.1, 2.0)
fft.ifht fft.ifht(p, 0.1, 2.0)
fft.fftfreq fft.fftfreq(8, 0.1, xp=xp)
fft.fftshift fft.fftshift(m, axes=1)
fft.ifftshift fft.ifftshift(m)
fft.rfftfreq fft.rfftfreq(8, 0.1, xp=xp)
integrate.cubature integrate.cubature(lambda t: xp.sum(t, axis=-1) ** 2, q - 1, q)
integrate.cumulative_simpson integrate.cumulative_simpson(p, dx=0.5)
integrate.cumulative_trapezoid integrate.cumulative_trapezoid(p, axis=0, initial=0)
integrate.fixed_quad integrate.fixed_quad(xp.exp, xp.asarray(0.0), xp.asarray(1.0), n=4)
integrate.qmc_quad integrate.qmc_quad(lambda t: xp.exp(-t), xp.asarray(0.0), xp.asarray(1.0), \
qrng=stats.qmc.Halton(1, rng=1))
integrate.romb integrate.romb(y)
integrate.simpson integrate.simpson(p, axis=1)
integrate.trapezoid integrate.trapezoid(p, dx=0.5)
integrate.nsum integrate.nsum(lambda k: 1 / k**2, xp.asarray(1.0), xp.asarray(xp.inf))
integrate.tanhsinh integrate.tanhsinh(xp.exp, x, x + 1)
interpolate.RBFInterpolator interpolate.RBFInterpolator(m[:, :2], m[:, 2])(p[:, :2])
linalg.orthogonal_procrustes linalg.orthogonal_procrustes(p[:, :3], p[:, 3:6])
linalg.block_diag linalg.block_diag(m, s)
linalg.fiedler linalg.fiedler(x)
optimize.elementwise.bracket_minimum optimize.elementwise.bracket_minimum(lambda t: (t - 2.5) ** 2, x)
optimize.elementwise.bracket_root optimize.elementwise.bracket_root(lambda t: t**3 - 5, x)
optimize.elementwise.find_minimum optimize.elementwise.find_minimum(lambda t: (t - 0.2) ** 2, \
(x - 1, x - 0.8, x + 1))
optimize.elementwise.find_root optimize.elementwise.find_root(lambda t, c: t**3 - c, (x - 1, x + 1), \
args=(x,)).x
optimize.rosen optimize.rosen(m)
optimize.rosen_der optimize.rosen_der(q)
optimize.rosen_hess optimize.rosen_hess(q)
optimize.rosen_hess_prod optimize.rosen_hess_prod(q, q + 1)
signal.besselap signal.besselap(4, xp=xp)
signal.buttap signal.buttap(4, xp=xp)
signal.cheb1ap signal.cheb1ap(4, 1, xp=xp)
signal.cheb2ap signal.cheb2ap(4, 20, xp=xp)
signal.ellipap signal.ellipap(4, 1, 20, xp=xp)
signal.freqz_zpk signal.freqz_zpk(x, x / 2, 2.0)
signal.gammatone signal.gammatone(440, "iir", fs=16000, xp=xp)
signal.iircomb signal.iircomb(50, 30, fs=1000, xp=xp)
signal.iirnotch signal.iirnotch(60, 30, fs=1000, xp=xp)
signal.iirpeak signal.iirpeak(60, 30, fs=1000, xp=xp)
signal.abcd_normalize signal.abcd_normalize(s, s[:, :1], s[:1], s[:1, :1])
signal.impulse signal.impulse((x[:1], x[:3]), T=y)
signal.savgol_coeffs signal.savgol_coeffs(7, 2, xp=xp)
signal.choose_conv_method signal.choose_conv_method(v, x)
signal.envelope signal.envelope(v)
signal.filtfilt signal.filtfilt(x[:2], xp.asarray([1.0, 0.5]), v)
signal.get_window signal.get_window(("kaiser", 4.0), 8, xp=xp)
signal.hilbert signal.hilbert(f)
signal.hilbert2 signal.hilbert2(m)
signal.gauss_spline signal.gauss_spline(x, 3)
signal.sawtooth signal.sawtooth(y * 8, x[4])
signal.square signal.square(y * 8, x[4])
sparse.linalg.LinearOperator sparse.linalg.LinearOperator((3, 3), matvec=lambda t: s @ t, dtype=s.dtype, \
xp=xp).matvec(q)
sparse.linalg.aslinearoperator sparse.linalg.aslinearoperator(s) @ q
spatial.transform.RigidTransform RigidTransform.from_components(q, Rotation.from_quat(r)).apply(q)
spatial.transform.Rotation Rotation.from_quat(r).as_euler("zyx")
spatial.transform.Slerp spatial.transform.Slerp(q, Rotation.from_quat(r))(q * 0.9 + 0.05).as_matrix()
special.chdtr special.chdtr(x, p[:, :9])
special.chdtrc special.chdtrc(x, p[:, :9])
special.entr special.entr(p)
special.erf special.erf(f)
special.erfc special.erfc(f)
special.erfinv special.erfinv(x)
special.expit special.expit(m)
special.gammainc special.gammainc(x, p[:, :9])
special.gammaincc special.gammaincc(x, p[:, :9])
special.gammaln special.gammaln(p)
special.i0 special.i0(m)
special.i0e special.i0e(m)
special.i1 special.i1(m)
special.i1e special.i1e(m)
special.log_ndtr special.log_ndtr(m)
special.logit special.logit(x)
special.multigammaln special.multigammaln(p + 2, 3)
special.ndtr special.ndtr(m)
special.ndtri special.ndtri(x)
special.polygamma special.polygamma(2, p)
special.psi special.psi(p)
special.rel_entr special.rel_entr(x, q[1])
special.xlog1py special.xlog1py(x, p[:, :9])
special.xlogy special.xlogy(x, p[:, :9])
special.zeta special.zeta(p + 1.5, x[0])
special.log_softmax special.log_softmax(m, axis=1)
special.logsumexp special.logsumexp(m, axis=0, b=xp.abs(m))
special.softmax special.softmax(f, axis=-1)
stats.bws_test stats.bws_test(v, w, method=stats.PermutationMethod(n_resamples=99, \
rng=np.random.default_rng(1)))
stats.chatterjeexi stats.chatterjeexi(v, w)
stats.siegelslopes stats.siegelslopes(v, w)
stats.theilslopes stats.theilslopes(v, w)
stats.differential_entropy stats.differential_entropy(p, axis=1)
stats.entropy stats.entropy(p, axis=1)
stats.epps_singleton_2samp stats.epps_singleton_2samp(v, w)
stats.bartlett stats.bartlett(v, w)
stats.boxcox_llf stats.boxcox_llf(0.5, p)
stats.circmean stats.circmean(p, axis=1)
stats.circstd stats.circstd(p)
stats.circvar stats.circvar(p, axis=0)
stats.directional_stats stats.directional_stats(m)
stats.false_discovery_control stats.false_discovery_control(x)
stats.fligner stats.fligner(v, w)
stats.kstat stats.kstat(v, 3)
stats.kstatvar stats.kstatvar(v, 2)
stats.mood stats.mood(v, w)
stats.shapiro stats.shapiro(v)
stats.yeojohnson_llf stats.yeojohnson_llf(0.5, v)
stats.estimated_cdf stats.estimated_cdf(v, q)
stats.quantile stats.quantile(p, q, axis=1, keepdims=True)
stats.bootstrap stats.bootstrap((v,), xp.mean, n_resamples=50, rng=np.random.default_rng(1))
stats.monte_carlo_test stats.monte_carlo_test(v, \
lambda size: xp.asarray(np.random.default_rng(1).normal(size=size)), xp.mean, n_resamples=50)
stats.permutation_test stats.permutation_test((v, w), \
lambda a, b, axis: xp.mean(a, axis=axis) - xp.mean(b, axis=axis), n_resamples=50, \
rng=np.random.default_rng(1))
stats.power stats.power(stats.normaltest, \
lambda size: xp.asarray(np.random.default_rng(1).normal(size=size)), \
xp.asarray(24), n_resamples=20)
stats.alexandergovern stats.alexandergovern(v, w, v + w)
stats.chisquare stats.chisquare(p, axis=1)
stats.cumfreq stats.cumfreq(v, 5)
stats.describe stats.describe(p, axis=1)
stats.expectile stats.expectile(v, 0.3)
stats.friedmanchisquare stats.friedmanchisquare(v, w, v * w)
stats.gmean stats.gmean(p, axis=1)
stats.gstd stats.gstd(p, axis=1)
stats.gzscore stats.gzscore(p)
stats.hmean stats.hmean(p, axis=1, weights=p)
stats.iqr stats.iqr(p, axis=1)
stats.jarque_bera stats.jarque_bera(v)
stats.kruskal stats.kruskal(v, w)
stats.kurtosis stats.kurtosis(p, axis=1, bias=False)
stats.kurtosistest stats.kurtosistest(v)
stats.median_abs_deviation stats.median_abs_deviation(p, axis=1)
stats.mode stats.mode(i)
stats.moment stats.moment(p, 3, axis=1)
stats.normaltest stats.normaltest(p, axis=1)
stats.obrientransform stats.obrientransform(v, w)
stats.pmean stats.pmean(p, 2.5, axis=0)
stats.power_divergence stats.power_divergence(p, axis=1, lambda_="log-likelihood")
stats.rankdata stats.rankdata(i)
stats.relfreq stats.relfreq(v, 5)
stats.sem stats.sem(p)
stats.sigmaclip stats.sigmaclip(v, 1.5, 1.5)
stats.skew stats.skew(f, axis=1)
stats.skewtest stats.skewtest(v)
stats.tmax stats.tmax(v, 1.0)
stats.tmean stats.tmean(v, (-1, 1))
stats.tmin stats.tmin(v, -1.0)
stats.trim_mean stats.trim_mean(v, 0.1)
stats.tsem stats.tsem(v, (-1, 1))
stats.tstd stats.tstd(v, (-1, 1))
stats.tvar stats.tvar(v, (-1, 1))
stats.zmap stats.zmap(v, w)
stats.zscore stats.zscore(f, axis=1, nan_policy="omit")
stats.variation stats.variation(p, axis=1)
"""

# SciPy marks these as for the CPU alone.
MARKED_AS_CPU = """
signal.bilinear_zpk signal.bilinear_zpk(x[:2], -x[:3], 1.0, 2.0)
signal.buttord signal.buttord(x[1], x[2], 3, 40)
signal.cheb1ord signal.cheb1ord(x[1], x[2], 3, 40)
signal.cheb2ord signal.cheb2ord(x[1], x[2], 3, 40)
signal.fftconvolve signal.fftconvolve(v, x)
signal.findfreqs signal.findfreqs(x[:3], x[:3] + 1, 8)
signal.freqs signal.freqs(x[:3], x[:3] + 1, worN=y)
signal.freqs_zpk signal.freqs_zpk(x[:2], -x[:3], 2.0, worN=y)
signal.freqz signal.freqz(x[:3], x[:3] + 1, worN=y)
signal.freqz_sos signal.freqz_sos(o, worN=y)
signal.lfiltic signal.lfiltic(x[:2], x[:3] + 1, v)
signal.lp2bp signal.lp2bp(x[:2], x[:3] + 1, 2.0, 0.5)
signal.lp2bp_zpk signal.lp2bp_zpk(x[:2], -x[:3], 1.0, 2.0, 0.5)
signal.lp2bs signal.lp2bs(x[:2], x[:3] + 1, 2.0, 0.5)
signal.lp2bs_zpk signal.lp2bs_zpk(x[:2], -x[:3], 1.0, 2.0, 0.5)
signal.lp2hp signal.lp2hp(x[:2], x[:3] + 1, 2.0)
signal.lp2hp_zpk signal.lp2hp_zpk(x[:2], -x[:3], 1.0, 2.0)
signal.lp2lp signal.lp2lp(x[:2], x[:3] + 1, 2.0)
signal.lp2lp_zpk signal.lp2lp_zpk(x[:2], -x[:3], 1.0, 2.0)
signal.minimum_phase signal.minimum_phase(y[:5] * (2 - y[:5]) + 1)
signal.normalize signal.normalize(x[:2], x[:3] + 1)
signal.oaconvolve signal.oaconvolve(v, x)
signal.resample signal.resample(v, 12)
signal.sos2tf signal.sos2tf(o)
signal.sos2zpk signal.sos2zpk(o)
signal.tf2zpk signal.tf2zpk(x[:3], x[:3] + 1)
signal.vectorstrength signal.vectorstrength(v, x[4] * 4)
signal.zpk2tf signal.zpk2tf(x[:2], -x[:3], 1.0)
special.betaincc special.betaincc(p[:, :9], x, x)
special.stdtr special.stdtr(p[:, :9], x - 0.5)
special.stdtrit special.stdtrit(p[:, :9] + 1, x)
stats.brunnermunzel stats.brunnermunzel(v, w)
stats.combine_pvalues stats.combine_pvalues(x)
stats.f_oneway stats.f_oneway(v, w, v + w)
stats.levene stats.levene(v, w)
stats.linregress stats.linregress(v, w)
stats.mannwhitneyu stats.mannwhitneyu(v, w, method="asymptotic")
stats.pearsonr stats.pearsonr(v, w)
stats.pointbiserialr stats.pointbiserialr(v > 0, w)
stats.ttest_1samp stats.ttest_1samp(v, 0.1)
stats.ttest_ind stats.ttest_ind(v, w)
stats.ttest_ind_from_stats stats.ttest_ind_from_stats(x[1], x[2], 10, x[3], x[4], 12)
stats.ttest_rel stats.ttest_rel(v, w)
"""
# special.NAME(arguments): more functions that SciPy marks as for the CPU alone; pycuda.numpy.special has
# them.
SPECIAL = {
    "betainc": "x, x[4], x", "betaln": "p[:, :9], x", "cbrt": "m", "erfcx": "m", "exp10": "x", "exp2": "x",
    "fdtr": "x[4], x, p[:, :9]", "fdtrc": "x[4], x, p[:, :9]", "gamma": "p", "j0": "p", "j1": "p",
    "kl_div": "p[:, :9], x", "loggamma": "p", "y0": "p", "y1": "p", "yn": "2, p",
}  # fmt: skip

# signal.windows.NAME(arguments, xp=xp); general_cosine has no xp, since it has an array operand.
WINDOWS = {
    "chebwin": "8, 60", "exponential": "8, tau=3.0", "gaussian": "8, 2.0", "general_cosine": "8, q",
    "general_gaussian": "8, 1.5, 2.0", "general_hamming": "8, 0.6", "get_window": '("kaiser", 4.0), 8',
    "kaiser": "8, 4.0", "kaiser_bessel_derived": "8, 4.0",
}  # fmt: skip
_PLAIN = """barthann bartlett blackman blackmanharris bohman boxcar cosine flattop hamming hann lanczos
nuttall parzen taylor triang tukey"""
WINDOWS |= dict.fromkeys(_PLAIN.split(), "8")


def _rows(text):
    """{name: call} from lines "name call"."""
    return dict(row.split(" ", 1) for row in text.strip().splitlines())


def calls():
    """{name: call} of the functions that SciPy marks as supporting the array API."""
    rows = _rows(CALLS)
    for name, arguments in WINDOWS.items():
        more = "" if name == "general_cosine" else ", xp=xp"
        rows[f"signal.windows.{name}"] = f"signal.windows.{name}({arguments}{more})"
    return rows


def marked_as_cpu():
    """{name: call} of functions that work although SciPy marks them as for the CPU alone."""
    return _rows(MARKED_AS_CPU) | {
        f"special.{name}": f"special.{name}({row})" for name, row in SPECIAL.items()
    }
