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

beta: ufunc[_kinds.TwoSingle]
betainc: ufunc[_kinds.Other]
betaln: ufunc[_kinds.TwoSingle]
cbrt: ufunc[_kinds.OneSingle]
digamma: ufunc[_kinds.OneSingle]
entr: ufunc[_kinds.OneSingle]
erf: ufunc[_kinds.OneSingle]
erfc: ufunc[_kinds.OneSingle]
erfcinv: ufunc[_kinds.OneSingle]
erfcx: ufunc[_kinds.OneSingle]
erfinv: ufunc[_kinds.OneSingle]
exp10: ufunc[_kinds.OneSingle]
exp2: ufunc[_kinds.OneSingle]
expit: ufunc[_kinds.OneSingle]
expm1: ufunc[_kinds.OneSingle]
fdtr: ufunc[_kinds.Other]
fdtrc: ufunc[_kinds.Other]
gamma: ufunc[_kinds.OneSingle]
gammainc: ufunc[_kinds.TwoSingle]
gammaincc: ufunc[_kinds.TwoSingle]
gammaln: ufunc[_kinds.OneSingle]
i0: ufunc[_kinds.OneSingle]
i0e: ufunc[_kinds.OneSingle]
i1: ufunc[_kinds.OneSingle]
i1e: ufunc[_kinds.OneSingle]
j0: ufunc[_kinds.OneSingle]
j1: ufunc[_kinds.OneSingle]
kl_div: ufunc[_kinds.TwoSingle]
log1p: ufunc[_kinds.OneSingle]
log_expit: ufunc[_kinds.OneSingle]
log_ndtr: ufunc[_kinds.OneSingle]
loggamma: ufunc[_kinds.OneSingle]
logit: ufunc[_kinds.OneSingle]
ndtr: ufunc[_kinds.OneSingle]
ndtri: ufunc[_kinds.OneSingle]
psi: ufunc[_kinds.OneSingle]
rel_entr: ufunc[_kinds.TwoSingle]
xlog1py: ufunc[_kinds.TwoSingle]
xlogy: ufunc[_kinds.TwoSingle]
y0: ufunc[_kinds.OneSingle]
y1: ufunc[_kinds.OneSingle]
yn: ufunc[_kinds.TwoSingle]
def multigammaln(a: _Any, d: _Any) -> _GPUArray: ...
def polygamma(n: _Any, x: _Any) -> _GPUArray: ...
def zeta(x: _Any, q: _Any = None, out: _Any = None) -> _GPUArray: ...
