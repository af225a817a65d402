"""One random program: python program.py SEED. What it does is decided by the seed (plan.py), what its threads
do by steps.py; it ends with the exit code and the words that the plan has for it. Without a seed it compiles
the kernels into the compiler's cache.

SOAK_TIMEOUT: seconds after which every thread's stack is shown. To narrow a failure down: SOAK_ENDING and
SOAK_STEPS are another ending and number of steps than drawn, SOAK_WITHOUT and SOAK_ONLY name steps (those of
choice.py) to leave out, or to do and no others, SOAK_POOLS the kinds of pools to use.
"""

import atexit
import contextlib
import faulthandler
import gc
import os
import random
import sys
import threading
import time
import warnings

sys.path.insert(0, os.path.dirname(__file__))

import choice
import numpy as np
import steps
from plan import make_plan
from worker import BLOCK, Code, N, Planned, Worker, World

import pycuda.driver as drv
from pycuda.tools import clear_context_caches

# (the driver's functions that make an object, the one that releases it): of a clean program nothing is left
# at the end. What dies with its context is not released itself: there may be fewer releases than objects,
# never more. What the functions in BEFORE make is released before its context, as the driver does not bear
# the other order: of these there are as many.
PAIRS = [
    ("cuStreamCreate cuStreamCreateWithPriority cuGreenCtxStreamCreate", "cuStreamDestroy"),
    ("cuEventCreate", "cuEventDestroy"),
    ("cuMemAlloc cuMemAllocPitch cuMemAllocManaged", "cuMemFree"),
    ("cuMemHostAlloc cuMemAllocHost", "cuMemFreeHost"),
    ("cuMemCreate", "cuMemRelease"),
    ("cuMemAddressReserve", "cuMemAddressFree"),
    ("cuMemMap", "cuMemUnmap"),
    ("cuMemHostRegister", "cuMemHostUnregister"),
    ("cuArrayCreate cuArray3DCreate", "cuArrayDestroy"),
    ("cuMipmappedArrayCreate", "cuMipmappedArrayDestroy"),
    ("cuTexObjectCreate", "cuTexObjectDestroy"),
    ("cuSurfObjectCreate", "cuSurfObjectDestroy"),
    ("cuLinkCreate", "cuLinkDestroy"),
    ("cuModuleLoad cuModuleLoadDataEx", "cuModuleUnload"),
    ("cuCtxCreate", "cuCtxDestroy"),
    ("cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease"),
    ("cuGreenCtxCreate", "cuGreenCtxDestroy"),
]
BEFORE = ["cuMipmappedArrayCreate"]


TIMEOUT = float(os.environ.get("SOAK_TIMEOUT", "60"))


def report(unraisable):
    """sys.unraisablehook: what steps raise on purpose is not shown."""
    if not isinstance(unraisable.exc_value, Planned):
        sys.__unraisablehook__(unraisable)


def set_up(plan):
    faulthandler.enable()
    faulthandler.dump_traceback_later(TIMEOUT, exit=False)
    sys.unraisablehook = report
    sys.setswitchinterval(plan.interval)
    warnings.filterwarnings("ignore", category=DeprecationWarning, message=".*fork.*")
    gc.freeze()  # what was imported: no garbage, and most of what there is
    if plan.collecting == "often":
        gc.set_threshold(20, 3, 3)
    elif plan.collecting == "never":
        gc.disable()


def make_world(plan):
    world = World(plan)
    if plan.contexts == "autoinit":
        import pycuda.autoinit

        world.context = pycuda.autoinit.context
    else:
        drv.init()
    if plan.contexts == "shared":
        world.context = drv.Device(0).make_context()
    elif plan.contexts == "primary":
        world.context = drv.Device(0).retain_primary_context()
        world.context.push()
    if plan.contexts != "each":
        world.code = Code()
    return world


def start(world):
    plan, threads = world.plan, []
    for number in range(plan.threads):
        worker = Worker(world, number)
        count = int(os.environ.get("SOAK_STEPS", plan.steps))
        todo = choice.endless_steps(worker.dice, plan) if plan.ending in ("daemon", "_exit") else None
        todo = todo or choice.choose_steps(worker.dice, plan, count)
        thread = threading.Thread(target=worker.run, args=(todo,), daemon=plan.ending in ("daemon", "_exit"))
        thread.worker = worker
        thread.start()
        threads.append(thread)
    return threads


def join(threads, world):
    for thread in threads:
        thread.join()
    gc.unfreeze()  # the interpreter finds everything at its end
    for number, error in world.errors:
        print(f"thread {number}:", file=sys.stderr)
        raise error


# ---- endings


def outstanding():
    """{the functions that make an object: how many more were made than released}, {} where calls are not
    counted."""
    count = drv._driver._fault_count
    if count("cuCtxCreate") < 0:
        return {}
    return {made: sum(map(count, made.split())) - count(released) for made, released in PAIRS}


def leak():
    """({type: objects of ours that live}, {functions of PAIRS: a wrong number of outstanding objects})."""
    live = {name: count for name, count in drv._live_objects().items() if count and name != "Context"}
    wrong = {made: count for made, count in outstanding().items() if count < 0 or (count and made in BEFORE)}
    return live, wrong


