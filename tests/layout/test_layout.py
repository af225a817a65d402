"""The files keep to the rules of ARCHITECTURE.md and CONTRIBUTING.md."""

import re
from pathlib import Path

import pytest
from checkout import tracked

ROOT = Path(__file__).resolve().parents[2]
LAYERS = {"abi": {"abi"}, "core": {"abi", "core"}, "ext": {"abi", "core", "ext"}, "device": {"abi", "device"}}
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)
MAX_LINES = 800
COLUMNS = 110
# Tables, one fact a row: they are as long as what they list.
TABLES = {".def"}


def sources(*folders, suffixes=(".c", ".h", ".def")):
    """The files with these suffixes in the folders and below them."""
    return [
        path for folder in folders for path in sorted((ROOT / folder).rglob("*")) if path.suffix in suffixes
    ]


def folder_of(include, including):
    """The top folder of the file that an include directive names, or None for a header of the system."""
    for base in (ROOT, ROOT / "device", including.parent, ROOT / "tests" / "c"):
        found = base / include
        if found.is_file() and ROOT in found.resolve().parents:
            return found.resolve().relative_to(ROOT).parts[0]
    return None


def test_python_h_is_included_in_one_file_of_ext():
    users = [
        path.relative_to(ROOT).as_posix()
        for path in sources("abi", "core", "ext", "device")
        if "Python.h" in INCLUDE.findall(path.read_text())
    ]
    assert users == ["ext/base/ext.h"]


@pytest.mark.parametrize("folder", LAYERS)
def test_a_layer_includes_only_those_below_it(folder):
    wrong = [
        f"{path.relative_to(ROOT)} includes {include}"
        for path in sources(folder)
        for include in INCLUDE.findall(path.read_text())
        if (target := folder_of(include, path)) and target not in LAYERS[folder]
    ]
    assert not wrong


def test_only_the_loaders_in_core_open_libraries_and_look_up_symbols():
    wrong = [
        path.relative_to(ROOT).as_posix()
        for path in sources("core", "ext")
        if re.search(r"\b(dlopen|dlsym)\s*\(", path.read_text())
        and path.name
        not in {"driver_locate.c", "driver_table.c", "library_table.c", "memory_marks.c", "nvrtc_table.c"}
    ]
    assert not wrong


# A function's name and body.
FUNCTION = re.compile(r"^(?:static )?[\w *]+?\b(\w+)\((?:[^;{}]*)\)\n\{\n(.*?)^\}", re.M | re.S)


def test_a_tp_dealloc_that_calls_the_driver_can_be_deferred():
    """A tp_dealloc that calls the driver, directly or not, calls deferred_dealloc() (ext/base/deferred.h): an
    object may die in a host function, in which no driver call is allowed. The objects that it releases have a
    tp_dealloc of their own.
    """
    bodies, shared, wrong = {}, {}, []  # bodies of functions by file and name, and by name alone
    for path in sources("ext", suffixes=(".c",)):
        bodies[path] = dict(FUNCTION.findall(path.read_text()))
        shared.update(bodies[path])

    def calls_the_driver(path, name, seen):
        body = bodies[path].get(name) or shared.get(name)
        if not body or name in seen:
            return False
        seen.add(name)
        return bool(re.search(r"\bdriver\.cu|\bcontext_enter\(", body)) or any(
            calls_the_driver(path, other, seen) for other in re.findall(r"\b(\w+)\(", body)
        )

    for path in bodies:
        for name in re.findall(r"\{Py_tp_dealloc, AS_SLOT\((\w+)\)\}", path.read_text()):
            body = bodies[path].get(name) or shared[name]
            if calls_the_driver(path, name, set()) and "deferred_dealloc" not in body:
                wrong.append(f"{path.name}: {name}")
    assert not wrong


def test_tests_of_the_driver_module_have_the_folders_of_ext():
    folders = {path.name for path in (ROOT / "tests" / "driver").iterdir() if any(path.glob("test_*.py"))}
    assert folders and folders <= {path.name for path in (ROOT / "ext").iterdir() if path.is_dir()}


def test_no_file_is_too_long():
    long = {
        path.relative_to(ROOT).as_posix(): count
        for path in sources(
            *("abi", "core", "ext", "device", "pycuda", "pycuda_cpu", "skcuda", "tests", "benchmarks"),
            suffixes=(".c", ".h", ".py"),
        )
        if (count := path.read_text().count("\n")) > MAX_LINES
    }
    assert not long


def lines_held_to_the_limit(path):
    """Yields (number, text) of the lines of a file, except for rows of tables and code blocks of pages."""
    fenced = commented = False
    for number, line in enumerate(path.read_text().split("\n"), 1):
        fenced ^= line.startswith("```")
        commented |= "/*" in line
        row = (path.suffix == ".def" and not commented) or (path.suffix == ".md" and line.startswith("|"))
        commented &= "*/" not in line
        if not row and not (fenced and path.suffix == ".md"):
            yield number, line


def test_nothing_that_git_ignores_is_tracked():
    assert tracked("--cached", "--ignored", "--exclude-standard") == []


