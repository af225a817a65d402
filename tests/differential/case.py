"""One seed: a program of one to three calls, run with NumPy's arrays and with ours, and compared."""

import operator
import re
import warnings

import numpy as np
from compare import Difference, compare, compare_errors, compare_sharing
from draw import Draw, namespace
from groups import GROUPS
from known import reason

import pycuda.driver as drv
from pycuda import gpuarray

HEAD = """import operator

import numpy as np
from numpy import inf, nan

import pycuda.autoprimaryctx
from pycuda import gpuarray


def program(there):
"""
TAIL = """

for there in (lambda array: array), gpuarray.to_gpu:
    try:
        print(program(there))
    except Exception as error:
        print(repr(error))
"""


class Case:
    """The program of a seed, which decides about its arrays and its calls; `group`: with calls of that group
    only.

    `calls` are (text, tolerance of the result in units in the last place), in their order. A call is an
    expression or a statement that assigns to an array.
    """

    def __init__(self, seed, group=None):
        self.seed = seed
        self.draw = draw = Draw(seed)
        self.calls, self.groups = [], []
        for _ in range(draw.pick({1: 7, 2: 2, 3: 1})):
            name = group or draw.pick(list(GROUPS))
            draw.ulp = 0
            self.calls.append((draw.pick(GROUPS[name])(draw), draw.ulp))
            self.groups.append(name)

    def program(self):
        """A Python program that prints NumPy's results and ours."""
        lines = [f"{name} = there({text})" for name, text in self.draw.bases.items()]
        lines += [f"{name} = {text}" for name, text in self.draw.views.items()]
        lines += [f"r{i} = {text}" if is_expression(text) else text for i, (text, _) in enumerate(self.calls)]
        results = [f"r{i}" for i, (text, _) in enumerate(self.calls) if is_expression(text)]
        lines.append(f"return {', '.join(results + list(self.draw.bases))}")
        return HEAD + "".join(f"    {line}\n" for line in lines) + TAIL

    def arrays(self, there):
        """The namespace in which a program's text is evaluated: {name: array} of bases, which there(array)
        makes of NumPy's arrays, and of their views.
        """
        names = namespace() | {"operator": operator}
        for name, text in self.draw.bases.items():
            names[name] = there(eval(text, names))
        for name, text in self.draw.views.items():
            names[name] = eval(text, names)
        return names

    def run(self):
        """Runs the calls with NumPy's arrays and with ours. Returns the first difference as text, or None.
        Driver errors, which end the context, are raised.

        The run ends after a call that raises, that has a known difference, or whose rounding leaves the two
        sides with different operands for the next call.
        """
        numpys = self.arrays(lambda array: array)
        ours, _ = outcome(self.arrays, gpuarray.to_gpu)
        if isinstance(ours, Exception):
            return f"making the arrays: {ours!r}"
        max_ulp = (
            0  # the largest tolerance of the calls so far, which assignments may have brought into arrays
        )
        for text, ulp in self.calls:
            max_ulp = max(max_ulp, ulp)
            want, numpy_warned = outcome(execute, text, numpys)
            if isinstance(want, MemoryError):
                break
            got, warned = outcome(execute, text, ours)
            scale = self.scale(text)
            try:
                if isinstance(want, Exception) or isinstance(got, Exception):
                    compare_errors(got, want)
                    break
                compare(got, want, ulp, scale=scale)
                compare_sharing(
                    got, want, *({n: names[n] for n in self.draw.bases} for names in (ours, numpys))
                )
                for name in self.draw.compared:
                    compare(ours[name], numpys[name], max_ulp, f"{name} afterwards")
                if numpy_warned != warned:
                    raise Difference(f"ComplexWarning: {warned}, NumPy: {numpy_warned}")
            except Difference as difference:
                if reason(text, got, want, difference) is None:
                    return f"{text}: {difference}"
                break  # a known difference
            if max_ulp and not self.same_operands(ours, numpys):
                break
        return None

    def scale(self, text):
        """A number to whose spacing rounding errors of a call may be relative, in place of the result's; 0
        without one. It is the largest operand of integers that float64 does not hold exactly, or of
        logaddexp: their sums may cancel out, so that the result is small and the error is not.
        """
        named = [array for name, array in self.draw.host.items() if re.search(rf"\b{name}\b", text)]
        inexact = [array for array in named if array.dtype.itemsize == 8 and array.dtype.kind in "iu"]
        sizes = [abs(float(limit)) for array in inexact if array.size for limit in (array.min(), array.max())]
        largest = max((size for size in sizes if size > 2**53), default=0.0)
        if "logaddexp" in text:
            with np.errstate(all="ignore"):
                values = np.abs(np.concatenate([np.ravel(array).astype("f8") for array in named] or [[0]]))
            largest = max(largest, float(values[np.isfinite(values)].max(initial=0)))
        return largest

    def same_operands(self, ours, numpys):
        """Whether all arrays have the same bits on both sides."""
        try:
            for name in self.draw.compared:
                compare(ours[name], numpys[name], 0)
        except Difference:
            return False
        return True


def is_expression(text):
    """Whether the text of a call is an expression, not a statement."""
    try:
        compile(text, "call", "eval")
    except SyntaxError:
        return False
    return True


def execute(text, names):
    """Runs a call's text in a namespace. Returns the result of an expression, None of a statement."""
    if is_expression(text):
        return eval(text, names)
    return exec(text, names)


def outcome(function, *arguments):
    """(the result or the exception of a call, whether it gave a ComplexWarning). Driver errors are raised,
    except for a lack of memory.
    """
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            result = function(*arguments)
        except drv.Error as error:
            if type(error) is not drv.MemoryError:
                raise
            result = error
        except Exception as error:
            result = error
    return result, any(issubclass(each.category, np.exceptions.ComplexWarning) for each in caught)
