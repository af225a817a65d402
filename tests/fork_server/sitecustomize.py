"""The process that forks for ForkServer. `site` imports this module when the search path is complete, before
the main program is opened. In a fork the import returns, and the interpreter goes on to the main program; in
the server it never returns.
"""

import contextlib
import gc
import importlib
import json
import os
import socket
import sys
import types


def _serve(descriptor, modules):
    """Fork for each request of the socket. Returns in the forks only; the server exits from here.

    A request is JSON with the keyword arguments of _become() and, passed with it, the write ends of two
    pipes.
    """
    for module in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    # Frozen objects are never searched for garbage. A search would write to their reference counts, and so
    # copy the pages that the forks share with the server.
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=descriptor) as client:
        while True:
            message, ends, _, _ = socket.recv_fds(client, 1 << 20, 2)
            if not message:
                os._exit(0)
            process_id = os.fork()
            if process_id == 0:
                _become(ends, **json.loads(message))
                return
            for end in ends:
                os.close(end)
            client.send(str(process_id).encode())
            _, status = os.waitpid(process_id, 0)
            client.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(ends, env, folder):
    """Make of this fork the process of a program: its output pipes, environment and current folder."""
    for end, standard in zip(ends, (1, 2), strict=True):
        os.dup2(end, standard)
        os.close(end)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    # The server's `__main__` is frozen, so its objects would not be collected when the interpreter ends.
    main = types.ModuleType("__main__")
    main.__dict__.update(sys.modules["__main__"].__dict__)
    sys.modules["__main__"] = main


sys.path.remove(os.path.dirname(__file__))
_descriptor, *_modules = json.loads(os.environ["FORK_SERVER"])
_serve(_descriptor, _modules)
