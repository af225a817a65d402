"""Every public function of NumPy and every method of its arrays: either it works on GPUArrays, and is called
here once and compared with NumPy, or it is listed below with the reason why it does not. The functions of
pycuda.numpy are called in the same way, with GPUArrays and with NumPy's arrays.

A name that is new in a version of NumPy fails `test_every_name_has_its_place`: put a row into FUNCTIONS,
UFUNCS, LINALG, FFT or METHODS, or the name into NOT_HERE. This file, run by python with
PYTHONPATH=tests:tests/gpuarray, rewrites the lists of docs/numpy.md.
"""

import contextlib
import copy
import operator
import pickle
import re
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import pytest
from against import check_memory, compare
from annotations import Checked
from devices import needs_library

import pycuda.numpy as xp
from pycuda import gpuarray
from pycuda._array.numpy_api import protocols
from pycuda._libraries.finding import LibraryNotFound

pytestmark = pytest.mark.usefixtures("primary_context")

# Versions of NumPy all of whose names are in the tables below.
KNOWN = {(2, 2), (2, 3), (2, 4)}

# The arrays that the calls name.
HOST = {
    "m": np.array([[3, 1, 2, 5], [0.5, 4, -1, 2], [7, -3, 1, 0]], np.float32),
    "s": np.array([[2, 1, 0], [1, 3, -1], [0, -1, 4]], np.float64),
    "v": np.array([3, 1, 2, 5], np.float32),
    "w": np.array([1, 2, 4, 8], np.float32),
    "u": np.array([0.25, -0.5, 0.75, 0.125]),
    "i": np.array([3, 0, 2, 1]),
    "j": np.array([1, 3, 2, 2], np.int32),
    "b": np.array([7, 200, 1, 0], np.uint8),
    "t": np.array([True, False, True, True]),
    "c": np.array([1 + 2j, 3 - 1j, -2 + 0.5j, 4], np.complex64),
    "n": np.array([[1, np.nan, 3], [np.nan, 5, 4]], np.float32),
    "x": np.linspace(0, 3, 7),
}

