"""Functions of NVIDIA's libraries as rows of a table.

A row is a line of text::

    cublas?gemm   S D C Z   transa transb m n k alpha* A lda B ldb beta* C ldc

the name, the type letters that replace the question mark, and the parameters after the handle. What a
parameter is, its name says (_ENUMERATIONS, _INTEGERS; all others are addresses). `name*` is a number of the
function's dtype, passed by reference, `name*r` a real one. `=index`, `=int`, `=value`, `=real` are what the
library writes and the function returns (an index is counted from 0, a value is of the function's dtype).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

# The dtype of a function by the type letters in its name. Those of two letters: Sc, Dz return a real number
# of complex ones, Cs, Zd scale complex numbers by real ones, Is, Id, Ic, Iz return an index.
DTYPES = {
    **dict.fromkeys(("S", "Is"), np.float32),
    **dict.fromkeys(("D", "Id"), np.float64),
    **dict.fromkeys(("C", "Sc", "Cs", "Ic"), np.complex64),
    **dict.fromkeys(("Z", "Dz", "Zd", "Iz"), np.complex128),
}
REAL = {np.float32: np.float32, np.complex64: np.float32, np.float64: np.float64, np.complex128: np.float64}

# Parameters that are enumerations: the library's numbers for their letters.
_OPERATION = {"n": 0, "t": 1, "c": 2}  # cublasOperation_t
_LAPACK = {each: ord(each.upper()) for each in "asno"}  # characters, as in LAPACK
ENUMERATIONS = {
    **dict.fromkeys(("trans", "transa", "transb"), _OPERATION),
    **dict.fromkeys(("jobu", "jobvt"), _LAPACK),
    "uplo": {"l": 0, "u": 1},
    "diag": {"n": 0, "u": 1},
    "side": {"l": 0, "r": 1},
    "jobz": {"n": 0, "v": 1},
}
# Names of NVIDIA's header that may stand for letters.
_LONG_NAMES = {"cusolver_eig_mode_novector": "n", "cusolver_eig_mode_vector": "v"}
_INTEGERS = frozenset(
    "m n k kl ku lda ldb ldc ldu ldvt incx incy nrhs lwork batchCount batchSize nx ny nz fft_type batch "
    "direction".split()
)


def letter(name: str, value) -> str:
    """The lower-case letter for the value of an enumeration parameter, which may be a letter of either case
    (str or bytes), a name of NVIDIA's header, or the library's number. ValueError for any other.
    """
    letters = ENUMERATIONS[name]
    text = value.decode() if isinstance(value, bytes) else value
    if isinstance(text, str):
        text = _LONG_NAMES.get(text.lower(), text.lower())
    else:
        text = next((each for each, number in letters.items() if number == value), "")
    if text not in letters:
        raise ValueError(f"{name} is {value!r}, must be one of {', '.join(letters)}")
    return text


@functools.cache
def number_of(name: str, value) -> int:
    """The library's number for the value of an enumeration parameter, in any form that `letter` takes."""
    return ENUMERATIONS[name][letter(name, value)]


class Parameter(NamedTuple):
    name: str
    kind: str  # "enumeration", "integer", "address", "number", "real number", "result"


def _parameter(text: str) -> Parameter:
    """A parameter from its text in a row: "=name" is a result, "name*" a number, "name*r" a real number,
    any other the name alone, from which the kind follows.
    """
    if text.startswith("="):
        return Parameter(text[1:], "result")
    name, star, real = text.partition("*")
    if star:
        return Parameter(name, "real number" if real else "number")
    if name in ENUMERATIONS:
        return Parameter(name, "enumeration")
    return Parameter(name, "integer" if name in _INTEGERS else "address")


class FunctionRow(NamedTuple):
    """A function of a library."""

    name: str
    family: str  # the name after the type letters: "gemm" of cublasSgemm
    dtype: type
    parameters: tuple[Parameter, ...]

    @property
    def given(self) -> list[Parameter]:
        """The parameters that a caller gives."""
        return [each for each in self.parameters if each.kind != "result"]

    @property
    def result(self) -> str | None:
        """The name of the result ("index", "int", "value", "real"), None if the function has none."""
        return next((each.name for each in self.parameters if each.kind == "result"), None)


def rows(table: str) -> Iterator[FunctionRow]:
    """The functions of a table of rows."""
    for line in filter(None, map(str.strip, table.splitlines())):
        pattern, *words = line.split()
        types = next((i for i, word in enumerate(words) if word not in DTYPES), len(words))
        parameters = tuple(map(_parameter, words[types:]))
        family = pattern.partition("?")[2]
        for letters in words[:types]:
            yield FunctionRow(pattern.replace("?", letters), family, DTYPES[letters], parameters)
