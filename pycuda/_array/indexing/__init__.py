"""a[index] and a[index] = value, take, put, boolean masks, where, indices to and from coordinates.

ext/gpuarray/indexing.c reads an index of integers and slices; the rest comes to getitem.py and setitem.py,
which take the index apart and leave the elements to core.gather (integers) and mask.py (booleans).
"""
