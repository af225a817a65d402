"""Sphinx: `make docs`."""

# Before autodoc, which would read the type stubs in place of the modules.
import pycuda.compiler  # noqa: F401
from pycuda import VERSION_TEXT

project = "pycuda"
copyright = "2026, the pycuda authors"
release = VERSION_TEXT
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
html_theme = "furo"
exclude_patterns = ["_build"]
numpydoc_show_class_members = False
autodoc_member_order = "groupwise"
