"""Linkers that one thread makes and another one uses or drops. NVIDIA's link states belong to a thread."""

import threading

import numpy as np

import pycuda.driver as drv

PTX = b"""
.version 7.0
.target sm_50
.address_size 64
.visible .entry seven(.param .u64 out)
{
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    st.global.u32 [%rd2], 7;
    ret;
}
"""


def new_linker():
    """A linker with a kernel added."""
    linker = drv.Linker()
    linker.add_data(PTX, drv.jit_input_type.PTX)
    return linker


def in_threads(count, work):
    """Runs work(number) in so many threads, all in the primary context."""
    failures = []

    def run(number):
        try:
            with drv.Device(0).retain_primary_context():
                work(number)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_another_thread_may_drop_a_linker():
    bag = []

    def work(number):
        for _ in range(60):
            bag.append(new_linker())
            if len(bag) > 3:
                bag.pop(0)

    in_threads(4, work)
    bag.clear()


def test_a_linker_links_after_the_thread_that_made_it_has_ended():
    """By then, the driver's thread-local memory of that thread is gone."""
    made = []
    for _ in range(10):
        in_threads(2, lambda number: made.append(new_linker()))
    memory = drv.mem_alloc(4)
    for linker in made:
        drv.memset_d32(memory, 0, 1)
        linker.link_module().get_function("seven")(memory, block=(1, 1, 1))
        assert drv.from_device(memory, 1, np.int32)[0] == 7


def test_calls_of_one_linker_by_several_threads_take_turns_or_fail():
    """At most one of them links it."""
    linker, modules = new_linker(), []

    def work(number):
        for _ in range(50):
            try:
                linker.add_data(
                    PTX.replace(b"seven", b"f%d_%d" % (number, len(modules))), drv.jit_input_type.PTX
                )
                modules.append(linker.link_module())
            except drv.Error:
                return

    in_threads(4, work)
    assert len(modules) <= 1