# A row is a name (with its module, in numpy.linalg and numpy.fft) and a call. In calls np is NumPy or
# pycuda.numpy.
FUNCTIONS = """
all np.all(t)
allclose np.allclose(m, m + 1e-9)
amax np.amax(m, axis=1)
amin np.amin(m, axis=0, keepdims=True)
angle np.angle(c, deg=True)
any np.any(t, axis=0)
append np.append(m, m, axis=0)
apply_along_axis np.apply_along_axis(np.sum, 1, m)
apply_over_axes np.apply_over_axes(np.sum, m, [0, 1])
arange np.arange(2, 10, 3, like=v)
argmax np.argmax(m, axis=1)
argmin np.argmin(m)
argpartition np.sort(np.argpartition(v, 1)[:2])
argsort np.argsort(m, axis=0)
argwhere np.argwhere(m > 1)
around np.around(m / 3, 2)
array np.array([1, 2, 3], like=v)
array2string np.array2string(m, precision=2)
array_equal np.array_equal(m, m)
array_equiv np.array_equiv(m, m[:1])
array_repr np.array_repr(m)
array_split np.array_split(v, 3)
array_str np.array_str(m)
asanyarray np.asanyarray([1.5, 2], like=v)
asarray np.asarray([[1, 2], [3, 4]], like=v)
ascontiguousarray np.ascontiguousarray(m.T, like=v)
asfortranarray np.asfortranarray(m, like=v)
astype np.astype(m, np.int32)
atleast_1d np.atleast_1d(m.max(), v)
atleast_2d np.atleast_2d(v)
atleast_3d np.atleast_3d(m)
average np.average(m, axis=1, weights=v)
bincount np.bincount(j, minlength=6)
block np.block([[m, m], [m[:1], m[:1]]])
broadcast_arrays np.broadcast_arrays(m, v)
broadcast_to np.broadcast_to(v, (3, 4))
can_cast np.can_cast(m.dtype, "f8")
choose np.choose(i, [v, w, v, w])
clip np.clip(m, 0, 3)
column_stack np.column_stack((v, w))
common_type np.common_type(m, s)
compress np.compress(t, m, axis=1)
concat np.concat((m, m))
concatenate np.concatenate((m, m), axis=1)
convolve np.convolve(v, w[:2])
copy np.copy(m.T, order="F")
copyto (np.copyto(m, v, where=t), m)
corrcoef np.corrcoef(m)
correlate np.correlate(v, w[:3], "same")
count_nonzero np.count_nonzero(m, axis=1)
cov np.cov(m, ddof=0)
cross np.cross(m[:, :3], s)
cumprod np.cumprod(m, axis=1)
cumsum np.cumsum(m)
cumulative_prod np.cumulative_prod(v)
cumulative_sum np.cumulative_sum(m, axis=1, include_initial=True)
delete np.delete(m, [0, 2], axis=1)
diag np.diag(v, 1)
diag_indices_from np.diag_indices_from(s)
diagflat np.diagflat(m[:, :2])
diagonal np.diagonal(m, 1)
diff np.diff(m, axis=0)
digitize np.digitize(v, [1, 2.5, 4])
dot np.dot(m, v)
dsplit np.dsplit(m[None], 2)
dstack np.dstack((v, w))
ediff1d np.ediff1d(m, to_begin=v[0])
einsum np.einsum("ij,jk->ki", m, m.T)
einsum_path np.einsum_path("ij,jk,kl->il", s, s, s)[0]
empty np.empty((2, 3), np.int8, like=v).shape
empty_like np.empty_like(m, shape=(2, 2)).shape
expand_dims np.expand_dims(m, (0, 2))
extract np.extract(m > 1, m)
eye np.eye(3, 4, 1, like=v)
fill_diagonal (np.fill_diagonal(s, 7), s)
fix np.fix(m / 2)
flatnonzero np.flatnonzero(m)
flip np.flip(m, 1)
fliplr np.fliplr(m)
flipud np.flipud(m)
frombuffer np.frombuffer(bytes(8), np.int32, like=v)
fromfile np.fromfile(file(bytes(8)), np.int32, like=v)
fromfunction np.fromfunction(lambda x, y: x * 2 + y, (2, 3), like=v)
fromiter np.fromiter(range(4), np.float32, like=v)
fromstring np.fromstring("1 2 3", sep=" ", like=v)
full np.full((2, 3), 7, like=v)
full_like np.full_like(m, 3, dtype=np.int16)
genfromtxt np.genfromtxt(["1 2", "3 4"], like=v)
geomspace np.geomspace(v, w * 3, 4)
gradient np.gradient(m, 0.5)
histogram np.histogram(m, 5)
histogram2d np.histogram2d(v, w, 3)
histogram_bin_edges np.histogram_bin_edges(m, 4)
histogramdd list(np.histogramdd(m, 3)[1])
hsplit np.hsplit(m, 2)
hstack np.hstack((m, m))
i0 np.i0(v)
identity np.identity(3, like=v)
imag np.imag(c)
in1d np.in1d(v, w)
inner np.inner(m, v)
insert np.insert(m, 1, v, axis=0)
interp np.interp(u, np.sort(v), w)
intersect1d np.intersect1d(v, w)
iscomplex np.iscomplex(c)
iscomplexobj np.iscomplexobj(c)
isclose np.isclose(m, m + 1e-7)
isfortran np.isfortran(m.T)
isin np.isin(m, v)
isneginf np.isneginf(m / 0)
isposinf np.isposinf(m / 0)
isreal np.isreal(c)
isrealobj np.isrealobj(m)
iterable np.iterable(m)
ix_ np.ix_(i, t)
kron np.kron(m[:2], s[:1])
lexsort np.lexsort((j, v))
linspace np.linspace(v, w, 5)
loadtxt np.loadtxt(["1 2", "3 4"], like=v)
logspace np.logspace(u, u + 1, 3)
matrix_transpose np.matrix_transpose(m)
max np.max(m)
may_share_memory np.may_share_memory(m, m[:1])
mean np.mean(m, axis=0)
median np.median(m, axis=1)
meshgrid np.meshgrid(v, w[:2], sparse=True)
min np.min(m, axis=(0, 1))
min_scalar_type np.min_scalar_type(m)
moveaxis np.moveaxis(m, 0, 1)
nan_to_num np.nan_to_num(n, nan=7)
nanargmax np.nanargmax(n, axis=1)
nanargmin np.nanargmin(n)
nancumprod np.nancumprod(n, axis=1)
nancumsum np.nancumsum(n)
nanmax np.nanmax(n, axis=0)
nanmean np.nanmean(n, axis=1)
nanmedian np.nanmedian(n, axis=1)
nanmin np.nanmin(n)
nanpercentile np.nanpercentile(n, 30, axis=1)
nanprod np.nanprod(n, axis=1)
nanquantile np.nanquantile(n, [0.2, 0.7], axis=0)
nanstd np.nanstd(n, axis=1)
nansum np.nansum(n, axis=0)
nanvar np.nanvar(n)
ndim np.ndim(m)
nonzero np.nonzero(m > 1)
ones np.ones((2, 2), np.int32, like=v)
ones_like np.ones_like(m)
outer np.outer(v, w)
packbits np.packbits(t)
pad np.pad(m, 1, mode="reflect")
partition np.partition(v, 1)[1]
percentile np.percentile(m, [25, 50], axis=1)
permute_dims np.permute_dims(m, (1, 0))
piecewise np.piecewise(v, [v < 2, v > 3], [-1, lambda x: x * 10, 7])
place (np.place(m, m > 1, v), m)
poly np.poly(v)
polyadd np.polyadd(v, [1, 2])
polyder np.polyder(v, 2)
polydiv np.polydiv(v, w[:2])
polyfit np.polyfit(x, x**2 + 1, 2)
polyint np.polyint(v, k=3)
polymul np.polymul(v, u)
polysub np.polysub(v[:2], w)
polyval np.polyval([1, 2, 3], v)
prod np.prod(m, axis=1)
ptp np.ptp(m, axis=0)
put (np.put(m, [0, 5], [9, 8]), m)
put_along_axis (np.put_along_axis(m, i[None, :1], 7, axis=1), m)
putmask (np.putmask(m, m > 1, v), m)
quantile np.quantile(m, 0.3, axis=0)
ravel np.ravel(m, order="F")
ravel_multi_index np.ravel_multi_index((i, i), (4, 5))
real np.real(c)
real_if_close np.real_if_close(v + 0j)
repeat np.repeat(m, 2, axis=1)
require np.require(m, np.float64, ["C"], like=v)
reshape np.reshape(m, (4, 3))
resize np.resize(v, (3, 3))
result_type np.result_type(m, s)
roll np.roll(m, 1, axis=0)
rollaxis np.rollaxis(m, 1)
rot90 np.rot90(m)
roots np.sort(np.roots(w))
round np.round(m / 3, 1)
row_stack np.row_stack((v, w))
save (np.save(file(), m), None)[1]
savetxt (np.savetxt(file(), m), None)[1]
savez (np.savez(file(), a=m), None)[1]
savez_compressed (np.savez_compressed(file(), m), None)[1]
searchsorted np.searchsorted(np.sort(v), w)
select np.select([v > 3, v > 1], [v, w], 7)
setdiff1d np.setdiff1d(v, w)
setxor1d np.setxor1d(v, w)
shape np.shape(m)
shares_memory np.shares_memory(m[:, ::2], m[:, 1::2])
sinc np.sinc(x)
size np.size(m, 1)
sort np.sort(m, axis=0)
sort_complex np.sort_complex(c)
split np.split(v, [1, 3])
squeeze np.squeeze(m[None], axis=0)
stack np.stack((m, m), axis=1)
std np.std(m, axis=1, ddof=1)
sum np.sum(m, axis=1, where=t)
swapaxes np.swapaxes(m, 0, 1)
take np.take(m, [2, 0], axis=1)
take_along_axis np.take_along_axis(m, i[None, :], axis=1)
tensordot np.tensordot(m, m, axes=([0, 1], [0, 1]))
tile np.tile(v, (2, 2))
trace np.trace(m)
transpose np.transpose(m)
trapezoid np.trapezoid(m, dx=0.5)
trapz np.trapz(m, dx=0.5)
tri np.tri(3, 4, like=v)
tril np.tril(m, -1)
tril_indices_from np.tril_indices_from(s)
trim_zeros np.trim_zeros(np.array([0, 0, 1, 0, 2, 0], like=v))
triu np.triu(m)
triu_indices_from np.triu_indices_from(s, 1)
union1d np.union1d(v, w)
unique np.unique(j)
unique_all tuple(np.unique_all(j))
unique_counts tuple(np.unique_counts(j))
unique_inverse tuple(np.unique_inverse(j))
unique_values np.sort(np.unique_values(j))
unpackbits np.unpackbits(b)
unravel_index np.unravel_index(i, (2, 2))
unstack np.unstack(m)
unwrap np.unwrap(x * 4)
vander np.vander(v, 3)
var np.var(m)
vdot np.vdot(c, c)
vsplit np.vsplit(m, 3)
vstack np.vstack((v, w))
where np.where(m > 1, m, 0)
zeros np.zeros((2, 3), like=v)
zeros_like np.zeros_like(m, shape=(5,))
"""

