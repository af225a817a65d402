"""PyCUDA itself, whose package has the same name, in the folders where this package is looked for."""

import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import pycuda
from pycuda._base import other_copies


@pytest.mark.parametrize("suffix", EXTENSION_SUFFIXES)
def test_files_that_pycuda_left_in_the_folder_are_named(tmp_path, suffix):
    left = tmp_path / ("_pvt_struct" + suffix)
    left.touch()
    (tmp_path / "_pvt_struct.py").touch()
    assert pycuda._left_by_pycuda(str(tmp_path)) == str(left)
    with pytest.warns(RuntimeWarning, match="pip uninstall pycuda") as caught:
        other_copies.warn_of_left_file(str(left))
    assert str(left) in str(caught[0].message)


def test_nothing_is_left_in_this_package():
    assert pycuda._left_by_pycuda(str(Path(pycuda.__file__).parent)) is None


def test_the_import_warns_of_left_files(tmp_path, run_python):
    """A copy of the package's first modules, with a file as PyCUDA's build leaves it."""
    package = tmp_path / "pycuda"
    (package / "_base").mkdir(parents=True)
    for name in "__init__.py", "_base/__init__.py", "_base/other_copies.py", "_base/same_bits.py":
        (package / name).write_text((Path(pycuda.__file__).parent / name).read_text())
    (package / ("_pvt_struct" + EXTENSION_SUFFIXES[0])).touch()
    program = f"""
import sys
sys.meta_path[:] = [each for each in sys.meta_path if "editable" not in type(each).__module__]
for name in [name for name in sys.modules if name.partition(".")[0] == "pycuda"]:
    del sys.modules[name]
sys.path.insert(0, {str(tmp_path)!r})
import pycuda
assert pycuda.__file__.startswith({str(tmp_path)!r}), pycuda.__file__
"""
    done = run_python(program)
    assert (
        done.returncode == 0 and "RuntimeWarning: PyCUDA, whose package has the name" in done.stderr
    ), done.stderr


def test_a_hidden_package_is_found_with_its_version(tmp_path):
    for name, version in ("first", "2025.1"), ("second", ""):
        (tmp_path / name / "pycuda").mkdir(parents=True)
        (tmp_path / name / "pycuda" / "__init__.py").touch()
        if version:
            info = tmp_path / name / f"pycuda-{version}.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pycuda\nVersion: {version}\n")
    (tmp_path / "third").mkdir()
    search = [str(tmp_path / name) for name in ("first", "second", "third", "missing")]
    found = other_copies.hidden_copies(pycuda.__file__, search)
    assert found == [(f"{search[0]}/pycuda", "2025.1"), (f"{search[1]}/pycuda", "")]


def test_this_package_hides_no_other_here():
    own = [entry for entry in sys.path if entry]
    assert other_copies.hidden_copies(pycuda.__file__, own) == []
