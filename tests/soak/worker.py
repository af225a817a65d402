"""A thread of a random program: its random generator (`dice`), its context, its streams, and the objects that
it shares with other threads."""

import contextlib
import random
import threading
import time

import numpy as np

import pycuda.driver as drv
from pycuda.compiler import SourceModule

N = 64  # numbers in most arrays
BLOCK = (N, 1, 1)
ONE = (1, 1, 1)

SOURCE = """
texture<int, 1> tex;
texture<int, 2> image;
surface<void, 2> surf;
__device__ int number = 7;
__global__ void add(int *a, int by) { a[threadIdx.x] += by; }
__global__ void fold(int *out, const int *a, const int *b)
{
    out[threadIdx.x] = 3 * a[threadIdx.x] + b[threadIdx.x];
}
__global__ void constant(int *out) { out[threadIdx.x] = number; }
__global__ void read_tex(int *out) { out[threadIdx.x] = tex1Dfetch(tex, threadIdx.x); }
__global__ void read_image(int *out) { out[threadIdx.x] = tex2D(image, threadIdx.x % 8, threadIdx.x / 8); }
__global__ void read_surf(int *out)
{
    out[threadIdx.x] = surf2Dread<int>(surf, threadIdx.x % 8 * 4, threadIdx.x / 8);
}
__global__ void fetch(int *out, cudaTextureObject_t image)
{
    out[threadIdx.x] = tex2D<int>(image, threadIdx.x % 8, threadIdx.x / 8);
}
__global__ void fetch_row(int *out, cudaTextureObject_t row)
{
    out[threadIdx.x] = tex1Dfetch<int>(row, threadIdx.x);
}
__global__ void store(cudaSurfaceObject_t image, int by)
{
    int x = threadIdx.x % 8 * 4, y = threadIdx.x / 8;
    surf2Dwrite(surf2Dread<int>(image, x, y) + by, image, x, y);
}
__global__ void wait(unsigned long long nanoseconds)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < nanoseconds);
}
__global__ void fault(int *a) { a[threadIdx.x] = 1; }
"""

PTX = b"""
.version 6.3
.target sm_50
.address_size 64
.visible .global .u32 counter;
.visible .entry add(.param .u64 a, .param .s32 by)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [a];
    ld.param.s32 %r1, [by];
    mov.u32 %r2, %tid.x;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r2, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.s32 %r3, [%rd4];
    add.s32 %r3, %r3, %r1;
    st.global.s32 [%rd4], %r3;
    ret;
}
.visible .entry wait(.param .u64 nanoseconds)
{
    .reg .pred %p<2>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [nanoseconds];
    mov.u64 %rd2, %globaltimer;
$again:
    mov.u64 %rd3, %globaltimer;
    sub.s64 %rd4, %rd3, %rd2;
    setp.lt.u64 %p1, %rd4, %rd1;
    @%p1 bra $again;
    ret;
}
"""


class Planned(Exception):
    """What the program raises on purpose."""


def check(got, expected, what):
    """Raises unless they are equal; `what` names them in the message."""
    got, expected = np.asarray(got), np.asarray(expected)
    if got.shape != expected.shape or not (got == expected).all():
        raise AssertionError(f"{what}: got {got.ravel()[:8]}, expected {expected.ravel()[:8]}")


class Code:
    """The kernels of SOURCE, loaded in the current context: code.add is the kernel `add`."""

    def __init__(self):
        self.module = SourceModule(SOURCE)
        self.tex, self.image = self.module.get_texref("tex"), self.module.get_texref("image")
        self.surf = self.module.get_surfref("surf")

    def __getattr__(self, name):
        return self.module.get_function(name)


class World:
    """What the threads have in common. There is no lock: objects are in lists, and what a thread pops is its
    own."""

    def __init__(self, plan):
        self.plan = plan
        self.bag = []  # (kind, object) of the common context
        self.graveyard = []  # objects of any context, to be dropped
        self.doomed = []  # contexts that some thread will detach
        self.context = self.code = None
        self.contexts_left = 3  # a GPU takes long to make one
        self.crowds_left = 1
        self.full_queues_left = 6
        self.compilations_left = 3  # in programs that end; others never stop
        self.errors = []
        self.ending = threading.Event()  # set when the main thread ends while threads still work
        # One number each: a launch that reads one of them shows which.
        self.values = [np.full(N, number, np.int32) for number in range(20)]


