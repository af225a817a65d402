"""`python -m pycuda.cpu`, or `pycuda_cpu`: runs a program on the CPU device, as the command cuda-cpu does."""

from . import _main

if __name__ == "__main__":
    _main()