def clean(world, threads):
    """Everything is dropped: nothing is left, and nothing was released twice."""
    join(threads, world)
    plan, context = world.plan, world.context
    for thread in threads:
        thread.worker.drop()
        thread.worker.own = None
    threads.clear()
    world.bag.clear()
    world.graveyard.clear()
    while world.doomed:
        world.doomed.pop().detach()
    world.code = None
    clear_context_caches()  # a context that goes on keeps the kernels of arrays
    gc.collect()
    if plan.contexts != "each":
        drv.Context.synchronize()
    if plan.contexts in ("shared", "primary"):
        drv.Context.pop()
    del thread
    world.context = context = None  # noqa: F841
    until = time.monotonic() + 5
    while any(leak()) and time.monotonic() < until:
        gc.collect()
        time.sleep(0.01)
    if any(leak()):
        raise AssertionError(f"left behind: {leak()}")


def deep(depth, world):
    """Ends the program as planned, so many frames down, each of which holds objects."""
    things = steps.some(Worker(world, 99)) if world.context or world.plan.contexts == "default" else []
    if depth:
        return deep(depth - 1, world)
    return last(world.plan) or things


def last(plan):
    """The planned end of the main thread: sys.exit, an exception, or none."""
    if plan.last == "exit":
        sys.exit(plan.code)
    if plan.last == "raise":
        raise Planned("the end")


class Late:
    """A finalizer that comes when the interpreter is half gone."""

    def __init__(self, things):
        self.things = things

    def __del__(self):
        self.things.clear()


def everywhere(world):
    """Objects that the interpreter finds late, or never."""
    worker = Worker(world, 98)
    if world.context is None and world.plan.contexts != "default":
        return
    drv.kept, sys.modules["kept"] = steps.some(worker), steps.some(worker)
    worker.thing = Late(steps.something(worker))
    loop = steps.something(worker)
    loop.append(loop)
    kept = steps.some(worker)
    gc.callbacks.append(lambda phase, info: kept and None)
    Late.kept = Late(steps.some(worker))
    main = sys.modules["__main__"]
    main.generator = (number for number in [steps.some(worker)] * 2)
    next(main.generator)


def at_exit(world):
    """Work in a handler, which runs before the interpreter goes."""

    def work():
        context = drv.Device(0).make_context()
        numbers = np.arange(N, dtype=np.int32)
        memory = drv.to_device(numbers)
        Code().add(memory, np.int32(1), block=BLOCK)
        assert (drv.from_device_like(memory, numbers) == numbers + 1).all()
        stream = drv.Stream()
        stream.launch_host_func(list.clear, [stream])
        drv.Context.pop()
        if world.plan.seed % 2:
            context.detach()

    atexit.register(work)


def fork(world, dice):
    """Children of a program that has used the driver: whatever they do, they leave the device alone."""
    for how in dice.sample(["_exit", "exit", "drop", "collect", "error"], 2):
        faulthandler.cancel_dump_traceback_later()  # its thread is not there in the child
        child = os.fork()
        faulthandler.dump_traceback_later(TIMEOUT, exit=not child)
        if not child:
            if how == "_exit":
                os._exit(7)
            if how == "drop":
                world.bag.clear()
                world.graveyard.clear()
                world.code = world.context = None
            if how == "collect":
                gc.collect()
            if how == "error":
                with contextlib.suppress(drv.Error):
                    drv.mem_alloc(100)
            sys.exit(7)
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) != 7:
            raise AssertionError(f"a forked child ({how}) ended with {os.waitstatus_to_exitcode(status)}")


def fault(world, dice):
    """The last kernel fails; its error is queried or not."""
    if drv.Context.get_current() is None:
        drv.Device(0).make_context()
    Code().fault(np.intp(64), block=BLOCK)
    if dice.random() < 0.7:
        try:
            drv.Context.synchronize()
        except drv.Error:
            return
        raise AssertionError("a fault was not noticed")


def end(world, threads):
    """What becomes of threads and objects (plan.ending), then how the main thread ends (plan.last)."""
    plan, dice = world.plan, random.Random(f"end {world.plan.seed}")
    if plan.ending in ("daemon", "_exit", "running"):
        time.sleep(dice.choice([0.0, 0.01, 0.1, 0.3]))
        join([], world)
        world.ending.set()
        if world.context and dice.random() < 0.5:
            drv.Context.pop()  # nothing waits for it at exit
        if plan.ending == "_exit":
            os._exit(plan.code)
        return last(plan)
    if plan.ending == "clean":
        clean(world, threads)
        return last(plan)
    join(threads, world)
    if plan.ending == "globals":
        everywhere(world)
    elif plan.ending == "atexit":
        at_exit(world)
    elif plan.ending == "fork":
        fork(world, dice)
    elif plan.ending == "fault":
        fault(world, dice)
        return last(plan)
    elif plan.ending == "pushed" and world.context:
        world.context.push()
    return deep(dice.randrange(4), world)


def main():
    if len(sys.argv) == 1:
        import pycuda.autoinit  # noqa: F401

        Code()
        return
    plan = make_plan(int(sys.argv[1]), os.environ.get("SOAK_ENDING"))
    set_up(plan)
    world = make_world(plan)
    end(world, start(world))


if __name__ == "__main__":
    main()
