"""Calls that NumPy refuses raise the same exception here, with the same text."""

import pytest
from against import HOST, NUMPY, run

from pycuda import gpuarray
from pycuda._libraries.finding import LibraryNotFound

pytestmark = pytest.mark.usefixtures("primary_context")

CALLS = """
f.reshape(3)
f.reshape(2, 3)
f.reshape((2, -1, 3))
f.reshape(-1, -1)
f.reshape("x")
f.reshape(4, order="Z")
np.reshape(m, (5,))
np.reshape(f[:0], (-1, 0))
m.T.reshape(12, copy=False)
f[:3].view(np.float64)
m[:, :3].view(np.float64)
z.view(np.float64)
f[:3].view(np.complex64)
u[:3].view(np.uint16)
m.view("no dtype")
m @ m
f @ m
m @ d[:3]
f @ d[:3]
z @ f
f @ z
m @ 2
2 @ m
np.matmul(m, m)
np.matmul(np.stack((m, m)), np.stack((m, m, m)).transpose(0, 2, 1))
np.matmul(m, m.T, out=np.empty(3, like=m))
np.matmul(m, m.T, out=np.empty((3, 4), np.float32, like=m))
np.matmul(m, m.T, out=np.empty((3, 3), np.int32, like=m))
m.dot(m)
np.dot(f, s)
np.dot(m, m)
np.dot(m, f[:3])
np.vdot(f, s)
np.inner(m, f[:3])
np.inner(f, s)
np.tensordot(m, m, axes=1)
np.tensordot(m, m, axes=([0], [1]))
np.vecdot(f, s)
np.linalg.outer(m, f)
np.linalg.cross(f, f)
np.cross(f, f)
np.linalg.matrix_power(m, 2)
np.linalg.multi_dot([m])
np.linalg.cholesky(m)
np.linalg.cholesky(-m[:, :3] * m[:, :3].T)
np.linalg.cholesky(h[:, None] * h)
np.linalg.qr(m, "x")
np.linalg.qr(f)
np.linalg.svd(f)
np.linalg.svd(m, hermitian=True)
np.linalg.svdvals(z)
np.linalg.eig(m)
np.linalg.eig(m[:, :3] / 0)
np.linalg.eigvals(f)
np.linalg.eigh(m)
np.linalg.eigh(m[:, :3], "X")
np.linalg.eigvalsh(m)
np.linalg.eigvalsh(m[:, :3], UPLO=3)
np.linalg.lstsq(m, f)
np.linalg.lstsq(f, f)
np.linalg.lstsq(m, m[None])
np.linalg.lstsq(m, h[:3])
np.linalg.pinv(f)
np.linalg.pinv(m, 0.1, rtol=0.1)
np.linalg.pinv(m, hermitian=True)
np.linalg.matrix_rank(m, 0.1, rtol=0.1)
np.linalg.matrix_rank(m, hermitian=True)
np.linalg.cond(f)
np.linalg.cond(m, 1)
np.linalg.cond(m[:0])
np.linalg.cond(m[:, :3], "x")
np.linalg.matrix_power(m[:, :3], 1.5)
np.linalg.matrix_power(m[:, :3] * 0, -1)
np.linalg.inv(m)
np.linalg.inv(m[:, :3] * 0)
np.linalg.norm(m, 3, axis=(0, 1))
np.linalg.norm(h[:, None] * h, 2)
np.linalg.inv(f)
np.linalg.inv(h[:, None] * h)
np.linalg.det(m)
np.linalg.slogdet(z)
np.linalg.solve(m, f)
np.linalg.solve(m[:, :3], f)
np.linalg.solve(m[:, :3], m.T)
np.linalg.solve(m[:, :3], h[:3])
np.linalg.solve(np.stack((m, m))[..., :3], np.stack((m, m, m)))
np.linalg.solve(f, f)
np.linalg.tensorsolve(m, f)
np.linalg.tensorinv(m, 1)
np.linalg.tensorinv(m, 0)
np.linalg.norm(m, "x")
np.linalg.norm(m, 3)
np.linalg.norm(f, "fro")
np.linalg.norm(m, axis=(0, 0))
np.linalg.norm(m, axis=(0, 1, 2))
np.trace(f)
np.diagonal(f)
np.diagonal(m, axis1=0, axis2=0)
np.diagonal(m, axis1=0, axis2=2)
np.diag(np.stack((m, m)))
np.einsum("ij,jk", m, m)
np.einsum("ij,j", m)
np.einsum("ij", f)
np.einsum("ij->k", m)
np.einsum("i->ii", f)
np.einsum("i1", m)
np.kron(m, 2, 3)
np.zeros(-1, like=f)
np.zeros((2, -1), like=f)
np.empty(-3, like=f)
np.ones((-2, 2), like=f)
np.full(-1, 7, like=f)
np.full((2, 2), [1, 2, 3], like=f)
np.zeros_like(f, shape=-1)
np.zeros("a", like=f)
np.zeros(2.5, like=f)
np.zeros((2, 2.5), like=f)
np.empty_like(f, order="Z")
np.arange(0, 1, 0, like=f)
np.eye(-1, like=f)
np.eye(2.5, like=f)
np.sum(m, axis=2)
np.sum(m, axis=-3)
np.sum(m, axis=(0, 0))
np.sum(m, axis=(0, -2))
np.sum(m, axis=0.5)
np.sum(m, axis="x")
np.sum(m, axis=0, out=np.empty(3, np.float32, like=m))
np.sum(m, axis=0, out=np.empty((4, 1), np.float32, like=m))
np.sum(m, axis=0, out=np.empty((1, 4), np.float32, like=m))
np.sum(m, out=np.empty(1, np.float32, like=m))
np.sum(m, out=np.empty((2, 2), np.float32, like=m))
np.sum(m, axis=0, keepdims=True, out=np.empty(4, np.float32, like=m))
np.prod(m, axis=1, out=np.empty(4, np.float32, like=m))
np.max(m, axis=1, out=np.empty((3, 1), np.float32, like=m))
np.mean(m, axis=0, out=np.empty(3, np.float32, like=m))
np.var(m, axis=0, out=np.empty(3, np.float32, like=m))
np.std(m, axis=0, out=np.empty(4, np.int32, like=m))
np.any(m, axis=0, out=np.empty(3, bool, like=m))
np.argmax(m, axis=0, out=np.empty(3, int, like=m))
np.argmax(m, axis=0, out=np.empty(4, np.float32, like=m))
np.cumsum(m, axis=0, out=np.empty(3, np.float32, like=m))
np.cumsum(m, axis=2)
np.cumsum(f, dtype="no dtype")
np.sum(m, where=np.array([True, False], like=m))
np.max(f[:0])
np.min(m[:0], axis=0)
np.argmax(f[:0])
np.argmin(m[:, :0], axis=1)
np.ptp(f[:0])
np.max(c[:0])
np.median(m, axis=4)
np.average(m, weights=f[:3])
np.average(m, axis=0, weights=f)
np.quantile(f, 2)
np.percentile(f, 101)
np.percentile(f, 50, method="x")
np.nanargmax(n[1:2])
np.cov(np.stack((m, m)))
np.concatenate((m, f))
np.concatenate((m, m.T))
np.concatenate((m, m[:, :2]))
np.concatenate((m, m.T), axis=1)
np.concatenate((m, m), axis=2)
np.concatenate((z, z))
np.concatenate(())
np.concatenate((f, f), out=np.empty(7, np.float32, like=f))
np.concatenate((f, f), out=np.empty((8, 1), np.float32, like=f))
np.concatenate((f, f), out=np.empty(8, np.int32, like=f))
np.concatenate((f, f), dtype=int)
np.stack((f, s))
np.stack((f, f), axis=3)
np.stack(())
np.vstack((f, s))
np.hstack((m, f))
np.column_stack((f, s))
np.dstack((f, s))
np.append(m, f, axis=0)
np.append(m, m.T, axis=0)
np.split(f, 3)
np.split(m, 2, axis=3)
np.array_split(f, 0)
np.hsplit(z, 1)
np.vsplit(f, 2)
np.dsplit(m, 2)
np.insert(f, 9, 1)
np.insert(m, 1, [1, 2], axis=1)
np.delete(f, 9)
np.delete(m, 1, axis=4)
np.repeat(f, -1)
np.repeat(f, [1, 2])
np.tile(f, -1)
np.resize(f, -1)
np.pad(f, -1)
np.pad(f, 1.5)
np.pad(f, (1, 2, 3))
np.pad(f, 1, mode="x")
np.pad(f[:0], 1, mode="edge")
np.roll(m, (1, 2), axis=4)
np.roll(m, (1, 2, 3), axis=(0, 1))
np.rot90(f)
np.rot90(m, axes=(0, 0))
np.flip(m, 3)
np.flipud(z)
np.fliplr(f)
np.squeeze(m, 0)
np.squeeze(m, 5)
np.expand_dims(m, 5)
np.expand_dims(m, (0, 0))
np.swapaxes(m, 0, 2)
np.moveaxis(m, 0, 2)
np.moveaxis(m, (0, 1), 0)
np.moveaxis(m, (0, 0), (0, 1))
np.rollaxis(m, 3)
np.rollaxis(m, 0, 4)
np.transpose(m, (0, 0))
np.transpose(m, (0,))
np.transpose(m, (0, 2))
m.transpose(1)
np.matrix_transpose(f)
np.broadcast_to(m, (3, 5))
np.broadcast_to(m, 4)
np.broadcast_to(f, (4, 3))
np.broadcast_arrays(f, s)
np.ravel(m, order="Z")
m.flatten("Z")
m.copy("Z")
f + s
m + f[:3]
f + f[None, :3].T[:, :0]
np.add(f, s)
np.add(f, f, out=np.empty(3, np.float32, like=f))
np.add(f, f, out=np.empty(4, np.int32, like=f))
np.add(f, f, where=np.array([True, False], like=f))
np.add(f)
np.add(f, f, f, f)
operator.iadd(f, s)
operator.iadd(f, m)
operator.iadd(i, 0.5)
operator.iadd(i, f)
operator.iadd(u, -1)
u + 300
u + -1
t - t
-t
+t
~f
f & f
f << 1
i ** -1
c % 2
c // 2
c < "x"
f + "x"
f + None
f + [1, 2]
np.sqrt("x", like=f)
np.left_shift(f, 1)
np.gcd(f, f)
np.floor(c)
np.maximum(f, "x")
np.clip(f, 1)
f[4]
f[-5]
m[3]
m[0, 4]
m[0, 0, 0]
m[..., ...]
f["x"]
f[1.5]
f[None, 5]
f[[0, 9]]
m[:, [0, 9]]
f[t[:3]]
m[t]
m[:, t[:3]]
m[[0, 1], [0, 1, 2]]
f[f]
f[::0]
f[1:"x"]
z[0]
f.__setitem__(4, 1)
f.__setitem__(slice(None), s)
f.__setitem__(slice(0, 2), m)
f.__setitem__([0, 1], s)
f.__setitem__(t, s)
f.__setitem__(t[:3], 1)
m.__setitem__((0, 5), 1)
f.__setitem__(0, "x")
f.__setitem__(0, 1j)
f.__setitem__(0, f)
np.take(f, 4)
np.take(f, 0, axis=1)
np.take(f[:0], 0)
np.take(f, 0, mode="x")
np.take(f, [0, 1], out=np.empty(3, np.float32, like=f))
np.take_along_axis(m, i, 0)
np.take_along_axis(m, m, 0)
np.put(f, 9, 1)
np.putmask(f, t[:3], 1)
np.place(f, t[:3], 1)
np.compress(m, m)
np.choose(i, (f, f, f))
np.choose(i, (f, s, f, f))
np.select([t], [f, f])
np.select([f], [f])
np.where(t, f)
np.where(t, f, s)
np.extract(t, s[:2])
np.nonzero(z)
np.unravel_index(np.array([99], like=i), (2, 3))
np.ravel_multi_index((i, i), (2, 3))
np.fill_diagonal(f, 1)
np.sort(m, axis=2)
np.sort(f, kind="x")
np.argsort(m, axis=-3)
np.partition(f, 9)
np.partition(f, 0.5)
np.searchsorted(m, 1)
np.searchsorted(f, 1, side="x")
np.searchsorted(f, 1, sorter=s)
np.lexsort(())
np.bincount(f)
np.bincount(-i)
np.bincount(i, weights=s)
np.bincount(i, minlength=-1)
np.histogram(f, -1)
np.histogram(f, 0)
np.histogram(f, [2, 1])
np.histogram(f, 2, range=(2, 1))
np.histogram(s)
np.histogram(f, 2, weights=s)
np.histogram(f, "x")
np.histogram2d(f, s)
np.digitize(f, [1, 3, 2])
np.digitize(c, [1])
np.interp(f, f, s)
np.interp(f, [], [])
np.diff(f, -1)
np.diff(z)
np.diff(m, axis=3)
np.gradient(f[:1])
np.gradient(f, axis=2)
np.trapezoid(m, axis=2)
np.convolve(f, f[:0])
np.convolve(f, m)
np.convolve(f, f, "x")
np.astype(f, "x")
f.astype("x")
f.astype(int, casting="safe")
f.astype(int, order="Z")
c.astype(float, casting="same_kind")
np.copyto(f, s)
np.copyto(i, f)
np.copyto(f, 1, where=t[:3])
np.ix_(m)
np.vander(m)
np.packbits(f)
np.unpackbits(f)
np.cumulative_sum(m)
np.logspace(0, 1, -1, like=f)
np.unique(m, axis=2)
np.trim_zeros(f, "x")
np.block([[f, s], [f]])
np.meshgrid(f, f, indexing="x")
bool(f)
len(z)
iter(z)
hash(f)
f.item(9)
m.item(0, 9)
f.item()
operator.index(f)
f.fill("x")
f.shape.no
""".strip().split("\n")

