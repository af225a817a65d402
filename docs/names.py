"""Sphinx: the directive `names`, which describes names of a module in the given order.

    .. names:: pycuda.driver

       Device Context
       TR_DEFAULT: What stands for no flags.

Classes come with all members in the order of their definition, `__call__` first and inherited ones last;
classes of constants with each name and value. A class with some methods has a page of its own in
reference/classes, written before pages are read, and a row in a table where it is named. Names of
pycuda._driver in signatures and docstrings become links to where they are described, functions of the driver
links to NVIDIA's pages (vendor.py). After each description there is a program (programs.py), and where to
read on. At the end there is a warning for each public name, of a member too, that is not described; `make
docs` treats it as an error.

The functions below that return lines return reStructuredText.
"""

import builtins
import inspect
import itertools
import textwrap
from pathlib import Path

import neighbors
import numpy as np
import programs
import public
import vendor
from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import nested_parse_with_titles

import pycuda.gpuarray
import pycuda.numpy

logger = logging.getLogger(__name__)


def entry(kind, name, module=None, value=None):
    """The first lines of a description that autodoc does not write; kind: a directive of Sphinx's Python
    domain.
    """
    options = [f"   :module: {module}"] if module else []
    if isinstance(value, int) and not isinstance(value, bool):
        options.append(f"   :value: {int(value)}")
    return [f".. py:{kind}:: {name}", *options, ""]


def indented(lines):
    return textwrap.indent("\n".join(lines), "   ").split("\n")


def compact(entries):
    """The lines for constants, {name: value}: without texts, shown side by side."""
    lines = [line for name, value in entries.items() for line in entry("attribute", name, value=value)]
    return [".. container:: constants", "", *indented(lines), ""]


def described_class(module, name, cls):
    """The lines for a class and its members."""
    if cls is pycuda.gpuarray.vec:
        values = {name: None for name in public.members(cls)}
    else:
        values = public.constants(cls)
    if values:
        body = [*inspect.getdoc(cls).split("\n"), *additions(f"{module}.{name}"), "", *compact(values)]
        return [*entry("class", name, module), *indented(body), ""]
    kind = "exception" if issubclass(cls, BaseException) else "class"
    options = ["   :show-inheritance:"] if bases(cls) else []
    lines = [f".. auto{member_kind(cls, each)}:: {each}" for each in member_order(cls)]
    return [f".. auto{kind}:: {module}.{name}", *options, "", *indented(lines), ""]


def member_order(cls):
    """The names of a class's members that have descriptions, in their order."""
    described = public.members(cls).keys() - public.listed(cls)
    order = [each for base in cls.__mro__ for each in vars(base) if each in described]
    return sorted(dict.fromkeys(order), key=lambda each: each != "__call__")


def summary(value):
    """The first sentence of a docstring."""
    text = inspect.getdoc(value) or ""
    return " ".join(text.partition("\n\n")[0].split())


def table(rows):
    """The lines for a table without a heading, of (full name, shown name, text)."""
    lines = [".. list-table::", "   :class: summary", "   :widths: 30 70", ""]
    for full, name, text in rows:
        lines += [f"   * - :py:obj:`{name} <{full}>`", f"     - {text}"]
    return [*lines, ""]


def class_title(module, name):
    """The title of a class's page: its name, with the module where another has a class of that name."""
    owners = {each for each, other in public.shown() if other == name and public.has_page(each, other)}
    return name if module == min(owners, key=len) else f"{name} ({module})"


def class_page(module, name):
    """The text of a class's page: a table of its members, and their descriptions."""
    cls, title = public.imported(module, name), class_title(module, name)
    full = f"{module}.{name}"
    rows = [(f"{full}.{each}", each, summary(getattr(cls, each))) for each in member_order(cls)]
    described = described_class(module, name, cls)
    at = described.index("") + 1
    head, body = described[:at], described[at:]
    return "\n".join([title, "=" * len(title), "", *head, *indented(table(rows)), "", *body])


