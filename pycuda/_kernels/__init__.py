"""Generators of the source of kernels: the package's own, and those around expressions of users.

From the bottom: plans, then builtin, random, sparse and user, which do not import each other.
"""
