"""An editable install works without ninja when the environment that it was built in was deleted."""

import importlib.util
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def backend():
    """The module tools/build_backend.py."""
    pytest.importorskip("mesonpy")
    spec = importlib.util.spec_from_file_location("build_backend", ROOT / "tools" / "build_backend.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_script_in_place_of_ninja_does_nothing_once_ninja_is_gone(backend, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ninja = tmp_path / "it's here" / "ninja"
    ninja.parent.mkdir()
    ninja.write_text('#!/bin/sh\necho "run with $*"\nexit 3\n')
    ninja.chmod(0o755)
    script = backend.lasting_ninja(str(ninja))

    def run():
        return subprocess.run([script, "-j2", "-n"], capture_output=True, text=True)

    done = run()
    assert (done.stdout, done.returncode) == ("run with -j2 -n\n", 3)
    ninja.unlink()
    done = run()
    assert (done.stdout, done.returncode) == ("ninja: no work to do.\n", 0)


def test_an_editable_install_gives_meson_python_the_script(backend, tmp_path, monkeypatch):
    """The environment variable NINJA, which meson-python reads, has the script's path. meson-python's
    function is replaced by one that records its arguments.
    """
    seen = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NINJA", "sh")
    monkeypatch.setattr(backend.mesonpy, "build_editable", lambda *a: seen.append((a, os.environ["NINJA"])))
    backend.build_editable("wheels", {"build-dir": "x"})
    ((arguments, ninja),) = seen
    assert arguments == ("wheels", {"build-dir": "x"}, None)
    assert Path(ninja).parent == tmp_path / "build" and "/sh" in Path(ninja).read_text()
