"""Mathematical functions of several elementwise operations: comparisons, differences, interpolation.

Made of elementwise operations and scans; no kernels of their own.
"""