UFUNCS = """
absolute np.absolute(c)
add np.add(m, v)
arccos np.arccos(u)
arccosh np.arccosh(v)
arcsin np.arcsin(u)
arcsinh np.arcsinh(m)
arctan np.arctan(m)
arctan2 np.arctan2(m, v)
arctanh np.arctanh(u)
bitwise_and np.bitwise_and(i, 2)
bitwise_count np.bitwise_count(i)
bitwise_or np.bitwise_or(i, 2)
bitwise_xor np.bitwise_xor(i, 3)
cbrt np.cbrt(m)
ceil np.ceil(u)
conjugate np.conjugate(c)
copysign np.copysign(v, u)
cos np.cos(m)
cosh np.cosh(u)
deg2rad np.deg2rad(m)
degrees np.degrees(m)
divide np.divide(m, v)
divmod np.divmod(i, 2)
equal np.equal(v, w)
exp np.exp(u)
exp2 np.exp2(u)
expm1 np.expm1(u)
fabs np.fabs(m)
float_power np.float_power(v, 2)
floor np.floor(u)
floor_divide np.floor_divide(m, v)
fmax np.fmax(n, 2)
fmin np.fmin(n, 2)
fmod np.fmod(m, v)
frexp np.frexp(m)
gcd np.gcd(i, 4)
greater np.greater(v, w)
greater_equal np.greater_equal(v, w)
heaviside np.heaviside(m, 0.5)
hypot np.hypot(v, w)
invert np.invert(i)
isfinite np.isfinite(n)
isinf np.isinf(n)
isnan np.isnan(n)
lcm np.lcm(i, 4)
ldexp np.ldexp(v, i)
left_shift np.left_shift(i, 2)
less np.less(v, w)
less_equal np.less_equal(v, w)
log np.log(v)
log10 np.log10(v)
log1p np.log1p(v)
log2 np.log2(v)
logaddexp np.logaddexp(v, w)
logaddexp2 np.logaddexp2(v, w)
logical_and np.logical_and(m, t)
logical_not np.logical_not(m)
logical_or np.logical_or(m, t)
logical_xor np.logical_xor(m, t)
matmul np.matmul(m, m.T)
matvec np.matvec(m, v)
maximum np.maximum(m, v)
minimum np.minimum(m, v)
modf np.modf(m)
multiply np.multiply(m, v)
negative np.negative(m)
nextafter np.nextafter(v, w)
not_equal np.not_equal(v, w)
positive np.positive(m)
power np.power(v, 1.5)
rad2deg np.rad2deg(m)
radians np.radians(m)
reciprocal np.reciprocal(v)
remainder np.remainder(m, v)
right_shift np.right_shift(i, 1)
rint np.rint(u)
sign np.sign(m)
signbit np.signbit(m)
sin np.sin(m)
sinh np.sinh(u)
spacing np.spacing(v)
sqrt np.sqrt(v)
square np.square(m)
subtract np.subtract(m, v)
tan np.tan(m)
tanh np.tanh(m)
trunc np.trunc(u)
vecdot np.vecdot(m, m)
vecmat np.vecmat(v, m.T)
"""

