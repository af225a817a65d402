"""Requests of compilations, and the memory of this process for their results."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from pycuda._base.driver_extras import CompileError

from . import arguments, build, cache, includes, target
from .files import absolute, passing
from .options import parse
from .source import wrap

_ENVIRONMENT = ("PYCUDA_CACHE_DIR", "PYCUDA_DISABLE_CACHE", "PYCUDA_NVRTC", "PYCUDA_COMPILER")
_MAX_REMEMBERED = 512

# CompiledCode by _request_key(): a second identical request costs a look-up and a stat of each of the user's
# headers.
_memory: dict = {}


def _remember(key, compiled: build.CompiledCode) -> None:
    """Keep the code of a request, if it may be cached. The oldest ones are dropped."""
    if not compiled.cacheable:
        return
    while len(_memory) >= _MAX_REMEMBERED:
        _memory.pop(next(iter(_memory)), None)
    _memory[key] = compiled


def default_options() -> list[str]:
    """The options of calls without options. Programs set them as pycuda.compiler.DEFAULT_NVCC_FLAGS."""
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


def _recall(key) -> build.CompiledCode | None:
    """The remembered code; None if there is none, or a file that it depends on has changed."""
    compiled = _memory.get(key)
    return compiled if compiled is not None and includes.unchanged(compiled.watched) else None


def _run(key, job: build.CompileJob) -> build.CompiledCode:
    """Compile the job, with debug information if kernels are compiled for cuda-gdb, and remember the code."""
    if _is_debugging():
        job = job._replace(keep=True, cache_dir=False, options=(*job.options, "-g", "-G"))
    compiled = build.run(job)
    if not job.keep and not cache.is_off(job.cache_dir):
        _remember(key, compiled)
    return compiled


def remembered(
    kind: str, device, asked: tuple, make_job: Callable[[], build.CompileJob]
) -> build.CompiledCode:
    """The code that this process remembers for the same request, if it is still valid; otherwise that of
    make_job(), compiled. kind and asked: what was requested, parts of the key."""
    key = _request_key(kind, device, *asked)
    return _recall(key) or _run(key, make_job())


def _with_architecture(options, arch, code, device) -> tuple[str, ...]:
    """The options with -arch and -code added: of the arguments, or, if neither they nor the options have an
    architecture, with that of the device."""
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


def compiled_code(request: Request) -> build.CompiledCode:
    """The compiled code of a checked request."""
    device = target.current()
    try:
        return remembered("wrapped", device, request, lambda: _job(request, device))
    except CompileError as problem:  # frames of this package say nothing about the source
        raise problem.with_traceback(None) from problem.__cause__
