"""PYCUDA_CPU_FAULTS=report: kernels go on after accesses that are not valid, which are named once."""

import os
import re
import subprocess
import sys
import textwrap

import pytest

from pycuda import cpu

pytestmark = pytest.mark.cpu("PYCUDA_CPU_FAULTS")

# Of a kernel of 2 blocks of 64 threads: the odd ones have %bad, and an address in %a that is not valid; the
# others that of their element of `data`, 100 + i. Each stores %r to its element of `out`.
KERNELS = """
import sys
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv

THREADS = 128
i = np.arange(THREADS, dtype=np.uint32)
odd = i % 2 == 1
DATA = 100 + i

HEAD = '''
.version 7.7
.target sm_80
.address_size 64
.const .u32 table[4] = {5, 6, 7, 8};
'''
KERNEL = '''
.visible .entry NAME(.param .u64 out, .param .u64 data) {
.reg .pred %bad; .reg .b32 %r, %q, %i, %s, %o; .reg .b64 %a, %d, %w, %z, %l, %p;
.shared .align 16 .b8 tile[512]; .local .align 16 .b8 own[32];
ld.param.u64 %d, [data]; ld.param.u64 %w, [out];
mov.u32 %i, %ctaid.x; mov.u32 %s, %tid.x; mad.lo.u32 %i, %i, 64, %s;
and.b32 %q, %i, 1; setp.eq.u32 %bad, %q, 1;
mul.wide.u32 %a, %i, 4; add.u64 %w, %w, %a; add.u64 %d, %d, %a; add.u64 %z, %a, 64;
selp.b64 %a, %z, %d, %bad;
mul.lo.u32 %s, %s, 4; add.u32 %o, %s, 1048576; mov.u32 %q, tile; add.u32 %s, %s, %q;
add.u32 %q, %i, 500; st.shared.u32 [%s], %q; selp.b32 %o, %o, %s, %bad;
mov.u64 %l, own; add.u64 %p, %l, 1048576; st.local.u32 [%l], %q; selp.b64 %l, %p, %l, %bad;
mov.u32 %r, 7;
BODY
st.global.u32 [%w], %r; ret;
}
'''

def launch(body, data=DATA, name="astray"):
    '''(what the kernel stores to out, what it leaves in data)'''
    module = drv.module_from_buffer((HEAD + KERNEL.replace("NAME", name).replace("BODY", body)).encode())
    out, data = np.full(THREADS, 99, np.uint32), data.copy()
    module.get_function(name)(drv.Out(out), drv.InOut(data), grid=(2, 1), block=(64, 1, 1))
    return out, data
"""

# name: (body, what is in out for valid threads, the fault). Invalid threads store 0.
LOADS = {
    "global": ("ld.global.u32 %r, [%a];", "100 + i", "invalid read of 4 bytes"),
    "generic": ("ld.u32 %r, [%a];", "100 + i", "invalid read of 4 bytes"),
    "volatile": ("ld.volatile.global.u32 %r, [%a];", "100 + i", "invalid read of 4 bytes"),
    "byte": ("ld.global.u8 %r, [%a];", "(100 + i) & 255", "invalid read of 1 bytes"),
    "pair": ("@%bad add.u64 %a, %a, 4; ld.global.v2.u32 {%r, %q}, [%a];", "100 + i",
             "invalid read of 8 bytes"),
    "misaligned": ("@%bad add.u64 %a, %d, 1; ld.global.u32 %r, [%a];", "100 + i", "misaligned read"),
    "shared": ("ld.shared.u32 %r, [%o];", "500 + i", "4 bytes of shared memory"),
    "shared_64": ("cvt.u64.u32 %z, %o; ld.shared.u32 %r, [%z];", "500 + i", "4 bytes of shared memory"),
    "local": ("ld.local.u32 %r, [%l];", "500 + i", "4 bytes of local memory"),
    "const": ("mov.u64 %a, table; @%bad add.u64 %a, %a, 1048576; ld.const.u32 %r, [%a + 4];",
              "6 + 0 * i", "invalid read of 4 bytes"),
    "param": ("mov.b64 %a, out; cvta.param.u64 %a, %a; @%bad add.u64 %a, %a, 1048576; ld.u32 %r, [%a];"
              "@!%bad mov.u32 %r, 3;", "3 + 0 * i", "invalid read of 4 bytes"),
    "add": ("atom.global.add.u32 %r, [%a], 1;", "100 + i", "invalid atomic operation on 4 bytes"),
    "cas": ("atom.global.cas.b32 %r, [%a], 0, 1;", "100 + i", "invalid atomic operation on 4 bytes"),
    "add_shared": ("atom.shared.add.u32 %r, [%o], 1;", "500 + i", "atomic operation on 4 bytes of shared"),
    "copy": ("cp.async.ca.shared.global [%s], [%a], 4; cp.async.wait_all; ld.shared.u32 %r, [%s];",
             "100 + i", "invalid read of 4 bytes"),
}  # fmt: skip

# name: (body, what valid threads leave in data). Invalid threads leave all as it is.
STORES = {
    "global": ("st.global.u32 [%a], %i;", "i"),
    "generic": ("st.u32 [%a], %i;", "i"),
    "volatile": ("st.volatile.global.u32 [%a], %i;", "i"),
    "pair": ("@%bad st.global.v2.u32 [%z], {%i, %i}; @!%bad st.global.u32 [%d], %i;", "i"),
    "misaligned": ("@%bad add.u64 %a, %d, 2; st.global.u32 [%a], %i;", "i"),
    "add": ("red.global.add.u32 [%a], 1;", "101 + i"),
    "shared": ("st.shared.u32 [%o], %i; ld.shared.u32 %q, [%s]; @!%bad st.global.u32 [%d], %q;", "i"),
    "local": ("st.local.u32 [%l], %i; @!%bad ld.local.u32 %q, [%l]; @!%bad st.global.u32 [%d], %q;", "i"),
}