LINALG = """
linalg.cholesky np.linalg.cholesky(s)
linalg.cond np.linalg.cond(s)
linalg.cross np.linalg.cross(m[:, :3], s)
linalg.det np.linalg.det(s)
linalg.diagonal np.linalg.diagonal(m)
linalg.eig np.linalg.eig(s + 0j)
linalg.eigh np.sort(np.abs(np.linalg.eigh(s).eigenvectors))
linalg.eigvals np.sort(np.linalg.eigvals(s + 0j))
linalg.eigvalsh np.linalg.eigvalsh(s)
linalg.inv np.linalg.inv(s)
linalg.lstsq np.linalg.lstsq(s[:, :2], m[:, 1])
linalg.matmul np.linalg.matmul(m, m.T)
linalg.matrix_norm np.linalg.matrix_norm(m)
linalg.matrix_power np.linalg.matrix_power(s, 5)
linalg.matrix_rank np.linalg.matrix_rank(s)
linalg.matrix_transpose np.linalg.matrix_transpose(m)
linalg.multi_dot np.linalg.multi_dot([m, m.T, s])
linalg.norm np.linalg.norm(m)
linalg.outer np.linalg.outer(v, w)
linalg.pinv np.linalg.pinv(m)
linalg.qr np.linalg.qr(s)
linalg.slogdet np.linalg.slogdet(s)
linalg.solve np.linalg.solve(s, m[:, 1])
linalg.svd np.linalg.svd(s)
linalg.svdvals np.linalg.svdvals(m)
linalg.tensordot np.linalg.tensordot(m, m.T, axes=1)
linalg.tensorinv np.linalg.tensorinv(s, 1)
linalg.tensorsolve np.linalg.tensorsolve(s, m[:, 1])
linalg.trace np.linalg.trace(m)
linalg.vecdot np.linalg.vecdot(m, m)
linalg.vector_norm np.linalg.vector_norm(m, axis=1)
"""

