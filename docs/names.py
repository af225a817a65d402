"""Sphinx: the directive `names`, which describes names of a module in the given order.

    .. names:: pycuda.driver

       Device Context
       TR_DEFAULT: What stands for no flags.

Classes come with all members in the order of their definition, `__call__` first and inherited ones last;
classes of constants with each name and value. Names of pycuda._driver in signatures and docstrings become
links to where they are described. At the end there is a warning for each public name, of a member too, that
is not described; `make docs` treats it as an error.

The functions below that return lines return reStructuredText.
"""

import builtins
import inspect
import textwrap

import public
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
        body = [*inspect.getdoc(cls).split("\n"), "", *compact(values)]
        return [*entry("class", name, module), *indented(body), ""]
    kind = "exception" if issubclass(cls, BaseException) else "class"
    options = ["   :show-inheritance:"] if bases(cls) else []
    described = public.members(cls).keys() - public.listed(cls)
    order = [each for base in cls.__mro__ for each in vars(base) if each in described]
    order = sorted(dict.fromkeys(order), key=lambda each: each != "__call__")
    lines = [f".. auto{member_kind(cls, each)}:: {each}" for each in order]
    return [f".. auto{kind}:: {module}.{name}", *options, "", *indented(lines), ""]


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
        return [*entry("function", name + signature, module), *indented([value.__doc__]), ""]
    if callable(value) and not text:
        return [f".. autofunction:: {module}.{name}", ""]
    return [*entry("function" if callable(value) else "data", name, module, value), *indented([text]), ""]


class Names(SphinxDirective):
    """The directive `names`."""

    required_arguments = 1
    has_content = True

    def run(self):
        lines = []
        for name, text in public.entries(self.content):
            lines += described(self.arguments[0], name, text)
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


HOMES = public.homes()  # {id of an object: the full name under which it is described}
# BY_NAME: the full names of classes and functions by the last part, if that is unique and not a name of
# Python's. Modules with names of NumPy's and CuPy's do not count: `sum` means that of pycuda.gpuarray.
OTHER_NAMES = "pycuda.numpy.", "pycuda.compat."
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
    app.connect("doctree-read", qualify)
    app.connect("autodoc-process-bases", keep_bases)
    app.connect("missing-reference", link)
    app.connect("env-check-consistency", check)
    return {"parallel_read_safe": True}
