"""Requests of compilations, and the memory of this process for their results.

The modules that compile are imported when neither this memory nor a record (records.py) leads to the code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pycuda._base.bounded import make_room
from pycuda._base.driver_extras import CompileError

from . import arguments, cache, includes, records, target
from .files import absolute, passing
from .records import CompiledCode

if TYPE_CHECKING:
    from . import build

_ENVIRONMENT = ("PYCUDA_CACHE_DIR", "PYCUDA_DISABLE_CACHE", "PYCUDA_NVRTC", "PYCUDA_COMPILER")
_MAX_REMEMBERED = 512

# CompiledCode by _request_key(): a second identical request costs a look-up and a stat of each of the user's
# headers.
_memory: dict = {}


def _remember(key, compiled: CompiledCode) -> None:
    """Keep the code of a request, if it may be cached. The oldest ones are dropped."""
    if not compiled.cacheable:
        return
    make_room(_memory, _MAX_REMEMBERED)
    _memory[key] = compiled


def options_of_environment() -> list[str]:
    """What pycuda.compiler.DEFAULT_NVCC_FLAGS is at first."""
    return os.environ.get("PYCUDA_DEFAULT_NVCC_FLAGS", "").split()


def default_options() -> list[str]:
    """The options of calls without options. Programs set them as pycuda.compiler.DEFAULT_NVCC_FLAGS."""
    if "pycuda.compiler" not in sys.modules:
        return options_of_environment()
    from pycuda import compiler

    return compiler.DEFAULT_NVCC_FLAGS


def _is_debugging() -> bool:
    """Whether kernels are compiled for cuda-gdb. Programs set this as pycuda.driver.CUDA_DEBUGGING."""
    from pycuda import driver

    return driver.CUDA_DEBUGGING


def _request_key(kind: str, device, *asked) -> tuple:
    """Everything that the result of a request depends on, except the contents of files: the key of
    _memory."""
    here = None
    with passing:
        here = os.getcwd()  # what relative folders are relative to
    return kind, device, _is_debugging(), here, *asked, *map(os.environ.get, _ENVIRONMENT)


def _recall(key) -> CompiledCode | None:
    """The remembered code; None if there is none, or a file that it depends on has changed."""
    compiled = _memory.get(key)
    return compiled if compiled is not None and includes.unchanged(compiled.watched) else None


def _run(key, job: build.CompileJob, where: str | None, name: str) -> CompiledCode:
    """Compile the job, with debug information if kernels are compiled for cuda-gdb, and remember the code, in
    this process and by a record of this name in the folder `where`."""
    from . import build

    if _is_debugging():
        job = job._replace(keep=True, cache_dir=False, options=(*job.options, "-g", "-G"))
    compiled = build.run(job)
    if not job.keep and not cache.is_off(job.cache_dir):
        _remember(key, compiled)
        if where:
            records.write(where, name, compiled)
    return compiled


def _record_key(key: tuple, asked: tuple) -> tuple:
    """The key by which a request's record is named. It is without the working folder, its fourth item, if
    nothing can be relative to that: there are no include folders, and no options but macros and fmad."""
    is_anywhere = (
        isinstance(asked, Request)
        and not asked.include_dirs
        and all(option.startswith(("-D", "-fmad=", "--fmad=")) for option in asked.options)
    )
    return (*key[:3], None, *key[4:]) if is_anywhere else key


def remembered(
    kind: str, device, asked: tuple, cache_dir, make_job: Callable[[], build.CompileJob]
) -> CompiledCode:
    """The code that this process, or a record in the cache folder, has for the same request, if it is still
    valid; otherwise that of make_job(), compiled. kind and asked: what was requested, parts of the key;
    cache_dir: the argument of that name."""
    key = _request_key(kind, device, *asked)
    compiled = _recall(key)
    if compiled is not None:
        return compiled
    where = None if _is_debugging() else cache.folder(cache_dir)
    name = records.name_of(_record_key(key, asked), device) if where else ""
    compiled = records.read(where, name) if where else None
    if compiled is None:
        return _run(key, make_job(), where, name)
    _remember(key, compiled)
    return compiled


def _with_architecture(options, arch, code, device) -> tuple[str, ...]:
    """The options with -arch and -code added: of the arguments, or, if neither they nor the options have an
    architecture, with that of the device."""
    from .options import parse

    if arch is None and device is not None and parse(options).arch is None:
        arch = device.arch
    added = ["-arch", arch] if arch is not None else []
    return (*options, *added, *(["-code", code] if code is not None else []))


class Request(NamedTuple):
    """The arguments of SourceModule or compile(), under the names of their parameters. The types are those
    after checked().
    """

    source: str
    nvcc: str | None
    options: tuple[str, ...]
    keep: bool
    no_extern_c: bool
    arch: str | None
    code: str | None
    cache_dir: str | bool | None
    include_dirs: Sequence[str]
    target: str = "cubin"
    expressions: Sequence[str] = ()


def _job(request: Request, device) -> build.CompileJob:
    """The compilation that a request means on this device: with the source wrapped and all options added."""
    from . import build
    from .options import parse
    from .source import wrap

    folders = [absolute(folder) for folder in request.include_dirs]
    options = (*request.options, *(f"-I{folder}" for folder in folders), f"-I{build.DEVICE_HEADERS}")
    options = _with_architecture(options, request.arch, request.code, device)
    users = parse(options).folders
    text = wrap(
        request.source,
        extern_c=not request.no_extern_c,
        is_users=lambda name: includes.find(name[1:-1], users) is not None,
    )
    return build.CompileJob(
        text,
        options,
        request.target,
        request.nvcc,
        request.keep,
        request.cache_dir,
        device,
        request.source,
        tuple(request.expressions),
    )


def checked(request: Request) -> Request:
    """The request with its arguments converted to the types of Request. TypeError or ValueError for wrong
    ones."""
    source, nvcc, options, keep, no_extern_c, arch, code, cache_dir, include_dirs, kind, names = request
    arguments.target(kind)
    arguments.name(arch, "arch")
    arguments.name(code, "code")
    arguments.cache_folder(cache_dir)
    source, nvcc = arguments.source(source), arguments.command(nvcc)
    options = arguments.options(default_options() if options is None else options)
    folders = arguments.folders(include_dirs)
    names = arguments.options(names, "name_expressions")
    return Request(
        source, nvcc, options, bool(keep), bool(no_extern_c), arch, code, cache_dir, folders, kind, names
    )


def is_cached(request: Request) -> bool:
    """Whether compiled_code() of a checked request runs no compiler, as the code is remembered or in the
    cache. False for what cannot be compiled."""
    device = target.current()

    def only_cached():
        return _job(request, device)._replace(only_cached=True)

    try:
        remembered("wrapped", device, request, request.cache_dir, only_cached)
    except (cache.NotCached, CompileError):
        return False
    return True


def compiled_code(request: Request) -> CompiledCode:
    """The compiled code of a checked request."""
    device = target.current()
    try:
        return remembered("wrapped", device, request, request.cache_dir, lambda: _job(request, device))
    except CompileError as problem:  # frames of this package say nothing about the source
        raise problem.with_traceback(None) from problem.__cause__
