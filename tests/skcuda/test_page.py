"""The reference names each function of NVIDIA's libraries, and no other."""

import re
from pathlib import Path

import pytest

from skcuda import cublas, cufft, cusolver

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "skcuda_libraries.md"


def written(name):
    """A function as the page names it: with ? for the letter of a dtype, unless it is named itself."""
    name = name.removesuffix("_bufferSize")
    if f"`{name}`" in PAGE.read_text():
        return name
    return re.sub(r"^(cublas|cusolverDn)[SDCZ](?=[a-z])", r"\1?", name)


@pytest.mark.parametrize("module", [cublas, cufft, cusolver], ids=["cublas", "cufft", "cusolver"])
def test_the_page_names_each_function(module):
    prefix = module.__name__.rpartition(".")[2]
    functions = {
        written(name)
        for name, value in vars(module).items()
        if name.startswith(prefix) and callable(value) and not isinstance(value, type)
    }
    named = re.findall(rf"`({prefix}[\w?]+)`", PAGE.read_text())
    assert functions == {written(name) for name in named}
