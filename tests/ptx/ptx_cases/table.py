"""All forms, section by section."""

from . import arithmetic, conversion, memory
from .expand import Table


def all_forms():
    table = Table()
    for part in (arithmetic, conversion, memory):
        part.fill(table)
    return list(table.forms.values())


def families():
    """{(family, compute capability): forms}, the groups that are recorded and loaded together."""
    groups = {}
    for form in all_forms():
        groups.setdefault((form.family, form.sm), []).append(form)
    return groups
