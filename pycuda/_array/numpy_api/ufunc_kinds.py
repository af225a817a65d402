"""What is known of a ufunc's result from its operands, for type checkers: pycuda.numpy.sin is a
Ufunc[OneInexact], whose calls return a GPUArray[np.float32] of one. tools/numpy_stubs.py finds the kind of
each ufunc in NumPy's list of its loops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Kind = TypeVar("Kind", default=Any)
else:
    from typing import TypeVar

    Kind = TypeVar("Kind")

__all__ = ["Booleans", "Kind", "Magnitude", "OneInexact", "OneScalar", "TwoInexact", "TwoNumbers"]
__all__ += ["OneSingle", "Other", "TwoResults", "TwoScalars", "TwoSingle"]


class Booleans:
    """Results are booleans: less, isnan."""


class Magnitude:
    """That of a complex number is a float: absolute."""


class OneInexact:
    """Of floats and complex numbers results have the operand's dtype: sin."""


class OneScalar:
    """Results have the operand's dtype: negative."""


class TwoInexact:
    """Of floats and complex numbers results have the dtype of the operands: divide."""


class OneSingle:
    """As OneInexact, but of float16 results are float32: special.erf."""


class TwoSingle:
    """As TwoInexact, but of float16 results are float32: special.beta."""


class TwoNumbers:
    """Of numbers results have the dtype of the operands, of booleans another: subtract."""


class TwoScalars:
    """Results have the dtype of the operands, booleans too: add."""


class TwoResults:
    """Results are two arrays: divmod."""


class Other:
    """Nothing is known of the dtype: float_power."""