FFT = """
fft.fft np.fft.fft(v)
fft.fft2 np.fft.fft2(m)
fft.fftn np.fft.fftn(m, (2, 3), (1, 0))
fft.fftshift np.fft.fftshift(m)
fft.hfft np.fft.hfft(c, 7)
fft.ifft np.fft.ifft(c, norm="ortho")
fft.ifft2 np.fft.ifft2(m)
fft.ifftn np.fft.ifftn(s)
fft.ifftshift np.fft.ifftshift(m, 1)
fft.ihfft np.fft.ihfft(v)
fft.irfft np.fft.irfft(c)
fft.irfft2 np.fft.irfft2(m)
fft.irfftn np.fft.irfftn(s)
fft.rfft np.fft.rfft(m, axis=0)
fft.rfft2 np.fft.rfft2(m)
fft.rfftn np.fft.rfftn(s, norm="forward")
"""

# Functions that take no arrays, so that NumPy's protocols do not reach them: they are in pycuda.numpy alone.
CREATION = """
bartlett np.bartlett(5)
blackman np.blackman(5)
diag_indices np.diag_indices(3, 3)
fft.fftfreq np.fft.fftfreq(7, 0.5)
fft.rfftfreq np.fft.rfftfreq(8, 3)
hamming np.hamming(5)
hanning np.hanning(6)
indices np.indices((2, 3), dtype=np.int32)
kaiser np.kaiser(5, 14)
mask_indices np.mask_indices(4, np.triu, 1)
tril_indices np.tril_indices(3, -1, 4)
triu_indices np.triu_indices(4, 1)
"""

