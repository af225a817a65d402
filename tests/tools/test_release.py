"""tools/release.py finds what is wrong with a release: each check, on a small tree and on made-up files."""

import datetime
import importlib.util
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DAY = datetime.date(2026, 5, 1)
README = "# pycuda\n\n[elsewhere](https://example.org)\n"
PROJECT = """[project]
name = "{name}"
version = "{version}"
readme = "README.md"
dependencies = [{needs}]
classifiers = ["Programming Language :: Python :: 3.12", "Programming Language :: C"]
"""
METADATA = """Metadata-Version: 2.4
Name: pycuda
Version: 2026.2
Summary: one line
Author: the authors
License-Expression: MIT
Requires-Python: >=3.10
Description-Content-Type: text/markdown

"""


@pytest.fixture(scope="module")
def release():
    """The module tools/release.py."""
    spec = importlib.util.spec_from_file_location("release", ROOT / "tools" / "release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(tmp_path):
    """A tree with the files that have versions, all of them right."""
    files = {
        "pyproject.toml": PROJECT.format(name="pycuda", version="2026.2", needs=""),
        "README.md": README,
        "meson.build": "project('pycuda', 'c', version: '2026.2')\n",
        "CITATION.cff": 'cff-version: 1.2.0\nversion: "2026.2"\n',
        "CHANGELOG.md": "# Changes\n\n## 2026.2 (2026-05-01)\n\n## 2026.1 (2026-01-01)\n",
        "pycuda/__init__.py": 'VERSION = (2026, 2)\nVERSION_STATUS = ""\n',
        "other/pyproject.toml": 'build-backend = "flit_core.buildapi"\n'
        + PROJECT.format(name="the-other", version="2026.2", needs='"pycuda==2026.2"'),
        "other/README.md": README,
        "device/pyproject.toml": PROJECT.format(name="the-device", version="2026.2", needs=""),
        "device/README.md": README,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def replace(path, old, new):
    """Changes the text of a file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_this_project_has_one_version(release):
    assert list(release.version_problems(ROOT)) == []
    assert ROOT / "skcuda" in release.other_distributions(ROOT)


def test_a_tree_where_all_is_right(release, tree):
    assert list(release.version_problems(tree)) == []
    assert list(release.changelog_problems(tree, DAY)) == []
    assert list(release.readme_problems(tree)) == []


@pytest.mark.parametrize(
    "name, old, new",
    [
        ("meson.build", "2026.2", "2026.1"),
        ("CITATION.cff", "2026.2", "2026.3"),
        ("pycuda/__init__.py", '""', '"rc1"'),
        ("pycuda/__init__.py", "(2026, 2)", "(2026, 1)"),
        ("other/pyproject.toml", 'version = "2026.2"', 'version = "2026.1"'),
        ("other/pyproject.toml", "pycuda==2026.2", "pycuda==2026.1"),
    ],
)
def test_another_version_somewhere(release, tree, name, old, new):
    replace(tree / name, old, new)
    (problem,) = release.version_problems(tree)
    assert name.split("/")[0] in problem and "2026.2" in problem


@pytest.mark.parametrize(
    "heading, problem",
    [
        ("## 2026.2 (unreleased)", "has no date"),
        ("## 2026.2 (2026-05-02)", "is in the future"),
        ("## 2026.1 (2026-05-01)", "not that of 2026.2"),
    ],
)
def test_the_change_log(release, tree, heading, problem):
    replace(tree / "CHANGELOG.md", "## 2026.2 (2026-05-01)", heading)
    (found,) = release.changelog_problems(tree, DAY)
    assert problem in found


def test_links_that_lead_nowhere_on_an_index(release, tree):
    replace(tree / "other" / "README.md", "https://example.org", "docs/install.md")
    (found,) = release.readme_problems(tree)
    assert "other/README.md" in found and "docs/install.md" in found
    assert release.links_in("```\n[a](b.md)\n```\n[x](#part) [y](mailto:a@b)") == []


@pytest.mark.parametrize("folder", [ROOT, *ROOT.glob("*/pyproject.toml")], ids=lambda path: path.parent.name)
def test_the_readme_has_no_link_that_leads_nowhere_on_an_index(release, folder):
    folder = folder if folder == ROOT else folder.parent
    assert release.links_in((folder / release.project(folder)["readme"]).read_text()) == []


@pytest.mark.parametrize("path", [ROOT / "pyproject.toml", *ROOT.glob("*/pyproject.toml")], ids=str)
def test_the_metadata_name_license_and_authors(release, path):
    about = release.project(path.parent)
    assert about["license"] == "MIT" and about["authors"] == [{"name": "the pycuda authors"}]
    assert not any(classifier.startswith("License ::") for classifier in about["classifiers"])


def test_git(release, tree):
    def git(*arguments):
        identity = "-c", "user.name=x", "-c", "user.email=x@example.org"
        subprocess.run(["git", "-C", tree, *identity, *arguments], check=True, capture_output=True)

    git("init", "-q")
    assert list(release.git_problems(tree, None)) == ["there are changes that are not committed"]
    git("add", ".")
    git("commit", "-qm", "first")
    assert list(release.git_problems(tree, "v2026.2")) == []
    assert list(release.git_problems(tree, "v2026.3")) == ["the tag is v2026.3, this version's is v2026.2"]
    git("tag", "v2026.2")
    assert list(release.git_problems(tree, None)) == []
    git("commit", "-qm", "second", "--allow-empty")
    assert list(release.git_problems(tree, None)) == ["the tag v2026.2 belongs to another commit"]


def write_wheel(path, metadata=METADATA, left_out=(), more=()):
    """A file with the names that a wheel must have, without those left out."""
    names = ["pycuda/py.typed", "pycuda/gpuarray.pyi", "pycuda/_driver.pyi"]
    names += ["pycuda-2026.2.dist-info/licenses/LICENSE", *more]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("pycuda-2026.2.dist-info/METADATA", metadata)
        for name in names:
            if name not in left_out:
                archive.writestr(name, "")


def test_which_files_are_expected(release, tree):
    assert release.expected_files(tree) == {
        "pycuda-2026.2.tar.gz",
        "pycuda-2026.2-cp312-cp312-manylinux_2_28_x86_64.whl",
        "pycuda-2026.2-cp312-cp312-manylinux_2_28_aarch64.whl",
        "the_other-2026.2.tar.gz",
        "the_other-2026.2-py3-none-any.whl",
        "the_device-2026.2-py3-none-manylinux_2_28_x86_64.whl",
        "the_device-2026.2-py3-none-manylinux_2_28_aarch64.whl",
    }
    dist = tree / "dist"
    dist.mkdir()
    write_wheel(dist / "pycuda-2026.2-cp312-cp312-manylinux_2_28_x86_64.whl")
    (dist / "pycuda-2026.1.tar.gz").touch()
    found = list(release.dist_problems(tree, dist))
    assert len(found) == 7
    assert sum("is missing in dist" in each for each in found) == 6
    assert "dist has pycuda-2026.1.tar.gz, which is not of this release" in found


def test_free_threaded_pythons_have_wheels_of_their_own(release):
    python = "Programming Language :: Python"
    versions = [f"{python} :: 3", f"{python} :: 3.13", f"{python} :: 3.14"]
    assert list(release.python_tags(versions)) == ["cp313-cp313", "cp314-cp314"]
    found = release.python_tags([*versions, f"{python} :: Free Threading :: 2 - Beta"])
    assert list(found) == ["cp313-cp313", "cp314-cp314", "cp314-cp314t"]


def test_metadata_and_contents_of_a_wheel(release, tmp_path):
    wheel = tmp_path / "pycuda-2026.2-cp312-cp312-manylinux_2_28_x86_64.whl"
    write_wheel(wheel)
    assert [*release.metadata_problems(wheel), *release.content_problems(wheel)] == []
    metadata = METADATA.replace("License-Expression: MIT\n", "") + "[a page](docs/a.md)\n"
    write_wheel(wheel, metadata, left_out=["pycuda/py.typed"], more=["pycuda/__pycache__/x.pyc"])
    found = [*release.metadata_problems(wheel), *release.content_problems(wheel)]
    assert [each.removeprefix(wheel.name) for each in found] == [
        " has no License-Expression in its metadata",
        ": the link docs/a.md of its description leads nowhere",
        " lacks pycuda/py.typed",
        " has pycuda/__pycache__/x.pyc",
    ]


def test_the_documentation_must_be_built(release, tree):
    assert "make docs" in next(release.documentation_problems(tree))
    built = tree / "docs" / "_build"
    built.mkdir(parents=True)
    (built / "index.html").write_text("<title>pycuda 2026.2</title>")
    assert list(release.documentation_problems(tree)) == []


def test_the_command_exits_with_1_where_something_is_wrong(release, tree, capsys):
    (tree / "CITATION.cff").write_text('version: "2026.1"\n')
    assert release.main(["sources"], tree) == 1
    assert "versions: CITATION.cff has version 2026.1" in capsys.readouterr().out
    assert release.main(["packages"], tree) == 0
    assert capsys.readouterr().out == "other\n"
