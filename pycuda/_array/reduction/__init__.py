"""Sums, products, extremes, means and spreads: of all elements, along axes, under a mask; cumulative ones.

A call becomes a launch once for each dtype, layout and set of axes (reduce.py), kernels and the division into
blocks come from pycuda._kernels.builtin.reduction.
"""
