"""Products of vectors and matrices, einsum, norms, diagonals, numpy.linalg's factorizations.

Products come down to matmul.py, to sums of products (reduction) or to elementwise products; factorizations,
and what is made of them, to lapack.py.
"""