# Methods and attributes of arrays.
METHODS = """
T m.T
all t.all()
any t.any()
argmax m.argmax(1)
argmin m.argmin()
argpartition np.sort(v.argpartition(1)[:2])
argsort m.argsort()
astype m.astype(np.int32, casting="unsafe")
choose i.choose([v, w, v, w])
clip m.clip(0, 2)
compress m.compress([True, False, True], axis=0)
conj c.conj()
conjugate c.conjugate()
copy m.copy()
cumprod v.cumprod()
cumsum m.cumsum(axis=0)
device None
diagonal m.diagonal()
dot m.dot(v)
dtype m.dtype
fill (m.fill(3), m)[1]
flags m.flags["C_CONTIGUOUS"]
flat m.flat[1:3]
flatten m.flatten("F")
imag c.imag
item m.item(1, 2)
itemsize m.itemsize
mT m.mT
max m.max(initial=9)
mean m.mean(0)
min m.min()
nbytes m.nbytes
ndim m.ndim
nonzero m.nonzero()
partition (v.partition(1), v[1])[1]
prod v.prod()
put (m.put([0], 9), m)[1]
ravel m.ravel("F")
real c.real
repeat v.repeat(2)
reshape m.reshape(4, 3, order="F")
round m.round(1)
searchsorted w.searchsorted(v)
shape m.shape
size m.size
sort (m.sort(0), m)[1]
squeeze m[None].squeeze(axis=0)
std m.std()
strides m.strides
sum m.sum(axis=1)
swapaxes m.swapaxes(0, 1)
take m.take([1, 5])
to_device m.to_device("cpu").tolist()
tobytes m.tobytes()
tolist m.tolist()
trace m.trace()
transpose m.transpose(1, 0)
var m.var(axis=0)
view v.view(np.int32)
__abs__ abs(m)
__add__ m + v
__and__ i & 1
__bool__ bool(m[0, 0])
__complex__ complex(c[0])
__contains__ 4 in m
__copy__ copy.copy(m)
__deepcopy__ copy.deepcopy(m)
__divmod__ divmod(i, 2)
__eq__ m == v
__float__ float(m[0, 0])
__floordiv__ i // 2
__format__ format(m[0, 3], ".3f")
__ge__ m >= v
__getitem__ m[1:, ::2]
__gt__ m > v
__index__ range(5)[i[0]]
__int__ int(i[0])
__invert__ ~i
__iter__ list(v)
__le__ m <= v
__len__ len(m)
__lshift__ i << 1
__lt__ m < v
__matmul__ m @ v
__mod__ i % 2
__mul__ m * v
__ne__ m != v
__neg__ -m
__or__ i | 4
__pos__ +m
__pow__ m ** 2
__radd__ 1 + m
__rand__ 3 & i
__rdivmod__ divmod(7, i + 1)
__reduce__ pickle.loads(pickle.dumps(m))
__reduce_ex__ pickle.loads(pickle.dumps(m, 5))
__repr__ repr(m)
__rfloordiv__ 7 // (i + 1)
__rlshift__ 1 << i
__rmatmul__ v @ m.T
__rmod__ 7 % (i + 1)
__rmul__ 2 * m
__ror__ 4 | i
__rpow__ 2.0 ** m
__rrshift__ 8 >> i
__rshift__ i >> 1
__rsub__ 1 - m
__rtruediv__ 1 / v
__rxor__ 5 ^ i
__setitem__ (m.__setitem__((0, 1), 9), m)[1]
__str__ str(m)
__sub__ m - v
__truediv__ m / v
__xor__ i ^ 1
__iadd__ operator.iadd(m, v)
__iand__ operator.iand(i, 1)
__ifloordiv__ operator.ifloordiv(i, 2)
__ilshift__ operator.ilshift(i, 1)
__imatmul__ operator.imatmul(s, s.copy())
__imod__ operator.imod(i, 2)
__imul__ operator.imul(m, v)
__ior__ operator.ior(i, 4)
__ipow__ operator.ipow(m, 2)
__irshift__ operator.irshift(i, 1)
__isub__ operator.isub(m, v)
__itruediv__ operator.itruediv(m, v)
__ixor__ operator.ixor(i, 1)
__array_namespace__ None
__dlpack__ None
__dlpack_device__ None
"""

