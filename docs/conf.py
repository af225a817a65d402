"""Sphinx: `make docs`."""

import importlib.util
import sys
from pathlib import Path

# Imported before autodoc, which would otherwise read the type stubs in place of the modules.
import pycuda.compiler  # noqa: F401
from pycuda import VERSION_TEXT

sys.path.insert(0, str(Path(__file__).parent))
import names
from numpydoc.xref import DEFAULT_LINKS

DEFAULT_LINKS.clear()  # numpydoc's links to Python's documentation

project = "pycuda"
copyright = "2026, the pycuda authors"
release = VERSION_TEXT
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "names"]
if importlib.util.find_spec("sphinx_copybutton"):  # `make docs` installs it: pages are the same without it
    extensions.append("sphinx_copybutton")
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["narrow.css"]
html_title = f"pycuda {VERSION_TEXT}"
exclude_patterns = ["_build", "README.md"]
default_role = "py:obj"  # of `words` in docstrings: a link where there is such a name, else code
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_aliases = {full: full for full in names.TYPES.values()} | names.TYPES
numpydoc_xref_ignore = "all"  # no links except those of numpydoc_xref_aliases
