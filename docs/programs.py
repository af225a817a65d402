"""Programs that show how a public name is used, for its description in the reference.

They are of three kinds: calls of the functions of `pycuda.numpy` and of the methods of GPUArray, which
tests/gpuarray/numpy_api/test_numpy_names.py compares with NumPy's; the programs (.py) and sessions (.pycon,
doctest's format) of docs/examples, each of which begins with a line that lists the names it is for; the
programs of the pages and of the gallery.
"""

import ast
import builtins
import contextlib
import doctest
import functools
import inspect
import io
import re
from pathlib import Path

import numpy as np
import public

DOCS = Path(__file__).resolve().parent
CALLS = DOCS.parent / "tests" / "gpuarray" / "numpy_api" / "test_numpy_names.py"
BLOCKS = re.compile(r"```python\n(.*?)```", re.S)
SHOWN = re.compile(r"literalinclude\} (\S+\.py)")


# ---- calls of NumPy's functions


def _constants():
    """{name: value} of the tables of calls, and {name of an array: its expression}."""
    tables, arrays = {}, {}
    for node in ast.parse(CALLS.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name == "HOST":
                for key, value in zip(node.value.keys, node.value.values, strict=True):
                    arrays[key.value] = ast.unparse(value)
            elif isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                tables[name] = [row.split(" ", 1) for row in node.value.value.strip().split("\n")]
    return tables, arrays


def _statements(call):
    """The expressions of a call: the tables have (a.sort(), a)[1] for a.sort() and then a."""
    node = ast.parse(call, mode="eval").body
    pair = node.value if isinstance(node, ast.Subscript) else node
    if isinstance(pair, ast.Tuple) and len(pair.elts) == 2 and isinstance(pair.elts[0], ast.Call):
        return [ast.get_source_segment(call, each) for each in pair.elts]
    return [call]


def _session(call, arrays):
    """The lines of a session in which the call is made, with what it shows; None for a call that needs more
    than the arrays.
    """
    call = re.sub(r", like=\w+", "", call)
    used = [node.id for node in ast.walk(ast.parse(call)) if isinstance(node, ast.Name)]
    if not set(used) <= {"np", *arrays, *dir(builtins)}:
        return None
    lines = [f"{name} = {arrays[name]}" for name in arrays if name in used]
    return ["import pycuda.autoinit", "import pycuda.numpy as xp", *lines, *_statements(call)]


def _shown(lines):
    """Runs a session. Returns its lines with prompts, and what Python shows."""
    shown, names = [], {}
    for line in lines:
        line = re.sub(r"\bnp\.", "xp.", line)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(line, "<session>", "single"), names)
        shown += [f">>> {line}", *output.getvalue().rstrip("\n").split("\n")]
    return [line for line in shown if line]


@functools.cache
def of_numpy():
    """{full name: lines of a session} of functions of pycuda.numpy and of methods of GPUArray. The sessions
    are run.
    """
    tables, arrays = _constants()
    methods = public.members(public.imported("pycuda.gpuarray", "GPUArray"))
    found = {}
    for table in "FUNCTIONS", "UFUNCS", "LINALG", "FFT", "CREATION", "METHODS":
        for name, call in tables[table]:
            is_method = table == "METHODS"
            full = f"pycuda.gpuarray.GPUArray.{name}" if is_method else f"pycuda.numpy.{name}"
            lines = None
            if call != "None" and (name in methods if is_method else full in _names()):
                lines = _session(call, arrays)
            if lines:
                found[full] = _shown(lines)
    return found


# ---- programs written for the reference

HEAD = re.compile(r"((?:^# (?:py|sk)cuda[\w.]*: .+\n)+)", re.M)


def examples_of(path):
    """[(full names, text)] of a file of docs/examples. A program or session follows lines "# module: names",
    or "# class: names" for members. What a file of sessions begins with is shared by all.
    """
    first, *parts = HEAD.split(path.read_text())
    found = []
    for head, text in zip(parts[::2], parts[1::2], strict=True):
        rows = (row[2:].split(": ") for row in head.splitlines())
        names = [f"{owner}.{name}" for owner, listed in rows for name in listed.split()]
        found.append((names, _needed(first, text) + text.strip() + "\n"))
    return found


@functools.cache
def examples():
    """[(full names, text)] of docs/examples."""
    return [each for path in sorted((DOCS / "examples").glob("*.py*")) for each in examples_of(path)]


def is_session(text):
    return text.startswith(">>> ")


