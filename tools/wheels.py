"""`make wheels`: manylinux wheels of pycuda for each CPython whose headers are here, of pycuda-cpu; a sdist.

No container and no foreign interpreter is needed. zig (from PyPI) compiles for any glibc and processor; of an
interpreter only its headers are used, which are the same for both processors. Headers come from interpreters
on PATH or in a pyenv, and from folders that --headers names (an unpacked libpython3.14-dev, for one). 3.14t
is the free-threaded CPython 3.14, with headers of its own. The CPU device is compiled once for each
processor, the extension for each version. pycuda-cpu is the CPU device alone, one wheel for all versions
(--cpu makes no other); its metadata are in pycuda_cpu/. auditwheel checks that a wheel is what its tag says.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pyproject_metadata

try:
    import tomllib
except ImportError:  # before Python 3.11
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
BUILD, DIST = ROOT / "build" / "wheels", ROOT / "dist"
GLIBC = 2, 28  # the oldest that wheels are for
LARGEST = 3 << 20  # bytes of a wheel
LARGEST_SDIST = 6 << 20  # with the tests, the results that they compare with, and the pictures of the pages
VERSIONS = "3.10", "3.11", "3.12", "3.13", "3.14", "3.14t"  # t: free-threaded
ARCHS = "x86_64", "aarch64"
FOLDERS = "-Dpython.platlibdir=/site", "-Dpython.purelibdir=/site"  # of meson setup, as install() has them
DATE = "1767225600"  # SOURCE_DATE_EPOCH of a wheel: 2026-01-01
MACHINE = """[binaries]
c = [{zig!r}, 'cc', '-target', '{arch}-linux-gnu.{major}.{minor}']
ar = [{zig!r}, 'ar']
numpy-config = [{python!r}, '-m', 'numpy._configtool']
[built-in options]
c_link_args = ['-s']
[host_machine]
system = 'linux'
cpu_family = '{arch}'
cpu = '{arch}'
endian = 'little'
"""


def meson(*arguments) -> None:
    """Runs meson; exits with its output if it fails."""
    done = subprocess.run(["meson", *map(str, arguments)], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


def config_of(headers: Path) -> Path:
    """The pyconfig.h that counts. Debian's only includes that of a processor by a path outside the folder."""
    config = headers / "pyconfig.h"
    chosen = re.search(r"<(x86_64-linux-gnu/\S+)>", config.read_text())
    return headers.parent / chosen[1] if chosen else config


def version_of(headers: Path) -> str:
    """The version of Python whose headers a folder has, as in "3.14" or "3.14t"."""
    text = (headers / "patchlevel.h").read_text()
    version = ".".join(re.search(rf"PY_{part}_VERSION\s+(\d+)", text)[1] for part in ("MAJOR", "MINOR"))
    is_free_threaded = re.search(r"^#define Py_GIL_DISABLED 1", config_of(headers).read_text(), re.MULTILINE)
    return version + "t" * bool(is_free_threaded)


def find_headers(named: list[Path]) -> dict[str, Path]:
    """{version: folder with its headers}: of interpreters on this machine, replaced by the named folders. A
    free-threaded CPython calls itself python3.14, too, so what counts is what the headers say.
    """
    found = {}
    for version in VERSIONS:
        pythons = [
            *(shutil.which(f"python{version}", path=folder) for folder in os.get_exec_path()),
            *Path.home().glob(f".pyenv/versions/{version.rstrip('t')}.*/bin/python"),
        ]
        for python in filter(None, pythons):
            code = "import sysconfig; print(sysconfig.get_path('include'))"
            done = subprocess.run([python, "-c", code], capture_output=True, text=True)
            folder = Path(done.stdout.strip())
            if done.returncode == 0 and (folder / "Python.h").exists() and version_of(folder) == version:
                found.setdefault(version, folder)
    return found | {version_of(folder): folder for folder in named}


def copy_headers(version: str, headers: Path) -> Path:
    """Copies headers to a folder of their own, which is returned, with the pyconfig.h that counts."""
    folder = BUILD / f"headers-{version}"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(headers, folder)
    shutil.copy(config_of(headers), folder / "pyconfig.h")
    return folder


