"""The server's side: `site` imports this after the search path is complete and before the main program is
opened. A fork returns from it and goes on to that program; the server itself never returns.
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
    """Returns in the forked process."""
    for module in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    # No program looks for garbage among these objects, at its end either: their pages would be copied.
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=descriptor) as client:
        while True:
            message, ends, _, _ = socket.recv_fds(client, 1 << 20, 2)
            if not message:
                os._exit(0)
            program = os.fork()
            if program == 0:
                _become(ends, **json.loads(message))
                return
            for end in ends:
                os.close(end)
            client.send(str(program).encode())
            client.send(str(os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])).encode())


def _become(ends, env, folder):
    for end, standard in zip(ends, (1, 2), strict=True):
        os.dup2(end, standard)
        os.close(end)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    # A main module that the end of the interpreter collects, as it does not what is frozen.
    main = types.ModuleType("__main__")
    main.__dict__.update(sys.modules["__main__"].__dict__)
    sys.modules["__main__"] = main


sys.path.remove(os.path.dirname(__file__))
_serve(*(lambda descriptor, *modules: (descriptor, modules))(*json.loads(os.environ["FORK_SERVER"])))
