"""What makes the source of kernels, the package's own and those round expressions of users.

From the bottom: plans, then builtin, random, sparse and user, which do not know each other.
"""
