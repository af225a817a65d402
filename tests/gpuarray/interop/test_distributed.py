"""dask's distributed: GPUArrays in messages, on disk, and in the processes of a cluster."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import dask_cluster
import numpy as np
import pytest

from pycuda import gpuarray

dask = pytest.importorskip("dask")
sys.modules.setdefault("sparse", None)  # dask would import tests/sparse instead of the package `sparse`
da = pytest.importorskip("dask.array")
if sys.modules["sparse"] is None:
    del sys.modules["sparse"]
distributed = pytest.importorskip("distributed", reason="in the extra `test`")

pytestmark = pytest.mark.usefixtures("primary_context", "registered")

HOST = np.arange(60, dtype=np.float32).reshape(4, 5, 3)
ARRAYS = {
    "c": lambda: gpuarray.to_gpu(HOST),
    "fortran": lambda: gpuarray.to_gpu(np.asfortranarray(HOST)),
    "strided": lambda: gpuarray.to_gpu(HOST)[::2, :, 1],
    "0d": lambda: gpuarray.to_gpu(HOST)[0, 1, 2],
    "empty": lambda: gpuarray.to_gpu(HOST)[:0],
    "repeated": lambda: np.broadcast_to(gpuarray.to_gpu(HOST)[:1], (1000, 5, 3)),
    "complex": lambda: gpuarray.to_gpu(HOST.astype(np.complex128)),
    "bool": lambda: gpuarray.to_gpu(HOST > 3),
    "structured": lambda: gpuarray.to_gpu(HOST.view([("x", "f4"), ("y", "f4"), ("z", "f4")])),
}


@pytest.fixture
def registered(primary_context):
    """pycuda may have been imported before distributed, which then pickles the first array."""
    pickle.dumps(ARRAYS["0d"]())


@pytest.mark.parametrize("family", ["dask", "cuda"])
@pytest.mark.parametrize("name", ARRAYS)
def test_messages(name, family):
    array = ARRAYS[name]()
    header, frames = distributed.protocol.serialize(array, serializers=[family], on_error="raise")
    assert header["serializer"] == family
    header = distributed.protocol.core.msgpack.loads(distributed.protocol.core.msgpack.dumps(header))
    kinds = {"dask": memoryview, "cuda": gpuarray.GPUArray}
    assert [type(frame) for frame in frames] == [kinds[family]]
    assert sum(frame.nbytes for frame in frames) == (HOST[:1].nbytes if name == "repeated" else array.nbytes)
    got = distributed.protocol.deserialize(header, frames)
    assert type(got) is gpuarray.GPUArray and (got.shape, got.dtype) == (array.shape, array.dtype)
    assert got.get().tobytes() == array.get().tobytes()
    if name in {"c", "fortran", "repeated"}:
        assert got.strides == array.strides


def test_frames_on_the_device_share_the_memory():
    array = gpuarray.to_gpu(HOST)
    header, (frame,) = distributed.protocol.serialize(array, serializers=["cuda"], on_error="raise")
    assert frame.ptr == array.ptr

    class Foreign:  # as another library's memory arrives
        __cuda_array_interface__ = frame.__cuda_array_interface__
        owner = frame

    got = distributed.protocol.deserialize(header, [Foreign()])
    del frame
    assert got.ptr == array.ptr and (got.get() == HOST).all()


def test_several_frames_are_joined():
    header, (frame,) = distributed.protocol.serialize(gpuarray.to_gpu(HOST), on_error="raise")
    parts = [bytes(frame[:100]), bytes(frame[100:])]
    assert (distributed.protocol.deserialize(header, parts).get() == HOST).all()


def test_subclasses_and_attributes_are_pickled():
    array = gpuarray.to_gpu(HOST)
    array.unit = "m"
    header, frames = distributed.protocol.serialize(array)
    assert header["serializer"] == "pickle"
    assert distributed.protocol.deserialize(header, frames).unit == "m"


def test_arrays_are_spilled_to_disk(tmp_path):
    from distributed.spill import SpillBuffer

    buffer = SpillBuffer(str(tmp_path), target=HOST.nbytes * 2)
    for number in range(5):
        buffer[f"array-{number}"] = gpuarray.to_gpu(HOST + number)
    assert len(buffer.fast) == 2 and len(buffer.slow) == 3
    for number in range(5):
        assert (buffer[f"array-{number}"].get() == HOST + number).all()
    buffer.clear()


# ---- a cluster of two processes


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """{check: what became of it} of dask_cluster.py. It is a program of its own, as clients and schedulers
    hold arrays for a while, and workers import what is on the path of the process that started them."""
    program = Path(__file__).with_name("dask_cluster.py")
    folder = tmp_path_factory.mktemp("cluster")
    environment = os.environ | {"PYCUDA_CPU_DEVICES": "2"}
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, cwd=folder, env=environment, timeout=110
    )
    assert done.returncode == 0, done.stderr
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize("check", dask_cluster.CHECKS)
def test_a_cluster(check, cluster):
    assert cluster[check] == "ok"


def test_no_process_of_the_cluster_is_left(cluster):
    pids = cluster["processes"].split()
    assert len(pids) > 2  # one was started again
    assert [pid for pid in pids if os.path.exists(f"/proc/{pid}")] == []


def test_the_program_on_the_page(tmp_path):
    page = (Path(__file__).parents[3] / "docs" / "dask.md").read_text()
    program = tmp_path / "program.py"
    program.write_text(page.split("```py\n")[1].split("```")[0])
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert abs(float(done.stdout) - 1) < 0.02, done.stderr
