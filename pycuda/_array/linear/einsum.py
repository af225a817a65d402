"""np.einsum: operands are contracted two at a time. A contraction is one product of matrices or, where no
label is summed, or where the matrices are vectors of a stack, an elementwise product and a sum.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pycuda._array.core.broadcast import broadcast_to
from pycuda._array.core.elementwise import apply
from pycuda._array.core.memory import write_back
from pycuda._array.core.numpy_errors import numpy_error, stand_in
from pycuda._array.core.operands import as_array, checked_out
from pycuda._array.linear.diagonals import diagonal
from pycuda._array.linear.matmul import matmul
from pycuda._array.shape.views import copy

if TYPE_CHECKING:
    from pycuda.gpuarray import GPUArray

# ---- subscripts


class _Subscripts(NamedTuple):
    """Subscripts read: the labels of each operand's axes, and of the result's. Axes of an ellipsis have
    negative numbers for labels, counted from the last one.
    """

    inputs: list[list]
    output: list


def _expand_ellipsis(labels, ndim: int, ellipsis_ndim: int) -> list:
    """The labels of an array of `ndim` axes, with negative numbers in place of the ellipsis. ndim -1 is for
    those of the result, whose ellipsis stands for `ellipsis_ndim` axes.
    """
    if labels.count(Ellipsis) > 1:
        raise ValueError("einstein sum subscripts string contains a '...' twice")
    named = len(labels) - labels.count(Ellipsis)
    if Ellipsis not in labels:
        return labels
    place = labels.index(Ellipsis)
    count = ndim - named if ndim >= 0 else ellipsis_ndim
    return [*labels[:place], *range(-count, 0), *labels[place + 1 :]]


def _letters(text: str) -> list:
    """Labels of one operand: letters, and one Ellipsis for three dots."""
    text = text.replace(" ", "")
    labels: list = []
    while text:
        if text.startswith("..."):
            labels.append(Ellipsis)
            text = text[3:]
        elif text[0].isalpha():
            labels.append(text[0])
            text = text[1:]
        else:
            raise ValueError(
                f"invalid subscript '{text[0]}' in einstein sum subscripts string, subscripts must be letters"
            )
    return labels


def _from_text(text: str, operands):
    """(labels of each operand, labels of the result or None) from einsum's text."""
    given, arrow, output = text.partition("->")
    inputs = [_letters(each) for each in given.split(",")]
    if len(inputs) != len(operands):
        raise numpy_error(np.einsum, text, *operands)
    return inputs, _letters(output) if arrow else None


