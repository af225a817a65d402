"""Files for hosting services and other tools agree with the Makefile and meson.build."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def read(name):
    """The text of a file of the project."""
    return (ROOT / name).read_text()


def test_versions_are_one():
    version = re.search(r"version: '([\d.]+)'", read("meson.build"))[1]
    assert f'version: "{version}"' in read("CITATION.cff")
    assert f'\nversion = "{version}"\n' in read("pyproject.toml")
    assert f'\nversion = "{version}"\n' in read("skcuda/pyproject.toml")
    assert f'"pycuda=={version}"' in read("skcuda/pyproject.toml")


def test_pre_commit_has_the_linters_of_make():
    for tool in "ruff", "clang-format":
        version = re.search(rf"{tool}==([\d.]+)", read("Makefile"))[1]
        assert re.search(
            rf"{tool}(?:-pre-commit)?\n\s+rev: v{re.escape(version)}\n", read(".pre-commit-config.yaml")
        )


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_workflows_run_targets_of_the_makefile():
    words = [word for path in WORKFLOWS for word in re.findall(r"run: make (\w+)", path.read_text())]
    assert {"wheels", "release"} <= set(words)
    assert all(f"\n{word}:" in read("Makefile") for word in words)


def test_actions_are_pinned_by_hash_to_one_version_each():
    """Each with its version as a comment, which dependabot reads and updates."""
    lines = [line.strip() for path in WORKFLOWS for line in path.read_text().splitlines() if "uses:" in line]
    assert len(lines) > 6
    assert [
        each for each in lines if not re.fullmatch(r"- uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)
    ] == []
    pins = {line.removeprefix("- uses: ") for line in lines}
    assert len(pins) == len({pin.partition("@")[0] for pin in pins})


def test_nothing_is_published_with_a_password():
    publish = read(".github/workflows/publish.yml")
    assert publish.count("id-token: write") == 1 and "secrets." not in publish and "password:" not in publish


def test_links_between_pages_lead_somewhere():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    lost = []
    for page in pages:
        if "_build" in page.parts:
            continue
        for target in re.findall(
            r"\]\((?!https?:|#|mailto:)([^)#\s]+)", re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
        ):
            if not (page.parent / target).exists():
                lost.append(f"{page.relative_to(ROOT)}: {target}")
    assert lost == []
