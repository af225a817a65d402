"""The calls for checkpoints of processes; their results are those of an H100's driver (580)."""

import ctypes
import os
import subprocess
import sys
from ctypes import byref, c_int

import pytest

SUCCESS, INVALID_VALUE, NOT_INITIALIZED = 0, 1, 3
OPERATING_SYSTEM, ILLEGAL_STATE, NOT_SUPPORTED = 304, 401, 801
RUNNING = 0  # CU_PROCESS_STATE_RUNNING


@pytest.fixture
def cuda(primary_context, driver_library):
    return ctypes.CDLL(driver_library)


def call(cuda, name, process, args=None):
    """The result of cuCheckpointProcess<name> for the process of that id."""
    return getattr(cuda, "cuCheckpointProcess" + name)(process, args)


def test_this_process_is_running(cuda):
    """Its state is RUNNING; a query without a place for the answer is an error."""
    state = c_int(-1)
    assert call(cuda, "GetState", os.getpid(), byref(state)) == SUCCESS
    assert state.value == RUNNING
    assert call(cuda, "GetState", os.getpid()) == INVALID_VALUE
    assert call(cuda, "GetRestoreThreadId", os.getpid()) == INVALID_VALUE


@pytest.mark.parametrize("name", ["Checkpoint", "Restore", "Unlock"])
def test_calls_on_a_process_that_is_not_locked_are_refused(cuda, name):
    assert call(cuda, name, os.getpid()) == ILLEGAL_STATE


@pytest.mark.parametrize(
    "name", ["GetState", "GetRestoreThreadId", "Lock", "Checkpoint", "Restore", "Unlock"]
)
def test_other_processes_are_refused(cuda, name):
    """A process without CUDA has another error than one that has ended or never was."""
    args = byref(c_int()) if name.startswith("Get") else None
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        assert call(cuda, name, other.pid, args) == NOT_INITIALIZED
        other.communicate(b"\n")
    assert call(cuda, name, other.pid, args) == call(cuda, name, 0, args) == OPERATING_SYSTEM


@pytest.mark.parametrize("name, zeros", [("Lock", 4), ("Unlock", 0)])
def test_reserved_arguments_must_be_zero(cuda, name, zeros):
    """Lock's arguments begin with a timeout of 4 bytes, all others are reserved."""
    args = ctypes.create_string_buffer(bytes(zeros) + b"\1", 64)
    assert call(cuda, name, os.getppid(), args) == INVALID_VALUE


@pytest.mark.cpu("a GPU's driver locks the process")
def test_locks_are_refused(cuda):
    assert call(cuda, "Lock", os.getpid()) == NOT_SUPPORTED
    assert call(cuda, "GetRestoreThreadId", os.getpid(), byref(c_int())) == NOT_SUPPORTED
