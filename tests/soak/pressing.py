"""Steps that stress one thing: more contexts, launches or compilations than most programs make, and threads
of which one ends what the other uses. `w` is the Worker that does the step. Of what is slow on a GPU, World
counts how many a program may still do (contexts_left and others).
"""

import gc
import random
import threading
import time

import numpy as np
from steps import new_pool
from worker import BLOCK, ONE, PTX, N, check

import pycuda.driver as drv
from pycuda import gpuarray
from pycuda.compiler import SourceModule

# ---- queues


def pageable_copies(w):
    """Copies of pageable memory, queued after a kernel that waits, while other threads run."""
    stream, numbers, target = w.stream(), w.numbers(), np.zeros(N, np.int32)
    memory = drv.mem_alloc(4 * N)
    w.code.wait(np.uint64(w.dice.randrange(1_000_000)), block=ONE, stream=stream)
    drv.memcpy_htod_async(memory, numbers, stream)
    w.code.add(memory, np.int32(3), block=BLOCK, stream=stream)
    if w.dice.random() < 0.5:
        w.code.wait(np.uint64(w.dice.randrange(1_000_000)), block=ONE, stream=stream)
    drv.memcpy_dtoh_async(target, memory, stream)
    if w.dice.random() < 0.5:
        del memory
    w.wait(stream)
    check(target, numbers + 3, "copies of pageable memory")


def full_queue(w):
    """More launches than a driver's queue holds, after a kernel that waits."""
    if w.world.full_queues_left <= 0:
        return
    w.world.full_queues_left -= 1
    stream, numbers = w.stream(), w.numbers()
    memory, call = drv.to_device(numbers), w.code.add.prepare("Pi")
    count = w.dice.choice([1100, 1500, 2200])
    w.code.wait(np.uint64(w.dice.randrange(20_000_000)), block=ONE, stream=stream)
    for _ in range(count):
        call.prepared_async_call((1, 1), BLOCK, stream, memory, 1)
    if w.plan.functions and stream and w.dice.random() < 0.5:
        stream.launch_host_func(gc.collect)
    w.wait(stream)
    check(drv.from_device_like(memory, numbers), numbers + count, "a full queue")


# ---- contexts


CROWD_SECONDS = 0.4


def crowd(w):
    """Hundreds of contexts, or as many as a device makes in CROWD_SECONDS; up to eight exist at once, each
    with a few objects. leave_context drops them."""
    if w.world.crowds_left <= 0:
        return
    w.world.crowds_left -= 1
    until, living = time.monotonic() + CROWD_SECONDS, []
    for _ in range(w.dice.choice([100, 200, 300])):
        if time.monotonic() > until:
            break
        context = drv.Device(w.dice.randrange(drv.Device.count())).make_context()
        living.append((context, [drv.to_device(w.world.values[0]), drv.Stream(), drv.Event().record()]))
        drv.Context.pop()
        if len(living) > w.dice.randrange(8):
            leave_context(w, *living.pop(w.dice.randrange(len(living))))
    for context, things in living:
        leave_context(w, context, things)


def leave_context(w, context, things):
    """Detaches the context. Its objects are dropped before it, by another step, by a thread at the same time,
    or after it."""
    how = w.dice.choice(["before", "another step", "thread", "after"])
    if how == "before":
        things.clear()
    elif how == "another step":
        w.world.graveyard.append(things)
    elif how == "thread":
        thread = threading.Thread(target=things.clear)
        thread.start()
        w.threads.append(thread)
    context.detach()


def detached_meanwhile(w):
    """Objects are made while another thread detaches their context: each is made, or the error says that the
    context is gone."""
    if w.world.contexts_left <= 0:
        return
    w.world.contexts_left -= 1
    context, things, begin = drv.Device(0).make_context(), [], threading.Event()
    make = [
        lambda: drv.mem_alloc(100),
        lambda: drv.pagelocked_zeros(N, np.int32),
        lambda: drv.managed_zeros(N, np.int32),
        lambda: drv.module_from_buffer(PTX),
        lambda: new_pool(w).allocate(100),
        lambda: gpuarray.zeros(N, np.int32),
        drv.Stream,
        drv.Event,
    ]

    def detach():
        begin.wait()
        context.detach()

    thread = threading.Thread(target=detach)
    thread.start()
    w.threads.append(thread)
    try:
        for number in range(w.dice.choice([5, 20, 60])):
            if number == 3:
                begin.set()  # the other thread detaches from now on
            things.append(w.dice.choice(make)())
    except drv.Error as error:
        if error.name != "CUDA_ERROR_CONTEXT_IS_DESTROYED":
            raise
    finally:
        begin.set()
        drv.Context.pop()
    w.world.graveyard.append(things)