def describe_python(version: str, arch: str) -> Path:
    """Writes what meson must know of an interpreter that is not installed (PEP 739). Returns the file, which
    names the folder that copy_headers() makes.
    """
    path = BUILD / f"python-{version}-{arch}.json"
    suffix = f".cpython-{version.replace('.', '')}-{arch}-linux-gnu.so"
    details = {
        "schema_version": "1.0",
        "base_prefix": "/usr",
        "platform": f"linux-{arch}",
        "language": {"version": version.rstrip("t")},
        "implementation": {"name": "cpython"},
        "abi": {
            "flags": ["t"] * version.endswith("t"),
            "extension_suffix": suffix,
            "stable_abi_suffix": ".abi3.so",
        },
        "libpython": {"link_extensions": False},
        "c_api": {"headers": str(BUILD / f"headers-{version}")},
    }
    path.write_text(json.dumps(details))
    return path


def metadata(folder: Path = ROOT) -> pyproject_metadata.StandardMetadata:
    """What the folder's pyproject.toml says of a distribution."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())
    return pyproject_metadata.StandardMetadata.from_pyproject(project, folder)


def check_libraries(tree: Path) -> None:
    """Exits if a library has functions of zig's own C library, whose fma() rounds to nearest in every mode.
    That it imports malloc() but not memcpy() shows that.
    """
    from elftools.elf.elffile import ELFFile

    for path in tree.rglob("*.so*"):
        with path.open("rb") as file:
            symbols = ELFFile(file).get_section_by_name(".dynsym").iter_symbols()
            undefined = {symbol.name for symbol in symbols if symbol["st_shndx"] == "SHN_UNDEF"}
        if "malloc" in undefined and "memcpy" not in undefined:
            sys.exit(f"{path.name} has a memcpy of the compiler's library, and may have an fma of it")


def entry_points(about: pyproject_metadata.StandardMetadata) -> str:
    """The text of a wheel's entry_points.txt."""
    groups = {"console_scripts": about.scripts, **about.entrypoints}
    return "\n".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in rows.items())
        for group, rows in groups.items()
        if rows
    )


def pack(tree: Path, about: pyproject_metadata.StandardMetadata, tag: str, dist: Path) -> Path:
    """Packs the installed tree as a wheel, with the same bytes each time. Returns its path."""
    for folder in list(tree.rglob("__pycache__")):
        shutil.rmtree(folder)
    name = f"{about.name.replace('-', '_')}-{about.version}"
    info = tree / f"{name}.dist-info"
    (info / "licenses").mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "LICENSE", info / "licenses")
    (info / "METADATA").write_bytes(bytes(about.as_rfc822()))
    (info / "entry_points.txt").write_text(entry_points(about))
    (info / "WHEEL").write_text(
        f"Wheel-Version: 1.0\nGenerator: tools/wheels.py\nRoot-Is-Purelib: false\nTag: {tag}\n"
    )
    command = [sys.executable, "-m", "wheel", "pack", "--dest-dir", dist, tree]
    subprocess.run(
        command, check=True, stdout=subprocess.DEVNULL, env=os.environ | {"SOURCE_DATE_EPOCH": DATE}
    )
    return dist / f"{name}-{tag}.whl"


def platform_tag(arch: str) -> str:
    return f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{arch}"


def audit(wheel: Path) -> None:
    """Exits if a wheel needs a newer glibc than its tag says, or is larger than LARGEST."""
    done = subprocess.run(["auditwheel", "show", str(wheel)], capture_output=True, text=True)
    words = " ".join(done.stdout.split())
    found = re.search(r'following platform tag: "manylinux_(\d+)_(\d+)_', words)
    if done.returncode or not found or (int(found[1]), int(found[2])) > GLIBC:
        sys.exit(f"{wheel.name} is not what its tag says:\n{done.stdout}{done.stderr}")
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size / (1 << 20):.2f} MB, manylinux_{found[1]}_{found[2]}", flush=True)
    if size > LARGEST:
        sys.exit(f"{wheel.name} is larger than {LARGEST >> 20} MB")