@pytest.fixture
def run(run_python, tmp_path):
    """Runs source after KERNELS in a process of its own; the lines of its standard error."""

    def call(source, setting="report", **env):
        env = {"PYCUDA_CPU_FAULTS": setting, "PYCUDA_CPU_LOG": None, "PYCUDA_CPU_REPORT": None, **env}
        done = run_python(KERNELS + textwrap.dedent(source), env=env, check=True)
        return done.stderr.splitlines()

    return call


@pytest.mark.parametrize("form", LOADS)
def test_a_load_or_atomic_operation_gives_0(run, form):
    body, valid, fault = LOADS[form]
    lines = run(f"""
        out, data = launch({body!r})
        expected = np.where(odd, 0, {valid})
        assert (out == expected).all(), (out, expected)
        assert (data[odd] == DATA[odd]).all()
        """)
    assert len(lines) == 2
    assert lines[0].startswith("CPU device: kernel astray, block (") and fault in lines[0]
    assert re.fullmatch(r"CPU device: kernel astray, PTX line \d+: 63 more such faults", lines[1])


@pytest.mark.parametrize("form", STORES)
def test_a_store_is_dropped(run, form):
    body, valid = STORES[form]
    lines = run(f"""
        out, data = launch({body!r})
        assert (out == 7).all()
        expected = np.where(odd, DATA, {valid})
        assert (data == expected).all(), (data, expected)
        """)
    assert len(lines) == 2 and "kernel astray" in lines[0] and lines[1].endswith(": 63 more such faults")


def test_an_atomic_operation_of_all_lanes_at_one_place(run):
    lines = run("assert (launch('atom.global.add.u32 %r, [64], 1;')[0] == 0).all()")
    assert len(lines) == 2 and lines[1].endswith(": 127 more such faults")


def test_one_kernel_with_whole_warps_past_an_array(run):
    """Addresses that rise evenly: the affine and the elementwise path."""
    lines = run("""
        memory = drv.mem_alloc(4)
        from pycuda.compiler import SourceModule
        fill = SourceModule('__global__ void fill(int *p) { p[threadIdx.x] = threadIdx.x + 5; }')
        for _ in range(3):
            fill.get_function("fill")(memory, block=(64, 1, 1))
        assert np.frombuffer(drv.from_device(memory, 1, np.int32), np.int32)[0] == 5
        """)
    assert len(lines) == 2 and "just past the end of the device memory" in lines[0]
    assert lines[1].endswith(": 188 more such faults")


def test_each_place_is_named(run, tmp_path):
    """Two places, each by one line, in the report too; the module is loaded twice."""
    report = tmp_path / "report"
    report.touch()
    lines = run(
        r"""
        for _ in range(2):
            launch("ld.global.u32 %r, [%a];\nst.global.u32 [%a], %i;")
        """,
        PYCUDA_CPU_REPORT=str(report),
    )
    named = [line for line in lines if "block (" in line]
    assert len(named) == 2 and "read of" in named[0] and "write of" in named[1]
    assert sum("127 more such faults" in line for line in lines) == 2
    faults = [line for line in report.read_text().splitlines() if line.startswith("survived")]
    assert len(faults) == 2


def test_what_cannot_go_on_stops(run):
    lines = run("""
        try:
            launch("@%bad trap;")
        except drv.Error as error:
            print("raised", error, file=sys.stderr)
        """)
    assert any(line.startswith("raised") for line in lines)


def test_stop_is_the_default(run):
    source = """
        try:
            launch("ld.global.u32 %r, [%a];")
        except drv.Error as error:
            print("raised", error, file=sys.stderr)
        """
    for setting in ("stop", None):
        assert any(line.startswith("raised") for line in run(source, setting=setting))


def test_findings_of_checks(run):
    """A race and a read of uninitialized shared memory: the launch succeeds."""
    body = "ld.shared.u32 %q, [tile];\nld.shared.u32 %r, [tile + 508]; mov.u32 %r, 4;"
    lines = run(
        f"""
        out, data = launch({body!r})
        assert (out == 4).all()
        """,
        PYCUDA_CPU_CHECK="racecheck,initcheck-shared",
    )
    assert any("race at offset" in line for line in lines)
    assert any("uninitialized memory" in line for line in lines)


def test_another_word_is_an_error(run_python):
    done = run_python("import pycuda.driver as drv; drv.init()", env={"PYCUDA_CPU_FAULTS": "ignore"})
    assert done.returncode != 0
    assert 'PYCUDA_CPU_FAULTS is "ignore": it must be stop or report' in done.stderr


def test_the_option_of_cuda_cpu(tmp_path):
    """--faults report: the exit status is the program's."""
    program = tmp_path / "program.py"
    program.write_text(KERNELS + "launch('ld.global.u32 %r, [%a];'); sys.exit(5)")
    command = [os.path.join(cpu.path(), "cuda-cpu"), "--faults", "report", sys.executable, str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 5, done.stderr
    assert "invalid read of 4 bytes" in done.stderr