class Worker:
    """What a thread has, and what its steps use; the thread executes run()."""

    def __init__(self, world, number):
        self.world, self.plan, self.number = world, world.plan, number
        self.dice = random.Random(f"thread {self.plan.seed} {number}")
        self.own = None  # the context that it made or retained itself
        self.streams, self.pools = [], []
        self.threads = []  # those that its steps started

    # ---- contexts

    def enter(self):
        """Makes the planned context current, and the thread's streams in it."""
        kind = self.plan.contexts
        if kind == "each":  # the kinds are explained in plan.CONTEXTS
            self.own = drv.Device(self.number % drv.Device.count()).make_context()
        elif kind == "primary":
            self.own = drv.Device(0).retain_primary_context()
            self.own.push()
        elif kind in ("shared", "autoinit"):
            self.world.context.push()
        if kind == "each":
            self.bag, self.code = [], Code()
        else:
            self.bag, self.code = self.world.bag, self.world.code
        self.streams = [None, drv.Stream(), drv.Stream()]

    def leave(self):
        """Leaves the context, before or after the objects are dropped."""
        if self.plan.contexts == "default":
            return
        if self.plan.ending == "pushed" and self.dice.random() < 0.5:
            return
        objects_first = self.dice.random() < 0.5
        detach = self.plan.contexts == "each" and self.dice.random() < 0.7
        if objects_first:
            self.drop()
        if not detach:
            drv.Context.synchronize()  # what is kept for a queued copy keeps the context
        drv.Context.pop()
        if detach:
            self.own.detach()
        if not objects_first:
            self.drop()

    def drop(self):
        """Drops the thread's own objects."""
        self.streams, self.pools, self.code = [], [], None
        if self.plan.contexts == "each":
            self.bag = []
        self.own = self.own if self.plan.contexts == "each" else None

    # ---- what steps use

    def stream(self):
        """One of the thread's streams; None: the default stream."""
        return self.dice.choice(self.streams)

    def wait(self, stream):
        """Wait for the stream in one of several ways."""
        how = self.dice.choice(["context", "poll", "event", "stream"])
        if how == "context":
            drv.Context.synchronize()
        elif how == "poll" and stream:
            while not stream.is_done():
                time.sleep(0.0001)
        elif how == "event":
            drv.Event().record(stream).synchronize()
        elif stream:
            stream.synchronize()
        else:
            drv.Context.synchronize()

    def numbers(self):
        """N random numbers."""
        return np.array([self.dice.randrange(1 << 20) for _ in range(N)], np.int32)

    def take(self, kind):
        """Takes an object of that kind out of the bag, so that no other thread gets it; None if there is
        none."""
        for index in range(len(self.bag) - 1, -1, -1):
            try:
                found = self.bag[index]
                if found[0] == kind:
                    self.bag.remove(found)
                    return found[1]
            except (IndexError, ValueError):  # another thread took one
                return None
        return None

    def put(self, kind, thing):
        """Puts an object into the bag, where other threads may take it; of more than 60, the oldest is
        dropped."""
        self.bag.append(Named(kind, thing))
        if len(self.bag) > 60:
            self.bag.pop(0)

    # ---- running

    def run(self, steps):
        """Does the steps in the planned context; an error ends all threads' work, and goes to
        World.errors.
        """
        try:
            self.enter()
            for step in steps:
                if self.world.errors:
                    break
                self.step(step)
            self.leave()
            for thread in self.threads:
                thread.join()
        except Exception as error:
            if self.world.ending.is_set():
                return  # the program is ending, so that calls may fail
            self.world.errors.append((self.number, error))

    def step(self, step):
        """Does one step, which may raise Planned."""
        with contextlib.suppress(Planned):
            step(self)


class Named(tuple):
    """A kind and an object, compared by identity."""

    __slots__ = ()

    def __new__(cls, kind, thing):
        return super().__new__(cls, (kind, thing))

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__
