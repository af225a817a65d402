"""Sphinx: `make docs`."""

# Before autodoc, which would read the type stubs in place of the modules.
import pycuda.compiler  # noqa: F401
from pycuda import VERSION_TEXT

project = "pycuda"
copyright = "2026, the pycuda authors"
release = VERSION_TEXT
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["narrow.css"]
html_title = f"pycuda {VERSION_TEXT}"
exclude_patterns = ["_build"]
default_role = "code"  # of `words` in docstrings
numpydoc_show_class_members = False
autodoc_member_order = "groupwise"


# Where names of pycuda._driver are shown that are not pycuda.driver's.
HOMES = {"GPUArray": "pycuda.gpuarray"}


def skip_what_is_shown_elsewhere(app, what, name, member, skip, options):
    """A module shows what it defines and what private modules make for it; the driver's names are its own."""
    if what != "module":
        return None
    here = app.env.temp_data.get("autodoc:module")
    origin = getattr(member, "__module__", None) or ""
    if not origin.startswith("pycuda") or not getattr(member, "__doc__", None):
        return True
    if origin == "pycuda._driver":
        return None if here == HOMES.get(name, "pycuda.driver") else True
    private = any(part.startswith("_") for part in origin.split("."))
    return None if private or origin == here else True


def setup(app):
    app.connect("autodoc-skip-member", skip_what_is_shown_elsewhere)
