"""GPUArrays between the processes of a dask cluster by UCX, which sends memory of the device as it is."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.gpu("UCX finds memory of the device by NVIDIA's driver")

PROGRAM = """
import sys

import numpy as np
from distributed import Client, LocalCluster

def made(n):
    import pycuda.gpuarray as gpuarray
    return gpuarray.arange(n, dtype=np.float64)

def described(array):
    owner = array
    while getattr(owner, "base", None) is not None:
        owner = owner.base
    return type(array).__name__, float(array.sum().get()), type(owner).__module__.split(".")[0]

def cluster(name):
    if name == "dask_cuda":
        from dask_cuda import LocalCUDACluster
        return LocalCUDACluster(n_workers=1, protocol="ucxx", dashboard_address=None)
    return LocalCluster(n_workers=2, threads_per_worker=1, protocol="ucxx", dashboard_address=None)

if __name__ == "__main__":
    with cluster(sys.argv[1]) as started, Client(started) as client:
        workers = list(client.scheduler_info()["workers"])
        array = client.submit(made, 1000, workers=[workers[0]])
        found = client.submit(described, array, workers=[workers[-1]]).result(timeout=60)
        print(*found, len(workers))
"""


@pytest.mark.parametrize(
    "name, printed", [("distributed", "GPUArray 499500.0 rmm 2"), ("dask_cuda", "GPUArray 499500.0 pycuda 1")]
)
def test_a_cluster(tmp_path, name, printed):
    pytest.importorskip("distributed_ucxx", reason="pip install distributed-ucxx-cu13")
    pytest.importorskip(name)
    script = tmp_path / "program.py"  # workers import it
    script.write_text(PROGRAM)
    done = subprocess.run([sys.executable, script, name], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == printed, done.stdout + done.stderr