def code(text):
    """The Python of a program or of a session."""
    if not is_session(text):
        return text
    return "".join(each.source for each in doctest.DocTestParser().get_examples(text))


def attributes(program):
    """The attributes that a program uses, and the words of its strings: getattr(rng, "beta")."""
    nodes = list(ast.walk(ast.parse(program)))
    strings = [node.value for node in nodes if isinstance(getattr(node, "value", None), str)]
    return {node.attr for node in nodes if isinstance(node, ast.Attribute)} | set(" ".join(strings).split())


def words(program):
    """These, and the names in a program."""
    nodes = list(ast.walk(ast.parse(program)))
    kinds = ast.alias | ast.FunctionDef | ast.ClassDef
    named = {node.name.rpartition(".")[2] for node in nodes if isinstance(node, kinds)}
    return attributes(program) | named | {node.id for node in nodes if isinstance(node, ast.Name)}


def _needed(first, text):
    """Of what a file begins with, `first`, the lines that a session needs: those that set a name that it
    uses, and the import of pycuda.autoinit.
    """
    kept, used = "", {"pycuda"} | words(code(text))
    for each in reversed(doctest.DocTestParser().get_examples(first)):
        (statement,) = ast.parse(each.source).body
        if isinstance(statement, ast.Import | ast.ImportFrom):
            names = {(name.asname or name.name).split(".")[0] for name in statement.names}
        else:
            names = words(ast.unparse(statement.targets[0]))
        if names & used:
            kept = f">>> {each.source[:-1].replace(chr(10), chr(10) + '... ')}\n{kept}"
            used |= words(each.source)
    return kept


@functools.cache
def _names():
    """{full name: (module, name)} of the reference."""
    return {f"{module}.{name}": (module, name) for module, name in public.shown()}


def _has_page(full):
    return full in _names() and public.has_page(*_names()[full])


def _members(full):
    """The names of the members of a class, for a full name; empty for anything else."""
    value = public.imported(*_names()[full]) if full in _names() else None
    return public.members(value) if inspect.isclass(value) and not public.constants(value) else {}


@functools.cache
def written():
    """{full name: (program, name where it is shown)} of docs/examples, for the methods of its classes that a
    program uses as well. A program is shown with its first name and on the pages of classes.
    """
    found = {}
    for names, text in examples():
        found |= {name: (text, name if _has_page(name) else names[0]) for name in names}
    for names, text in examples():
        used = attributes(code(text)) | {"__call__"}
        for name in names:
            for member in _members(name):
                if member in used:
                    found.setdefault(f"{name}.{member}", found[name])
    return found


def program(full):
    """The lines of the program for a name, their language for Sphinx, and the name with which it is shown;
    None where there is none. A method has that of the class that it is inherited from, a second name of a
    function that of the first.
    """
    for name in (full, *other_names(full)):
        if name in of_numpy():
            return of_numpy()[name], "pycon", full
        if name in written():
            text, place = written()[name]
            return text.rstrip("\n").split("\n"), "pycon" if is_session(text) else "python", place
    if full in _names() and public.constants(public.imported(*_names()[full])) and full in _users():
        text, place = _users()[full]
        return text.rstrip("\n").split("\n"), "pycon" if is_session(text) else "python", place
    return None


@functools.cache
def _users():
    """{full name: (text, name where it is shown)} of the shortest of docs/examples that uses a name of a
    module.
    """
    found = {}
    for names, text in sorted(examples(), key=lambda each: len(each[1])):
        for full in _full_names(code(text)):
            found.setdefault(full, (text, names[0]))
    return found


def other_names(full):
    """The full names of the same object elsewhere, of what a member overrides, and of the same member of
    other public classes, which have a private base.
    """
    owner, _, name = full.rpartition(".")
    if full in _names():
        first = public.homes().get(id(public.imported(*_names()[full])))
        return [first] if first else []
    if owner not in _names():
        return []
    cls, homes = public.imported(*_names()[owner]), public.homes()
    bases = [f"{homes[id(base)]}.{name}" for base in cls.__mro__ if id(base) in homes]
    return bases + _same_member(cls, name)


def _same_member(cls, name):
    """The full names of the functions and properties that are the same object as one of a class."""
    value = getattr(cls, name, None)
    if not (inspect.isroutine(value) or isinstance(value, property)):
        return []
    return [f"{owner}.{name}" for owner, each in _classes() if getattr(each, name, None) is value]


