"""Every example runs on its own and prints nothing on stderr; the gallery has a page for each that shows what
it prints.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import devices
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"
DOCS = FOLDER.parent / "docs"
EXAMPLES = [path for path in sorted(FOLDER.glob("*.py")) if not path.name.startswith("_")]
EXAMPLES += [FOLDER / "opengl" / "life.py"]
# Examples with other libraries, most of which need a GPU.
SHARING = [f"{name}_sharing" for name in ("cupy", "jax", "numba", "tensorflow", "torch")] + [
    "opencl_exchange"
]
# Examples of a few lines, without a page in the gallery.
FIRST_STEPS = {"fill_array", "hello_gpu", "print_from_kernel"}
# Examples whose output is the same everywhere; of the others the numbers differ.
SAME_NUMBERS = {"monte_carlo", "struct_by_value", *SHARING}
# Examples whose library prints on stderr.
TALKATIVE = {"tensorflow_sharing", "jax_sharing"}
PAGES = [page for page in sorted((DOCS / "gallery").glob("*.md")) if page.name != "index.md"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_example(example, tmp_path):
    if "pycuda.sparse" in example.read_text():
        pytest.importorskip("scipy")
    copied = copy_alone(example, tmp_path)
    done = subprocess.run(
        [sys.executable, copied.name, "."],
        capture_output=True,
        text=True,
        timeout=100,
        cwd=tmp_path,
        env=with_drawing(),
    )
    if "LibraryNotFound" in done.stderr:
        pytest.skip(done.stderr.strip().rpartition("\n")[2])
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not done.stderr or example.stem in TALKATIVE
    lacks = re.match("this example needs |OpenGL cannot", done.stdout)
    drawn = {re.sub(r"-\d$", "", path.stem) for path in tmp_path.glob("*.png")}
    assert lacks or drawn == pictures_of(example)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in tmp_path.glob("*.png"))
    page = DOCS / "gallery" / f"{example.stem}.md"
    shown = re.search(r"```text\n(.*?)```", page.read_text(), re.S) if page.exists() else None
    if shown and not lacks and (devices.on_cpu_device() or example.stem in SHARING):
        assert words(shown[1], example.stem) == words(done.stdout, example.stem)


def copy_alone(example, folder):
    """Copies an example to a folder, of the modules of its own folder only those that its page offers."""
    page = DOCS / "gallery" / f"{example.stem}.md"
    offered = re.findall(r"\{download\}`.*?<(\S+)>`", page.read_text()) if page.exists() else [example]
    for path in offered:
        shutil.copy(page.parent / path, folder)
    return folder / example.name


def with_drawing():
    """The environment of an example: with what stands for matplotlib where that is not installed."""
    environment = dict(os.environ)
    if importlib.util.find_spec("matplotlib") is None:
        paths = [str(Path(__file__).with_name("drawing")), environment.get("PYTHONPATH")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    return environment


def pictures_of(example):
    """The names of the pictures that an example draws, without the numbers of a series."""
    return set(re.findall(r'"([\w-]+?)(?:-\{frame\})?\.png"', example.read_text()))


def words(text, name):
    """The words of an output that must be those on its page: without the processor's name, and with 0 for
    numbers that differ.
    """
    text = re.sub(r"CPU device \((?:[^()]|\([^()]*\))*\)", "CPU device", text)
    text = re.sub(r"OpenCL on .*?:", "OpenCL:", text)
    if name not in SAME_NUMBERS:
        text = re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?(e[+-]\d+)?", "0", text)
    return text.split()


@pytest.mark.parametrize("example", SHARING)
def test_without_the_other_library(example, run_python):
    """Without its library, an example prints what it needs: the import of the package is made to fail."""
    package = example.split("_")[0].replace("opencl", "pyopencl")
    program = f"""
    import runpy
    import sys

    sys.modules[{package!r}] = None
    runpy.run_path({str(FOLDER / example)!r} + ".py", run_name="__main__")
    """
    done = run_python(program, check=True)
    assert done.stdout.startswith("this example needs ") and "pip install" in done.stdout
    assert done.stdout.count("\n") == 1 and not done.stderr


def test_an_exchange_with_opencl(run_python):
    """OpenCL may use any device, by PoCL also the CPU."""
    pytest.importorskip("pyopencl")
    done = run_python((FOLDER / "opencl_exchange.py").read_text(), check=True)
    assert "[ 0. 10. 20. 30. 40. 50. 60. 70.]" in done.stdout or "a platform of OpenCL" in done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_page_of_the_gallery(page):
    """A page shows a program that exists, and the pictures that the program makes."""
    text = page.read_text()
    program = page.parent / re.search(r"literalinclude\} (\S+)", text)[1]
    assert program.stem == page.stem and program.is_file()
    assert f"\n{page.stem}\n" in (DOCS / "gallery" / "index.md").read_text()
    pictures = re.findall(r"\]\((\S+\.png)\)", text)
    assert {re.sub(r"-\d", "", Path(picture).stem) for picture in pictures} == pictures_of(program)
    for picture in pictures:
        assert (page.parent / picture).stat().st_size < 130_000


def test_every_example_has_a_page_but_the_first_steps():
    assert {path.stem for path in EXAMPLES} - {page.stem for page in PAGES} == FIRST_STEPS


def test_program_in_the_readme(run_python):
    readme = (FOLDER.parent / "README.md").read_text()
    program = readme.split("```python\n")[1].split("```")[0]
    assert len(program.strip().splitlines()) <= 10
    done = run_python(program)
    assert done.returncode == 0 and done.stdout == "True\n", done.stderr
