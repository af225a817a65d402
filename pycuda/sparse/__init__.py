"""Sparse matrices times vectors, and conjugate gradients."""
