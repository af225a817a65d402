"""tools/lint_c.py with ccache: a file is analyzed again when clang-tidy may say something else of it."""

import importlib.util
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# In place of clang-tidy: a line with "defect" is an error, unless it says NOLINT; each run is counted.
TIDY = """#!/bin/sh
if [ "$1" = --version ]; then echo 1; exit; fi
for word; do
    case $word in
    *.c) file=$word ;;
    esac
done
echo run >>{runs}
if grep -v NOLINT "$file" "${{file%.c}}.h" | grep defect; then exit 1; fi
"""


@pytest.mark.skipif(None in map(shutil.which, ("ccache", "gcc")), reason="ccache or gcc is not installed")
def test_ccache_keeps_only_what_is_still_true(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("lint_c", ROOT / "tools" / "lint_c.py")
    lint_c = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lint_c)
    for name in "CCACHE_DISABLE", "CCACHE_READONLY":
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "ccache"))
    runs, source, header = tmp_path / "runs", tmp_path / "a.c", tmp_path / "a.h"
    tidy = tmp_path / "bin" / "clang-tidy"
    tidy.parent.mkdir()
    tidy.write_text(TIDY.format(runs=runs))
    tidy.chmod(0o755)
    command, environment = lint_c.analyzer(tidy.parent)

    def checked(text, included=""):
        """(whether the file is clean, whether clang-tidy ran)."""
        source.write_text(f'#include "a.h"\nint a;{text}\n')
        header.write_text(f"extern int b;{included}\n")
        runs.write_text("")
        clean, _ = lint_c.run(command, tmp_path, source, environment)
        return clean, runs.read_text() == "run\n"

    assert checked("") == (True, True)
    assert checked("") == (True, False)
    assert checked(" // defect") == checked(" // defect") == (False, True)
    assert checked(" // defect NOLINT") == (True, True)
    assert checked(" // defect NOLINT") == (True, False)
    assert checked(" // defect") == (False, True)
    assert checked("\n#ifdef __clang__\ndefect\n#endif") == (False, True)
    assert checked("", " // defect") == (False, True)
    assert checked("") == (True, False)
    environment["CCACHE_COMPILERCHECK"] += "another version"
    assert checked("") == (True, True)
