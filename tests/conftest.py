"""What every test gets: the device it runs on, and a check that it leaked no objects."""

import gc
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import zlib
from pathlib import Path

import pytest

import pycuda.driver as drv
from pycuda._compile.finder import find_nvcc
from pycuda.testing import no_leaks  # noqa: F401  a check that every test gets
from pycuda.tools import clear_context_caches

sys.path.insert(0, os.path.dirname(__file__))

import devices
from fork_server import ForkServer
from forking import under_asan


def pytest_configure(config):
    # NumPy's threads for products would spin for a while in each of the many programs that tests start.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Without a GPU the CPU device is chosen here, so that it does not print its notice that there is no GPU.
    if "PYCUDA_DEVICE" not in os.environ and "PYCUDA_DRIVER" not in os.environ:
        probe = subprocess.run(
            [sys.executable, "-W", "ignore", devices.__file__], capture_output=True, text=True
        )
        if probe.stdout != "False\n":
            os.environ["PYCUDA_DEVICE"] = "cpu"


def pytest_sessionstart(session):
    drv.init()  # in the workers of pytest-xdist as well
    if hasattr(session.config, "workerinput"):  # tests that run pytest choose its plugins themselves
        os.environ.pop("PYTEST_DISABLE_PLUGIN_AUTOLOAD", None)
    # Background jobs of a shell ignore SIGINT, and the programs that tests send it to would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    for item in items:
        if "nvcc" in getattr(item, "fixturenames", ()):
            item.add_marker("nvcc")
    if os.environ.get("PYCUDA_DEVICE") == "gpu":
        items.sort(key=_place_on_a_gpu)


def _place_on_a_gpu(item):
    """First what runs one at a time and takes minutes, then the longest tests. Then files in an order that
    spreads those whose tests make many contexts, which are in few folders: a GPU makes one at a time for all
    processes.
    """
    runs_with_others = "alone" not in getattr(item, "fixturenames", ())
    name = item.location[0]
    return runs_with_others, not name.startswith("tests/faults/"), zlib.crc32(name.encode())


def pytest_collection_finish(session):
    _exclude_present_objects()


def _exclude_present_objects():
    """Makes the garbage collector ignore the objects that exist now. Thousands of tests, their imports and
    caches are so many objects that a collection among them takes longer than most tests do.
    """
    gc.collect()
    gc.freeze()


def pytest_report_header(config):
    device = drv.Device(0)
    version = drv.get_driver_version()
    return f"device: {device.name()}, compute capability {device.compute_capability()}, CUDA driver {version}"


file_of_last_test = pytest.StashKey[Path]()


def pytest_runtest_setup(item):
    """Skips tests that the marks gpu, cpu and driver exclude here."""
    if item.path != item.session.stash.get(file_of_last_test, item.path):
        _exclude_present_objects()
    item.session.stash[file_of_last_test] = item.path
    for name, is_for_cpu_device in ("gpu", False), ("cpu", True):
        marker = item.get_closest_marker(name)
        if marker and devices.on_cpu_device() != is_for_cpu_device:
            pytest.skip(marker.args[0])
    for marker in item.iter_markers("driver"):
        version, reason = marker.args
        if drv.get_driver_version() < version:
            pytest.skip(f"needs a driver of CUDA {version // 1000}.{version % 1000 // 10}: {reason}")


@pytest.fixture
def primary_context():
    """The primary context of device 0 is current while the test runs."""
    drv.init()
    drv.Device(0).retain_primary_context().push()
    yield
    drv.Context.pop()


@pytest.fixture
def fresh_caches(primary_context):
    """Kernels and plans that the test makes are dropped after it."""
    yield
    drv.Context.synchronize()
    clear_context_caches()


@pytest.fixture(scope="session", autouse=True)
def cache_of_this_run(tmp_path_factory):
    """Tests use a compiler cache of their own, not the user's. PYCUDA_TEST_CACHE names one that
    runs share.
    """
    temporary = tmp_path_factory.getbasetemp().parent / "compiler-cache"
    os.environ["PYCUDA_CACHE_DIR"] = os.environ.get("PYCUDA_TEST_CACHE") or str(temporary)


def environment(**changes):
    """The environment of programs that tests start; None removes a variable."""
    path = os.pathsep.join(filter(None, [os.path.dirname(__file__), os.environ.get("PYTHONPATH")]))
    env = {**os.environ, "PYTHONPATH": path, **changes}
    return {key: value for key, value in env.items() if value is not None}


@pytest.fixture(scope="session")
def fork_server(tmp_path_factory):
    """A server that forks processes with NumPy imported, but not pycuda: programs test what its
    import does.
    """
    server = ForkServer(tmp_path_factory.mktemp("fork_server"), environment(), ["numpy"])
    yield server
    server.close()


