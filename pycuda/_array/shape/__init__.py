"""Views with other axes and arrays put together: reshape, squeeze, split, concatenate, stack.

The result is a view where strides can express it, otherwise a copy. Elements are moved by core.elementwise.
"""