def test_no_line_is_longer_than_110_columns():
    names = [
        name
        for name in tracked()
        if re.search(r"\.(c|h|hpp|cu|def|py|pyi|pycon|css|md|build|toml)$|^Makefile$|^\.ci/", name)
        and not name.endswith("_gpu.def")  # recorded
        and (ROOT / name).is_file()
    ]
    assert len(names) > 500
    assert [
        f"{name}:{number}"
        for name in names
        for number, line in lines_held_to_the_limit(ROOT / name)
        if len(line) > COLUMNS
    ] == []


def test_what_holds_a_stream_back_ends_by_itself():
    """A test whose call waits for the stream, where it should not, fails after that and does not hang."""
    wait = re.compile(r"launch_host_func\([\w.()]*\.wait[)]")
    assert wait.search("stream.launch_host_func" + "(gate.wait)")
    assert not [path.name for path in sources("tests", suffixes=(".py",)) if wait.search(path.read_text())]


def test_no_comment_marks_unfinished_work():
    """The words are divided in this file, so that it has none of them."""
    marks = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b")
    found = [
        name
        for name in tracked()
        if Path(name).suffix in {".c", ".h", ".py"}
        and (ROOT / name).is_file()
        and marks.search((ROOT / name).read_text())
    ]
    assert not found


def begins_with_a_description(path):
    """Whether a C file begins with a comment of at least three words, or with "/* See x.h. */" where x.h is
    the header of the same name, which begins with such a comment.
    """
    comment = re.match(r"/\*(.*?)\*/", path.read_text(), re.S)
    words = comment[1].split() if comment else []
    if words[:1] == ["See"] and len(words) == 2:
        header = path.with_suffix(".h")
        return words[1] == f"{header.name}." and header.is_file() and begins_with_a_description(header)
    return len(words) > 2


def test_every_c_file_begins_with_a_comment_that_describes_it():
    files = sources("core", "ext", "device", "tests", suffixes=(".c", ".h"))
    wrong = [path.relative_to(ROOT).as_posix() for path in files if not begins_with_a_description(path)]
    assert not wrong


def test_lowering_names_no_operation_by_a_string():
    """device/lower uses enumerators: a misspelled one does not build, but a misspelled string does. (Strings
    that are only parts of names are not searched for.)
    """
    tables = [ROOT / "device" / "exec" / "code" / name for name in ("core.def", "alu.def")]
    text = "".join(path.read_text() for path in tables)
    names = set(re.findall(r"\bOP\((\w+)\)", text))
    names |= {"_".join(row) for row in re.findall(r"\bCVT\((\w+), (\w+), (\w+)\)", text)}
    assert len(names) > 500
    literals = {
        path.name: names & set(re.findall(r'"(\w+)"', path.read_text())) for path in sources("device/lower")
    }
    assert {name: found for name, found in literals.items() if found} == {}


def test_every_environment_variable_of_ours_has_a_row_and_is_documented():
    """Only variables with a row in a settings.def have their values checked."""
    tables = [ROOT / "core" / "settings.def", ROOT / "device" / "api" / "base" / "settings.def"]
    known = set(re.findall(r"^\w+\((\w+),", "\n".join(path.read_text() for path in tables), re.M))
    assert len(known) > 15
    texts = {
        path: path.read_text()
        for path in sources("core", "ext", "device", "pycuda", suffixes=(".c", ".h", ".py"))
    }
    names = {
        name: path.relative_to(ROOT).as_posix()
        for path, text in texts.items()
        for name in re.findall(r"""["']((?:PYCUDA_|CUDA_DEVICE)[A-Z_]*)["']""", text)
    }
    assert {name: path for name, path in names.items() if name not in known} == {}
    documented = (ROOT / "README.md").read_text() + (ROOT / "docs" / "cpu_device.md").read_text()
    documented += (ROOT / "docs" / "compiler.md").read_text()
    assert [name for name in known if name not in documented and "PYCUDA_FAULT" not in name] == []
    pages = "".join(path.read_text() for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    named = set(re.findall(r"(?:`|export |environ\[.|^)(PYCUDA_[A-Z_]+)(?=[`=\"'])", pages, re.M))
    assert "PYCUDA_CPU_SCHEDULE" in named and named <= known


def test_one_header_converts_to_half():
    headers = sorted((ROOT / "pycuda" / "cuda").rglob("*.hpp"))
    assert [path.name for path in headers if "cvt.rn.f16" in path.read_text()] == ["pycuda-elements.hpp"]


def test_meson_names_every_folder_of_the_package_to_leave_its_bytecode_out():
    """`make test` writes bytecode (__pycache__) into the folders, which must not be installed."""
    package = ROOT / "pycuda"
    folders = {path.parent.relative_to(package).as_posix() for path in package.rglob("*.py")}
    (named,) = re.findall(r"foreach folder : \[(.*?)\]", (package / "meson.build").read_text(), re.S)
    assert set(re.findall(r"'(.*?)'", named)) == folders - {"."}
