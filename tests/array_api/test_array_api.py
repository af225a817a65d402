"""The functions of SciPy and scikit-learn that accept arrays of any library, called with GPUArrays.

run_calls.py makes the calls in a child process, since SciPy reads SCIPY_ARRAY_API when it is imported. The
tests make those that need few kernels; with PYCUDA_ARRAY_API=all, which `make array-api` sets, all of them.
As a program, this file makes all calls and rewrites the lists of docs/array_api.md.
"""

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs" / "array_api.md"
sys.path.insert(0, str(FOLDER))

import scipy_calls  # noqa: E402
import sklearn_calls  # noqa: E402

TABLES = {"scipy": scipy_calls, "sklearn": sklearn_calls}
TITLES = {"scipy": "SciPy", "sklearn": "scikit-learn"}
# Earlier versions declare array API support for fewer functions and keep no table of them.
OLDEST = {"scipy": "1.17", "sklearn": "1.9"}
# The calls that do not work with GPUArrays: name and what the function does.
PROBLEMS = {
    "signal.filtfilt": "makes NumPy arrays of its operands",
    "signal.impulse": "makes NumPy arrays of its operands",
}
# Names of calls that are left out by default: they need the most kernels, each compiled at its first use.
COSTLY = re.compile(
    r"""cluster\.hierarchy | differentiate\. | integrate\.(cubature|nsum|qmc|simpson|tanhsinh)
    | integrate\.cumulative_simpson | interpolate\. | mixture\. | model_selection\.(Halving|Random)
    | optimize\.elementwise\. | signal\.(buttord|cheb|findfreqs|freqs|lp2|minimum|resample|savgol|sawtooth)
    | spatial\. | special\.(beta|chdtr|fdtr|polygamma|stdtr|yn)
    | stats\.(boot|bws|chatter|cumfreq|epps|expect|f_one|fried|levene|mode|obrien|pearson|power)
    | stats\.(relfreq|siegel|theil)""",
    re.VERBOSE,
)


def outcome(library, names, timeout):
    """What run_calls.py prints, as a dict: its "version", "marked" and "problems". names: all calls if
    empty."""
    command = [sys.executable, FOLDER / "run_calls.py", library, *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def names_of(library):
    """The names of a library's calls, those that SciPy marks as for the CPU included."""
    extra = scipy_calls.marked_as_cpu() if library == "scipy" else {}
    return [*TABLES[library].calls(), *extra]


def chosen(library):
    """The names of the calls that this run of the tests makes."""
    names = names_of(library)
    if os.environ.get("PYCUDA_ARRAY_API") == "all":
        return names
    return [name for name in names if not COSTLY.match(name)]


def version(found):
    """(major, minor) of the library that an outcome() is of."""
    return tuple(map(int, found["version"].split(".")[:2]))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("library", TABLES)
def test_calls(library):
    """Each call gives what it gives with NumPy's arrays, except those of PROBLEMS, which raise the expected
    error; each name that the library marks has a call in the table."""
    pytest.importorskip(library, minversion=OLDEST[library])
    found = outcome(library, chosen(library), 600)
    assert len(found["problems"]) > 50
    wrong = {name: text for name, text in found["problems"].items() if text and name not in PROBLEMS}
    assert not wrong
    for name in PROBLEMS.keys() & found["problems"].keys():
        assert found["problems"][name].startswith(
            "TypeError: Implicit conversion to a NumPy array is not allowed"
        )
        assert found["problems"][name].endswith("array.get() makes one")
    if version(found) in TABLES[library].KNOWN:
        names = {*names_of(library)}
        last_parts = {name.rpartition(".")[2] for name in names}  # scikit-learn's marks have no module
        assert {*found["marked"]} <= names | last_parts


def test_every_call_is_in_the_page():
    lists = {*re.findall(r"^`[\w.`, \n]+$", PAGE.read_text(), re.M)}
    names = {name for text in lists for name in re.findall(r"`([\w.]+)`", text)}
    assert names == {name for library in TABLES for name in names_of(library)} - {*PROBLEMS}
    for name, reason in PROBLEMS.items():
        assert f"| `{name}` | {reason} |" in PAGE.read_text()


def code_list(names):
    """Sorted names as a wrapped list in Markdown: `a`, `b`."""
    return textwrap.fill(", ".join(f"`{name}`" for name in sorted(names)), 110)


def section(library, found):
    """The lines of a library's section of the page, from an outcome() of all its calls."""
    assert {name for name, text in found["problems"].items() if text} <= {*PROBLEMS}, found["problems"]
    assert [*found["problems"]] == names_of(library)
    rows = [f"| `{name}` | {PROBLEMS[name]} |" for name in PROBLEMS if name in found["problems"]]
    table = ["", "| does not work | because it |", "| --- | --- |", *rows] if rows else []
    head, offered = f"## {TITLES[library]} {found['version']}", TABLES[library].calls().keys() - {*PROBLEMS}
    lines = [head, "", code_list(offered), *table, ""]
    if library == "scipy":
        lines += ["These work as well, although SciPy marks them as for the CPU alone:", ""]
        lines += [code_list(scipy_calls.marked_as_cpu()), ""]
    return lines


def main():
    text, mark, _ = PAGE.read_text().partition("<!-- Written by tests/array_api/test_array_api.py -->\n")
    sections = [section(library, outcome(library, [], 600)) for library in TABLES]
    PAGE.write_text(text + mark + "\n".join(line for lines in sections for line in lines))


if __name__ == "__main__":
    main()
