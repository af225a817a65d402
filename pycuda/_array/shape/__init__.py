"""Views with other axes and arrays put together: reshape, squeeze, split, concatenate, stack, repeat.

Where strides can say it the result is a view, otherwise a copy. Elements are moved by core.elementwise.
"""
