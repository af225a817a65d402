"""Messages of GPUArrays, given to mpi4py and staged, are those of NumPy's arrays."""

import pytest

SETUP = """
    import sys
    import numpy as np
    import pycuda.driver as drv
    import pycuda.gpuarray as gpuarray
    import pycuda.mpi
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    pycuda.mpi.local_device(world).retain_primary_context().push()
    STAGED = sys.argv[1] == "staged"
    comm = pycuda.mpi.staged(world) if STAGED else world
    rank, size = comm.rank, comm.size
    right, left = (rank + 1) % size, (rank - 1) % size

    def same(array, expected):
        got = array.get()
        assert got.dtype == expected.dtype and (got == expected).all(), (got, expected)

    def both(host):
        # A NumPy array and a GPUArray of the same elements.
        return host, gpuarray.to_gpu(host)

    def check(method, *arguments, on=None, **keywords):
        # Calls the method with NumPy arrays, and with GPUArrays in their place.
        hosts = [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]
        hosts = [[x[0].copy(), *x[1:]] if isinstance(x, list) else x for x in hosts]
        arrays = [gpuarray.to_gpu(x) if isinstance(x, np.ndarray) else x for x in arguments]
        arrays = [[gpuarray.to_gpu(x[0]), *x[1:]] if isinstance(x, list) else x for x in arrays]
        raw = on or world
        mine = pycuda.mpi.staged(raw) if STAGED else raw
        for target, given in ((raw, hosts), (mine, arrays)):
            request = getattr(target, method)(*given, **keywords)
            if request is not None:
                request.Wait()
        for host, array in zip(hosts, arrays):
            host, array = (host[0], array[0]) if isinstance(host, list) else (host, array)
            if isinstance(host, np.ndarray):
                same(array, host)
"""

POINT_TO_POINT = """
    for dtype in (np.float32, np.int64, np.complex128, np.uint8, np.bool_):
        for order in "CF":
            host = np.asarray(np.arange(12).reshape(3, 4) + rank, dtype, order=order)
            _, a = both(host)
            b = gpuarray.to_gpu(np.zeros((3, 4), dtype, order=order))
            if rank % 2 == 0 and right != 0:
                comm.Send(a, right, tag=3)
            elif rank % 2:
                comm.Recv(b, left, tag=3)
                same(b, np.asarray(np.arange(12).reshape(3, 4) + left, dtype))
    # A shorter message leaves the rest; the status says how long it was.
    _, a = both(np.arange(5.0) + rank)
    _, b = both(np.full(8, -1.0))
    status = MPI.Status()
    comm.Sendrecv(a, right, 0, b, left, 0, status)
    assert status.Get_count(MPI.DOUBLE) == 5 and status.source == left
    same(b, np.concatenate([np.arange(5.0) + left, [-1] * 3]))
    comm.Sendrecv_replace(a, right, source=left)
    same(a, np.arange(5.0) + left)
    comm.Recv(b, MPI.PROC_NULL)
    # Requests
    _, b = both(np.zeros(6))
    requests = [comm.Irecv([b, 5, MPI.DOUBLE], left), comm.Isend(a, right)]
    if STAGED:
        pycuda.mpi.Request.Waitall(requests)
    else:
        MPI.Request.Waitall(requests)
    same(b, np.append(np.arange(5.0) + (rank - 2) % size, 0))
    empty = gpuarray.empty(0, np.float32)
    comm.Isend(empty, right).Wait()
    comm.Recv(empty, left)
    part = gpuarray.to_gpu(np.arange(10.0))
    comm.Sendrecv_replace(part[3:7], right, source=left)
    same(part, np.arange(10.0))
    if STAGED:
        # Persistent requests read the array when they are started.
        _, p = both(np.zeros(3))
        q = gpuarray.empty(3, float)
        sending, receiving = comm.Send_init(p, right), comm.Recv_init(q, left)
        for value in range(3):
            p.fill(value + 10 * rank)
            receiving.Start(), sending.Start()
            pycuda.mpi.Request.Waitall([receiving, sending])
            same(q, np.full(3, value + 10.0 * left))
        sending.Free(), receiving.Free()
        # Waitany and Test copy what they complete.
        q.fill(-1)
        first = [comm.Irecv(q, left, tag=9)]
        comm.Send(p, right, tag=9)
        assert pycuda.mpi.Request.Waitany(first) == 0
        same(q, np.full(3, 2 + 10.0 * left))
        request = comm.Isend(p, right, tag=8)
        q.fill(-1)
        other = comm.Irecv(q, left, tag=8)
        while not other.Test():
            pass
        request.Wait()
        same(q, np.full(3, 2 + 10.0 * left))
        try:
            MPI.Request.Waitall([comm.Isend(p, MPI.PROC_NULL)])
        except TypeError:
            pass
        else:
            raise AssertionError("mpi4py takes a request whose copy it would not make")
"""