# ---- graphs


def concurrent_graphs(w):
    """Launches of one graph on two streams, while a third stream has other work."""
    numbers, eager_numbers, rounds = w.numbers(), w.numbers(), w.dice.randrange(2, 12)
    memory, eager, graph = drv.to_device(numbers), drv.to_device(eager_numbers), drv.Graph()
    node = graph.add_kernel(w.code.wait, np.uint64(w.dice.randrange(50_000)), block=ONE)
    graph.add_kernel(w.code.add, memory, np.int32(2), block=BLOCK, depends_on=node)
    ready, streams = graph.instantiate(), [drv.Stream(), drv.Stream(drv.stream_flags.NON_BLOCKING)]
    other = w.dice.choice([*w.streams, drv.Stream(drv.stream_flags.NON_BLOCKING)])
    for number in range(rounds):
        ready.launch(streams[number % 2])
        w.code.add(eager, np.int32(3), block=BLOCK, stream=other)
    if w.dice.random() < 0.5:
        del ready, graph, node
    for stream in w.dice.sample([*streams, other], 3):
        w.wait(stream)
    check(drv.from_device_like(memory, numbers), numbers + 2 * rounds, "a graph on two streams")
    check(drv.from_device_like(eager, numbers), eager_numbers + 3 * rounds, "work concurrent with a graph")


def capture_some(w, add, memory, stream, numbers):
    """Captures launches of `add`, launches the graph, checks the memory; returns what that holds then."""
    count = w.dice.randrange(1, 30)
    with stream.capture() as graph:
        for _ in range(count):
            add(memory, np.int32(2), block=BLOCK, stream=stream)
    graph.instantiate().launch(stream)
    stream.synchronize()
    check(drv.from_device_like(memory, numbers), numbers + 2 * count, "a captured graph")
    return numbers + 2 * count


def captures(w):
    """Captures in a new context, as a capture forbids waits for its context; other threads
    allocate and release in it meanwhile."""
    if w.world.contexts_left <= 0:
        return
    w.world.contexts_left -= 1
    context, done, errors = drv.Device(0).make_context(), threading.Event(), []
    add, numbers = drv.module_from_buffer(PTX).get_function("add"), w.numbers()
    make = [lambda: drv.mem_alloc(100), lambda: drv.pagelocked_zeros(N, np.int32), drv.Stream, drv.Event]

    def allocate(dice):
        context.push()
        things = []
        try:
            while not done.is_set():
                things.append(dice.choice(make)())
                del things[: len(things) - dice.randrange(1, 5)]
        except drv.Error as error:
            errors.append(error)
        del things
        drv.Context.pop()

    memory, stream = drv.to_device(numbers), drv.Stream(drv.stream_flags.NON_BLOCKING)
    dices = [random.Random(w.dice.random()) for _ in range(w.dice.randrange(1, 3))]
    threads = [threading.Thread(target=allocate, args=(dice,)) for dice in dices]
    for thread in threads:
        thread.start()
    try:
        for _ in range(w.dice.randrange(1, 5)):
            numbers = capture_some(w, add, memory, stream, numbers)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    del add, memory, stream
    drv.Context.pop()
    context.detach()
    if errors:
        raise errors[0]


# ---- code


def fresh_code(w):
    """Compiles a source that is in no cache. Threads that never stop may do so while the program ends."""
    if not w.plan.compiling or w.world.compilations_left <= 0:
        return
    w.world.compilations_left -= w.plan.ending not in ("daemon", "_exit")
    name = f"fresh_{w.dice.randrange(1 << 30)}"
    source = f'extern "C" __global__ void {name}(int *a) {{ a[threadIdx.x] += 2; }}'
    module, numbers = SourceModule(source, no_extern_c=True, cache_dir=False), w.numbers()
    memory = drv.to_device(numbers)
    module.get_function(name)(memory, block=BLOCK)
    check(drv.from_device_like(memory, numbers), numbers + 2, "code that was compiled just now")
