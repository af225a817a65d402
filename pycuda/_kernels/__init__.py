"""What makes the source of kernels."""
