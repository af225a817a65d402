"""`await stream` and `await event`: a coroutine waits for the device while others run."""

import asyncio
import threading

import pytest

import pycuda.driver as drv

pytestmark = pytest.mark.usefixtures("primary_context")


async def is_waited_for(awaitable, gate):
    """Whether an await of it lasts until gate.set(), while this coroutine runs."""
    task = asyncio.create_task(waiting(awaitable))
    await asyncio.sleep(0.02)
    waited = not task.done()
    gate.set()
    await task
    return waited


async def waiting(awaitable):
    await awaitable


@pytest.mark.parametrize("kind", ["stream", "event"])
def test_waits_and_lets_others_run(kind):
    stream, gate = drv.Stream(), threading.Event()
    stream.launch_host_func(gate.wait, 20)
    event = drv.Event().record(stream)
    assert asyncio.run(is_waited_for(stream if kind == "stream" else event, gate))
    assert stream.is_done() and event.query()


def test_streams_and_events_that_are_done():
    stream = drv.Stream()
    asyncio.run(waiting(stream))
    asyncio.run(waiting(drv.Event().record(stream)))


def test_a_wait_can_be_canceled():
    stream, gate = drv.Stream(), threading.Event()
    stream.launch_host_func(gate.wait, 20)

    async def limited():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(waiting(stream), 0.02)

    asyncio.run(limited())
    gate.set()
    stream.synchronize()


def test_a_kernels_fault_is_raised_by_await(run_python):
    program = """
        import asyncio
        import pycuda.driver as drv
        from pycuda.compiler import SourceModule
        import numpy as np
        import pycuda.autoinit

        kernel = SourceModule("__global__ void fault(int *p) { *p = 1; }").get_function("fault")
        stream = drv.Stream()
        kernel(np.uintp(64), block=(1, 1, 1), stream=stream)

        async def main():
            try:
                await stream
            except drv.Error as error:
                print("raised", error.code != 0)

        asyncio.run(main())
    """
    assert "raised True" in run_python(program).stdout
