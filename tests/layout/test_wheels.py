"""tools/wheels.py makes wheels from an installed tree, and needs only the headers of an interpreter."""

import importlib.util
import json
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """The module tools/wheels.py, which writes to temporary folders."""
    pytest.importorskip("pyproject_metadata")  # comes with meson-python
    pytest.importorskip("wheel")
    spec = importlib.util.spec_from_file_location("wheels_under_test", ROOT / "tools" / "wheels.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in "BUILD", "DIST":
        monkeypatch.setattr(module, name, tmp_path / name)
        (tmp_path / name).mkdir()
    return module


@pytest.fixture
def headers(tmp_path):
    """A folder with Python's headers as Debian has them: pyconfig.h includes another one outside of it."""
    folder = tmp_path / "include" / "python3.14"
    folder.mkdir(parents=True)
    (folder / "patchlevel.h").write_text("#define PY_MAJOR_VERSION 3\n#define PY_MINOR_VERSION  14\n")
    (folder / "pyconfig.h").write_text("#  include <x86_64-linux-gnu/python3.14/pyconfig.h>\n")
    (folder / "Python.h").touch()
    of_processor = tmp_path / "include" / "x86_64-linux-gnu" / "python3.14"
    of_processor.mkdir(parents=True)
    (of_processor / "pyconfig.h").write_text("#define SIZEOF_LONG 8\n")
    return folder


def test_headers_are_found_and_copied_without_includes_of_others(wheels, headers):
    assert wheels.find_headers([headers])["3.14"] == headers
    assert "SIZEOF_LONG 8" in (wheels.copy_headers("3.14", headers) / "pyconfig.h").read_text()
    described = json.loads(wheels.describe_python("3.14", "aarch64").read_text())
    assert described["abi"]["extension_suffix"] == ".cpython-314-aarch64-linux-gnu.so"


def test_a_free_threaded_python_is_known_by_its_headers(wheels, headers):
    config = headers.parent / "x86_64-linux-gnu" / "python3.14" / "pyconfig.h"
    config.write_text("/* #undef Py_GIL_DISABLED */\n")
    assert wheels.version_of(headers) == "3.14"
    config.write_text("#define Py_GIL_DISABLED 1\n")
    assert wheels.version_of(headers) == "3.14t"
    described = json.loads(wheels.describe_python("3.14t", "aarch64").read_text())
    assert described["abi"]["extension_suffix"] == ".cpython-314t-aarch64-linux-gnu.so"
    assert described["abi"]["flags"] == ["t"] and described["language"]["version"] == "3.14"


def test_an_interpreter_is_not_taken_for_that_of_another_abi(wheels, headers, tmp_path, monkeypatch):
    """A free-threaded CPython is installed as python3.14, too, and may come first on PATH."""
    free_threaded = tmp_path / "include" / "python3.14t"
    free_threaded.mkdir()
    (free_threaded / "patchlevel.h").write_text((headers / "patchlevel.h").read_text())
    (free_threaded / "pyconfig.h").write_text("#define Py_GIL_DISABLED 1\n")
    (free_threaded / "Python.h").touch()
    for name, folder in ("first/python3.14", free_threaded), ("second/python3.14", headers), (
        "second/python3.14t", free_threaded,
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"#!/bin/sh\necho {folder}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'first'}:{tmp_path / 'second'}")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert wheels.find_headers([]) == {"3.14": headers, "3.14t": free_threaded}


def pack(wheels, tree, folder, python):
    """The content {name: bytes} of a wheel of the distribution whose pyproject.toml is in that folder. It is
    packed twice, with the same bytes.
    """
    arguments = tree, wheels.metadata(folder), f"{python}-{wheels.platform_tag('aarch64')}", wheels.DIST
    wheel = wheels.pack(*arguments)
    assert wheel.name.endswith(f"-{python}-manylinux_2_28_aarch64.whl")
    first = wheel.read_bytes()
    assert wheels.pack(*arguments).read_bytes() == first
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_wheel_is_reproducible_and_lists_its_files(wheels, tmp_path):
    tree = tmp_path / "tree"
    (tree / "pycuda" / "__pycache__").mkdir(parents=True)
    (tree / "pycuda" / "__init__.py").write_text("here = True\n")
    (tree / "pycuda" / "__pycache__" / "old.pyc").touch()
    content = pack(wheels, tree, ROOT, "cp314-cp314")
    (record,) = [name for name in content if name.endswith("/RECORD")]
    assert content[record] and not any("__pycache__" in name for name in content)
    info = record.rsplit("/", 1)[0]
    assert "Tag: cp314-cp314-manylinux_2_28_aarch64\n" in content[f"{info}/WHEEL"].decode()
    assert "Requires-Python: >=3.10" in content[f"{info}/METADATA"].decode()
    groups = content[f"{info}/entry_points.txt"].decode()
    assert "[console_scripts]\ncuda-cpu = pycuda.cpu:_main\n" in groups
    assert "[dask.sizeof]\npycuda = " in groups


def test_the_wheel_of_pycuda_cpu_needs_nothing_and_has_the_plugin(wheels, tmp_path):
    package = tmp_path / "tree" / "pycuda_cpu"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    content = pack(wheels, tmp_path / "tree", ROOT / "pycuda_cpu", "py3-none")
    (info,) = {name.split("/")[0] for name in content} - {"pycuda_cpu"}
    headers, _, text = content[f"{info}/METADATA"].decode().partition("\n\n")
    fields = headers.splitlines()
    assert "License-Expression: MIT" in fields and "License-File: LICENSE" in fields
    assert [line for line in fields if line.startswith("Requires-Dist")] == [
        'Requires-Dist: pytest>=7.4; extra == "pytest"'
    ]
    assert "Description-Content-Type: text/markdown" in fields and text.startswith("# pycuda-cpu\n")
    assert content[f"{info}/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    assert content[f"{info}/entry_points.txt"].decode().splitlines() == [
        "[console_scripts]",
        "cuda-cpu = pycuda_cpu:_main",
        "",
        "[pytest11]",
        "cuda_cpu = pycuda_cpu._pytest_plugin",
    ]


def test_the_distributions_have_one_version(wheels):
    assert len({wheels.metadata(ROOT / name).version for name in (".", "pycuda_cpu", "skcuda")}) == 1
