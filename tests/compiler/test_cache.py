"""The compiler cache: when it has a hit, entries that are damaged, folders that cannot be used."""

import errno
import grp
import os
import pwd
import stat
import subprocess
import sys
import time
import warnings

import pytest

import pycuda.driver as drv
from pycuda._compile import cache, nvrtc, requests
from pycuda.compiler import compile as compile_source

SOURCE = "__global__ void k(int *a) { a[0] = VALUE; }"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache folder of the test's own."""
    monkeypatch.delenv("PYCUDA_DISABLE_CACHE", raising=False)
    monkeypatch.setenv("PYCUDA_CACHE_DIR", str(tmp_path / "cache"))
    requests._memory.clear()
    yield tmp_path / "cache"
    requests._memory.clear()


@pytest.fixture
def compilations(monkeypatch):
    """A list that grows by one with each run of the compiler."""
    runs, real = [], nvrtc.compile_source

    def counted(*arguments):
        runs.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(nvrtc, "compile_source", counted)
    return runs


def build(value=1, **arguments):
    """Compiles as a new process would, with nothing remembered in memory. Returns the code."""
    requests._memory.clear()
    arguments.setdefault("options", [f"-DVALUE={value}"])
    return compile_source(arguments.pop("source", SOURCE), **arguments)


def entries(folder):
    """The files of code in a cache folder, sorted."""
    return sorted(path for path in folder.glob("*") if path.suffix in (".ptx", ".cubin"))


def test_second_build_reads_the_file(folder, compilations):
    first = build()
    assert len(compilations) == 1 and len(entries(folder)) == 1
    assert build() == first and len(compilations) == 1


def test_hit_loads_no_compiler(folder, compilations, monkeypatch):
    """With an entry in the cache, functions that look for a compiler and load it are not called: calling None
    would raise.
    """
    first = build()
    monkeypatch.setattr("pycuda._compile.finder._found", {})
    monkeypatch.setattr("pycuda._compile.finder._search", None)
    monkeypatch.setattr("pycuda._compile.nvrtc.open_library", None)
    assert build() == first and len(compilations) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"value": 2},
        {"source": SOURCE + " "},
        {"arch": "compute_80"},
        {"no_extern_c": True},
        {"target": "ptx", "arch": "compute_86"},
    ],
)
def test_another_source_option_or_target_is_compiled_on_its_own(folder, compilations, change):
    base = build(arch="compute_75")
    assert build(**{"arch": "compute_75", **change}) != base or "source" in change
    assert len(compilations) == 2 and len(entries(folder)) == 2


def test_pycuda_version_counts(folder, compilations, monkeypatch):
    build()
    monkeypatch.setattr("pycuda.VERSION_TEXT", "0.0")
    build()
    assert len(compilations) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:60] + bytes([data[60] ^ 1]) + data[61:],
        lambda data: data + b"more",
        lambda data: b"something else altogether" * 40,
    ],
    ids=["half", "empty", "last byte", "one bit", "longer", "other file"],
)
def test_damaged_entry_is_compiled_again(folder, compilations, damage):
    first = build()
    (entry,) = entries(folder)
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert build() == first and len(compilations) == 2
    assert entry.read_bytes() == whole


def test_exchanged_entries_are_compiled_again(folder, compilations):
    """An entry says which source it is for: under another's name it is not used."""
    codes = build(1), build(2)
    first, second = entries(folder)
    first.rename(folder / "aside")
    second.rename(first)
    (folder / "aside").rename(second)
    assert (build(1), build(2)) == codes and len(compilations) == 4
    assert (build(1), build(2)) == codes and len(compilations) == 4


def test_entry_of_another_version_of_the_format(folder, compilations):
    first = build()
    (entry,) = entries(folder)
    entry.write_bytes(entry.read_bytes().replace(b"pycuda-cache-2", b"pycuda-cache-1", 1))
    assert build() == first and len(compilations) == 2


def test_made_for_the_owner_alone(folder, compilations):
    build()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


