"""What the reference names after "See also" (docs/neighbors.py)."""

from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
# A context, a number and commands, which stand alone.
ALONE = {"pycuda.same_bits", "pycuda.check.main", "pycuda.cpu.path"}


def test_each_function_class_and_method_has_neighbors(run_python):
    """A process of its own is needed, since pycuda.autoinit makes a context."""
    program = f"""
import sys
sys.path.insert(0, {str(DOCS)!r})
import neighbors
print(*neighbors.without())
print(*(name for name in neighbors.grouped() if name not in neighbors.public_names()))
print(*neighbors.neighbors("pycuda.numpy.cumsum"))
print(*neighbors.neighbors("pycuda.numpy.linalg.svd"))
"""
    alone, unknown, of_cumsum, of_svd = run_python(program, check=True).stdout.split("\n")[:4]
    assert set(alone.split()) == ALONE
    assert unknown == "", "docs/see_also.txt names what is not public"
    assert {"pycuda.gpuarray.cumsum", "pycuda.gpuarray.GPUArray.cumsum"} < set(of_cumsum.split())
    assert {"pycuda.numpy.sum", "pycuda.numpy.diff"} < set(of_cumsum.split()), "NumPy's See Also names them"
    assert {"pycuda.numpy.linalg.qr", "pycuda.linalg.cho_factor"} < set(of_svd.split())
