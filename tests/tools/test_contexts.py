"""pycuda.tools: default contexts, caches that follow contexts, decorators of tests."""

import subprocess
import sys
import weakref

import pytest

import pycuda.driver as drv
from pycuda import tools

# ---- Contexts


def test_a_default_context(monkeypatch):
    drv.init()
    context = tools.make_default_context()
    try:
        assert drv.Context.get_current() == context and type(context) is drv.Context
    finally:
        context.pop()
        context.detach()


def test_the_device_that_cuda_device_names(monkeypatch):
    devices = []
    monkeypatch.setenv("CUDA_DEVICE", "0")
    assert tools.make_default_context(lambda device: devices.append(device) or "made") == "made"
    assert devices == [drv.Device(0)]
    with pytest.warns(DeprecationWarning, match="make_default_context"):
        assert tools.get_default_device() == drv.Device(0)
    monkeypatch.setenv("CUDA_DEVICE", "12345")
    with pytest.raises(drv.LogicError):
        tools.make_default_context(lambda device: "made")


def test_the_device_that_a_file_in_the_home_folder_names(monkeypatch, tmp_path):
    monkeypatch.delenv("CUDA_DEVICE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".cuda_device").write_text("0\n")
    assert tools.make_default_context(lambda device: device) == drv.Device(0)
    (tmp_path / ".cuda_device").unlink()
    with pytest.warns(DeprecationWarning):
        assert tools.get_default_device(default=0) == drv.Device(0)


def test_the_next_device_is_tried_where_one_refuses(monkeypatch):
    """Errors that are not the driver's are passed on."""
    monkeypatch.delenv("CUDA_DEVICE", raising=False)
    monkeypatch.setenv("HOME", "/nowhere")  # without .cuda_device
    tried = []

    def refuse(device):
        tried.append(device)
        raise drv.LogicError("exclusive")

    with pytest.raises(RuntimeError, match="no context could be made on any device") as problem:
        tools.make_default_context(refuse)
    assert tried == [drv.Device(number) for number in range(drv.Device.count())]
    assert isinstance(problem.value.__cause__, drv.LogicError)

    def fail(device):
        raise KeyError("of the maker")

    with pytest.raises(KeyError):
        tools.make_default_context(fail)


# ---- Caches


@pytest.fixture
def forget():
    """Clears the caches after the test, and forgets the functions that it memoized."""
    before = list(tools.context_dependent_memoized_functions)
    yield
    tools.clear_context_caches()
    tools.context_dependent_memoized_functions[:] = before


def test_results_are_remembered_for_each_context(forget):
    calls = []

    @tools.context_dependent_memoize
    def double(x, *, extra=0):
        """Doubles."""
        calls.append(x)
        return 2 * x + extra

    assert double.__name__ == "double" and double.__doc__ == "Doubles."
    assert double in tools.context_dependent_memoized_functions
    assert [double(1), double(1), double(1, extra=1)] == [2, 2, 3] and len(calls) == 2
    context = drv.Device(0).make_context()
    try:
        assert double(1) == 2 and len(calls) == 3
    finally:
        context.pop()
    assert double(1) == 2 and len(calls) == 3
    tools.clear_context_caches()
    assert double(1) == 2 and len(calls) == 4
    context.detach()


def test_memoizing_works_before_a_context_is_made(run_python):
    done = run_python(
        """
        from pycuda import tools
        calls = []

        @tools.context_dependent_memoize
        def work():
            calls.append(1)
            return 5

        print(work(), work(), len(calls))
        """
    )
    assert done.stdout.split() == ["5", "5", "1"], done.stderr


def test_exceptions_are_not_remembered(forget):
    outcomes = [KeyError("first"), 7]

    @tools.context_dependent_memoize
    def fail_once(x):
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    with pytest.raises(KeyError, match="first"):
        fail_once(1)
    assert fail_once(1) == 7 and fail_once(1) == 7
    with pytest.raises(TypeError, match="unhashable"):
        fail_once([1])


def test_results_and_context_end_when_the_context_has_no_other_reference(forget):
    class Result:
        pass

    @tools.context_dependent_memoize
    def work():
        return Result()

    context = drv.Device(0).make_context()
    result, gone = weakref.ref(work()), weakref.ref(context)
    context.pop()
    assert gone() is not None and result() is not None
    del context
    assert gone() is None and result() is None


# ---- Tests of clients


def test_mark_cuda_test():
    seen = []

    @tools.mark_cuda_test
    def client(x, y=2):
        """A test."""
        seen.append(drv.Context.get_current())
        if y == 3:
            raise KeyError("of the test")
        return x

    before = drv.Context.get_current()
    assert client(5) == 5 and client.__name__ == "client" and client.__doc__ == "A test."
    # Without the mark: pytest runs with --strict-markers, and this project does not register it.
    assert not hasattr(client, "pytestmark")
    with pytest.raises(KeyError, match="of the test"):
        client(5, y=3)
    assert drv.Context.get_current() == before and all(context != before for context in seen)


def test_init_cuda_context_fixture():
    before = drv.Context.get_current()
    fixture = tools.init_cuda_context_fixture()
    context = next(fixture)
    assert drv.Context.get_current() == context != before
    del context
    with pytest.raises(StopIteration):
        next(fixture)
    assert drv.Context.get_current() == before


PLUGIN = """
import pytest

import pycuda.driver as drv
from pycuda.tools import init_cuda_context_fixture, mark_cuda_test

context = pytest.fixture(autouse=False)(init_cuda_context_fixture)

def test_with_the_fixture(context):
    assert drv.Context.get_current() is not None and drv.mem_alloc(100)

@mark_cuda_test
@pytest.mark.parametrize("value", [1, 2])
def test_marked(value):
    assert drv.Context.get_current() is not None and value

class TestClass:
    @mark_cuda_test
    def test_method(self):
        assert drv.Context.get_current() is not None
"""


def test_the_fixture_and_the_mark_under_pytest(tmp_path):
    """As test suites of other projects use them."""
    (tmp_path / "test_client.py").write_text(PLUGIN)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", str(tmp_path)]
    for options, outcome in ([], "4 passed"), (["-m", "cuda"], "3 passed, 1 deselected"):
        done = subprocess.run([*command, *options], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0 and outcome in done.stdout, done.stdout + done.stderr
