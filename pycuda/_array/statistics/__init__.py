"""Averages, medians and quantiles, correlations, histograms, with and without NaNs.

Made of reductions and of sorting; histograms have kernels of their own (pycuda._kernels.builtin.histogram).
"""