HOST_ONLY = "does not take arrays: it creates host data, or describes NumPy"
NO_KIND = "of dates, strings or objects, which kernels do not know"
BY_VALUE = "a Python loop over single elements"
NOT_HERE = {
    "makes host arrays of its arguments (`pycuda.numpy` has a `from_dlpack` of its own)": """asarray_chkfinite
        from_dlpack nested_iters""",
    NO_KIND: """busday_count busday_offset datetime_as_string datetime_data is_busday isnat""",
    HOST_ONLY: """asmatrix base_repr binary_repr bmat broadcast_shapes fft.test format_float_positional
        format_float_scientific fromregex get_include get_printoptions getbufsize geterr geterrcall info
        isdtype isscalar issubdtype linalg.test load mintypecode printoptions promote_types
        set_printoptions setbufsize seterr seterrcall show_config show_runtime test typename""",
    BY_VALUE: "frompyfunc",
}
METHODS_NOT_HERE = {
    "what a view of host memory is for": "ctypes data __array_interface__ __array_struct__ __array__",
    "changes an array's own description": "resize setflags __setstate__ byteswap getfield setfield",
    "writes files: get() first": "dump dumps tofile",
    "is how NumPy makes its subclasses": """__array_finalize__ __array_wrap__ __array_priority__
        __class_getitem__""",
    "is a protocol itself": "__array_function__ __array_ufunc__",
    "is the base of arrays": "base",
    "elements cannot be deleted": "__delitem__",
}


def rows(text):
    """[(name, call)] of a table."""
    return [tuple(row.split(" ", 1)) for row in text.strip().split("\n")]


ALL_FUNCTIONS = rows(FUNCTIONS) + rows(UFUNCS) + rows(LINALG) + rows(FFT)


def evaluate(call, arrays, module=np):
    """The result of a call, given as text, with these arrays by name; module: what np means in it."""
    with contextlib.ExitStack() as opened, np.errstate(all="ignore"):

        def file(data=b""):
            """A file for functions that read and write."""
            stream = opened.enter_context(tempfile.TemporaryFile())
            stream.write(data)
            stream.seek(0)
            return stream

        return eval(
            call, {"np": module, "copy": copy, "operator": operator, "pickle": pickle, "file": file} | arrays
        )


def check(call):
    """Asserts that the call has NumPy's result, and shares memory only with operands that NumPy's shares it
    with."""
    host = {name: array.copy() for name, array in HOST.items()}
    on_device = {name: gpuarray.to_gpu(array) for name, array in HOST.items()}
    got, want = evaluate(call, on_device), evaluate(call, host)
    compare(got, want, 2e-6, 1e-6)
    check_memory(got, want, on_device, host)


def find(name):
    """The attribute of NumPy with that name, or None."""
    value = np
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


@pytest.mark.parametrize("name, call", ALL_FUNCTIONS, ids=[name for name, _ in ALL_FUNCTIONS])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_function_gives_numpys_results(name, call):
    if find(name) is None:
        pytest.skip(f"NumPy {np.__version__} has no {name}")
    if (name, call) in rows(FFT):
        needs_library("cufft")
    assert re.search(rf"np\.{re.escape(name)}\(", call)
    try:
        check(call)
    except LibraryNotFound as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("place", ["device", "host"])
