"""What the fuzzers start from are modules: mutations of what is refused at once reach little of the code."""

from pathlib import Path

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
