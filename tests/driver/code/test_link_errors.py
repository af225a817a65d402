"""Modules that do not link are refused in the same cases as by NVIDIA's linker, with its messages, at the
same call. If nvlink is installed, it links the cases as well."""

import os
import shutil
import subprocess

import pytest

import pycuda.driver as drv

HEADER = ".version 7.0\n.target sm_75\n.address_size 64\n"
DECLARED = ".extern .func (.param .b32 r) f(.param .b32 x);\n"
CALL = """{ .param .b32 x; st.param.b32 [x], 1; .param .b32 y; call.uni (y), f, (x); ld.param.b32 %r, [y]; }
    st.global.b32 [%a], %r;"""


def kernel(body, name="k"):
    """PTX of a kernel with this body, which may use %r and %a, the address that the kernel gets."""
    start = ".reg .b32 %r; .reg .b64 %a; ld.param.u64 %a, [p];"
    return f".visible .entry {name}(.param .u64 p) {{ {start} {body} ret; }}\n"


def function(result="b32", params="b32", linkage="visible", name="f"):
    """PTX of an empty function; params: its parameters' types, separated by spaces."""
    listed = ", ".join(f".param .{kind} x{n}" for n, kind in enumerate(params.split()))
    return f".{linkage} .func (.param .{result} r) {name}({listed}) {{ ret; }}\n"


def variable(words):
    """PTX of a variable; words: type and name."""
    return f".visible .global .align 4 {words};\n"


READ = "ld.global.u32 %r, [v]; st.global.u32 [%a], %r;"
# Kernels that use f or v of another object, by different declarations; DEAD is a function that no kernel
# calls.
USER = DECLARED + kernel(CALL)
WIDE_USER = USER.replace(".b32 r)", ".b64 r)").replace(".b32 y;", ".b64 y;").replace("entry k", "entry wide")
VARIABLE_USER = ".extern .global .align 4 .u32 v;\n" + kernel(READ)
UNSIZED_USER = ".extern .global .align 4 .u32 v[];\n" + kernel(READ)
LARGE_USER = ".extern .global .align 4 .u32 v[3];\n" + kernel(READ)
CONST_USER = ".extern .const .align 4 .u32 v;\n" + kernel("ld.const.u32 %r, [v]; st.global.u32 [%a], %r;")
DEAD = f".func dead(.param .b64 p) {{ .reg .b32 %r; .reg .b64 %a; ld.param.u64 %a, [p]; {CALL} ret; }}\n"

# Name: (the PTX of part0.o, part1.o, ...; the error of CUDA 13.0's nvlink, None where they link).
CASES = {
    "function": ([USER], "Undefined reference to 'f' in 'part0.o'"),
    "function of three": (
        [variable(".u32 q"), USER, variable(".u32 p")], "Undefined reference to 'f' in 'part1.o'"),
    "variable": ([VARIABLE_USER], "Undefined reference to 'v' in 'part0.o'"),
    "address": ([DECLARED + kernel("mov.u64 %a, f;")], "Undefined reference to 'f' in 'part0.o'"),
    "initializer": (
        [DECLARED + ".visible .global .u64 t[1] = {f};\n"], "Undefined reference to 'f' in 'part0.o'"),
    "functions twice": (
        [function(), function()], "Multiple definition of 'f' in 'part1.o', first defined in 'part0.o'"),
    "variables twice": (
        [variable(".u32 v"), variable(".u32 v")],
        "Multiple definition of 'v' in 'part1.o', first defined in 'part0.o'"),
    "kernels twice": (
        [kernel(""), kernel("")], "Multiple definition of 'k' in 'part1.o', first defined in 'part0.o'"),
    "other result": (
        [USER, function("b64")], "Prototype doesn't match for 'f' in 'part1.o', first defined in 'part1.o'"),
    "other count": (
        [USER, function("b32", "b32 b32")],
        "Prototype doesn't match for 'f' in 'part1.o', first defined in 'part1.o'"),
    "other count, maker first": (
        [function("b32", "b32 b32"), USER],
        "Prototype doesn't match for 'f' in 'part1.o', first defined in 'part0.o'"),
    "a float": (
        [USER, function("b32", "f32")],
        "Prototype doesn't match for 'f' in 'part1.o', first defined in 'part1.o'"),
    "users differ": (
        [USER, WIDE_USER], "Prototype doesn't match for 'f' in 'part1.o', first defined in 'part0.o'"),
    "the second user differs": (
        [function(), USER, WIDE_USER],
        "Prototype doesn't match for 'f' in 'part2.o', first defined in 'part0.o'"),
    "weak ones differ": (
        [function(linkage="weak"), function("b64", linkage="weak")],
        "Prototype doesn't match for 'f' in 'part1.o', first defined in 'part0.o'"),
    "kernel and function": (
        [USER, ".visible .entry f(.param .b32 x) { ret; }\n"],
        "Function 'f' not declared __global__ in all source files"),
    "declared larger": (
        [LARGE_USER, variable(".u32 v")],
        "Size doesn't match for 'v' in 'part1.o', first specified in 'part0.o'"),
    "declared smaller": (
        [VARIABLE_USER, variable(".u32 v[3]")],
        "Size doesn't match for 'v' in 'part1.o', first specified in 'part0.o'"),
    "common and larger": (
        [".common .global .align 4 .u32 v;\n", variable(".u32 v[3]")],
        "Size doesn't match for 'v' in 'part1.o', first specified in 'part0.o'"),
    "other space": (
        [CONST_USER, variable(".u32 v")],
        "Memory space doesn't match for 'v' in 'part1.o', first specified in 'part0.o'"),
    "fits": ([USER, function()], None),
    "fits, maker first": ([function(), USER], None),
    "unsigned is bits": ([USER, function("u32", "s32")], None),
    "declared and not used": ([DECLARED + kernel("")], None),
    "used where no kernel comes": ([DECLARED + DEAD + kernel("")], None),
    "array of unknown size": ([UNSIZED_USER, variable(".u32 v[3]")], None),
    "weak and strong": ([function(linkage="weak"), function(), USER], None),
    "common ones": ([".common .global .align 4 .u32 v;\n", ".common .global .align 4 .u32 v[3];\n"], None),
}  # fmt: skip


