"""Checks of GPUArrays in a cluster of two processes, a program that test_distributed.py runs: it prints a
line for each check, and the numbers of the processes that there were."""

import os
import sys
import time
import traceback

import numpy as np

HOST = np.arange(60, dtype=np.float32).reshape(4, 5, 3)
LIMIT = 30  # seconds, for what takes milliseconds or the start of a process


def on_device(host=HOST):
    from pycuda import gpuarray

    return gpuarray.to_gpu(host)


# ---- tasks


def doubled(array):
    return array * 2


def place(array):
    """(process, whether the thread has a context)"""
    import pycuda.driver as drv

    return os.getpid(), drv.Context.get_current() is not None


def too_large(array):
    from pycuda import gpuarray

    return gpuarray.GPUArray((1 << 45,), np.uint8)


def died(array):
    os._exit(3)


def died_once(array, flag):
    """The first process that computes this dies."""
    if not os.path.exists(flag):
        open(flag, "w").close()
        os._exit(3)
    return array + 1


def waited(array, seconds):
    time.sleep(seconds)
    return array


# ---- checks


def workers(client):
    client.wait_for_workers(2, timeout=LIMIT)
    return sorted(client.scheduler_info(n_workers=-1)["workers"])


def a_worker_is_well(client):
    return (client.submit(doubled, on_device(), pure=False).result(timeout=LIMIT).get() == 2 * HOST).all()


def check_reduction(client):
    import dask.array as da

    from pycuda import gpuarray

    host = np.random.default_rng(0).normal(size=(300, 300))
    lazy = da.from_array(on_device(host), chunks=100)
    got = (lazy + lazy.T).rechunk((50, 300)).sum(axis=0).compute()
    assert isinstance(got, gpuarray.GPUArray)
    np.testing.assert_allclose(got.get(), (host + host.T).sum(axis=0))


def check_backend(client):
    import dask
    import dask.array as da

    with dask.config.set({"array.backend": "pycuda"}):
        lazy = da.random.default_rng(1).random((200, 200), chunks=50)
    with dask.config.set(scheduler="synchronous"):
        here = lazy.sum().compute().get()
    assert lazy.sum().compute().get() == here


def check_from_worker_to_worker(client):
    first, second = workers(client)
    there = client.submit(doubled, on_device(), workers=[first])
    assert (client.submit(doubled, there, workers=[second]).result(timeout=LIMIT).get() == 4 * HOST).all()
    (one, has_context), (other, _) = (
        client.submit(place, there, workers=[each], pure=False).result(timeout=LIMIT)
        for each in (first, second)
    )
    assert one != other and has_context


def check_scatter(client):
    from pycuda import gpuarray

    array = on_device()
    future, again = client.scatter(array), client.scatter(array.copy())
    assert future.key == again.key
    assert isinstance(future.result(timeout=LIMIT), gpuarray.GPUArray)


def check_a_transfer_is_serialized_without_pickle(client):
    from distributed.protocol import serialize

    def family(array):
        return serialize(array)[0]["serializer"]

    assert client.submit(family, on_device()).result(timeout=LIMIT) == "dask"
    assert family(on_device()) == "dask"


def check_out_of_memory_is_named(client):
    import pycuda.driver as drv

    try:
        client.submit(too_large, on_device()).result(timeout=LIMIT)
    except drv.MemoryError as error:
        assert "32.0 TiB requested" in str(error)
    else:
        raise AssertionError("no error")
    assert a_worker_is_well(client)


def check_a_cancelled_task_raises(client):
    from distributed.client import FutureCancelledError

    future = client.submit(waited, on_device(), 0.5)
    future.cancel()
    try:
        future.result(timeout=LIMIT)
    except FutureCancelledError:
        assert a_worker_is_well(client)
    else:
        raise AssertionError("no error")


def check_the_death_of_a_worker_is_named(client):
    import dask
    from distributed import KilledWorker

    client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
    try:
        client.submit(died, on_device()).result(timeout=LIMIT)
    except KilledWorker as error:
        assert "died" in str(error) and error.last_worker.address in str(error)
    else:
        raise AssertionError("no error")
    assert a_worker_is_well(client)
    assert dask.config.get("distributed.scheduler.allowed-failures") == 3


def check_what_a_dead_worker_had_is_computed_again(client):
    client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 3))
    future = client.submit(died_once, on_device(), os.path.abspath("died"))
    assert (future.result(timeout=LIMIT).get() == HOST + 1).all()


CHECKS = [name for name in dict(globals()) if name.startswith("check_")]


def main():
    from distributed import Client, LocalCluster

    processes = set()
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, death_timeout=LIMIT, silence_logs=50
        ) as cluster,
        Client(cluster, timeout=LIMIT) as client,
    ):
        for name in CHECKS:
            processes |= {nanny.pid for nanny in cluster.workers.values()}
            try:
                globals()[name](client)
                print(f"{name}: ok", flush=True)
            except Exception as error:
                traceback.print_exc(file=sys.stderr)
                print(f"{name}: {type(error).__name__} {error!r}", flush=True)
        workers(client)
        processes |= {nanny.pid for nanny in cluster.workers.values()}
    print("processes:", *sorted(each for each in processes if each))


if __name__ == "__main__":
    main()