def _from_lists(arguments):
    """(operands, labels of each, labels of the result or None) from einsum(array, labels, array, labels,
    ...), which may end with the labels of the result.
    """
    operands = list(arguments[: len(arguments) // 2 * 2 : 2])
    lists = list(arguments[1::2])
    output = list(arguments[-1]) if len(arguments) % 2 else None
    return operands, [list(each) for each in lists], output


def _parse_arguments(arguments) -> tuple[list[GPUArray], _Subscripts]:
    """The operands, and the labels of their axes and of the result's, from either form of einsum's
    arguments."""
    if isinstance(arguments[0], str):
        operands = [as_array(each) for each in arguments[1:]]
        inputs, output = _from_text(arguments[0], operands)
    else:
        operands, inputs, output = _from_lists(arguments)
        operands = [as_array(each) for each in operands]
    if not operands:
        raise ValueError("must specify the einstein sum subscripts string and at least one operand")
    spread = [_expand_ellipsis(labels, each.ndim, 0) for labels, each in zip(inputs, operands, strict=True)]
    for labels, each in zip(spread, operands, strict=True):
        if len(labels) != each.ndim:
            raise numpy_error(np.einsum, *arguments)
    ellipsis_ndim = max((-min((x for x in labels if _is_dots(x)), default=0) for labels in spread), default=0)
    if output is None:
        every = [label for labels in spread for label in labels if not _is_dots(label)]
        output = [
            *range(-ellipsis_ndim, 0),
            *sorted(label for label in set(every) if every.count(label) == 1),
        ]
    else:
        _check_output(output, spread)
        output = _expand_ellipsis(output, -1, ellipsis_ndim)
    return operands, _Subscripts(spread, output)


def _is_dots(label) -> bool:
    """Whether the label is of an axis that an ellipsis stands for."""
    return isinstance(label, int) and label < 0


def _check_output(output, inputs) -> None:
    """ValueError unless the output's labels are different ones of the inputs."""
    known = {label for labels in inputs for label in labels}
    for label in output:
        if label is not Ellipsis and label not in known:
            raise ValueError(
                f"einstein sum subscripts string included output subscript '{label}' which never appeared in "
                "an input"
            )
        if output.count(label) > 1:
            raise ValueError(
                f"einstein sum subscripts string includes output subscript '{label}' multiple times"
            )


# ---- contractions


class _Term(NamedTuple):
    """An array whose axes have labels."""

    array: GPUArray
    labels: list


def _lengths(operands, inputs) -> dict | None:
    """The length of each label. Axes of length 1 broadcast; None if other lengths of a label differ."""
    found: dict = {}
    for each, labels in zip(operands, inputs, strict=True):
        for label, length in zip(labels, each.shape, strict=True):
            if found.setdefault(label, length) == 1:
                found[label] = length
            elif length not in (1, found[label]):
                return None
    return found


def _sum_axes(a, axes) -> GPUArray:
    """The sum over axes in the dtype of the elements."""
    if not axes:
        return a
    return a.any(axis=axes) if a.dtype.kind == "b" else a.sum(axis=axes, dtype=a.dtype)


def _sum_labels(term, kept) -> _Term:
    """The term summed over the labels that are not in `kept`."""
    gone = tuple(axis for axis, label in enumerate(term.labels) if label not in kept)
    return _Term(_sum_axes(term.array, gone), [label for label in term.labels if label in kept])


def _with_unique_labels(array, labels, lengths) -> _Term:
    """An operand with each label once, without axes that only broadcast."""
    short = [axis for axis, label in enumerate(labels) if array.shape[axis] == 1 and lengths[label] != 1]
    array = array[tuple(0 if axis in short else slice(None) for axis in range(array.ndim))]
    labels = [label for axis, label in enumerate(labels) if axis not in short]
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            array = diagonal(array, 0, first, second)
            labels = [each for axis, each in enumerate(labels) if axis not in (first, second)] + [label]
    return _Term(array, labels)


def _transposed_to(term, order) -> GPUArray:
    return term.array.transpose([term.labels.index(label) for label in order])


def _contract_pair(left, right, kept) -> _Term:
    """Two terms as one, with the labels that are kept."""
    left, right = _sum_labels(left, kept.union(right.labels)), _sum_labels(right, kept.union(left.labels))
    # As a product of stacked matrices: `batch` are the axes of the stack, the left matrices have the axes
    # (rows, summed), the right ones (summed, columns), of which each may be several.
    both = [label for label in left.labels if label in right.labels]
    batch = [label for label in both if label in kept]
    summed = [label for label in both if label not in kept]
    rows = [label for label in left.labels if label not in both]
    columns = [label for label in right.labels if label not in both]
    labels = [*batch, *rows, *columns]
    b = _transposed_to(right, [*batch, *summed, *columns])
    first_summed, first_column = len(batch), len(batch) + len(summed)
    batch_shape, column_shape = b.shape[:first_summed], b.shape[first_column:]
    row_shape = tuple(left.array.shape[left.labels.index(label)] for label in rows)
    are_vectors = math.prod(row_shape) == math.prod(column_shape) == 1
    if not summed or (are_vectors and batch_shape):
        a = _transposed_to(left, [*batch, *summed, *rows])[(...,) + (None,) * len(columns)]
        b = b[(slice(None),) * first_column + (None,) * len(rows)]
        product = apply("multiply", a, b)
        return _Term(_sum_axes(product, tuple(range(first_summed, first_column))), labels)
    a = _transposed_to(left, [*batch, *rows, *summed])
    if are_vectors:
        return _Term(matmul(a.ravel(), b.ravel()).reshape((*row_shape, *column_shape)), labels)
    length = math.prod(b.shape[first_summed:first_column])
    product = matmul(
        a.reshape((*batch_shape, math.prod(row_shape), length)),
        b.reshape((*batch_shape, length, math.prod(column_shape))),
    )
    return _Term(product.reshape((*batch_shape, *row_shape, *column_shape)), labels)


def _path(operands, subscripts, optimize) -> list[tuple[int, ...]]:
    """For each contraction the numbers of the terms that it contracts; its result becomes the last term."""
    if len(operands) < 3:
        return [(0, 1)] * (len(operands) - 1)
    every = dict.fromkeys(label for labels in subscripts.inputs for label in labels)
    numbers = {label: number for number, label in enumerate(every)}
    arguments: list = []
    for each, labels in zip(operands, subscripts.inputs, strict=True):
        arguments += [np.broadcast_to(np.float32(0), each.shape), [numbers[label] for label in labels]]
    arguments.append([numbers[label] for label in subscripts.output])
    path, _ = np.einsum_path(*arguments, optimize=optimize or "greedy")
    return path[1:]  # the first item is the text "einsum_path"


def einsum(*operands, out=None, optimize=False, dtype=None, order="K", casting="safe") -> GPUArray:
    """Einstein's sums of products, as numpy.einsum. Where `optimize` is False the order of contractions of
    more than two arrays is that of "greedy".
    """
    given = operands
    operands, subscripts = _parse_arguments(given)
    result = np.dtype(dtype) if dtype is not None else np.result_type(*(each.dtype for each in operands))
    for each in operands:
        if not np.can_cast(each.dtype, result, casting):
            raise TypeError(
                f"Cannot cast array data from {each.dtype!r} to {result!r} according to the rule '{casting}'"
            )
    lengths = _lengths(operands, subscripts.inputs)
    if lengths is None:
        raise numpy_error(np.einsum, *given)
    shape = tuple(lengths[label] for label in subscripts.output)
    if out is not None:
        checked_out(out, shape, result, "unsafe" if casting == "unsafe" else "same_kind")
    terms = [
        _with_unique_labels(each.astype(result, copy=False), labels, lengths)
        for each, labels in zip(operands, subscripts.inputs, strict=True)
    ]
    for numbers in _path(operands, subscripts, optimize):
        terms = _contract(terms, numbers, subscripts.output)
    array = _arrange_result(_sum_labels(terms[0], set(subscripts.output)), subscripts.output, shape)
    if out is not None:
        return write_back(array, out)
    return array if order in "KA" else copy(array, order)


def _contract(terms, numbers, output) -> list[_Term]:
    """The terms after the contraction of those with these numbers, whose result comes last."""
    rest = [each for number, each in enumerate(terms) if number not in numbers]
    term, *others = (terms[number] for number in sorted(numbers))
    while others:
        other = others.pop(0)
        kept = set(output).union(*(each.labels for each in (*others, *rest)))
        term = _contract_pair(term, other, kept)
    return [*rest, term]


def _arrange_result(term, output, shape) -> GPUArray:
    """The array with its axes in the order of the result, and with axes that are only broadcast."""
    labels = [label for label in output if label in term.labels]
    array = _transposed_to(term, labels)
    for axis, label in enumerate(output):
        if label not in term.labels:
            array = array[(slice(None),) * axis + (None,)]
    return array if array.shape == shape else broadcast_to(array, shape)


def einsum_path(*operands, optimize="greedy", einsum_call=False) -> tuple[list[Any], str]:
    """The order of contractions that NumPy chooses for shapes like these."""
    return np.einsum_path(*stand_in(operands), optimize=optimize, einsum_call=einsum_call)
