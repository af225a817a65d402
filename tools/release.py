"""`make release`: checks what is about to be released, and says what is wrong.

    python tools/release.py sources [--tag TAG]   versions, change log, git; before anything is built
    python tools/release.py packages              prints the folders of the distributions that flit builds
    python tools/release.py files                 what lies in dist and in docs/_build

Each prints a line for each check that holds, or every problem, and exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import datetime
import email.message
import email.parser
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

try:
    import tomllib
except ImportError:  # before Python 3.11
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PROCESSORS = "x86_64", "aarch64"
PYTHON = "Programming Language :: Python"  # how a classifier begins
FIRST_FREE_THREADED = 14  # the minor version of the first CPython that has wheels without the GIL
# Files with the version besides the pyproject.toml of each distribution, and what stands around it.
VERSIONS = {
    "meson.build": r"version: '([\d.\w]+)'",
    "CITATION.cff": r'^version: "([^"]+)"',
}
RELATIVE_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)\s]+)")


def project(folder: Path) -> dict:
    """The table [project] of a distribution's pyproject.toml."""
    return tomllib.loads((folder / "pyproject.toml").read_text())["project"]


def other_distributions(root: Path) -> list[Path]:
    """The folders of the distributions besides pycuda."""
    return [path.parent for path in sorted(root.glob("*/pyproject.toml"))]


def is_pure(folder: Path) -> bool:
    """Whether flit builds a distribution; else tools/wheels.py does, for each processor."""
    return "flit_core" in (folder / "pyproject.toml").read_text()


def links_in(readme: str) -> list[str]:
    """The relative links of a text, which lead nowhere on a package index."""
    return RELATIVE_LINK.findall(re.sub(r"```.*?```", "", readme, flags=re.S))


# ---- sources


def version_problems(root: Path) -> Iterator[str]:
    """Versions that are not that of pyproject.toml."""
    version = project(root)["version"]
    for name, pattern in VERSIONS.items():
        found = re.search(pattern, (root / name).read_text(), re.M)
        if not found or found[1] != version:
            yield f"{name} has version {found[1] if found else 'none'}, pyproject.toml {version}"
    text = (root / "pycuda" / "__init__.py").read_text()
    numbers = ".".join(re.findall(r"\d+", re.search(r"^VERSION = \((.*)\)", text, re.M)[1]))
    status = re.search(r'^VERSION_STATUS = "(.*)"', text, re.M)[1]
    if numbers + status != version:
        yield f"pycuda/__init__.py has version {numbers}{status}, pyproject.toml {version}"
    for folder in other_distributions(root):
        other = project(folder)
        if other["version"] != version:
            yield f"{folder.name} has version {other['version']}, pycuda {version}"
        for needed in other["dependencies"]:
            pinned = re.match(r"(pycuda[\w-]*)==(.*)", needed)
            if pinned and pinned[2] != version:
                yield f"{folder.name} depends on {needed}, not on version {version}"


def changelog_problems(root: Path, today: datetime.date) -> Iterator[str]:
    """What is wrong with the first entry of CHANGELOG.md: it must have this version and a date."""
    version = project(root)["version"]
    heading = re.search(r"^## (\S+) \((.*)\)$", (root / "CHANGELOG.md").read_text(), re.M)
    if not heading or heading[1] != version:
        yield f"the first entry of CHANGELOG.md is not that of {version}"
        return
    try:
        date = datetime.date.fromisoformat(heading[2])
    except ValueError:
        yield f"CHANGELOG.md: {version} has no date (YYYY-MM-DD), it is {heading[2]}"
        return
    if date > today:
        yield f"CHANGELOG.md: the date of {version}, {date}, is in the future"


def readme_problems(root: Path) -> Iterator[str]:
    """Links in the READMEs of distributions that lead nowhere on an index."""
    for folder in [root, *other_distributions(root)]:
        readme = folder / project(folder)["readme"]
        for link in links_in(readme.read_text()):
            yield f"{readme.relative_to(root)}: the link {link} leads nowhere on a package index"


def git_problems(root: Path, tag: str | None) -> Iterator[str]:
    """Changes that are not committed, and a tag that has another version or belongs to another commit."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True)
        return done.stdout.strip()

    wanted = f"v{project(root)['version']}"
    if git("status", "--porcelain"):
        yield "there are changes that are not committed"
    if tag is not None and tag != wanted:
        yield f"the tag is {tag}, this version's is {wanted}"
    tagged = git("rev-list", "-n1", "--ignore-missing", wanted) if git("tag", "--list", wanted) else ""
    if tagged and tagged != git("rev-parse", "HEAD"):
        yield f"the tag {wanted} belongs to another commit"


# ---- files


def metadata_of(path: Path) -> email.message.Message:
    """The metadata of a wheel or an sdist."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
            text = archive.read(name)
    else:
        with tarfile.open(path) as archive:
            text = archive.extractfile(f"{path.name.removesuffix('.tar.gz')}/PKG-INFO").read()
    return email.parser.BytesParser().parsebytes(text)


