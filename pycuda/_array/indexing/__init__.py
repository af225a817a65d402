"""a[index] and a[index] = value, take, put, boolean masks, where, indices to and from coordinates.

ext/gpuarray/views.c reads an index of integers and slices itself; the rest comes to getitem.py, which takes
apart the index and leaves the elements to gather.py (integers) and mask.py (booleans).
"""
