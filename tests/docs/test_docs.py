"""Every program in the documentation runs, and prints what the page says."""

import doctest
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from devices import needs_library, on_cpu_device
from joined import joined, outputs

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if "_build" not in path.parts]
# Groups: a program, and the output that the page shows after it.
BLOCKS = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", re.S)
BLOCKS_OF = {path.relative_to(DOCS).as_posix(): BLOCKS.findall(path.read_text()) for path in PAGES}
# What such a program needs is checked, it starts processes or threads, or leaves contexts to its end.
ALONE = re.compile(
    r"multiprocessing|scipy|dask|distributed|np\.fft|skcuda|thread|make_context|torch|cupy|environ"
)


def runs_alone(program):
    """Each does on the CPU device, so that none depends on another. On a GPU most of a process's time goes
    into its context: there the others of a page share one."""
    return on_cpu_device() or ALONE.search(program)


def groups():
    """The programs with their outputs that run in one process."""
    for page, blocks in BLOCKS_OF.items():
        alone = [runs_alone(program) for program, _ in blocks]
        for number, block in enumerate(blocks):
            if alone[number]:
                yield pytest.param([block], id=f"{page}-{number}")
        if not all(alone):
            yield pytest.param(
                [block for block, is_alone in zip(blocks, alone, strict=True) if not is_alone], id=page
            )


# Pages with parts of programs, and the tests that run them.
PARTS = {
    "opengl.md": "tests/gl/test_gl.py",
    "guide/faults.md": "tests/docs/test_docs.py",
    "dask.md": "tests/gpuarray/interop/test_distributed.py",
}


@pytest.mark.parametrize("blocks", list(groups()))
def test_programs_run_and_print_what_the_page_says(run_program, blocks):
    programs = [program for program, _ in blocks]
    for package in "scipy", "dask", "distributed":
        if (
            any(re.search(rf"^(import|from) {package}\b", program, re.M) for program in programs)
            and importlib.util.find_spec(package) is None
        ):
            pytest.skip(f"{package} is not installed")
    if any("np.fft." in program for program in programs):
        needs_library("cufft")
    # Programs must not import the folders of tests as packages. They may import skcuda.
    # Processes that a program starts by multiprocessing run these lines once more.
    tests, skcuda = str(ROOT / "tests"), str(ROOT / "skcuda")
    paths = f"sys.path = [each for each in sys.path if each != {tests!r}] + [{skcuda!r}]"
    done = run_program(f"import sys; {paths}\n{joined(programs)}")
    if "LibraryNotFound" in done.stderr:
        pytest.skip(done.stderr.strip().rpartition("\n")[2])
    assert done.returncode == 0 and not done.stderr, done.stderr
    for (_, shown), printed in zip(blocks, outputs(done.stdout), strict=True):
        if shown:
            assert doctest.OutputChecker().check_output(shown.strip(), printed.strip(), doctest.ELLIPSIS)


def test_a_page_with_parts_of_programs_has_a_test_that_names_it():
    """Parts are marked ```py, programs ```python."""
    pages = {page.relative_to(DOCS).as_posix() for page in PAGES if "```py\n" in page.read_text()}
    assert pages == PARTS.keys()
    for page, test in PARTS.items():
        assert page.split("/")[-1] in (ROOT / test).read_text()


def test_conftest_of_the_page_on_faults(tmp_path):
    """The page's conftest.py reports an error for a test that leaks memory, and none for another."""
    block = re.search(r"```py\n(.*?)```", (DOCS / "guide" / "faults.md").read_text(), re.S)[1]
    (tmp_path / "conftest.py").write_text(block)
    (tmp_path / "test_it.py").write_text("""
import pycuda.autoinit
import pycuda.driver as drv

kept = []

def test_clean():
    drv.mem_alloc(100)

def test_keeps():
    kept.append(drv.mem_alloc(100))
""")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "2 passed, 1 error" in done.stdout and "leaked objects: {'DeviceAllocation': 1}" in done.stdout


def test_examples_in_docstrings(run_program):
    texts = {path: path.read_text() for path in (ROOT / "pycuda").rglob("*.py")}
    del texts[ROOT / "pycuda" / "mpi.py"]  # tests/mpi/test_examples.py runs them by mpiexec
    assert not any("+SKIP" in text for text in texts.values())
    paths = [path.relative_to(ROOT).with_suffix("") for path, text in texts.items() if ">>>" in text]
    names = [".".join(path.parts) for path in paths]
    assert "pycuda.elementwise" in names
    done = run_program(f"""
import doctest, importlib
for name in {names}:
    failed, attempted = doctest.testmod(importlib.import_module(name))
    assert attempted and not failed
""")
    assert done.returncode == 0, done.stdout + done.stderr
