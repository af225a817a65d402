"""Which names are public, and where the reference shows them: for Sphinx (names.py) and for the tests."""

import functools
import importlib
import inspect
import re
import sys
import types
from pathlib import Path

DOCS = Path(__file__).resolve().parent

# Modules of the distribution pycuda-skcuda; its others have NVIDIA's functions by name.
sys.path.append(str(DOCS.parent / "skcuda"))
SKCUDA = tuple(f"skcuda.{name}" for name in "fft integrate linalg misc special".split())

# Imports that a module without __all__ needs for itself, under names without an underscore.
HELPERS = set(
    """
    pycuda.autoinit.drop_context pycuda.autoinit.make_default_context pycuda.cumath.apply
    pycuda.sparse.coordinate.compressed_rows pycuda.sparse.operator.DeviceMatrix
    pycuda.sparse.operator.compressed_rows
    pycuda.sparse.packeted.compressed_rows pycuda.tools.default_ordinal pycuda.tools.multiprocessor
    skcuda.fft.queued_on skcuda.integrate.queued_on skcuda.linalg.queued_on skcuda.misc.queued_on
    skcuda.linalg.letter
    """.split()
)
# Bases whose members are Python's.
BUILTIN = (object, int, tuple, dict, BaseException, Exception)


def modules():
    """The names of all public modules."""
    for path in sorted((DOCS.parent / "pycuda").rglob("*.py")):
        parts = path.relative_to(DOCS.parent).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if not any(part.startswith("_") for part in parts):
            yield ".".join(parts)
    yield from SKCUDA


def names(module):
    """{name: object} of the public names of a module, without NumPy's own objects."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return {name: getattr(module, name) for name in listed if not _of_numpy(module, name)}
    return {
        name: value
        for name in dir(module)
        if not name.startswith("_") and name != "TYPE_CHECKING"
        if f"{module.__name__}.{name}" not in HELPERS
        for value in [getattr(module, name)]
        if _ours(value)
    }


def _of_numpy(module, name):
    """Whether pycuda.numpy has NumPy's own object of this name (a dtype, a constant), or a module."""
    if not module.__name__.startswith("pycuda.numpy"):
        return False
    value, numpys = getattr(module, name), sys.modules.get(module.__name__.removeprefix("pycuda."))
    return isinstance(value, types.ModuleType) or value is getattr(numpys, name, object)


def _ours(value):
    """Whether a value is ours: defined by pycuda or skcuda, or a plain constant; not a module."""
    if isinstance(value, types.ModuleType):
        return False
    origin = getattr(value, "__module__", None) or type(value).__module__
    return origin.startswith(("pycuda", "skcuda")) or isinstance(value, int | str | list | tuple | dict)


def members(cls):
    """{name: object in the class's __dict__} of the public members that are not Python's, and of
    `__call__`.
    """
    found = constants(cls)
    for base in reversed(cls.__mro__) if not found else ():
        if base not in BUILTIN:
            found.update(vars(base))
    return {name: value for name, value in found.items() if not name.startswith("_") or name == "__call__"}


def constants(value):
    """{name: value}, for a class of constants; else empty."""
    if not inspect.isclass(value):
        return {}
    dicts = "names", "values"  # attributes of a class of constants, as in Boost.Python's enums
    found = {name: each for name, each in vars(value).items() if name[0] != "_" and name not in dicts}
    return found if all(type(each) in (int, value) for each in found.values()) else {}


def listed(cls):
    """The attributes that the docstrings of a class and its public bases list under "Attributes"."""
    docs = "".join(f"{base.__doc__}\n\n" for base in cls.__mro__ if not base.__name__.startswith("_"))
    found = set()
    for block in re.findall(r"^ *Attributes\n *-+\n(.*?)(?:\n\n|\Z)", docs, re.M | re.S):
        for line in re.findall(r"^ *([\w, ]+) : ", block, re.M):
            found.update(line.split(", "))
    return found


def reference_pages():
    """The pages of the reference, except those of classes, which names.py writes."""
    return sorted((DOCS / "reference").rglob("*.md"))


def has_page(module, name):
    """Whether a name is a class with a page of its own: one with some methods, and no exception."""
    cls = imported(module, name)
    if not inspect.isclass(cls) or constants(cls) or issubclass(cls, BaseException) or cls.__name__ != name:
        return False
    return name != "vec" and len(members(cls).keys() - listed(cls)) > 2


def shown():
    """[(module, name)] of the reference, in the order of its pages: the `names` directives."""
    found = []
    for page in reference_pages():
        for module, block in re.findall(r"^\.\. names:: (\S+)\n((?:\n|   .*\n)+)", page.read_text(), re.M):
            found += [(module, name) for name, _ in entries(block.splitlines())]
    return found


def entries(lines):
    """(name, text) of each name of a `names` directive: lines of names, and of `name: text`."""
    for line in lines:
        name, colon, text = line.strip().partition(": ")
        if colon:
            yield name, text
        else:
            yield from ((each, "") for each in line.split())


def imported(module, name):
    """The object of this name; None for pycuda.gl.autoinit, whose import needs a context of OpenGL."""
    if module == "pycuda.gl.autoinit":
        return None
    return getattr(importlib.import_module(module), name)


@functools.cache
def homes():
    """{id of an object: its full name in the reference}; the objects are kept alive by their modules."""
    found = {}
    for module, name in shown():
        value = imported(module, name)
        if getattr(value, "__name__", None) == name or id(value) not in found:
            found[id(value)] = f"{module}.{name}"
    return found


def not_shown():
    """Yields the public names that no page has. An object that several modules have under one name needs to
    be on one page only.
    """
    pages = shown()
    objects = {(name, id(imported(module, name))) for module, name in pages}
    for module in modules():
        if module != "pycuda.gl.autoinit":
            for name, value in names(importlib.import_module(module)).items():
                if (module, name) not in pages and (name, id(value)) not in objects:
                    yield f"{module}.{name}"


def without_text_of_init():
    """Yields the public classes whose `__init__`, written in Python, has no docstring for `help()`."""
    for module, name in shown():
        cls = imported(module, name)
        if inspect.isclass(cls) and not constants(cls):
            init = getattr(cls, "__init__", None)
            if inspect.isfunction(init) and not inspect.getdoc(init):
                yield f"{module}.{name}"


def without_text():
    """Yields the members without a visible docstring: numpydoc drops one that is only a call, as a
    signature.
    """
    for module, page_name in shown():
        cls = imported(module, page_name)
        if inspect.isclass(cls) and not constants(cls):
            for name, value in members(cls).items():
                if name not in listed(cls) and not isinstance(value, int | str):
                    text = getattr(value, "__doc__", None) or ""
                    if not text or re.match(r"[\w.]+\(.*\)$", text):
                        yield f"{module}.{page_name}.{name}"
