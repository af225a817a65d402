"""Handles of NVIDIA's libraries, of every kind: created, used in a stream, destroyed with their context. The
library is a stand-in that writes each call to a file.
"""

import pytest

pytestmark = pytest.mark.cpu("a stand-in for the libraries")

# Each function writes its name and its handle to the file NOTES; every handle is 7. A workspace is noted by
# its size (cuBLAS) or by whether there is one (cuFFT).
SOURCE = r"""
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
static void note(const char *text, size_t handle)
{
    FILE *file = fopen(getenv("NOTES"), "a");
    fprintf(file, "%s %zu\n", text, handle);
    fclose(file);
}
#define HANDLE(Type, create, destroy, set_stream) \
    int create(Type *handle) { return note(#create, 0), *handle = (Type)7, 0; } \
    int destroy(Type handle) { return note(#destroy, (size_t)handle), 0; } \
    int set_stream(Type handle, void *stream) { return note(#set_stream, (size_t)handle), 0; }
HANDLE(void *, cublasCreate_v2, cublasDestroy_v2, cublasSetStream_v2)
HANDLE(int, cufftCreate, cufftDestroy, cufftSetStream)
HANDLE(void *, cusolverDnCreate, cusolverDnDestroy, cusolverDnSetStream)
HANDLE(void *, cusparseCreate, cusparseDestroy, cusparseSetStream)
int cublasSetWorkspace_v2(void *handle, void *memory, size_t size) { return note("workspace", size), 0; }
int cufftSetWorkArea(int plan, void *memory) { return note("workarea", !!memory), 0; }
int cufftSetAutoAllocation(int plan, int automatic) { return note("automatic", plan), 3 * automatic; }
"""

PROGRAM = """
import pycuda.autoprimaryctx
import pycuda.driver as drv
from pycuda import _driver

try:
    _driver._LibraryHandle("{kind}")
except NotImplementedError as error:
    assert "its library is not loaded" in str(error), error
else:
    raise AssertionError("a handle of a library that is not loaded")
_driver._library_open("{library}", lambda name: {path!r})
alive = lambda: _driver._live_objects()["LibraryHandle"]
handle = _driver._LibraryHandle("{kind}")
handle.use(drv.Stream())
if {has_workspace}:
    memory = drv.mem_alloc(1024)
    handle.use(None, memory, 1024)
    for size in 1025, 1 << 40:
        try:
            handle.use(None, memory, size)
        except ValueError:
            pass
        else:
            raise AssertionError("a workspace that ends too early")
else:
    try:
        handle.use(None, drv.mem_alloc(1024), 1024)
    except TypeError as error:
        assert "no workspace" in str(error), error
assert alive() == 1
del handle
assert alive() == 0
own = drv.Device(0).make_context()
handle = _driver._LibraryHandle("{kind}")
own.pop()
del handle, own
assert alive() == 0
"""


@pytest.mark.parametrize(
    "kind, library, functions",
    [
        ("cublas", "cublas", "cublasCreate_v2 cublasDestroy_v2 cublasSetStream_v2 workspace"),
        ("cufft", "cufft", "cufftCreate cufftDestroy cufftSetStream workarea"),
        ("cusolverDn", "cusolver", "cusolverDnCreate cusolverDnDestroy cusolverDnSetStream"),
        ("cusparse", "cusparse", "cusparseCreate cusparseDestroy cusparseSetStream"),
    ],
)
def test_calls_of_a_handle(run_python, compiled, tmp_path, kind, library, functions):
    """Two handles are created and destroyed; the first sets its stream twice, and its workspace."""
    create, destroy, set_stream, *workspace = functions.split()
    program = PROGRAM.replace("{kind}", kind).replace("{library}", library)
    program = program.replace("{path!r}", repr(compiled(SOURCE)))
    program = program.replace("{has_workspace}", str(bool(workspace)))
    notes = tmp_path / "notes"
    run_python(program, env={"NOTES": str(notes)}, check=True)
    created, used, destroyed = f"{create} 0", f"{set_stream} 7", f"{destroy} 7"
    calls = [line for line in notes.read_text().splitlines() if not line.startswith("work")]
    assert calls == [created, used, used, destroyed, created, destroyed]
    workspaces = [line for line in notes.read_text().splitlines() if line.startswith("work")]
    assert workspaces == [f"{each} {1024 if kind == 'cublas' else 1}" for each in workspace]


def test_arguments_of_library_functions(run_python, compiled, tmp_path):
    """A handle is passed by its value, a status that is not 0 raises LibraryError, other types as handles and
    unknown kinds are refused."""
    program = f"""
import pycuda.autoprimaryctx
import pycuda.driver as drv
from pycuda import _driver
_driver._library_open("cufft", lambda name: {compiled(SOURCE)!r})
plan, automatic = _driver._LibraryHandle("cufft"), _driver._LibraryFunction("cufftSetAutoAllocation")
automatic(plan, 0)
try:
    automatic(plan, 1)
except drv.LibraryError as error:
    assert str(error) == "cufftSetAutoAllocation failed: CUFFT_INVALID_TYPE", error
else:
    raise AssertionError("a status that was not raised")
for wrong in 7, None, "plan":
    try:
        automatic(wrong, 0)
    except TypeError as error:
        assert "a handle of the library is needed" in str(error), error
    else:
        raise AssertionError(wrong)
try:
    _driver._LibraryHandle("cudnn")
except ValueError as error:
    assert "cudnn" in str(error), error
"""
    run_python(program, env={"NOTES": str(tmp_path / "notes")}, check=True)
    assert (tmp_path / "notes").read_text().count("automatic 7") == 2
