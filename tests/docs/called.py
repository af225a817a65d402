"""Calls functions of a library of the CPU device, each in a process of its own, and prints as JSON {name:
[result, the driver's log]}.

Arguments: the library, JSON of {name: arguments, or [] for zeros}, the driver, whether a context is current.
"""

import ctypes
import json
import os
import signal
import struct
import sys

ZEROS = [0] * 14
SECONDS = 20  # for one call


def log_of(driver):
    """The text of the driver's log, of which cuLogsDumpToMemory gives the newest entries that fit."""
    size = ctypes.c_size_t(4096)
    text = ctypes.create_string_buffer(size.value)
    driver.cuLogsDumpToMemory(None, text, ctypes.byref(size), 0)
    return text.value.decode()


def value_of(argument, driver):
    """An argument as ctypes takes it: "pid", "room" to write to, "memory" of a device, or a number."""
    if argument == "room":
        return ctypes.create_string_buffer(256)
    if argument == "memory":
        address = ctypes.c_void_p()
        driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 << 20))  # without a context: NULL
        return address
    return ctypes.c_void_p(os.getpid() if argument == "pid" else argument)


def called(library, name, arguments, driver_path, with_context):
    """(result, log). The CPU device starts in this process: it does not survive a fork."""
    driver, context = ctypes.CDLL(driver_path), ctypes.c_void_p()
    if with_context:
        assert driver.cuInit(0) == 0 and driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
    function = getattr(ctypes.CDLL(library), name)
    function.restype = ctypes.c_uint
    return function(*[value_of(argument, driver) for argument in arguments]), log_of(driver)


def in_process(*arguments):
    """What called() returns; a result of None if the process has died or hangs."""
    out, into = os.pipe()
    child = os.fork()
    if not child:
        os.close(out)
        signal.alarm(SECONDS)
        result, log = called(*arguments)
        os.write(into, struct.pack("I", result) + log.encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as file:
        data = file.read()
    os.waitpid(child, 0)
    return (*struct.unpack("I", data[:4]), data[4:].decode()) if data else (None, "")


if __name__ == "__main__":
    library, names, driver, with_context = sys.argv[1:]
    print(
        json.dumps(
            {
                name: in_process(library, name, arguments or ZEROS, driver, with_context == "True")
                for name, arguments in json.loads(names).items()
            }
        )
    )