def names_in(path: Path) -> list[str]:
    """The names of the files in a wheel or an sdist."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    with tarfile.open(path) as archive:
        return archive.getnames()


def python_tags(classifiers: list[str]) -> Iterator[str]:
    """The tags of the Pythons of the classifiers, as in cp314-cp314, and of free-threaded ones if they name
    these, as in cp314-cp314t.
    """
    is_free_threaded = any(each.startswith(f"{PYTHON} :: Free Threading") for each in classifiers)
    for classifier in classifiers:
        minor = re.fullmatch(rf"{PYTHON} :: 3\.(\d+)", classifier)
        if minor:
            yield f"cp3{minor[1]}-cp3{minor[1]}"
        if minor and is_free_threaded and int(minor[1]) >= FIRST_FREE_THREADED:
            yield f"cp3{minor[1]}-cp3{minor[1]}t"


def expected_files(root: Path) -> set[str]:
    """The names that dist must have: a wheel for each Python of the classifiers and each processor, the
    sdist, a wheel and an sdist of each distribution in Python alone, and a wheel of the others for each
    processor.
    """
    about = project(root)
    version = about["version"]
    found = {f"pycuda-{version}.tar.gz"}
    for tag in python_tags(about["classifiers"]):
        found |= {f"pycuda-{version}-{tag}-manylinux_2_28_{each}.whl" for each in PROCESSORS}
    for folder in other_distributions(root):
        name = re.sub(r"[-_.]+", "_", project(folder)["name"]).lower()
        if is_pure(folder):
            found |= {f"{name}-{version}.tar.gz", f"{name}-{version}-py3-none-any.whl"}
        else:
            found |= {f"{name}-{version}-py3-none-manylinux_2_28_{each}.whl" for each in PROCESSORS}
    return found


def metadata_problems(path: Path) -> Iterator[str]:
    """What an index, or its reader, would miss in the metadata of a wheel or an sdist."""
    found = metadata_of(path)
    for field in "License-Expression", "Summary", "Author", "Requires-Python", "Description-Content-Type":
        if not found[field]:
            yield f"{path.name} has no {field} in its metadata"
    for link in links_in(str(found.get_payload())):
        yield f"{path.name}: the link {link} of its description leads nowhere"


def content_problems(path: Path) -> Iterator[str]:
    """Files that a wheel or an sdist of pycuda lacks, or has too many."""
    names = names_in(path)
    if path.suffix == ".whl":
        wanted = ["pycuda/py.typed", "pycuda/gpuarray.pyi", "pycuda/_driver.pyi", "/licenses/LICENSE"]
    else:
        wanted = ["/LICENSE", "/pyproject.toml", "/meson.build", "/tests/conftest.py", "/docs/index.md"]
    for end in wanted:
        if not any(name.endswith(end) for name in names):
            yield f"{path.name} lacks {end.lstrip('/')}"
    for name in names:
        if "__pycache__" in name or name.endswith((".pyc", ".orig")):
            yield f"{path.name} has {name}"


def dist_problems(root: Path, dist: Path) -> Iterator[str]:
    """Files that are missing in dist, are of no use there, or are not as they must be."""
    wanted, found = expected_files(root), {path.name for path in dist.glob("*")}
    yield from (f"{name} is missing in {dist.name}" for name in sorted(wanted - found))
    yield from (f"{dist.name} has {name}, which is not of this release" for name in sorted(found - wanted))
    for name in sorted(wanted & found):
        yield from metadata_problems(dist / name)
        if name.startswith("pycuda-"):
            yield from content_problems(dist / name)


def documentation_problems(root: Path) -> Iterator[str]:
    """Whether `make docs` has built the pages of this version."""
    first = root / "docs" / "_build" / "index.html"
    version = project(root)["version"]
    if not first.exists() or f"pycuda {version}" not in first.read_text():
        yield f"docs/_build has no documentation of {version}: make docs"


CHECKS = {
    "sources": {
        "versions": lambda root, options: version_problems(root),
        "change log": lambda root, options: changelog_problems(root, datetime.date.today()),
        "links of the READMEs": lambda root, options: readme_problems(root),
        "git": lambda root, options: git_problems(root, options.tag),
    },
    "files": {
        "wheels and sdists": lambda root, options: dist_problems(root, root / "dist"),
        "documentation": lambda root, options: documentation_problems(root),
    },
}


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Runs the checks of a step. Returns 1 if one of them does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=[*CHECKS, "packages"])
    parser.add_argument("--tag", help="the tag that is released, as v2026.2")
    options = parser.parse_args(arguments)
    if options.step == "packages":
        print(*(folder.relative_to(root) for folder in other_distributions(root) if is_pure(folder)))
        return 0
    problems = 0
    for name, check in CHECKS[options.step].items():
        found = list(check(root, options))
        print("\n".join(f"{name}: {problem}" for problem in found) or f"{name}: good")
        problems += len(found)
    return int(problems > 0)


if __name__ == "__main__":
    sys.exit(main())
