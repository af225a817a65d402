"""What makes the source of the package's own kernels."""