def run_c_tests(build: Path) -> None:
    """Runs the C tests of arithmetic as zig's clang compiles them: `make test` uses another compiler. Exits
    if one fails.
    """
    for name in "test_ops_gpu", "test_ops_fma":
        meson("compile", "-C", build, f"tests/{name}")
        done = subprocess.run([build / "tests" / name], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{name} fails as zig compiles it:\n{done.stdout[-2000:]}")


def configure(arch: str, *options: str) -> Path:
    """Makes the build folder of a processor, or gives the one that is there other options. Returns it."""
    import ziglang

    zig = str(Path(ziglang.__file__).parent / "zig")
    machine, build = BUILD / f"{arch}.ini", BUILD / arch
    machine.write_text(
        MACHINE.format(zig=zig, arch=arch, python=sys.executable, major=GLIBC[0], minor=GLIBC[1])
    )
    if (build / "build.ninja").exists():
        meson("setup", "--reconfigure", "--clearcache", *options, build, ROOT)
        return build
    first = f"--cross-file={machine}", "-Dbuildtype=release", "-Dctests=true", *FOLDERS
    meson("setup", *first, *options, build, ROOT)
    return build


def install(build: Path, tree: Path) -> Path:
    """Installs what was built into a new folder. Returns the one in it that is to be a site-packages."""
    shutil.rmtree(tree, ignore_errors=True)
    meson("install", "-C", build, "--no-rebuild", "--quiet", "--destdir", tree)
    return tree / "site"


def build_cpu_wheel(arch: str, jobs: int, isas: str) -> None:
    """Builds the wheel of pycuda-cpu. If this machine can run them, C tests are run."""
    build = configure(arch, "-Dextension=false", f"-Disas={isas}")
    meson("compile", "-C", build, "-j", jobs)
    if arch == platform.machine():
        run_c_tests(build)
    tree = install(build, BUILD / f"tree-cpu-{arch}")
    check_libraries(tree)
    audit(pack(tree, metadata(ROOT / "pycuda_cpu"), f"py3-none-{platform_tag(arch)}", DIST))


def build_wheels(arch: str, versions: list[str], jobs: int) -> None:
    """Builds a wheel of pycuda for each version of Python."""
    for version in versions:
        python = f"-Dpython.build_config={describe_python(version, arch)}"
        build = configure(arch, "-Dextension=true", python)
        meson("compile", "-C", build, "-j", jobs)
        tree = install(build, BUILD / f"tree-{version}-{arch}")
        check_libraries(tree)
        abi = f"cp{version.replace('.', '')}"
        audit(pack(tree, metadata(), f"{abi.rstrip('t')}-{abi}-{platform_tag(arch)}", DIST))


def build_sdist() -> None:
    """Builds the sdist. Exits if it is too large or its metadata differ from those of wheels."""
    sys.path.insert(0, str(ROOT / "tools"))
    import build_backend

    os.chdir(ROOT)
    path = DIST / build_backend.build_sdist(str(DIST))
    print(f"{path.name}: {path.stat().st_size / (1 << 20):.2f} MB")
    if path.stat().st_size > LARGEST_SDIST:
        sys.exit(f"{path.name} is larger than {LARGEST_SDIST >> 20} MB")
    with tarfile.open(path) as archive:
        written = archive.extractfile(f"{path.name.removesuffix('.tar.gz')}/PKG-INFO").read()
    if written != bytes(metadata().as_rfc822()):
        sys.exit(f"{path.name} has other metadata than the wheels")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", action="append", choices=ARCHS)
    parser.add_argument("--headers", action="append", type=Path, default=[], help="a folder with Python.h")
    parser.add_argument("--only", action="append", help="a version of Python, as in 3.12 or 3.14t")
    parser.add_argument("--cpu", action="store_true", help="the wheels of pycuda-cpu alone")
    parser.add_argument("--sdist", action="store_true", help="the sdist alone")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument(
        "--isas", default="v2,v3,v4", help="levels of x86-64 for the CPU device; releases have all of them"
    )
    options = parser.parse_args()
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # meson, ninja
    BUILD.mkdir(parents=True, exist_ok=True)
    DIST.mkdir(exist_ok=True)
    if options.sdist:
        build_sdist()
        return
    archs = options.arch or ARCHS
    for arch in archs:
        build_cpu_wheel(arch, options.jobs, options.isas)
    if options.cpu:
        return
    found = find_headers([folder.resolve() for folder in options.headers])
    wanted = options.only or VERSIONS
    for version in wanted:
        if version not in found:
            print(f"no wheel for CPython {version}: its headers are not here (--headers FOLDER)")
    versions = [version for version in wanted if version in found]
    for version in versions:
        copy_headers(version, found[version])
    for arch in archs:
        build_wheels(arch, versions, options.jobs)
    if not options.only:
        build_sdist()


if __name__ == "__main__":
    main()