def program_runner(server, folder):
    """What run_python and run_program return, with this fork server and a folder for the program."""

    def run(source, *, env=None, timeout=100, check=False, fresh=False):
        script = folder / "program.py"
        script.write_text(textwrap.dedent(source))
        wanted = environment(**env or {})
        if fresh or not server.fits(wanted):
            command = [sys.executable, str(script)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=wanted)
        else:
            done = server.run(folder, wanted, timeout)
        if check:
            assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.fixture
def run_python(fork_server, tmp_path):
    """A function that runs a program in a process of its own and returns its CompletedProcess (text).

    env: changes of the environment, as of environment(). check: it must exit with 0. fresh: a new interpreter
    in place of a process of the fork server, for programs that test the import of NumPy or of its modules.
    """
    return program_runner(fork_server, tmp_path)


@pytest.fixture
def run_program(loaded_fork_server, tmp_path):
    """As run_python, in a process that has pycuda's modules loaded: for programs that use pycuda, but do not
    test what its import does. It saves most of the time that a short program takes.
    """
    return program_runner(loaded_fork_server, tmp_path)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Changes the current folder, for `python -c` and `python -m`: they would import a source tree in the
    current folder in place of the installed package.
    """
    monkeypatch.chdir(tmp_path)


CHILD = """
import importlib.util, sys
import pycuda.driver as drv

drv.init()
if {excluded}:
    print("skipped")
    raise SystemExit
sys.path[:0] = {folders!r}
spec = importlib.util.spec_from_file_location({name!r}, {file!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
drv.Device(0).retain_primary_context().push()
module.{function}(*{arguments!r})
drv.Context.pop()
"""


def call_in_child(server, folder, function, arguments, excluded, why, **changes):
    """Calls a function of a test file in a process of its own, with a current context and the changes of the
    environment. The test fails if the function does. It is skipped, for the reason `why`, if the expression
    `excluded` is true there. Arguments are passed by their repr().
    """
    file = Path(function.__code__.co_filename)
    source = CHILD.format(
        excluded=excluded, folders=[str(file.parent), os.path.dirname(__file__)], name=file.stem,
        file=str(file), function=function.__name__, arguments=arguments,
    )  # fmt: skip
    (folder / "program.py").write_text(source)
    done = server.run(folder, environment(**changes), timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    if done.stdout.strip() == "skipped":
        pytest.skip(why)
    assert done.stderr == ""


@pytest.fixture(scope="session")
def loaded_fork_server(tmp_path_factory):
    """A server that forks processes with all modules imported that a file of tests imports."""
    modules = ["numpy.testing", "pytest", "pycuda.compiler", "pycuda.gpuarray"]
    server = ForkServer(tmp_path_factory.mktemp("fork_server"), environment(), modules)
    yield server
    server.close()


@pytest.fixture
def at_capability(loaded_fork_server, tmp_path):
    """A function that calls a function of a test file in a process of its own (call_in_child). The CPU device
    is set to the compute capability; on a GPU of a lower one the test is skipped.
    """

    def call(capability, function, *arguments):
        text = "{}.{}".format(*capability)
        call_in_child(
            loaded_fork_server, tmp_path, function, arguments,
            f"drv.Device(0).compute_capability() < {capability!r}", f"needs compute capability {text}",
            PYCUDA_CPU_COMPUTE_CAPABILITY=text,
        )  # fmt: skip

    return call


@pytest.fixture
def on_two_devices(loaded_fork_server, tmp_path):
    """A function that calls a function of a test file in a process of its own (call_in_child) that has two
    devices: the CPU device has two virtual ones; with one GPU the test is skipped. Keywords change its
    environment.
    """

    def call(function, *arguments, **changes):
        call_in_child(
            loaded_fork_server, tmp_path, function, arguments, "drv.Device.count() < 2",
            "needs two GPUs, some tests with peer access", PYCUDA_CPU_DEVICES="2", **changes,
        )  # fmt: skip

    return call


@pytest.fixture(scope="session")
def driver_library():
    """The path of the driver's library, NVIDIA's or the CPU device's."""
    return devices.driver_library()


@pytest.fixture(scope="session")
def cpu_device_library(driver_library):
    """The path of the CPU device's library, for tests that are marked for it alone."""
    return driver_library


@pytest.fixture(scope="session")
def nvcc():
    """The path of an nvcc that runs; the test is skipped without one. A wrapper script may exist without its
    toolkit, and with AddressSanitizer's runtime nvcc crashes.
    """
    if under_asan():
        pytest.skip("nvcc does not run under AddressSanitizer")
    path = find_nvcc("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if path is None or subprocess.run([path, "--version"], capture_output=True).returncode:
        pytest.skip("no nvcc that runs")
    return path


@pytest.fixture
def compiled(tmp_path):
    """A function that compiles C, which may include the project's headers, to a shared library, whose path it
    returns.
    """
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")

    def compile(source, *options):
        file, library = tmp_path / "library.c", tmp_path / "library.so"
        file.write_text(source)
        command = [compiler, f"-I{Path(__file__).parents[1]}", "-shared", "-fPIC", "-O1", *options]
        subprocess.run([*command, "-o", library, file], check=True)
        return str(library)

    return compile
