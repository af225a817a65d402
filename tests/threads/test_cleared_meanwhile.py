"""Caches are cleared, and drop their oldest entries, while other threads add to them."""

import contextlib
import sys
import threading
import time

from pycuda._compile import requests
from pycuda._kernels.plans.caches import ContextCache, memoized_in_context
from pycuda.tools import clear_context_caches


@contextlib.contextmanager
def in_threads(work, count=3):
    """Calls work(number of the thread, number of the call) again and again in threads, while the block runs.
    Raises what one of them raised.
    """
    interval, done, failures = sys.getswitchinterval(), threading.Event(), []

    def run(number):
        call = 0
        try:
            while not done.is_set():
                work(number, call)
                call += 1
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    if failures:
        raise failures[0]


def for_half_a_second():
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        yield


def test_cleared_while_caches_are_made(primary_context):
    """The set of all caches changes while it is read."""
    kept = {}

    def make(number, _):
        kept.setdefault(number, []).append(ContextCache())
        del kept[number][:-50]

    with in_threads(make):
        for _ in for_half_a_second():
            clear_context_caches()


def test_a_context_is_forgotten_while_the_cache_gets_entries():
    cache = ContextCache()

    def add(number, call):
        cache[number, call % 300] = call

    with in_threads(add):
        for _ in for_half_a_second():
            cache.forget(1)
    cache.forget(1)
    assert {serial for serial, _ in cache} == {0, 2}


def test_the_oldest_results_go_while_others_come(primary_context):
    recall = memoized_in_context(lambda *asked: asked, 4)

    def ask(number, call):
        assert recall(number, call) == (number, call)

    with in_threads(ask):
        for _ in for_half_a_second():
            assert recall("mine") == ("mine",)


def test_the_oldest_code_goes_while_other_code_comes(monkeypatch):
    class Compiled:
        cacheable = True

    monkeypatch.setattr(requests, "_memory", {})
    monkeypatch.setattr(requests, "_MAX_REMEMBERED", 4)

    def remember(number, call):
        requests._remember((number, call), Compiled())

    with in_threads(remember):
        for _ in for_half_a_second():
            requests._remember("mine", Compiled())
    assert len(requests._memory) <= 8
