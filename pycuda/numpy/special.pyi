# Written by tools/numpy_stubs.py.
# fmt: off
# ruff: noqa: F401, I001, RUF022
import builtins as _builtins
from collections.abc import Callable as _Callable
from collections.abc import Sequence as _Sequence
from typing import Any as _Any
from typing import Literal as _Literal
from typing import TypeAlias as _TypeAlias
from typing import overload

import numpy as _np

from pycuda._array.core import types as _types
from pycuda._array.core.types import DTypeOf as _DTypeOf
from pycuda._array.core.types import Floating as _Floating
from pycuda._array.core.types import Inexact as _Inexact
from pycuda._array.core.types import Result as _Result
from pycuda._array.core.types import Scalar as _Scalar
from pycuda.gpuarray import GPUArray as _GPUArray
from pycuda._array.numpy_api import ufunc_kinds as _kinds
from pycuda.numpy import ufunc

__all__ = [
    "beta", "betainc", "betaln", "cbrt", "digamma", "entr", "erf", "erfc", "erfcinv", "erfcx", "erfinv",
    "exp10", "exp2", "expit", "expm1", "fdtr", "fdtrc", "gamma", "gammainc", "gammaincc", "gammaln", "i0",
    "i0e", "i1", "i1e", "j0", "j1", "kl_div", "log1p", "log_expit", "log_ndtr", "loggamma", "logit",
    "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "rel_entr", "xlog1py", "xlogy", "y0", "y1", "yn",
    "zeta",
]

_Array: _TypeAlias = _GPUArray[_Scalar] | _np.ndarray[_Any, _np.dtype[_Scalar]]

beta: ufunc[_kinds.TwoInexact]
betainc: ufunc[_kinds.Other]
betaln: ufunc[_kinds.TwoInexact]
cbrt: ufunc[_kinds.OneInexact]
digamma: ufunc[_kinds.OneInexact]
entr: ufunc[_kinds.OneInexact]
erf: ufunc[_kinds.OneInexact]
erfc: ufunc[_kinds.OneInexact]
erfcinv: ufunc[_kinds.OneInexact]
erfcx: ufunc[_kinds.OneInexact]
erfinv: ufunc[_kinds.OneInexact]
exp10: ufunc[_kinds.OneInexact]
exp2: ufunc[_kinds.OneInexact]
expit: ufunc[_kinds.OneInexact]
expm1: ufunc[_kinds.OneInexact]
fdtr: ufunc[_kinds.Other]
fdtrc: ufunc[_kinds.Other]
gamma: ufunc[_kinds.OneInexact]
gammainc: ufunc[_kinds.TwoInexact]
gammaincc: ufunc[_kinds.TwoInexact]
gammaln: ufunc[_kinds.OneInexact]
i0: ufunc[_kinds.OneInexact]
i0e: ufunc[_kinds.OneInexact]
i1: ufunc[_kinds.OneInexact]
i1e: ufunc[_kinds.OneInexact]
j0: ufunc[_kinds.OneInexact]
j1: ufunc[_kinds.OneInexact]
kl_div: ufunc[_kinds.TwoInexact]
log1p: ufunc[_kinds.OneInexact]
log_expit: ufunc[_kinds.OneInexact]
log_ndtr: ufunc[_kinds.OneInexact]
loggamma: ufunc[_kinds.OneInexact]
logit: ufunc[_kinds.OneInexact]
ndtr: ufunc[_kinds.OneInexact]
ndtri: ufunc[_kinds.OneInexact]
psi: ufunc[_kinds.OneInexact]
rel_entr: ufunc[_kinds.TwoInexact]
xlog1py: ufunc[_kinds.TwoInexact]
xlogy: ufunc[_kinds.TwoInexact]
y0: ufunc[_kinds.OneInexact]
y1: ufunc[_kinds.OneInexact]
yn: ufunc[_kinds.TwoInexact]
def multigammaln(a: _Any, d: _Any) -> _GPUArray: ...
def polygamma(n: _Any, x: _Any) -> _GPUArray: ...
def zeta(x: _Any, q: _Any = None, out: _Any = None) -> _GPUArray: ...