@pytest.mark.parametrize("whose", ["folder", "entry"])
def test_what_belongs_to_another_user_is_not_used(folder, compilations, monkeypatch, whose):
    """A folder or entry of another user is not used, with one warning. The test cannot change owners, so it
    replaces the function that returns them.
    """
    first = build()
    (entry,) = entries(folder)
    theirs = folder if whose == "folder" else entry
    real = os.stat(theirs)

    def stranger(status):
        return 12345 if (status.st_ino, status.st_dev) == (real.st_ino, real.st_dev) else None

    monkeypatch.setattr(cache, "_untrusted_owner", stranger)
    cache._warned.clear()
    with pytest.warns(UserWarning) as caught:
        assert build() == first
        assert build(cache_dir=str(folder)) == first
    (warning,) = caught
    for words in (str(folder), "another user (uid 12345)", "PYCUDA_CACHE_DIR", "PYCUDA_DISABLE_CACHE"):
        assert words in str(warning.message)
    assert len(compilations) >= 2


def test_files_of_root_and_the_user_are_trusted_and_no_others():
    def of(user):
        return cache._untrusted_owner(os.stat_result((0o600, 1, 1, 1, user, 0, 0, 0, 0, 0)))

    assert of(0) is None and of(os.geteuid()) is None and of(54321) == 54321


@pytest.mark.parametrize(
    "whose, mode, used",
    [
        ("folder", 0o755, True),
        ("folder", 0o775, False),
        ("folder", 0o757, False),
        ("folder", 0o1777, True),
        ("entry", 0o644, True),
        ("entry", 0o664, False),
        ("entry", 0o602, False),
    ],
)
def test_what_others_may_write_to_is_not_used(folder, compilations, monkeypatch, whose, mode, used):
    monkeypatch.setattr(cache, "_is_private_group", lambda number: False)
    first = build()
    (entry,) = entries(folder)
    (folder if whose == "folder" else entry).chmod(mode)
    cache._warned.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert build() == first
        assert build(cache_dir=str(folder)) == first
    texts = [str(each.message) for each in caught]
    assert (len(compilations) == 1, len(texts)) == (used, 0 if used else 1)
    assert used or f"writable by other users (mode {mode:03o}): chmod go-w" in texts[0]


def test_a_users_private_group_may_write(monkeypatch):
    """Where each user has a group of the same name, a umask of 002 is usual: such a group counts as the user
    if it has no other member. The test replaces what the system knows of users and groups.
    """
    user = pwd.struct_passwd(("me", "x", 1234, 99, "", "/home/me", "/bin/sh"))
    monkeypatch.setattr(cache, "_own_id", lambda: 1234)
    monkeypatch.setattr(pwd, "getpwuid", lambda number: user)
    groups = {99: ("me", "x", 99, []), 98: ("staff", "x", 98, ["me"]), 97: ("me", "x", 99, ["me", "you"])}
    monkeypatch.setattr(grp, "getgrgid", lambda number: grp.struct_group(groups[number]))

    def trusted(group, mode):
        status = os.stat_result((stat.S_IFDIR | mode, 1, 1, 1, 1234, group, 0, 0, 0, 0))
        return cache._distrust(status) is None

    assert trusted(99, 0o775) and not trusted(99, 0o777)
    assert not any(trusted(group, 0o775) for group in (98, 97, 96))


def header_tree(tmp_path):
    """A source that includes a header, which includes another one in a folder below."""
    (tmp_path / "include" / "deep").mkdir(parents=True)
    (tmp_path / "include" / "outer.h").write_text('#include "deep/inner.h"\n')
    (tmp_path / "include" / "deep" / "inner.h").write_text("#define VALUE 1\n")
    return {"source": '#include "outer.h"\n' + SOURCE, "options": [], "include_dirs": [tmp_path / "include"]}


