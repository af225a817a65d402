"""Sorting, searching in sorted arrays, top-k, unique elements and sets.

Rows of packed arrays are sorted in place (row_sort.py); the other modules bring their arrays into that form.
Kernels come from pycuda._kernels.builtin.sort and topk.
"""
