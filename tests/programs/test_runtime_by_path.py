"""Programs that open NVIDIA's CUDA runtime by its path, as Python packages do, get the CPU device's."""

import os
import subprocess

import pytest
from cuda_cpu import run

from pycuda import cpu

pytestmark = pytest.mark.cpu("the folder of the CPU device's libraries")

# A library of another maker, and a program that opens what its argument names and prints a function's answer.
OTHER = "int cudaRuntimeGetVersion(int *version) { *version = 1; return 0; }\n"
OPENS = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **paths)
{
    for (int i = 1; i < count; i++) {
        int version = -1, (*get)(int *);
        void *library = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            puts(dlerror());
            continue;
        }
        *(void **)&get = dlsym(library, "cudaRuntimeGetVersion");
        get(&version);
        printf("%d\n", version);
    }
    return 0;
}
"""


@pytest.fixture
def folder(tmp_path, compiler):
    """main, which searches the subfolder lib (RUNPATH), and lib with libraries of another maker."""
    (tmp_path / "other.c").write_text(OTHER)
    (tmp_path / "main.c").write_text(OPENS)
    lib = tmp_path / "lib"
    lib.mkdir()
    for name in "libcudart.so.12", "libcudart.so.13.0.88", "libcudart.so.11", "libcudart.so.130", "other.so":
        command = [compiler, "-shared", "-fPIC", "other.c", "-o", f"lib/{name}"]
        subprocess.run(command, cwd=tmp_path, check=True)
    (lib / "libcudart.so").symlink_to("libcudart.so.13.0.88")
    links = ["-Wl,--enable-new-dtags", "-Wl,-rpath,$ORIGIN/lib", "-ldl"]
    subprocess.run([compiler, "main.c", "-o", "main", *links], cwd=tmp_path, check=True)
    return tmp_path


def versions(folder, *paths):
    done = run(folder / "main", *paths, cwd=folder)
    assert not done.returncode, done.stderr
    return done.stdout.splitlines()


def test_the_runtime_of_the_same_version_is_opened(folder):
    paths = ["lib/libcudart.so.12", folder / "lib" / "libcudart.so.13.0.88", "./lib/libcudart.so"]
    plain = subprocess.run([folder / "main", *paths], cwd=folder, capture_output=True, text=True, check=True)
    assert plain.stdout == "1\n1\n1\n"
    assert versions(folder, *paths) == ["12090", "13000", "13000"]


def test_its_own_path_opens_it(folder):
    assert versions(folder, os.path.join(cpu.path(), "libcudart.so.12")) == ["12090"]


def test_other_libraries_stay(folder):
    """Also one that the program finds by its own search path: it is the caller of dlopen."""
    paths = ["lib/libcudart.so.11", "lib/libcudart.so.130", "lib/other.so", "other.so"]
    assert versions(folder, *paths) == ["1"] * 4


def test_a_file_that_is_not_there_is_an_error(folder):
    (line,) = versions(folder, "none/libcudart.so.13")
    assert line.startswith("none/libcudart.so.13: cannot open shared object file")
