"""Processes of a part, a rank and a device each: by multiprocessing, or by mpiexec."""

import importlib
import json
import multiprocessing
import multiprocessing.connection
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

from common import HERE

from .setup import CannotRun

sys.path.append(str(HERE.parent / "tools"))

import mpi_launcher


def _rank(function, rank, count, barrier, pipe, arguments):
    try:
        pipe.send((True, function(rank, count, barrier, *arguments)))
    except BaseException:
        pipe.send((False, traceback.format_exc()))


def spawn(function, count, *arguments, seconds):
    """[function(rank, count, barrier, *arguments)] of `count` processes, which are ended when one of them
    fails or `seconds` are over: RuntimeError. barrier: of multiprocessing, for all of them.
    """
    context = multiprocessing.get_context("spawn")
    barrier, processes, waiting = context.Barrier(count), [], {}
    results = [None] * count
    try:
        for rank in range(count):
            mine, theirs = context.Pipe(duplex=False)
            task = function, rank, count, barrier, theirs, arguments
            processes.append(context.Process(target=_rank, args=task, daemon=True))
            processes[-1].start()
            theirs.close()
            waiting[mine] = rank
        while waiting:
            ready = multiprocessing.connection.wait([*waiting], timeout=seconds)
            if not ready:
                raise RuntimeError(f"{count} processes did not end in {seconds:.0f} s")
            for pipe in ready:
                rank = waiting.pop(pipe)
                try:
                    succeeded, results[rank] = pipe.recv()
                except EOFError:
                    raise RuntimeError(f"rank {rank} ended without a result") from None
                if not succeeded:
                    raise RuntimeError(f"rank {rank}: {results[rank]}")
        for process in processes:
            process.join(10)
        return results
    finally:
        for process in processes:
            process.kill()
            process.join()


def find_mpi():
    """(path of mpiexec, changes of the environment); CannotRun without one, or without mpi4py."""
    try:
        return mpi_launcher.find_mpi()
    except LookupError as reason:
        raise CannotRun(str(reason)) from None


def mpi(function, count, *arguments, seconds):
    """What function(world, *arguments) returns in rank 0 of `count` processes of mpiexec. function: of a
    module of this package; arguments and result: as JSON has them. RuntimeError if a process fails.
    """
    program, changes = find_mpi()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "result.json"
        task = json.dumps([function.__module__, function.__name__, str(out), arguments])
        command = [program, "-n", str(count), sys.executable, "-W", "ignore", "-m", "mpi4py"]
        command += [str(HERE / "scaling.py"), "--rank", task]
        with subprocess.Popen(
            command,
            env={**os.environ, **changes},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            try:
                output = process.communicate(timeout=seconds)[0]
            except subprocess.TimeoutExpired:
                process.terminate()
                raise RuntimeError(f"{count} MPI processes did not end in {seconds:.0f} s") from None
        if process.returncode or not out.exists():
            raise RuntimeError(f"mpiexec: {output[-2000:]}")
        return json.loads(out.read_text())


def mpi_rank(task):
    """What a process that mpi() started does."""
    from mpi4py import MPI

    module, name, out, arguments = json.loads(task)
    result = getattr(importlib.import_module(module), name)(MPI.COMM_WORLD, *arguments)
    if MPI.COMM_WORLD.rank == 0:
        Path(out).write_text(json.dumps(result))
