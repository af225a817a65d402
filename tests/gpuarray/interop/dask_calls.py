"""Calls of every function of dask.array, of its fft and its linalg: {name: calls}.

A call takes the module dask.array as `da` and a dask array `d` of 13 x 10 numbers, or of positive definite
10 x 10 ones, `s`, in several chunks, and returns one dask array or several. FAILS says of those that do not
work with GPUArrays why; docs/dask.md has both lists.
"""

import numpy as np

AXES = None, 0, 1, (0, 1)
REDUCTIONS = (
    "sum prod max min any all mean std var nansum nanprod nanmax nanmin nanmean nanstd nanvar".split()
)
UNARY = (
    "absolute abs arcsinh arctan bitwise_not cbrt ceil conj cos cosh deg2rad degrees exp exp2 expm1 fabs fix "
    "floor invert isfinite isinf isnan isneginf isposinf log log10 log1p log2 logical_not negative positive "
    "rad2deg radians reciprocal rint sign signbit sin sinc sinh spacing sqrt square tan tanh trunc i0 angle "
    "imag real iscomplex isreal nan_to_num frexp modf"
).split()
INVERSE = "arcsin arccos arctanh".split()  # of numbers in [-1, 1]
BINARY = (
    "add arctan2 copysign divide equal float_power floor_divide fmax fmin fmod greater greater_equal hypot "
    "less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum mod multiply "
    "nextafter not_equal power remainder subtract true_divide isclose divmod"
).split()
INTEGER = "bitwise_and bitwise_or bitwise_xor left_shift right_shift".split()


def _unary(name):
    whole = name in {"bitwise_not", "invert"}
    return lambda da, d, s: getattr(da, name)(d.astype(int) if whole else d)


def _binary(name):
    return lambda da, d, s: getattr(da, name)(abs(d) + 1, d[::-1])


def _integer(name):
    return lambda da, d, s: getattr(da, name)((d * 9).astype(int), abs(d).astype(int))


def _reduction(name, axis):
    return lambda da, d, s: getattr(da, name)(d, axis=axis)


def _scan(name, axis):
    return lambda da, d, s: getattr(da, name)(d, axis=axis)


def _assigned(d, index, value):
    d = d.copy()
    d[index] = value
    return d