COLLECTIVES = """
    for prefix in ("", "I"):
        name = lambda text: (prefix + text.lower()) if prefix else text
        one, all_ = np.arange(4.0) + rank, np.zeros((size, 4))
        for root in range(size):
            check(name("Bcast"), one, root=root)
            check(name("Gather"), one, all_, root=root)
            check(name("Scatter"), np.arange(4.0 * size) * (rank + 1), np.zeros(4), root=root)
            check(name("Reduce"), one, np.zeros(4), op=MPI.MAX, root=root)
            check(name("Gatherv"), one[: rank % 3 + 1], [np.full(4 * size, -1.0),
                  ([r % 3 + 1 for r in range(size)], [4 * r for r in range(size)]), MPI.DOUBLE], root=root)
            check(name("Scatterv"), [np.arange(4.0 * size), ([r % 3 + 1 for r in range(size)],
                  [4 * r for r in range(size)]), MPI.DOUBLE], np.zeros(rank % 3 + 1), root=root)
        check(name("Allgather"), one, all_)
        check(name("Allreduce"), one, np.zeros(4))
        check(name("Allreduce"), MPI.IN_PLACE, one)
        check(name("Allreduce"), one.astype(np.int32), np.zeros(4, np.int32), op=MPI.MIN)
        check(name("Alltoall"), np.arange(3.0 * size) + 100 * rank, np.zeros(3 * size))
        counts, into = [rank + 1] * size, [r + 1 for r in range(size)]
        check(name("Alltoallv"), [np.arange(sum(counts), dtype=np.float32), counts],
              [np.full(sum(into) + 2, -1, np.float32), into])
        check(name("Reduce_scatter_block"), np.arange(2.0 * size), np.zeros(2))
        check(name("Scan"), one, np.zeros(4))
        check(name("Exscan"), one, np.full(4, -1.0))
    # Topologies: the processes at the ends of a line keep what they do not receive.
    line = world.Create_cart([size], periods=[False])
    ring = world.Create_cart([size], periods=[True])
    for topology in (line, ring):
        for prefix in ("N", "In"):
            check(prefix + "eighbor_allgather", np.arange(3.0) + rank, np.full(6, -1.0), on=topology)
            check(prefix + "eighbor_alltoall", np.arange(6.0) + 10 * rank, np.full(6, -1.0), on=topology)
            check(prefix + "eighbor_alltoallv", [np.arange(3.0) + 10 * rank, ([2, 2], [0, 1])],
                  [np.full(5, -1.0), ([2, 2], [0, 3])], on=topology)
    if STAGED:
        assert isinstance(comm.Split(rank % 2), pycuda.mpi.StagedComm)
        assert isinstance(comm.Create_cart([size]), pycuda.mpi.StagedComm)
        for bad in (gpuarray.zeros((4, 4), float)[:, ::2], gpuarray.zeros(8, float)[::-1]):
            try:
                comm.Bcast(bad)
            except BufferError as error:
                assert "contiguous" in str(error)
            else:
                raise AssertionError("taken")
        assert pycuda.mpi.staged(comm) is comm and comm.comm is world
        assert comm.allreduce(1) == size
"""

WINDOWS = """
    memory = gpuarray.zeros(8, np.float64)
    drv.Context.synchronize()
    window = MPI.Win.Create(memory, disp_unit=8, comm=world)
    mine = gpuarray.to_gpu(np.arange(4.0) + rank)
    window.Fence()
    window.Put(mine, right, target=4)
    window.Fence()
    same(memory[4:], np.arange(4.0) + left)
    theirs = gpuarray.zeros(4, np.float64)
    window.Get(theirs, right, target=4)
    window.Fence()
    same(theirs, np.arange(4.0) + rank)
    window.Accumulate(mine, right, target=0)
    window.Fence()
    same(memory[:4], np.arange(4.0) + left)
    window.Free()
"""

ways = pytest.mark.parametrize(
    "way",
    [
        pytest.param("direct", marks=pytest.mark.cpu("the MPI libraries of PyPI are not CUDA-aware")),
        "staged",
    ],
)


