"""Recipes of other package indexes say what pyproject.toml says."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def names_and_versions(requirements):
    """{name: version or ""} of requirements as conda and PyPI write them."""
    return dict(re.match(r"([\w-]+)\s*(.*)", each).groups() for each in requirements)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is new in Python 3.11")
def test_conda():
    import tomllib

    yaml = pytest.importorskip("yaml", reason="comes with dask")
    recipe = yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text())
    described = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = described["project"]
    assert recipe["context"]["version"] == project["version"]
    assert recipe["about"]["summary"] == project["description"]
    assert recipe["about"]["license"] == project["license"]
    host = names_and_versions(recipe["requirements"]["host"])
    built_with = names_and_versions(described["build-system"]["requires"])
    assert host == {"python": "", "pip": "", **built_with}
    run = names_and_versions(recipe["requirements"]["run"])
    assert names_and_versions(project["dependencies"]).items() <= run.items()
    optional = {
        name.removeprefix("nvidia-") for name in names_and_versions(project["optional-dependencies"]["cu13"])
    }
    conda_names = {"cuda-runtime": "cuda-cudart", "curand": "libcurand"}
    assert {conda_names.get(name, name) for name in optional} <= run.keys()
