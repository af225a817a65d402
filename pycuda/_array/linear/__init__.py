"""Products of vectors and matrices, einsum, norms, diagonals.

All of them come down to matmul.py, to sums of products (reduction) or to elementwise products.
"""
