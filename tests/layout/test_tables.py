"""The tables of abi/ agree with NVIDIA's headers, if these are installed, and with other tables."""

import ast
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from devices import in_nvidias_wheels

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
HEADERS = [Path(path) for path in ("/usr/local/cuda/include", "/usr/include", "/opt/cuda/include")]
WHEELS = in_nvidias_wheels("include")


def rows(name, macro):
    """The columns of every row `macro(a, b, c, ...)` of a table of abi/, up to the first parenthesis."""
    text = (ROOT / "abi" / name).read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return [
        tuple(part.strip() for part in match.split(","))
        for match in re.findall(rf"^{macro}\(([^()]*)", text, re.M)
    ]


def compare(folder, source, headers, *flags):
    """Builds a program of facts.h from our definitions and NVIDIA's headers, in a temporary folder; it must
    find no difference.
    """
    parts = []
    for name, options in ("ours", []), ("real", ["-DCHECK_REAL", f"-I{headers}"]):
        parts.append(folder / f"{name}.o")
        command = ["gcc", "-std=gnu11", f"-I{ROOT}", f"-I{HERE}", *flags, *options]
        subprocess.run([*command, "-c", HERE / source, "-o", parts[-1]], check=True)
    subprocess.run(["gcc", *parts, "-o", folder / "compare", "-ldl"], check=True)
    done = subprocess.run([folder / "compare"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_tables_agree_with_cuda_h(tmp_path):
    folder = next((path for path in HEADERS if (path / "cudaTypedefs.h").is_file()), None)
    if folder is None or shutil.which("gcc") is None:
        pytest.skip("CUDA's headers or gcc are not installed")
    compare(tmp_path, "check_abi.c", folder)


def test_the_runtime_library_agrees_with_its_headers(tmp_path):
    folder = next((path for path in HEADERS + WHEELS if (path / "cuda_runtime.h").is_file()), None)
    if folder is None or shutil.which("gcc") is None:
        pytest.skip("the headers of CUDA's runtime or gcc are not installed")
    major = re.search(r"#define CUDART_VERSION +(\d+)\d{3}", (folder / "cuda_runtime_api.h").read_text())[1]
    compare(tmp_path, "check_runtime.c", folder, f"-DCUDART_MAJOR={major}", f"-I{ROOT / 'device'}")


@pytest.mark.cpu("the folder of the CPU device's libraries")
def test_the_runtime_library_exports_what_nvidias_does(cpu_device_library):
    """Where a wheel of NVIDIA's is installed: every symbol, in its version."""
    site = in_nvidias_wheels("lib/libcudart.so.*")
    if not site or shutil.which("nm") is None:
        pytest.skip("NVIDIA's libcudart or nm is not installed")
    for theirs in site:
        listed = []
        for library in theirs, Path(cpu_device_library).parent / theirs.name:
            done = subprocess.run(
                ["nm", "-D", "--defined-only", "--with-symbol-versions", library],
                capture_output=True,
                text=True,
                check=True,
            )
            listed.append({line.split()[2] for line in done.stdout.splitlines()})
        assert len(listed[0]) > 400
        assert listed[0] - listed[1] == set()


def test_nvtx_memory_agrees_with_its_header(tmp_path):
    folder = next((path for path in HEADERS if (path / "nvtx3/nvToolsExtMem.h").is_file()), None)
    if folder is None or shutil.which("gcc") is None:
        pytest.skip("the headers of NVTX's extension for memory or gcc are not installed")
    compare(tmp_path, "check_nvtx.c", folder)


def test_rows_of_libraries_agree_with_their_headers():
    folders = [path for path in HEADERS if path.is_dir()] + WHEELS
    headers = "cublas_v2.h", "cufftXt.h", "cusolverDn.h", "cusparse.h"
    installed = [any((folder / header).is_file() for folder in folders) for header in headers]
    if not all(installed) or shutil.which("gcc") is None:
        pytest.skip("the headers of NVIDIA's libraries or gcc are not installed")
    command = ["gcc", "-std=gnu11", "-fsyntax-only", f"-I{ROOT}", *(f"-I{folder}" for folder in folders)]
    done = subprocess.run([*command, HERE / "check_libraries.c"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_no_symbol_has_two_rows():
    symbols = [row[1] for row in rows("cuda_functions.def", "CU_FN") + rows("cuda_exports.def", "CU_EXPORT")]
    assert len(symbols) == len(set(symbols))
    assert len(symbols) > 500


def test_architectures_that_are_compiled_for_are_targets_of_the_cpu_device():
    build, targets = (ROOT / name for name in ("pycuda/_compile/build.py", "device/ptx/targets.def"))
    known = ast.literal_eval(re.search(r"^_KNOWN_CAPABILITIES = (.*)$", build.read_text(), re.M)[1])
    numbers = [int(number) for number in re.findall(r"^TARGET\((\d+), 0,", targets.read_text(), re.M)]
    assert len(known) > 15
    assert {*known} <= {*numbers}
    assert max(known) == max(numbers)
