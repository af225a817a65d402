"""What makes the source of kernels, the package's own and those round expressions of users."""
