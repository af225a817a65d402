"""The inputs from which the fuzzers start are valid modules: mutations of invalid ones would reach little of
the code.

The file linked_image has the layout of cuLinkComplete. After a change of that, this writes the file again:
PYCUDA_DEVICE=cpu python tests/fuzz/test_corpus.py
"""

import ctypes
from pathlib import Path

import pytest

CORPUS = Path(__file__).parent / "corpus"
PROGRAM = """
from pathlib import Path
import pycuda.autoinit
import pycuda.driver as drv

for path in sorted(Path({!r}).iterdir()):
    try:
        drv.module_from_buffer(path.read_bytes())
    except drv.Error as error:
        print(path.name, error)
"""


def test_every_input_is_a_module(run_python):
    newest = {"PYCUDA_DEVICE": "cpu", "PYCUDA_DRIVER": None, "PYCUDA_CPU_COMPUTE_CAPABILITY": "9.0"}
    assert len(list(CORPUS.iterdir())) > 10
    assert run_python(PROGRAM.format(str(CORPUS)), env=newest, check=True).stdout == ""


def linked_image(library):
    """The bytes of an image that the CPU device's library links from two texts of the corpus."""
    CU_JIT_INPUT_PTX = 1
    cuda, link = ctypes.CDLL(library), ctypes.c_void_p()
    image, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert not cuda.cuLinkCreate_v2(0, None, None, ctypes.byref(link))
    for name in ("empty_kernel.ptx", "variables.ptx"):
        text = (CORPUS / name).read_bytes() + b"\0"
        length = ctypes.c_size_t(len(text))
        assert not cuda.cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, text, length, name.encode(), 0, None, None)
    assert not cuda.cuLinkComplete(link, ctypes.byref(image), ctypes.byref(size))
    return ctypes.string_at(image, size.value)


@pytest.mark.cpu("cuLinkComplete of a GPU makes machine code")
def test_the_linked_image_has_todays_layout(cpu_device_library, primary_context):
    """The stored image has the size and the header (magic, version, sizes, options) of one that is linked
    now.
    """
    header = 32
    stored, made = (CORPUS / "linked_image").read_bytes(), linked_image(cpu_device_library)
    assert len(stored) == len(made) and stored[:header] == made[:header]


if __name__ == "__main__":
    import pycuda.autoinit  # noqa: F401

    with open("/proc/self/maps") as maps:
        path = next(line.split()[-1] for line in maps if "/libcuda.so.1" in line)
    (CORPUS / "linked_image").write_bytes(linked_image(path))