@pytest.mark.parametrize(
    "name, call",
    ALL_FUNCTIONS + rows(CREATION),
    ids=[name for name, _ in ALL_FUNCTIONS + rows(CREATION)],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_function_of_the_namespace(name, call, place):
    last = name.rpartition(".")[2]
    if find(name) is None or last in ("in1d", "row_stack", "trapz"):
        pytest.skip(f"not in NumPy {np.__version__}, or an older name")
    if (name, call) in rows(FFT):
        needs_library("cufft")
    host = {name: array.copy() for name, array in HOST.items()}
    given = {name: gpuarray.to_gpu(array) for name, array in HOST.items()} if place == "device" else HOST
    try:
        if place == "host" and last in protocols.WRITTEN:
            with pytest.raises(TypeError, match="GPUArray"):
                evaluate(call, given, xp)
        else:
            module = Checked(xp) if place == "device" else xp
            got = evaluate(re.sub(r", like=\w", "", call), given, module)
            compare(got, evaluate(call, host), 2e-6, 1e-6)
    except LibraryNotFound as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("name, call", rows(METHODS), ids=[name for name, _ in rows(METHODS)])
def test_method(name, call):
    if not hasattr(np.ndarray, name):
        pytest.skip(f"arrays of NumPy {np.__version__} have no {name}")
    if call != "None":
        check(call)


def public(module, prefix=""):
    """The names of a module's public callables that are not classes, each preceded by the prefix."""
    found = set()
    for name in dir(module):
        value = getattr(module, name)
        if not name.startswith("_") and callable(value) and not isinstance(value, type):
            found.add(prefix + name)
    return found


def split(table):
    """All names of a table {reason: names}."""
    return {name for names in table.values() for name in names.split()}


def names_of_numpy():
    return public(np) | public(np.linalg, "linalg.") | public(np.fft, "fft.")


def names_of_arrays():
    return set(dir(np.ndarray)) - set(dir(object)) | {"__eq__", "__ne__", "__format__", "__repr__"}


@pytest.mark.parametrize("names, here, not_here", [
    (names_of_numpy, ALL_FUNCTIONS + rows(CREATION), NOT_HERE),
    (names_of_arrays, rows(METHODS), METHODS_NOT_HERE),
], ids=["functions", "methods"])  # fmt: skip
def test_every_name_has_its_place(names, here, not_here):
    version = tuple(map(int, np.__version__.split(".")[:2]))
    if version not in KNOWN:
        pytest.skip(f"the names of NumPy {np.__version__} are not listed")
    placed = {name for name, _ in here} | split(not_here)
    same = {id(find(name)) for name in placed}  # an alias, as np.abs of np.absolute, needs no row
    new = {name for name in names() - placed if find(name) is None or id(find(name)) not in same}
    assert not new, (
        f"NumPy {np.__version__} has {sorted(new)}: each needs a row in one of the tables of {__file__}, "
        "and an implementation, or a reason in NOT_HERE"
    )
    assert not {name for name, _ in here} & split(not_here)


@pytest.mark.parametrize("name", sorted(split(NOT_HERE)))
def test_what_is_not_here_is_refused(name):
    """A call raises instead of copying to the host. The error names the function if NumPy dispatches it to
    pycuda."""
    function = find(name)
    if function is None or name in NOT_HERE[HOST_ONLY].split():
        pytest.skip("takes no arrays, or not in this NumPy")
    is_dispatched = hasattr(function, "_implementation")  # by __array_function__
    kinds = TypeError if is_dispatched else (TypeError, ValueError, AttributeError, RuntimeError, BufferError)
    with pytest.raises(kinds, match=name.rpartition(".")[2] if is_dispatched else None):
        function(gpuarray.to_gpu(HOST["s"]))


# ---- docs/numpy.md

PAGE = Path(__file__).parents[3] / "docs" / "numpy.md"
BEGIN = "<!-- Written by tests/gpuarray/numpy_api/test_numpy_names.py -->\n"


def listed(names):
    """The names in backticks, without special methods, most of which are operators."""
    names = [name for name in names if not name.startswith("__")]
    return textwrap.fill(", ".join(f"`{name}`" for name in sorted(names)), 110, break_on_hyphens=False)


def lists():
    """The part of the page that is written from the tables."""
    parts = [
        f"## {title}\n\n{listed(name for name, _ in rows(table))}"
        for title, table in (
            ("Functions", FUNCTIONS),
            ("Ufuncs", UFUNCS),
            ("numpy.linalg", LINALG),
            ("numpy.fft", FFT),
            ("Of pycuda.numpy alone, since they take no arrays", CREATION),
            ("Methods and attributes", METHODS),
        )
    ]
    for title, table in (
        ("Functions that are not here", NOT_HERE),
        ("Methods that are not", METHODS_NOT_HERE),
    ):
        parts.append(f"## {title}")
        found = {reason: listed(names.split()) for reason, names in table.items()}
        parts += [f"{reason[0].upper()}{reason[1:]}:\n{names}" for reason, names in found.items() if names]
    return "\n\n".join(parts) + "\n"


def test_the_documentation_lists_all_names():
    written = PAGE.read_text().partition(BEGIN)[2]
    assert written == lists(), f"run {Path(__file__).name} to write the lists of {PAGE.name} again"


if __name__ == "__main__":
    PAGE.write_text(PAGE.read_text().partition(BEGIN)[0] + BEGIN + lists())