def write_class_pages(app):
    """For the event builder-inited: writes the pages of classes, and removes those that are of no use."""
    folder = Path(app.srcdir) / "reference" / "classes"
    folder.mkdir(exist_ok=True)
    wanted = {
        f"{module}.{name}.rst": class_page(module, name)
        for module, name in public.shown()
        if public.has_page(module, name)
    }
    for path in folder.glob("*.rst"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def class_table(module, names):
    """The lines for classes with pages of their own: links with their first sentences."""
    rows = [(f"{module}.{name}", name, summary(public.imported(module, name))) for name in names]
    pages = [f"/reference/classes/{module}.{name}" for name in names]
    return [*table(rows), ".. toctree::", "   :hidden:", "", *indented(pages), ""]


# ---- after descriptions


def numpys(full):
    """The full name of NumPy's function or method that one of pycuda's stands for, or None."""
    found = neighbors.numpys(full)
    if found is None:
        return None
    owner = neighbors.NUMPYS[full.rpartition(".")[0]]
    prefix = "numpy.ndarray" if owner is np.ndarray else owner.__name__
    return f"{prefix}.{getattr(found, '__name__', full.rpartition('.')[2])}"


def link_to(name, full):
    """A link to a name in the description of another: without the module if that is the same."""
    module, _, last = name.rpartition(".")
    short = last if full.startswith(f"{module}.") else name.removeprefix("pycuda.")
    return f":py:obj:`{short} <{name}>`"


def additions(full):
    """The lines after the description of a name: a program that uses it, neighbors, NumPy's function,
    pages.
    """
    lines, others, found, place = [], [], programs.program(full), None
    if found:
        code, language, place = found
        if place == full:
            lines += ["", ".. rubric:: Example", "", f".. code-block:: {language}", "", *indented(code)]
        else:
            others.append(f"the example of {link_to(place, full)}")
    others += [link_to(each, full) for each in neighbors.neighbors(full) if each != place]
    if numpys(full):
        address = f"https://numpy.org/doc/stable/reference/generated/{numpys(full)}.html"
        others.append(f"`{numpys(full)} <{address}>`__")
    pages = programs.used_on().get(full, {})
    others += [f":doc:`{title} </{page}>`" for page, title in pages.items()]
    if others:
        lines += ["", ".. seealso::", "", f"   {', '.join(others)}"]
    return [*lines, ""] if lines else []


def add(app, what, name, value, options, lines):
    """For the event autodoc-process-docstring: links to NVIDIA's pages, and what additions() has."""
    if name.startswith(("pycuda", "skcuda")):
        lines[:] = [vendor.linked(line, GROUPS) for line in lines]
        if what != "module":
            lines += additions(name)


def member_kind(cls, name):
    """The end of autodoc's directive for a member: "method", "property" or "attribute"."""
    if callable(getattr(cls, name)):
        return "method"
    return "property" if isinstance(inspect.getattr_static(cls, name), property) else "attribute"


def bases(cls):
    """The public bases of a class, pycuda's and Python's, as links for Sphinx."""
    found = []
    for base in cls.__bases__:
        if id(base) in HOMES:
            found.append(f":py:obj:`{HOMES[id(base)]}`")
        elif base is not object and base.__module__ == "builtins":
            found.append(f"`{base.__name__}`")
    return found


def other_name(module, name, cls, text):
    """The lines for a second name of a class."""
    try:
        signature = str(inspect.signature(cls))
    except ValueError:
        signature = ""
    text = text or f"Another name of :py:class:`{HOMES[id(cls)]}`."
    return [*entry("class", name + signature, module), *indented([text]), ""]


def described(module, name, text):
    """The lines for one name; text: its description in the directive, or empty."""
    value = public.imported(module, name)
    if inspect.isclass(value):
        second = value.__name__ != name
        return other_name(module, name, value, text) if second else described_class(module, name, value)
    if isinstance(value, pycuda.numpy.ufunc):
        signature = str(inspect.signature(value))
        text = [*inspect.getdoc(value).split("\n"), *additions(f"{module}.{name}")]
        return [*entry("function", name + signature, module), *indented(text), ""]
    if callable(value) and not text:
        return [f".. autofunction:: {module}.{name}", ""]
    return [*entry("function" if callable(value) else "data", name, module, value), *indented([text]), ""]


class Names(SphinxDirective):
    """The directive `names`."""

    required_arguments = 1
    has_content = True

    def run(self):
        module, lines = self.arguments[0], []
        entries = list(public.entries(self.content))
        for own, group in itertools.groupby(entries, lambda entry: public.has_page(module, entry[0])):
            group = list(group)
            if own:
                lines += class_table(module, [name for name, _ in group])
            else:
                lines += [line for name, text in group for line in described(module, name, text)]
        found = nodes.section(document=self.state.document)
        content = StringList(lines, source=self.env.doc2path(self.env.docname))
        nested_parse_with_titles(self.state, content, found)
        return found.children


def keep_bases(app, name, cls, options, found):
    """For the event autodoc-process-bases: replaces the list of bases by the public ones."""
    found[:] = bases(cls)


def qualify(app, doctree):
    """For the event doctree-read: a short name that several classes have means PyCUDA's."""
    for node in doctree.findall(addnodes.pending_xref):
        if node.get("refdomain") == "py" and node["reftarget"] in SHARED:
            node["reftarget"] = SHARED[node["reftarget"]]


def link(app, env, node, contnode):
    """For the event missing-reference: resolves names of pycuda._driver, and names without a module, to the
    one place that describes them.
    """
    if node.get("refdomain") != "py":
        return None
    target = BY_NAME.get(node["reftarget"].removeprefix("pycuda._driver."))
    if target is None:
        return None
    domain = env.get_domain("py")
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", target, node, contnode)


def check(app, env):
    """For the event env-check-consistency: warns of public names that no page describes."""
    objects = set(env.get_domain("py").objects)
    for module, name in public.shown():
        full, value = f"{module}.{name}", public.imported(module, name)
        wanted = {full}
        if inspect.isclass(value) and value.__name__ == name:
            wanted |= {f"{full}.{member}" for member in public.members(value).keys() - public.listed(value)}
        for missing in sorted(wanted - objects):
            logger.warning("%s is public and not described", missing)


GROUPS = vendor.table()
HOMES = public.homes()  # {id of an object: the full name under which it is described}
# BY_NAME: the full names of classes and functions by the last part, if that is unique and not a name of
# Python's. Modules with others' names do not count: `sum` means that of pycuda.gpuarray.
OTHER_NAMES = "pycuda.numpy.", "pycuda.compat.", "skcuda."
_NAMED = [
    full
    for full in HOMES.values()
    if callable(public.imported(*full.rsplit(".", 1))) and not full.startswith(OTHER_NAMES)
]
_LAST = [full.rpartition(".")[2] for full in _NAMED]
BY_NAME = {
    last: full
    for last, full in zip(_LAST, _NAMED, strict=True)
    if _LAST.count(last) == 1 and not hasattr(builtins, last)
}
# The classes in BY_NAME, which may be types of parameters.
TYPES = {
    name: full for name, full in BY_NAME.items() if inspect.isclass(public.imported(*full.rsplit(".", 1)))
}
# The classes in TYPES whose name a class of OTHER_NAMES has as well.
SHARED = {
    name: full
    for name, full in TYPES.items()
    if any(each.startswith(OTHER_NAMES) and each.endswith(f".{name}") for each in HOMES.values())
}


def setup(app):
    app.add_directive("names", Names)
    app.connect("builder-inited", write_class_pages)
    app.connect("autodoc-process-docstring", add, priority=900)  # after numpydoc
    app.connect("doctree-read", qualify)
    app.connect("autodoc-process-bases", keep_bases)
    app.connect("missing-reference", link)
    app.connect("env-check-consistency", check)
    return {"parallel_read_safe": True}
