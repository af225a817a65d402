"""Comparison with NumPy: dtype, shape, values, shared memory, kinds of errors."""

import builtins

import numpy as np

from pycuda import gpuarray


class Difference(Exception):
    """A difference. `pairs`: (our values, NumPy's values) where the values differ, or None if something else
    does.
    """

    def __init__(self, text, pairs=None):
        super().__init__(text)
        self.pairs = pairs


def compare(got, want, ulp, what="result", scale=0.0):
    """Raises Difference unless our result is NumPy's: an array, a number or a sequence of them.

    Values must have the same bits, except for NaNs; with `ulp` they may differ by as many units in the last
    place of the largest number or of `scale`, whichever is larger. `what` is the result's name in the
    message.
    """
    if isinstance(want, tuple | list):
        if not isinstance(got, tuple | list) or len(got) != len(want):
            raise Difference(f"{what}: {got!r} for {want!r}")
        for i, (one, other) in enumerate(zip(got, want, strict=True)):
            compare(one, other, ulp, f"{what}[{i}]", scale)
        return
    if not isinstance(want, np.ndarray | np.generic) and not isinstance(got, gpuarray.GPUArray):
        if type(got) is not type(want) or (got != want and got == got):
            raise Difference(f"{what}: {got!r}, NumPy: {want!r}")
        return
    if not isinstance(got, gpuarray.GPUArray | np.generic | np.ndarray):
        raise Difference(f"{what}: {type(got).__name__} {got!r}, NumPy: {type(want).__name__}")
    want = np.asarray(want)
    if got.dtype != want.dtype or got.shape != want.shape:
        raise Difference(f"{what}: {got.dtype}{got.shape}, NumPy: {want.dtype}{want.shape}")
    found = got.get() if isinstance(got, gpuarray.GPUArray) else np.asarray(got)
    compare_values(found, want, ulp, what, scale)


def compare_values(got, want, ulp, what, scale):
    """compare() for two arrays of NumPy with one dtype and shape."""
    if want.dtype.kind == "c":
        part = f"f{want.dtype.itemsize // 2}"
        got, want = (np.ascontiguousarray(each).reshape(-1).view(part) for each in (got, want))
    if want.dtype.kind != "f":
        wrong = np.asarray(got != want)
    elif ulp == 0:
        wrong = ~((got == want) & (np.signbit(got) == np.signbit(want)) | np.isnan(got) & np.isnan(want))
    else:
        finite = np.abs(want[np.isfinite(want)])
        largest = max(float(finite.max()) if finite.size else 0.0, scale)
        largest = want.dtype.type(min(largest, float(np.finfo(want.dtype).max)))
        with np.errstate(all="ignore"):
            near = np.abs(got.astype("f8") - want.astype("f8")) <= ulp * float(np.spacing(largest))
        wrong = ~((got == want) | near | np.isnan(got) & np.isnan(want))
    if wrong.any():
        first = tuple(int(each[0]) for each in np.nonzero(np.atleast_1d(wrong)))
        one, other = (np.atleast_1d(each)[first] for each in (got, want))
        raise Difference(
            f"{what}: {wrong.sum()} of {wrong.size} wrong, at {first} {one!r}, NumPy: {other!r}",
            (got[wrong], want[wrong]),
        )


def compare_errors(got, want):
    """Raises Difference unless both are exceptions and ours is an instance of NumPy's class, or of the first
    of its bases that is a built-in one. Any exception will do where NumPy lacks memory.
    """
    if not isinstance(got, Exception):
        raise Difference(f"no error, NumPy: {type(want).__name__}: {want}")
    if not isinstance(want, Exception):
        raise Difference(f"{type(got).__name__}: {got}, NumPy gives {want!r:.200}")
    if isinstance(want, RecursionError | MemoryError):
        return
    kinds = [kind for kind in type(want).__mro__ if kind.__name__ in dir(builtins)]
    if not isinstance(got, kinds[0]):
        raise Difference(f"{type(got).__name__}: {got}, NumPy: {type(want).__name__}: {want}")


def compare_sharing(got, want, on_device, host, what="result"):
    """Raises Difference unless our result shares memory with the same bases as NumPy's. on_device, host:
    {name: base} of both sides. An array of ours for which NumPy has a number may share memory with any.
    """
    if isinstance(got, tuple | list):
        for i, (one, other) in enumerate(zip(got, want, strict=True)):
            compare_sharing(one, other, on_device, host, f"{what}[{i}]")
    elif isinstance(got, gpuarray.GPUArray) and got.size and isinstance(want, np.ndarray):
        for name, base in on_device.items():
            shared = [bool(np.may_share_memory(*pair)) for pair in ((got, base), (want, host[name]))]
            if shared[0] != shared[1]:
                raise Difference(f"{what} and {name}: {'' if shared[0] else 'no '}shared memory")
