"""The programs that the reference shows with its names: docs/programs.py finds them."""

import doctest
import importlib.util
import inspect
import re
import sys
from pathlib import Path

import pytest
from devices import needs_cudadevrt, needs_library, on_cpu_device
from joined import joined

DOCS = Path(__file__).resolve().parents[2] / "docs"


def load(name):
    """The module of this name in docs."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


public = load("public")
programs = load("programs")
vendor = load("vendor")
EXAMPLES = [(names[0], text) for names, text in programs.examples() if not programs.is_session(text)]
BATCHES = 8  # processes that share what need not run alone
SESSIONS = sorted((DOCS / "examples").glob("*.pycon"))
# Sessions that need what a test of their subject makes, and that test.
ELSEWHERE = {"opengl": "tests/gl/test_gl.py", "nccl": "tests/nccl/test_examples.py"}


def runs_alone(program):
    """Each does on the CPU device, so that none depends on another; on a GPU those whose needs are checked,
    and those that start processes."""
    return on_cpu_device() or re.search(r"fft\.|cudadevrt|multiprocessing", program)


def groups():
    """The examples that run in one process."""
    together = [example for example in EXAMPLES if not runs_alone(example[1])]
    for example in EXAMPLES:
        if example not in together:
            yield pytest.param([example[1]], id=example[0].removeprefix("pycuda."))
    for first in range(min(BATCHES, len(together))):
        yield pytest.param([text for _, text in together[first::BATCHES]], id=f"batch {first}")


@pytest.mark.parametrize("texts", list(groups()))
def test_examples_run(run_program, texts):
    if any("fft." in text for text in texts):
        needs_library("cufft")
    if any("cudadevrt" in text for text in texts):
        needs_cudadevrt()
    done = run_program(joined(texts))
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_sessions_that_run_elsewhere_have_a_test_that_names_them():
    assert ELSEWHERE.keys() <= {path.stem for path in SESSIONS}
    for name, test in ELSEWHERE.items():
        assert f"{name}.pycon" in (DOCS.parent / test).read_text()


@pytest.mark.parametrize(
    "path", [pytest.param(each, id=each.stem) for each in SESSIONS if each.stem not in ELSEWHERE]
)
def test_sessions_show_what_is_computed(run_program, path):
    """All sessions of a file in one process, each with names of its own."""
    if "import scipy" in path.read_text():
        pytest.importorskip("scipy")
    for library in ("cublas", "cufft", "cusolver") if path.stem == "skcuda" else ():
        needs_library(library)
    done = run_program(
        f"""
import doctest, sys
from pathlib import Path
sys.path.insert(0, {str(DOCS)!r})
import programs
runner = doctest.DocTestRunner()
for names, text in programs.examples_of(Path({str(path)!r})):
    runner.run(doctest.DocTestParser().get_doctest(text, {{}}, names[0], None, 0))
assert runner.tries > 3 and not runner.failures
"""
    )
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr


def test_sessions_of_special_show_what_scipy_computes():
    pytest.importorskip("scipy.special")
    runner = doctest.DocTestRunner()
    for names, text in programs.examples_of(DOCS / "examples" / "special.pycon"):
        text = text.replace("pycuda.numpy as xp", "numpy as xp").replace("from pycuda.numpy", "from scipy")
        text = text.replace(">>> import pycuda.autoinit\n", "")
        assert "pycuda" not in text
        runner.run(doctest.DocTestParser().get_doctest(text, {}, names[0], None, 0))
    assert runner.tries > 40 and not runner.failures


def test_examples_are_for_public_names():
    names = [name for listed, _ in programs.examples() for name in listed]
    shown = {f"{module}.{name}": public.imported(module, name) for module, name in public.shown()}
    for full, value in list(shown.items()):
        if inspect.isclass(value):
            shown |= {f"{full}.{member}": None for member in public.members(value)}
    assert len(names) > 200 and [name for name in names if name not in shown] == []
    assert len(names) == len(set(names)), "a name has two examples"


def test_an_example_uses_the_names_that_it_is_for():
    unused = [
        name
        for names, text in programs.examples()
        for name in names
        if name.rpartition(".")[2] not in programs.words(programs.code(text)) | {"__call__"}
    ]
    assert unused == []


@pytest.mark.cpu("the pages show what the CPU device computes")
def test_calls_of_numpys_functions_run(run_python):
    """They are run when the pages are built, and what they show must be shown."""
    done = run_python(
        f"""
import sys
sys.path.insert(0, {str(DOCS)!r})
import programs
sessions = programs.of_numpy()
assert len(sessions) > 400, len(sessions)
silent = [name for name, lines in sessions.items() if lines[-1].startswith(">>>")]
print(silent)
for line in sessions["pycuda.numpy.cumsum"]: print(line)
""",
        timeout=300,  # hundreds of kernels are compiled
    )
    assert done.returncode == 0, done.stderr
    silent, *session = done.stdout.splitlines()
    assert silent == "[]"
    assert session[-2:] == [
        ">>> xp.cumsum(m)",
        "array([ 3. ,  4. ,  6. , 11. , 11.5, 15.5, 14.5, 16.5, 23.5, 20.5, 21.5, 21.5], dtype=float32)",
    ] or session[-3].startswith(">>> xp.cumsum(m)")


def test_functions_of_the_driver_are_linked():
    groups = vendor.table()
    assert vendor.linked("Calls cuMemAlloc, cuFFT.", groups) == (
        "Calls `cuMemAlloc <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>`__, cuFFT."
    )
    assert vendor.address("cuGraphInstantiateWithFlags", groups) == vendor.address("cuGraphLaunch", groups)


def test_groups_are_read_from_a_header():
    header = """
    * \\defgroup CUDA_MEM Memory
    CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize);
    CUresult CUDAAPI
    cuMemFree(CUdeviceptr dptr);
    * \\defgroup CUDA_EVENT Events
    __CUDA_DEPRECATED CUresult CUDAAPI cuEventCreate(CUevent *phEvent, unsigned int Flags);
    """
    assert vendor.groups_in(header) == {
        "CUDA_MEM": ["cuMemAlloc", "cuMemFree"],
        "CUDA_EVENT": ["cuEventCreate"],
    }
