"""Prints the extra of this package (cu12 or cu13) whose NVRTC fits the CUDA driver of this machine."""

import ctypes


def driver_version():
    """The CUDA version of NVIDIA's driver (13000 is 13.0), or None without a driver."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    version = ctypes.c_int()
    return version.value if library.cuDriverGetVersion(ctypes.byref(version)) == 0 else None


if __name__ == "__main__":
    version = driver_version()
    print("cu12" if version is not None and version < 13000 else "cu13")