ON_DEVICE = "the kernel that checks indices says that one is out of bounds, not which"
HOST_DATA = "data in host memory is not copied implicitly"
PYTHON = "Python's own operator refuses the operand"
MORE = "NumPy's text, followed by what to do or what was given"
SUBCLASS = "an AxisError, which is an IndexError and names the axis"

# Calls whose text or type of exception differs from NumPy's, with the reason.
DIFFERENT = {
    "np.matmul(m, m.T, out=np.empty((3, 3), np.int32, like=m))": "the text does not name the ufunc",
    "np.std(m, axis=0, out=np.empty(4, np.int32, like=m))": "std of float32 is computed in float32",
    "np.split(m, 2, axis=3)": SUBCLASS,
    "np.trapezoid(m, axis=2)": SUBCLASS,
    "np.insert(m, 1, [1, 2], axis=1)": HOST_DATA,
    "np.interp(f, [], [])": HOST_DATA,
    "f + [1, 2]": HOST_DATA,
    "np.add(f, f, where=np.array([True, False], like=f))": "the mask is broadcast before the call",
    "i ** -1": MORE,
    "f[1.5]": MORE,
    "f[f]": MORE,
    "f.__setitem__(0, f)": MORE,
    "f.item()": MORE,
    'c < "x"': PYTHON,
    'f + "x"': PYTHON,
    "f + None": PYTHON,
    'np.maximum(f, "x")': "the operand is refused before a loop of the ufunc is chosen",
    "hash(f)": "the text names the type",
    "f.__setitem__(t, s)": "a mask is treated as any other index",
    "np.extract(t, s[:2])": ON_DEVICE,
    "np.unravel_index(np.array([99], like=i), (2, 3))": ON_DEVICE,
}


def kind(problem):
    """The type of an exception: TypeError for its private subclasses that NumPy's ufuncs raise."""
    return TypeError if type(problem).__name__.startswith(("UFunc", "_UFunc")) else type(problem)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_refused_call(call):
    host = {name: array.copy() for name, array in HOST.items()}
    on_device = {name: gpuarray.to_gpu(array) for name, array in HOST.items()}
    want, got = run(call, host), run(call, on_device)
    assert isinstance(want, Exception) and isinstance(got, Exception)
    if isinstance(got, LibraryNotFound):
        pytest.skip(str(got))
    same = kind(got) is kind(want) and str(got).rstrip() == str(want).rstrip()
    reason = DIFFERENT.get(call)
    if reason == MORE:
        assert kind(got) is kind(want) and str(got).startswith(str(want).rstrip("."))
    elif reason == SUBCLASS:
        assert isinstance(got, type(want))
    if reason:
        assert not same, "can be removed from DIFFERENT"
    elif NUMPY >= "2.4.0":  # older versions have other texts
        assert same, f"{type(got).__name__}: {got}\n{type(want).__name__}: {want}"
    else:
        assert isinstance(got, kind(want))