@pytest.mark.parametrize("name", ["outer.h", "deep/inner.h"])
@pytest.mark.parametrize("remembered", [False, True], ids=["new process", "same process"])
def test_header_edit_is_seen(folder, compilations, tmp_path, name, remembered):
    arguments = header_tree(tmp_path)
    arguments["target"] = "ptx"
    first = compile_source(**arguments)
    (tmp_path / "include" / name).write_text("#define VALUE 23456\n")
    if not remembered:
        requests._memory.clear()
    again = compile_source(**arguments)
    assert len(compilations) == 2 and b"23456" in again and b"23456" not in first


@pytest.mark.parametrize("how", ["written over", "moved there"])
def test_header_of_the_same_size_and_time_is_seen(folder, compilations, tmp_path, how):
    """A changed header whose size and modification time are the old ones, as after a checkout or from an
    archive, is noticed by its ctime or inode.
    """
    arguments = header_tree(tmp_path)
    path = tmp_path / "include" / "outer.h"
    path.write_text("#define VALUE 11111\n")
    before = path.stat()
    assert b"11111" in compile_source(**arguments, target="ptx")
    time.sleep(0.02)  # the clock of files ticks every few milliseconds
    other = path if how == "written over" else tmp_path / "other.h"
    other.write_text("#define VALUE 22222\n")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(other, path)
    assert (path.stat().st_mtime_ns, path.stat().st_size) == (before.st_mtime_ns, before.st_size)
    assert b"22222" in compile_source(**arguments, target="ptx")


def test_relative_folder_after_a_change_of_folder(folder, compilations, tmp_path, monkeypatch):
    """A relative include folder means another folder once the working folder has changed."""
    for value in (11111, 22222):
        (tmp_path / str(value)).mkdir()
        (tmp_path / str(value) / "value.h").write_text(f"#define VALUE {value}\n")
    for value in (11111, 22222):
        monkeypatch.chdir(tmp_path / str(value))
        code = compile_source('#include "value.h"\n' + SOURCE, include_dirs=["."], options=[], target="ptx")
        assert str(value).encode() in code


def test_new_header_that_hides_another_is_seen(folder, compilations, tmp_path):
    arguments = header_tree(tmp_path)
    (tmp_path / "first").mkdir()
    arguments["include_dirs"].insert(0, tmp_path / "first")
    compile_source(**arguments)
    assert len(compilations) == 1
    (tmp_path / "first" / "outer.h").write_text("#define VALUE 23456\n")
    assert b"23456" in compile_source(**arguments, target="ptx") and len(compilations) == 2


def test_touched_header_with_the_same_text_is_a_hit(folder, compilations, tmp_path):
    arguments = header_tree(tmp_path)
    compile_source(**arguments)
    os.utime(tmp_path / "include" / "outer.h", ns=(1, 1))
    compile_source(**arguments)
    assert len(compilations) == 1


def test_computed_include_is_not_cached(folder, compilations, tmp_path):
    """Which file `#include MACRO` reads is not known without the compiler."""
    arguments = header_tree(tmp_path)
    (tmp_path / "include" / "outer.h").write_text('#define WHICH "deep/inner.h"\n#include WHICH\n')
    first = build(**arguments)
    assert build(**arguments) == first
    assert len(compilations) == 2 and not entries(folder)


@pytest.mark.parametrize("how", ["argument", "environment"])
def test_without_a_cache_each_call_compiles(folder, compilations, monkeypatch, how):
    if how == "environment":
        monkeypatch.setenv("PYCUDA_DISABLE_CACHE", "")
    cache_dir = False if how == "argument" else None
    for _ in range(2):
        compile_source(SOURCE, options=["-DVALUE=1"], cache_dir=cache_dir)
    assert len(compilations) == 2 and not folder.exists()


def test_explicit_folder_is_created(folder, compilations, tmp_path):
    build(cache_dir=str(tmp_path / "made" / "here"))
    build(cache_dir=tmp_path / "made" / "here")
    assert len(compilations) == 1 and entries(tmp_path / "made" / "here") and not folder.exists()