@functools.cache
def _classes():
    """[(full name, class)] of the reference."""
    found = [(full, public.imported(*where)) for full, where in _names().items()]
    return [(full, value) for full, value in found if inspect.isclass(value)]


# ---- what has none


@functools.cache
def _listed():
    """{full name: all names of its program} of docs/examples."""
    return {name: names for names, _ in examples() for name in names}


def listed_with(full):
    """The full names that a program of docs/examples lists with this one."""
    return [name for name in _listed().get(full, ()) if name != full]


@functools.cache
def _called():
    """The full names of which of_numpy() has sessions; they are not run."""
    tables, arrays = _constants()
    return {
        f"{'pycuda.gpuarray.GPUArray' if table == 'METHODS' else 'pycuda.numpy'}.{name}"
        for table in ("FUNCTIONS", "UFUNCS", "LINALG", "FFT", "CREATION", "METHODS")
        for name, call in tables[table]
        if call != "None" and _session(call, arrays)
    }


def _is_shown(full, value):
    """Whether a callable has an example of its own, or an attribute or `__call__` one that uses it."""
    found = _listed() if callable(value) and not full.endswith(".__call__") else written()
    names = [full, *other_names(full)]
    return ">>>" in (value.__doc__ or "") or any(name in found or name in _called() for name in names)


def without():
    """Yields the full names of public functions, classes, methods and attributes without an example: a
    program of docs/examples that lists them, a call of NumPy's, or a session in the docstring. One for a
    class is one for the attributes that it uses; of a class of constants it is one that uses the class.
    Constants of modules need none, nor does what a docstring lists under "Attributes".
    """
    for module, name in public.shown():
        full, value = f"{module}.{name}", public.imported(module, name)
        if not callable(value):
            continue
        if public.constants(value):
            if full not in _users():
                yield full
            continue
        if not _is_shown(full, value):
            yield full
        if inspect.isclass(value) and value.__name__ == name != "vec":
            for member in sorted(public.members(value).keys() - public.listed(value)):
                if not _is_shown(f"{full}.{member}", getattr(value, member)):
                    yield f"{full}.{member}"


# ---- programs of the pages


def _title(page):
    """The title of a page in Markdown."""
    return re.search(r"^# (.+)$", page.read_text(), re.M)[1]


def _pages():
    """[(page, program)], short programs first."""
    found = []
    for page in sorted(DOCS.rglob("*.md")):
        if "_build" not in page.parts and "reference" not in page.parts:
            text = page.read_text()
            programs = BLOCKS.findall(text)
            programs += [(page.parent / path).read_text() for path in SHOWN.findall(text)]
            found += [(page, program) for program in programs]
    return sorted(found, key=lambda each: len(each[1]))


def _full_names(program):
    """The dotted names in a program, by its imports, and the names of methods that it calls, as ".name"."""
    tree, known, found = ast.parse(program), {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                known[each.asname or each.name.split(".")[0]] = (
                    each.name if each.asname else each.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            for each in node.names:
                known[each.asname or each.name] = f"{node.module}.{each.name}"
                found.add(f"{node.module}.{each.name}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            parts, inner = [node.attr], node.value
            while isinstance(inner, ast.Attribute):
                parts.append(inner.attr)
                inner = inner.value
            if isinstance(inner, ast.Name) and inner.id in known:
                found.add(".".join([known[inner.id], *reversed(parts)]))
            found.add(f".{node.attr}")
    return found


@functools.cache
def _methods():
    """{".name": full name} of methods whose name is that of one class alone, and of no array of NumPy's."""
    found = {}
    for module, name in public.shown():
        cls = public.imported(module, name)
        if inspect.isclass(cls) and not public.constants(cls) and "compat" not in module:
            for member in public.members(cls):
                found.setdefault(f".{member}", set()).add(f"{module}.{name}.{member}")
    return {
        name: min(fulls)
        for name, fulls in found.items()
        if len(fulls) == 1 and not hasattr(np.ndarray, name[1:])
    }


@functools.cache
def used_on():
    """{full name: {page: title}} of the pages with a program that uses the name, at most three."""
    names, methods, found = _names(), _methods(), {}
    for page, program in _pages():
        for each in _full_names(program):
            full = each if each in names else methods.get(each)
            pages = found.setdefault(full, {})
            if full and len(pages) < 3:
                docname = page.relative_to(DOCS).with_suffix("").as_posix()
                pages.setdefault(docname, _title(page))
    found.pop(None, None)
    return found
