"""The reference describes every public name, and a program of the pages or the gallery uses every module.
docs/public.py says which names are public. `make docs` checks members as well, in the built pages.
"""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [page.read_text() for page in DOCS.rglob("*.md") if "_build" not in page.parts]

# Commands, which driver/test_debug.py and checks/test_check_command.py run, and a package of modules.
NO_PROGRAM = {"pycuda.check", "pycuda.cpu.check", "pycuda.debug", "pycuda.compyte"}
# Constants of CUDA that no function of pycuda takes or returns.
NO_CALL = {"pycuda.driver.mem_advise", "pycuda.driver.array_cubemap_face", "pycuda.driver.resource_type"}


@pytest.fixture(scope="module")
def public():
    """The module docs/public.py."""
    spec = importlib.util.spec_from_file_location("public", DOCS / "public.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_module_is_in_the_reference(public):
    pages = "".join(page.read_text() for page in public.reference_pages())
    assert sorted(public.modules()) == sorted(re.findall(r"\.\. (?:auto|py:)module:: (\S+)", pages))


@pytest.mark.parametrize("question", ["not_shown", "without_text", "without_text_of_init"])
def test_each_name_is_in_the_reference(run_python, question):
    """A process of its own is needed, since pycuda.autoinit makes a context."""
    program = f"import sys; sys.path.insert(0, {str(DOCS)!r}); import public; print(*public.{question}())"
    done = run_python(program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_each_name_has_an_example(run_python):
    program = f"import sys; sys.path.insert(0, {str(DOCS)!r}); import programs; print(*programs.without())"
    found = set(run_python(program, check=True).stdout.split())
    assert found == NO_CALL, "write one in docs/examples"


def test_no_name_is_there_twice(public):
    shown = public.shown()
    assert len(shown) == len(set(shown)) > 300


def test_each_operator_is_in_the_table():
    """The table of operators has each one of GPUArray; __add__ stands for __radd__ and __iadd__ as well."""
    from pycuda.gpuarray import GPUArray

    class Empty:
        """Has the names that CPython gives to every class."""

    table = set(re.findall(r"__\w+__", (DOCS / "reference" / "gpuarray.md").read_text()))
    plain = {name for name in vars(GPUArray) if name.startswith("__") and not hasattr(Empty, name)}
    plain = {re.sub(r"^__[ri](?=\w+__$)", "__", name) if name not in table else name for name in plain}
    others = {"__array__", "__array_priority__", "__delitem__", "__dlpack_c_exchange_api__"}
    assert plain - table - others == set()


def test_each_module_is_used_by_a_program(public):
    """The programs are those of the pages and of the gallery, which test_docs.py and test_examples.py run."""
    programs = [program for page in PAGES for program in re.findall(r"```python\n(.*?)```", page, re.S)]
    shown = re.findall(r"literalinclude\} (\S+)", "".join(PAGES))
    programs += [(DOCS / "gallery" / path).read_text() for path in shown]
    unseen = set(public.modules()) - NO_PROGRAM - set(public.SKCUDA)
    for program in programs:
        for start, names in re.findall(r"^ *(?:import|from) (pycuda[\w.]*)(?: import (.+))?", program, re.M):
            unseen -= {start, *(f"{start}.{name}" for name in re.findall(r"\w+", names))}
    assert not unseen