@pytest.mark.parametrize(
    "variable, base",
    [
        (None, "~/.cache"),
        ("", "~/.cache"),
        (" ", "~/.cache"),
        ("/somewhere", "/somewhere"),
        ("relative", "~/.cache"),
    ],
)
def test_default_folder(monkeypatch, variable, base):
    monkeypatch.delenv("PYCUDA_CACHE_DIR", raising=False)
    monkeypatch.delenv("PYCUDA_DISABLE_CACHE", raising=False)
    if variable is None:
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", variable)
    assert os.path.dirname(cache.folder(None)) == os.path.expanduser(f"{base}/pycuda")


def test_without_a_home_folder_nothing_is_cached(folder, compilations, monkeypatch, tmp_path):
    """There is one warning, and no folder is made in the working folder."""

    def unknown(number):
        raise KeyError(number)

    for name in ("HOME", "XDG_CACHE_HOME", "PYCUDA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    cache._warned.clear()
    with pytest.warns(UserWarning, match="HOME is not set") as caught:
        assert build() == build()
    assert (len(caught), len(compilations), os.listdir()) == (1, 2, [])


def test_the_working_folder_is_gone(run_python, tmp_path):
    """In a working folder that was removed kernels compile, and relative paths are ignored, with a warning
    for the cache's.
    """
    done = run_python(
        """
import os

os.mkdir("gone")
os.chdir("gone")
os.rmdir(os.getcwd())

import warnings

import pycuda.autoprimaryctx
from pycuda import cache
from pycuda.compiler import SourceModule, compile

source = "__global__ void f() { }"
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    SourceModule(source)
    compile(source, include_dirs=["here"], options=["-Ithere"])
print(*(each.message for each in caught))
print(cache.summary())
try:
    compile('#include "missing.h"', include_dirs=["here"])
except pycuda.driver.CompileError as problem:
    print("missing.h" in str(problem))
""",
        env={"PYCUDA_CACHE_DIR": "relative", "PYCUDA_DISABLE_CACHE": None},
    )
    assert (done.returncode, done.stderr) == (0, "")
    warning, summary, missing = done.stdout.splitlines()
    assert warning.startswith(
        "the compiler cache folder relative is not used (the working folder was removed"
    )
    assert warning.count("cache folder") == 1 and summary.startswith("off") and missing == "True"


def test_unusable_folder_warns_once(tmp_path, compilations):
    (tmp_path / "file").write_text("")
    where = str(tmp_path / "file" / "cache")
    with pytest.warns(UserWarning) as caught:
        assert build(cache_dir=where)
    assert len(caught) == 1 and where in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert build(2, cache_dir=where)
    assert len(compilations) == 2


def test_a_full_disk_warns_and_leaves_no_file(folder, compilations, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(UserWarning, match="No space left"):
        build()
    monkeypatch.undo()
    assert not list(folder.iterdir())


def test_no_temporary_files_stay(folder, compilations):
    build()
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_processes_at_once(folder, tmp_path):
    """Processes that compile one source at the same time all get the same code, and leave one entry."""
    program = tmp_path / "program.py"
    program.write_text(
        "from pycuda.compiler import compile; import hashlib;"
        f"print(hashlib.sha256(compile({SOURCE!r}, options=['-DVALUE=7'], target='ptx')).hexdigest())"
    )
    running = [
        subprocess.Popen(
            [sys.executable, str(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    outputs = [process.communicate() for process in running]
    assert [process.returncode for process in running] == [0] * 4, outputs
    assert len({output for output, _ in outputs}) == 1 and len(entries(folder)) == 1


def test_failure_is_not_cached(folder, compilations):
    for _ in range(2):
        with pytest.raises(drv.CompileError):
            build(source="__global__ void k() { nonsense }")
    assert len(compilations) == 2 and not entries(folder)


def test_digest_depends_on_where_parts_end():
    parts = (b"ab", b"c"), (b"a", b"bc"), (b"abc",), (b"abc", b"")
    assert len({cache.digest(*each) for each in parts}) == len(parts)
