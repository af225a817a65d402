"""An exception that a signal handler raises leaves the call that it interrupts unchanged: pycuda neither
swallows nor replaces it.

Handlers run between two instructions of the main thread. In their place a trace function raises at random
lines of the package.
"""

import os
import random
import sys

import numpy as np
import pytest

import pycuda
import pycuda.compiler as compiler
import pycuda.driver as drv
from pycuda import gpuarray
from pycuda._compile import finder, requests
from pycuda.elementwise import ElementwiseKernel
from pycuda.reduction import ReductionKernel
from pycuda.tools import parse_c_arg

PACKAGE = os.path.dirname(pycuda.__file__)


class Stop(Exception):
    """An exception class that pycuda does not know."""


KINDS = Stop, TimeoutError, ValueError, RuntimeError


class Interrupted:
    """A trace function that raises `problem` at the line-th line of the package that a call executes; if
    `line` is 0, it only counts the lines.
    """

    def __init__(self, line, problem):
        self.line, self.problem = line, problem
        self.lines = 0  # executed so far
        self.where = None  # file and line where it raised

    def __call__(self, frame, event, argument):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        self.lines += event == "line"
        if event == "line" and self.lines == self.line:
            self.where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
            raise self.problem
        return self

    def call(self, function):
        """The exception of the function while it is traced; None without one.

        It is called within a generator, which has a stack of exceptions of its own: if a trace function
        raises while a `with` block swallows an exception, Python 3.11 leaves that exception on the stack.
        """
        return next(self._calls(function))

    def _calls(self, function):
        error, before = None, sys.gettrace()
        sys.settrace(self)
        try:
            function()
        except Exception as problem:
            error = problem
        finally:
            sys.settrace(before)
        yield error


@pytest.fixture
def functions(primary_context, tmp_path):
    """Functions that call the package and do all of their work each time, without a cache."""
    x = gpuarray.to_gpu(np.arange(12, dtype=np.float32).reshape(3, 4))
    rows = gpuarray.to_gpu(np.array([0, 2]))
    source = "#include <stdio.h>\n__global__ void f(int *a) { a[0] = 5; }"

    def compiled():
        finder._found.clear()
        requests._memory.clear()
        compiler.compile(source, cache_dir=tmp_path)

    def elementwise():
        ElementwiseKernel("float *x, float a, float *z", "z[i] = a * x[i]", "scale")(x, 3, x.copy())

    def reduction():
        ReductionKernel(np.float32, "0", "a + b", "x[i]", "const float *x")(x)

    def indexing():
        x[rows, 1:], np.array_equiv(x, x)

    return compiled, elementwise, reduction, indexing, lambda: parse_c_arg("const unsigned *x")


def test_exceptions_of_handlers(functions):
    draw = random.Random(7)
    for function in functions:
        function()
        counter = Interrupted(0, None)
        counter.call(function)
        for _ in range(60):
            problem = draw.choice(KINDS)("of a handler")
            interrupted = Interrupted(draw.randint(1, counter.lines), problem)
            came_out = interrupted.call(function)
            assert interrupted.where is None or came_out is problem, (interrupted.where, problem, came_out)
    drv.Context.synchronize()