@ways
@pytest.mark.parametrize("processes", [2, 4])
def test_point_to_point(mpi_run, processes, way):
    mpi_run(processes, SETUP + POINT_TO_POINT, way)


@ways
@pytest.mark.parametrize("processes", [2, 4])
def test_collectives(mpi_run, processes, way):
    mpi_run(processes, SETUP + COLLECTIVES, way)


@pytest.mark.cpu("the MPI libraries of PyPI are not CUDA-aware")
def test_windows(mpi_run):
    mpi_run(2, SETUP + WINDOWS, "direct")


def test_the_library_is_asked(mpi_run):
    done = mpi_run(
        1,
        """
        import pycuda.driver as drv
        import pycuda.mpi
        from mpi4py import MPI

        aware = pycuda.mpi.is_cuda_aware()
        assert aware in (True, False, None)
        device = pycuda.mpi.local_device(MPI.COMM_WORLD)
        on_cpu = device.name().startswith("CPU device")
        comm = pycuda.mpi.communicator(MPI.COMM_WORLD)
        assert (comm is MPI.COMM_WORLD) == bool(on_cpu or aware)
        print(aware)
        """,
    )
    assert done.stdout.strip() in ("True", "False", "None")


ARGUMENTS = """
    import pickle

    a, b = gpuarray.to_gpu(np.arange(3.0) + rank), gpuarray.empty(3, float)
    comm.Allreduce(recvbuf=b, sendbuf=a)
    same(b, np.arange(3.0) * size + sum(range(size)))
    comm.Allreduce(a, b, op=MPI.MAX)
    same(b, np.arange(3.0) + size - 1)
    comm.Sendrecv(a, dest=right, recvbuf=b, source=left)
    same(b, np.arange(3.0) + left)
    for call in (
        lambda: comm.Allreduce(a),
        lambda: comm.Allreduce(a, b, MPI.SUM, 1),
        lambda: comm.Allreduce(a, b, sendbuf=a),
        lambda: comm.Allreduce(a, b, tag=1),
        lambda: comm.Allreduce(recvbuf=b),
    ):
        try:
            call()
        except TypeError:
            continue
        raise AssertionError("taken")
    again = pickle.loads(pickle.dumps(comm))
    assert type(again) is type(comm) and again.comm == world
    zero, other = gpuarray.to_gpu(np.array(4.0 + rank)), gpuarray.empty((), float)
    comm.Sendrecv(zero, right, 0, other, left, 0)
    same(other, np.array(4.0 + left))
"""

# The arguments that MPI gets are looked at: their memory, and that it goes back to the pool.
SAME_MEMORY = """
    from pycuda._array.interop import staged_messages

    a, b = gpuarray.to_gpu(np.arange(1000.0)), gpuarray.empty(1000, float)
    method, seen = comm.Allreduce, []
    inner = method._method

    def recorded(sent, received, op):
        seen.append((sent.ctypes.data, received.ctypes.data))
        inner(sent, received, op)

    method._method = recorded
    for _ in range(5):
        comm.Allreduce(a, b)
    assert len({*seen}) == 1 and len({*seen[0]}) == 2, seen
    pool = staged_messages._pool()
    assert (pool.active_blocks, pool.held_blocks) == (0, 2)
    pending = comm.Irecv(b, left)
    comm.Send(a, right)
    pending.Wait()
    same(b, np.arange(1000.0))
    assert (pool.active_blocks, pool.held_blocks) == (0, 2)
"""


# MPI keeps the memory of these for longer than the call: an array's is not given to it, the host's is.
KEPT = """
    for name, last in ("Psend_init", (right,)), ("Precv_init", (left,)):
        if not hasattr(world, name):
            continue
        for given, taken in (gpuarray.zeros(4, float), False), (np.zeros(4), True):
            try:
                getattr(comm, name)([given, 2], 2, *last).Free()
            except NotImplementedError as error:
                assert not taken and f"{name} is not staged" in str(error), error
            except MPI.Exception:       # the library has no partitioned communication
                assert taken
            else:
                assert taken
    if hasattr(world, "Attach_buffer"):
        try:
            comm.Attach_buffer(gpuarray.zeros(1000, np.uint8))
        except NotImplementedError as error:
            assert "Attach_buffer is not staged" in str(error)
        else:
            raise AssertionError("taken")
"""


@pytest.mark.parametrize(
    "program", [ARGUMENTS, SAME_MEMORY, KEPT], ids=["arguments", "same memory", "kept by MPI"]
)
def test_staged_calls(mpi_run, program):
    mpi_run(2, SETUP + program, "staged")