def link(texts):
    """Links the texts. Returns None, or the error's name, routine and message and what the linker logged."""
    logs = []
    linker = drv.Linker(lambda *log: logs.append(log))
    try:
        for number, text in enumerate(texts):
            linker.add_data((HEADER + text).encode(), drv.jit_input_type.PTX, f"part{number}.o")
        linker.link_module()
    except drv.Error as error:
        return error.name, error.routine, str(error), logs[0][2]
    return None


def check_the_driver():
    wrong = {}
    for name, (texts, says) in CASES.items():
        found = link(texts)
        if says is None:
            right = found is None
        else:
            routine = "cuLinkComplete" if says.startswith("Undefined") else "cuLinkAddData"
            right = found and found[:2] == ("CUDA_ERROR_INVALID_SOURCE", routine)
            right = right and says in found[2] and says in found[3]
        if not right:
            wrong[name] = found
    assert not wrong, wrong


def test_the_driver(at_capability):
    """The driver's linker reports the error of each case, at the call that a GPU's linker reports it at. In a
    process of its own: in one that had run many other tests, a GPU's (580.159) gave CUDA_ERROR_UNKNOWN."""
    at_capability((7, 5), check_the_driver)


@pytest.mark.parametrize("name", CASES)
def test_nvlink(name, nvcc, tmp_path):
    folder = os.path.dirname(shutil.which(nvcc) or nvcc)
    texts, says = CASES[name]
    objects = [f"part{number}.o" for number in range(len(texts))]
    for text, made in zip(texts, objects, strict=False):
        source = tmp_path / "source.ptx"
        source.write_text(HEADER + text)
        command = [os.path.join(folder, "ptxas"), "-c", "-arch=sm_75", source, "-o", made]
        subprocess.run(command, check=True, cwd=tmp_path)
    command = [os.path.join(folder, "nvlink"), "-arch=sm_75", *objects, "-o", "linked"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode == 0) is (says is None)
    assert says is None or f"nvlink error   : {says}\n" in done.stdout + done.stderr


@pytest.mark.usefixtures("primary_context")
def test_an_object_whose_prototype_does_not_match_is_not_added():
    linker = drv.Linker()
    linker.add_data((HEADER + USER).encode(), drv.jit_input_type.PTX, "user")
    with pytest.raises(drv.Error, match="Prototype"):
        linker.add_data((HEADER + function("b64")).encode(), drv.jit_input_type.PTX, "wrong")
    with pytest.raises(drv.Error):  # f is still missing
        linker.link_module()