CALLS = {
    **{name: [_unary(name)] for name in UNARY},
    **{name: [lambda da, d, s, name=name: getattr(da, name)(da.clip(d, -0.9, 0.9))] for name in INVERSE},
    "arccosh": [lambda da, d, s: da.arccosh(abs(d) + 1)],
    **{name: [_binary(name)] for name in BINARY},
    **{name: [_integer(name)] for name in INTEGER},
    **{name: [_reduction(name, axis) for axis in AXES] for name in REDUCTIONS},
    **{
        name: [_scan(name, axis) for axis in (0, 1, None)]
        for name in ("cumsum", "cumprod", "nancumsum", "nancumprod")
    },
    **{
        name: [_reduction(name, axis) for axis in (None, 0, 1)]
        for name in ("argmax", "argmin", "nanargmax", "nanargmin", "count_nonzero", "average")
    },
    "allclose": [lambda da, d, s: da.allclose(d, d)],
    "append": [lambda da, d, s: da.append(d, d, axis=0)],
    "apply_along_axis": [lambda da, d, s: da.apply_along_axis(lambda x: x.sum(), 1, d)],
    "apply_gufunc": [lambda da, d, s: da.apply_gufunc(lambda x: x.mean(-1), "(i)->()", d.rechunk((5, 10)))],
    "apply_over_axes": [lambda da, d, s: da.apply_over_axes(np.sum, d, [0, 1])],
    "arange": [lambda da, d, s: da.arange(10, chunks=4, like=d._meta)],
    "argtopk": [lambda da, d, s: da.argtopk(d, 3), lambda da, d, s: da.argtopk(d, -2, axis=0)],
    "argwhere": [lambda da, d, s: da.argwhere(d > 0)],
    "around": [lambda da, d, s: da.around(d, 1)],
    "array": [lambda da, d, s: da.array(d)],
    "as_gufunc": [lambda da, d, s: da.as_gufunc("(i)->()")(lambda x: x.max(-1))(d.rechunk((5, 10)))],
    "asanyarray": [lambda da, d, s: da.asanyarray(d)],
    "asarray": [lambda da, d, s: da.asarray(d), lambda da, d, s: da.asarray(d.blocks[0, 0].compute())],
    "atleast_1d": [lambda da, d, s: da.atleast_1d(d.sum())],
    "atleast_2d": [lambda da, d, s: da.atleast_2d(d[0])],
    "atleast_3d": [lambda da, d, s: da.atleast_3d(d)],
    "bincount": [lambda da, d, s: da.bincount((d * 3 + 20).astype(int).ravel(), minlength=10)],
    "block": [lambda da, d, s: da.block([[d, d], [d, d]])],
    "blockwise": [lambda da, d, s: da.blockwise(np.add, "ij", d, "ij", d, "ij", dtype=d.dtype)],
    "broadcast_arrays": [lambda da, d, s: da.broadcast_arrays(d, d[0])],
    "broadcast_to": [lambda da, d, s: da.broadcast_to(d, (2, 13, 10))],
    "choose": [lambda da, d, s: da.choose((d > 0).astype(int), [d, -d])],
    "clip": [lambda da, d, s: da.clip(d, 0.2, 0.4)],
    "coarsen": [lambda da, d, s: da.coarsen(np.sum, d.rechunk((4, 4))[:12, :8], {0: 2, 1: 2})],
    "compress": [lambda da, d, s: da.compress([True, False] * 6 + [True], d, axis=0)],
    "concatenate": [lambda da, d, s: da.concatenate([d, d]), lambda da, d, s: da.concatenate([d, d], axis=1)],
    "corrcoef": [lambda da, d, s: da.corrcoef(d)],
    "cov": [lambda da, d, s: da.cov(d)],
    "delete": [lambda da, d, s: da.delete(d, 2, axis=0), lambda da, d, s: da.delete(d, [1, 4], axis=1)],
    "diag": [lambda da, d, s: da.diag(d[0]), lambda da, d, s: da.diag(s)],
    "diagonal": [lambda da, d, s: da.diagonal(d), lambda da, d, s: da.diagonal(d, 2)],
    "diff": [lambda da, d, s: da.diff(d, axis=0), lambda da, d, s: da.diff(d, n=2, prepend=d[:, :1])],
    "digitize": [lambda da, d, s: da.digitize(d, np.array([-1.0, 0, 1]))],
    "dot": [lambda da, d, s: da.dot(d, d.T), lambda da, d, s: da.dot(d, d[0])],
    "dstack": [lambda da, d, s: da.dstack([d, d])],
    "ediff1d": [lambda da, d, s: da.ediff1d(d[0])],
    "einsum": [
        lambda da, d, s: da.einsum("ij,kj->ik", d, d),
        lambda da, d, s: da.einsum("ij->j", d),
        lambda da, d, s: da.einsum("ij,jk,kl", d, s, d.T),
    ],
    "empty_like": [lambda da, d, s: da.empty_like(d) * 0],
    "expand_dims": [lambda da, d, s: da.expand_dims(d, 0)],
    "extract": [lambda da, d, s: da.extract(d > 0, d)],
    "flatnonzero": [lambda da, d, s: da.flatnonzero(d > 0)],
    "flip": [lambda da, d, s: da.flip(d, 0)],
    "fliplr": [lambda da, d, s: da.fliplr(d)],
    "flipud": [lambda da, d, s: da.flipud(d)],
    "full_like": [lambda da, d, s: da.full_like(d, 3)],
    "gradient": [lambda da, d, s: da.gradient(d, axis=0), lambda da, d, s: da.gradient(d)],
    "histogram": [
        lambda da, d, s: da.histogram(d, bins=10, range=(-3, 3))[0],
        lambda da, d, s: da.histogram(d, bins=[-3, 0, 1], weights=abs(d))[0],
    ],
    "hstack": [lambda da, d, s: da.hstack([d, d])],
    "insert": [lambda da, d, s: da.insert(d, 2, d[0], axis=0)],
    "isin": [lambda da, d, s: da.isin(da.round(d, 0), da.round(d[0], 0))],
    "ldexp": [lambda da, d, s: da.ldexp(d, (d * 2).astype("i4"))],
    "map_blocks": [
        lambda da, d, s: da.map_blocks(lambda b: b * 2, d),
        lambda da, d, s: d.map_blocks(lambda b, block_info=None: b * 2, dtype=d.dtype),
        lambda da, d, s: d.map_blocks(lambda b: b.sum(axis=1), drop_axis=1, dtype=d.dtype),
    ],
    "map_overlap": [
        lambda da, d, s, boundary=boundary: da.map_overlap(lambda b: b * 2, d, depth=1, boundary=boundary)
        for boundary in ("reflect", "periodic", "nearest", "none", 0)
    ],
    "matmul": [lambda da, d, s: da.matmul(d, d.T), lambda da, d, s: d @ d[0]],
    "median": [lambda da, d, s: da.median(d, axis=0)],
    "meshgrid": [
        lambda da, d, s: da.meshgrid(d[0], d[1]),
        lambda da, d, s: da.meshgrid(d[0], d[1], sparse=True),
    ],
    "moment": [lambda da, d, s: da.moment(d, 3, axis=0)],
    "moveaxis": [lambda da, d, s: da.moveaxis(d, 0, 1)],
    "nanmedian": [lambda da, d, s: da.nanmedian(d, axis=1)],
    "nanpercentile": [lambda da, d, s: da.nanpercentile(d, [25, 50], axis=0)],
    "nanquantile": [lambda da, d, s: da.nanquantile(d, 0.3, axis=0)],
    "nonzero": [lambda da, d, s: da.nonzero(d > 0)],
    "ones_like": [lambda da, d, s: da.ones_like(d)],
    "outer": [lambda da, d, s: da.outer(d[0], d[1])],
    "pad": [
        lambda da, d, s: da.pad(d, 1),
        lambda da, d, s: da.pad(d, ((1, 2), (0, 3)), mode="edge"),
        lambda da, d, s: da.pad(d, 2, mode="reflect"),
        lambda da, d, s: da.pad(d, 2, mode="symmetric"),
        lambda da, d, s: da.pad(d, 2, mode="wrap"),
        lambda da, d, s: da.pad(d, 2, mode="linear_ramp"),
        lambda da, d, s: da.pad(d, 2, mode="mean"),
        lambda da, d, s: da.pad(d, 2, mode="maximum"),
    ],
    "percentile": [
        lambda da, d, s: da.percentile(d[0], [25, 50]),
        lambda da, d, s: da.percentile(d.ravel(), 50, method="nearest"),
    ],
    "piecewise": [lambda da, d, s: da.piecewise(d, [d < 0, d >= 0], [-1, 1])],
    "ptp": [lambda da, d, s: da.ptp(d, axis=0)],
    "quantile": [lambda da, d, s: da.quantile(d, [0.2, 0.7], axis=0)],
    "ravel": [lambda da, d, s: da.ravel(d)],
    "ravel_multi_index": [
        lambda da, d, s: da.ravel_multi_index((abs(d) * 2).astype(int).T[:2], (20, 20)),
    ],
    "rechunk": [lambda da, d, s: d.rechunk((3, 10)), lambda da, d, s: da.rechunk(d, {0: -1, 1: 3})],
    "reduction": [
        lambda da, d, s: da.reduction(d, chunk=np.sum, aggregate=np.sum, dtype=d.dtype, axis=0),
    ],
    "repeat": [lambda da, d, s: da.repeat(d, 2, axis=0)],
    "reshape": [lambda da, d, s: d.reshape(-1), lambda da, d, s: da.reshape(d.rechunk((13, 10)), (13, 2, 5))],
    "reshape_blockwise": [lambda da, d, s: da.reshape_blockwise(d.rechunk((5, 10)), (130,))],
    "roll": [lambda da, d, s: da.roll(d, 3, axis=0), lambda da, d, s: da.roll(d, (1, 2), axis=(0, 1))],
    "rollaxis": [lambda da, d, s: da.rollaxis(d, 1)],
    "rot90": [lambda da, d, s: da.rot90(d)],
    "round": [lambda da, d, s: da.round(d, 1)],
    "searchsorted": [
        lambda da, d, s: da.searchsorted(da.cumsum(abs(d[0]) + 1, axis=0), d[1]),
    ],
    "select": [lambda da, d, s: da.select([d > 1, d > 0], [d, -d])],
    "shape": [lambda da, d, s: da.ones_like(d, shape=da.shape(d))],
    "shuffle": [lambda da, d, s: da.shuffle(d, [[3, 1], [0, 2, 5]], axis=0)],
    "squeeze": [lambda da, d, s: da.squeeze(d[:, :1], axis=1)],
    "stack": [lambda da, d, s: da.stack([d, d]), lambda da, d, s: da.stack([d, d], axis=-1)],
    "swapaxes": [lambda da, d, s: da.swapaxes(d, 0, 1)],
    "take": [
        lambda da, d, s: da.take(d, [1, 3], axis=0),
        lambda da, d, s: da.take(d, d[0].astype(int) % 5, 1),
    ],
    "tensordot": [
        lambda da, d, s: da.tensordot(d, d, axes=([0], [0])),
        lambda da, d, s: da.tensordot(d, d, axes=((0, 1), (0, 1))),
    ],
    "tile": [lambda da, d, s: da.tile(d, (2, 1))],
    "topk": [lambda da, d, s: da.topk(d, 3), lambda da, d, s: da.topk(d, -3, axis=0)],
    "trace": [lambda da, d, s: da.trace(d)],
    "transpose": [lambda da, d, s: da.transpose(d)],
    "tril": [lambda da, d, s: da.tril(d)],
    "tril_indices_from": [lambda da, d, s: da.tril_indices_from(s.rechunk(-1))],
    "triu": [lambda da, d, s: da.triu(d, 1)],
    "triu_indices_from": [lambda da, d, s: da.triu_indices_from(s.rechunk(-1))],
    "unify_chunks": [lambda da, d, s: da.unify_chunks(d, "ij", d.rechunk((4, 10)), "ij")[1][1]],
    "union1d": [lambda da, d, s: da.union1d(da.round(d), da.round(d[0]))],
    "unique": [
        lambda da, d, s: da.unique(da.round(d, 0)),
    ],
    "unravel_index": [lambda da, d, s: da.unravel_index((abs(d[0]) * 10).astype(int), (10, 10))],
    "vdot": [lambda da, d, s: da.vdot(d, d)],
    "vstack": [lambda da, d, s: da.vstack([d, d])],
    "where": [lambda da, d, s: da.where(d > 0.5, d, 0)],
    "where(condition)": [lambda da, d, s: da.where(d > 0)],
    "zeros_like": [lambda da, d, s: da.zeros_like(d)],
    # ---- what arrays do themselves
    "Array.__getitem__": [
        lambda da, d, s: d[3:12:2, ::-1],
        lambda da, d, s: d[[1, 5, 12]],
        lambda da, d, s: d[d > 0.5],
        lambda da, d, s: d[:, None, 4],
        lambda da, d, s: d[d[:, 0] > 0],
        lambda da, d, s: d[(abs(d[:, 0]) * 3).astype(int)],
        lambda da, d, s: d.vindex[[1, 2, 8], [3, 4, 9]],
        lambda da, d, s: d.blocks[1, 1],
    ],
    "Array.__setitem__": [
        lambda da, d, s: _assigned(d, np.s_[2:7], 5),
        lambda da, d, s: _assigned(d, d > 0, 5),
        lambda da, d, s: _assigned(d, np.s_[:, 3], d[:, 0]),
    ],
    "Array.astype": [lambda da, d, s: d.astype("f8"), lambda da, d, s: d.astype(int)],
    "Array.view": [lambda da, d, s: d.view("i4")],
    "Array.__matmul__": [lambda da, d, s: d @ s],
    "ufunc.outer": [lambda da, d, s: da.add.outer(d[0], d[1])],
    # ---- fft
    **{
        f"fft.{name}": [lambda da, d, s, name=name: getattr(da.fft, name)(d.rechunk(-1), axis=0)]
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    **{
        f"fft.{name}": [lambda da, d, s, name=name: getattr(da.fft, name)(d.rechunk(-1))]
        for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
    },
    "fft.fftshift": [lambda da, d, s: da.fft.fftshift(d)],
    "fft.ifftshift": [lambda da, d, s: da.fft.ifftshift(d)],
    # ---- linalg: signs and order of what is unique but for those are taken out
    "linalg.norm": [
        lambda da, d, s: da.linalg.norm(d),
        lambda da, d, s: da.linalg.norm(d, 1, axis=1),
        lambda da, d, s: da.linalg.norm(d.rechunk((7, 10)), "nuc"),
        lambda da, d, s: da.linalg.norm(d.rechunk((7, 10)), 2),
    ],
    "linalg.qr": [
        lambda da, d, s: [abs(each) for each in da.linalg.qr(d.rechunk((13, 10)))],
        lambda da, d, s: [abs(each) for each in da.linalg.qr(d.rechunk((7, 10)))],
    ],
    "linalg.tsqr": [lambda da, d, s: [abs(each) for each in da.linalg.tsqr(d.rechunk((7, 10)))]],
    "linalg.sfqr": [lambda da, d, s: [abs(each) for each in da.linalg.sfqr(d.T.rechunk((10, 10)))]],
    "linalg.svd": [lambda da, d, s: [abs(each) for each in da.linalg.svd(d.rechunk((7, 10)))]],
    "linalg.svd_compressed": [
        lambda da, d, s: da.linalg.svd_compressed(d, 10, n_power_iter=4, seed=1)[1][:4],
    ],
}

#: Those that need dask.config.set({"array.backend": "pycuda"}): dask makes an index array in them.
NEED_BACKEND = {
    "argtopk", "argwhere", "flatnonzero", "nonzero", "where(condition)", "linalg.svd_compressed",
    "tril_indices_from", "triu_indices_from",
}  # fmt: skip

TRIANGULAR = "dask calls SciPy, which takes host arrays (`solve_triangular`, `lu`)"
LISTS = "dask adds the chunks' results as a list, by NumPy's `sum`"
EDGES = "the edges of the bins, or what is inserted, become a chunk in host memory"

#: {name: (call, why)} of what does not work.
FAILS = {
    "histogram(density=True)": (
        lambda da, d, s: da.histogram(d, bins=10, range=(-3, 3), density=True)[0],
        EDGES,
    ),
    "insert(d, index, number)": (lambda da, d, s: da.insert(d, [1, 3], 7.0, axis=1), EDGES),
    "histogram2d": (lambda da, d, s: da.histogram2d(d[0], d[1], 4, ((-3, 3), (-3, 3)))[0], LISTS),
    "histogramdd": (lambda da, d, s: da.histogramdd(d[:, :2].rechunk((5, 2)), 3, ((-3, 3),) * 2)[0], LISTS),
    "frompyfunc": (
        lambda da, d, s: da.frompyfunc(lambda x: x + 1, 1, 1)(d),
        "a function of Python objects",
    ),
    "unique(return_counts=True)": (
        lambda da, d, s: da.unique(da.round(d.ravel(), 0), return_counts=True),
        "dask makes structured arrays in it, also for `return_index` and `return_inverse`",
    ),
    "linalg.cholesky": (lambda da, d, s: da.linalg.cholesky(s), TRIANGULAR),
    "linalg.inv": (lambda da, d, s: da.linalg.inv(s), TRIANGULAR),
    "linalg.lstsq": (
        lambda da, d, s: da.linalg.lstsq(d.rechunk((5, 10)), d[:, 0].rechunk(5))[0],
        TRIANGULAR,
    ),
    "linalg.lu": (lambda da, d, s: da.linalg.lu(s), TRIANGULAR),
    "linalg.solve": (lambda da, d, s: da.linalg.solve(s, s[0]), TRIANGULAR),
    "linalg.solve_triangular": (
        lambda da, d, s: da.linalg.solve_triangular(da.tril(s), s[0], lower=True),
        TRIANGULAR,
    ),
}

#: Names of dask.array that are no matter of this table: they take no array (test_dask_backend.py has those
#: that create one), read and write files, need packages that dask does without, or are no functions.
OTHERS = set(
    "Array PerformanceWarning array_expr_enabled assert_eq atop bool complex64 complex128 compute empty eye "
    "float32 float64 from_array from_delayed from_npy_stack from_tiledb from_zarr fromfunction full gufunc "
    "indices int8 int16 int32 int64 isnull linspace ndim notnull ones optimize push register_chunk_type "
    "result_type store to_hdf5 to_npy_stack to_tiledb to_zarr tri tril_indices triu_indices uint8 uint16 "
    "uint32 uint64 zeros fft.fftfreq fft.rfftfreq fft.fft_wrap linalg.compression_level "
    "linalg.compression_matrix".split()
)
