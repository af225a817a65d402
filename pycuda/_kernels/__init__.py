"""What makes the source of kernels, and the plans of their launches."""
