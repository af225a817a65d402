"""One random program: python program.py SEED. The seed determines its plan (plan.py); choice.py has the steps
of its threads. It ends with the exit code and the text on stderr that the plan has for it. Without a seed it
compiles the kernels into the compiler's cache.

SOAK_TIMEOUT: seconds after which every thread's stack is shown. To narrow a failure down: SOAK_ENDING and
SOAK_STEPS replace the ending and the number of steps of the plan, SOAK_WITHOUT and SOAK_ONLY name the steps
to leave out, or the only ones to do, SOAK_POOLS the kinds of pools to use.
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

# (the driver's functions that make an object, the one that releases it). At the end of a clean program there
# were never more releases than objects; there may be fewer, as the end of a context releases what it still
# has. There must be as many for the functions in BEFORE, whose objects PyCUDA releases before their context,
# as the driver fails in the other order.
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
    """sys.unraisablehook, which hides what steps raise on purpose."""
    if not isinstance(unraisable.exc_value, Planned):
        sys.__unraisablehook__(unraisable)


def set_up(plan):
    """Sets the interpreter up as the plan has it."""
    faulthandler.enable()
    faulthandler.dump_traceback_later(TIMEOUT, exit=False)
    sys.unraisablehook = report
    sys.setswitchinterval(plan.interval)
    warnings.filterwarnings("ignore", category=DeprecationWarning, message=".*fork.*")
    gc.freeze()  # what was imported is most of all objects, and none of it becomes garbage
    if plan.collecting == "often":
        gc.set_threshold(20, 3, 3)
    elif plan.collecting == "never":
        gc.disable()


def make_world(plan):
    """The World of the plan, with the context and the kernels that the threads share."""
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
    """Starts the threads; returns them."""
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
    """Waits for the threads, and raises the first error of one."""
    for thread in threads:
        thread.join()
    gc.unfreeze()  # so that the interpreter's end collects everything
    for number, error in world.errors:
        print(f"thread {number}:", file=sys.stderr)
        raise error


# ---- endings


def outstanding():
    """{functions that make an object: how many more were made than released}; {} if calls are not counted."""
    count = drv._driver._fault_count
    if count("cuCtxCreate") < 0:
        return {}
    return {made: sum(map(count, made.split())) - count(released) for made, released in PAIRS}


def leak():
    """({type: number of PyCUDA's objects that exist}, {functions of PAIRS: a wrong number of outstanding
    objects}): both are empty when nothing is leaked."""
    live = {name: count for name, count in drv._live_objects().items() if count and name != "Context"}
    wrong = {made: count for made, count in outstanding().items() if count < 0 or (count and made in BEFORE)}
    return live, wrong


def clean(world, threads):
    """Drops everything, and raises unless everything was released, and only once."""
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
    clear_context_caches()  # of a context that goes on: the kernels of arrays
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
    """Ends the program as planned, `depth` calls further down, each with objects in its frame."""
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
    """Drops objects in a finalizer, which runs when the interpreter is partly torn down."""

    def __init__(self, things):
        self.things = things

    def __del__(self):
        self.things.clear()


def everywhere(world):
    """Puts objects where the interpreter's end finds them late, or never."""
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
    """Registers an exit handler that uses the device."""

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
    """Forks children of a program that has used the driver: whatever they drop, they must exit as usual,
    without a call of the driver."""
    for how in dice.sample(["_exit", "exit", "drop", "collect", "error"], 2):
        faulthandler.cancel_dump_traceback_later()  # its thread would not exist in the child
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
    """Launches a kernel that fails, and waits for it or not."""
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
    """Ends threads and objects as plan.ending says, then the main thread as plan.last says."""
    plan, dice = world.plan, random.Random(f"end {world.plan.seed}")
    if plan.ending in ("daemon", "_exit", "running"):
        time.sleep(dice.choice([0.0, 0.01, 0.1, 0.3]))
        join([], world)
        world.ending.set()
        if world.context and dice.random() < 0.5:
            drv.Context.pop()  # so that nothing waits for it at exit
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
