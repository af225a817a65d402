"""Kernels from CUDA C source, compiled at run time.

`SourceModule` is the usual way: source in, a module with `get_function` out. `compile` gives the code alone.
Sources are compiled in this process by NVRTC; nvcc is called only when it is named or when an option or a
header needs it. Compiled code is cached on disk.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

import pycuda.driver as drv
from pycuda._compile import arguments as _arguments
from pycuda._compile import build, cache, finder, includes, report
from pycuda._compile import nvcc as _nvcc_command
from pycuda._compile import options as _options
from pycuda._compile import source as _source
from pycuda._compile import target as _target

__all__ = [
    "DEFAULT_NVCC_FLAGS",
    "CudaModule",
    "DynamicModule",
    "DynamicSourceModule",
    "SourceModule",
    "compile",
    "compile_plain",
    "get_nvcc_version",
    "preprocess_source",
]

DEFAULT_NVCC_FLAGS: list[str] = os.environ.get("PYCUDA_DEFAULT_NVCC_FLAGS", "").split()

_ENVIRONMENT = ("PYCUDA_CACHE_DIR", "PYCUDA_DISABLE_CACHE", "PYCUDA_NVRTC", "PYCUDA_COMPILER")
_REMEMBERED = 512

# Requests of this process to their product: a second identical one costs a look-up and a stat of each header
# of the user's.
_memory: dict = {}


def get_nvcc_version(nvcc: str) -> str:
    """get_nvcc_version(nvcc) -> str: what `nvcc --version` prints. A UserWarning, and "", when it cannot be
    run.
    """
    path = finder.find_nvcc(_arguments.path(nvcc, "nvcc"))
    try:
        if path is None:
            raise OSError(f"no command {nvcc!r}")
        return _nvcc_command.version_text(path)
    except OSError as problem:
        report.warn(f"the version of {nvcc!r} is unknown: {problem}")
        return ""


def preprocess_source(source: str, options, nvcc: str) -> str:
    """preprocess_source(source, options, nvcc) -> str: the source after nvcc's preprocessor. CompileError
    when that fails.
    """
    source, options = _arguments.source(source), _arguments.options(options)
    path = finder.find_nvcc(_arguments.path(nvcc, "nvcc"))
    if path is None:
        raise report.nvcc_missing(nvcc, None)
    text, command, messages = _nvcc_command.preprocess(path, source, options)
    if text is None:
        raise drv.CompileError("the preprocessor failed", command, "", messages)
    return text


def _remember(key, product: build.Product) -> None:
    if not product.cacheable:
        return
    while len(_memory) >= _REMEMBERED:
        _memory.pop(next(iter(_memory)), None)
    _memory[key] = product


def _job_memory_key(kind, source, device, *arguments):
    try:
        here = os.getcwd()  # what relative folders are relative to
    except OSError:
        here = None
    return kind, source, device, drv.CUDA_DEBUGGING, here, *arguments, *map(os.environ.get, _ENVIRONMENT)


def _recall(key) -> build.Product | None:
    product = _memory.get(key)
    return product if product is not None and includes.unchanged(product.watched) else None


def _run(key, job: build.Job) -> build.Product:
    if drv.CUDA_DEBUGGING:
        job = job._replace(keep=True, cache_dir=False, options=(*job.options, "-g", "-G"))
    product = build.run(job)
    if not job.keep and not cache.is_off(job.cache_dir):
        _remember(key, product)
    return product


def compile_plain(source, options, keep, nvcc, cache_dir, target="cubin") -> bytes:
    """compile_plain(source, options, keep, nvcc, cache_dir, target="cubin") -> bytes

    Compile source as it stands, with these options and no others: no extern "C", no architecture but one
    among the options.
    """
    source, options, nvcc = (
        _arguments.source(source),
        _arguments.options(options),
        _arguments.path(nvcc, "nvcc"),
    )
    _arguments.target(target)
    _arguments.cache_folder(cache_dir)
    device = _target.current()
    key = _job_memory_key("plain", source, device, options, bool(keep), nvcc, cache_dir, target)
    job = build.Job(source, options, target, nvcc, bool(keep), cache_dir, device)
    return (_recall(key) or _run(key, job)).code


def _with_architecture(options, arch, code, device) -> tuple[str, ...]:
    """Options with the -arch and -code that the arguments, or the device, ask for."""
    if arch is None and device is not None and _options.parse(options).arch is None:
        arch = device.arch
    added = ["-arch", arch] if arch is not None else []
    return (*options, *added, *(["-code", code] if code is not None else []))


class _Request(NamedTuple):
    """What SourceModule and compile are asked for, under the names of their parameters; as _checked returns it."""

    source: str
    nvcc: str
    options: Sequence[str]
    keep: bool
    no_extern_c: bool
    arch: str | None
    code: str | None
    cache_dir: str | bool | None
    include_dirs: Sequence[str]
    target: str = "cubin"


def _job(request: _Request, device) -> build.Job:
    folders = [os.path.abspath(folder) for folder in request.include_dirs]
    options = (*request.options, *(f"-I{folder}" for folder in folders), f"-I{build.DEVICE_HEADERS}")
    options = _with_architecture(options, request.arch, request.code, device)
    users = _options.parse(options).folders
    text = _source.wrap(
        request.source,
        extern_c=not request.no_extern_c,
        is_users=lambda name: includes.find(name[1:-1], users) is not None,
    )
    return build.Job(
        text,
        options,
        request.target,
        request.nvcc,
        request.keep,
        request.cache_dir,
        device,
        request.source,
    )


def _checked(request: _Request) -> _Request:
    """The request with each argument of the type that the rest works with. TypeError or ValueError."""
    source, nvcc, options, keep, no_extern_c, arch, code, cache_dir, include_dirs, target = request
    _arguments.target(target)
    _arguments.name(arch, "arch")
    _arguments.name(code, "code")
    _arguments.cache_folder(cache_dir)
    source, nvcc = _arguments.source(source), _arguments.path(nvcc, "nvcc")
    options = _arguments.options(DEFAULT_NVCC_FLAGS if options is None else options)
    folders = _arguments.folders(include_dirs)
    return _Request(
        source, nvcc, options, bool(keep), bool(no_extern_c), arch, code, cache_dir, folders, target
    )


def _compile(request: _Request) -> build.Product:
    request = _checked(request)
    device = _target.current()
    key = _job_memory_key("wrapped", request.source, device, *request[1:])
    return _recall(key) or _run(key, _job(request, device))


def compile(
    source,
    nvcc="nvcc",
    options=None,
    keep=False,
    no_extern_c=False,
    arch=None,
    code=None,
    cache_dir=None,
    include_dirs=None,
    target="cubin",
) -> bytes:
    """compile(source, nvcc="nvcc", options=None, keep=False, no_extern_c=False, arch=None, code=None,
    cache_dir=None, include_dirs=None, target="cubin") -> bytes

    Compile as SourceModule does and return the code, unloaded. target is "cubin" (machine code), "ptx" or
    "fatbin" (by nvcc). On the CPU device, which loads PTX, "cubin" gives PTX text; so does a virtual arch
    such as "compute_75". CompileError when it does not compile.
    """
    return _compile(
        _Request(source, nvcc, options, keep, no_extern_c, arch, code, cache_dir, include_dirs, target)
    ).code


def _dotted(version) -> str:
    return ".".join(map(str, version))


class CudaModule:
    """What modules made from source have in common. `module` is the pycuda.driver.Module."""

    module: drv.Module | None = None

    def _loaded(self):
        if self.module is None:
            raise drv.LogicError("the module is not linked yet: call link() first")
        return self.module

    def get_function(self, name):
        """get_function(name) -> pycuda.driver.Function. LogicError when the module has no kernel of that name
        (cuModuleGetFunction).
        """
        return self._loaded().get_function(name)

    def get_global(self, name):
        """get_global(name) -> (address, size in bytes) of a __device__ or __constant__ variable
        (cuModuleGetGlobal).
        """
        return self._loaded().get_global(name)

    def get_texref(self, name):
        """get_texref(name) -> pycuda.driver.TextureReference: the texture<> of that name. LogicError when
        the module has none.
        """
        return self._loaded().get_texref(name)

    def get_surfref(self, name):
        """get_surfref(name) -> pycuda.driver.SurfaceReference: the surface<> of that name. LogicError when
        the module has none.
        """
        return self._loaded().get_surfref(name)

    def _warn_of_arch(self, arch) -> None:
        wanted, device = _options.capability(arch), _target.current()
        if wanted and device and wanted > device.capability:
            report.warn(
                f"trying to compile for the architecture {arch}, which the device (compute capability "
                f"{_dotted(device.capability)}) may not run"
            )


def _load(product: build.Product, options):
    """The module of this code. A failure says so when the compiler was newer than the driver."""
    device = _target.current()
    # PTX has no word for the limit of a whole text: the driver's compiler is asked.
    limit = _options.register_limit(options) if device is not None and device.takes_ptx else None
    try:
        return drv.module_from_buffer(product.code, [(drv.jit_option.MAX_REGISTERS, limit)] if limit else [])
    except drv.Error as problem:
        if product.compiler and device and not device.takes_ptx and product.compiler > device.driver:
            problem.args = (
                f"{problem} - compiled by NVRTC {_dotted(product.compiler)}, newer than the driver's CUDA "
                f"{_dotted(device.driver)}: pip install pycuda[cu{device.driver[0]}] has one that fits",
            )
        raise


class SourceModule(CudaModule):
    """SourceModule(source, nvcc="nvcc", options=None, keep=False, no_extern_c=False, arch=None, code=None,
    cache_dir=None, include_dirs=None)

    The CUDA C source compiled and loaded into the current context. Unless no_extern_c is true it is wrapped
    in extern "C", so that kernels keep their names; options are nvcc's (a sequence of str, or one str for one
    option; None stands for DEFAULT_NVCC_FLAGS); include_dirs is a sequence of folders, or one; arch defaults
    to the device's; keep leaves the compiler's files in a folder and prints "*** compiler output in" and its
    path; cache_dir names the cache folder, False means none. CompileError when the source does not compile;
    it carries the compiler's messages with the lines of source.
    """

    def __init__(
        self,
        source,
        nvcc="nvcc",
        options=None,
        keep=False,
        no_extern_c=False,
        arch=None,
        code=None,
        cache_dir=None,
        include_dirs=None,
    ):
        _arguments.name(arch, "arch")
        if arch is not None:
            self._warn_of_arch(arch)
        request = _Request(source, nvcc, options, keep, no_extern_c, arch, code, cache_dir, include_dirs)
        self.module = _load(_compile(request), DEFAULT_NVCC_FLAGS if options is None else options)


class DynamicModule(CudaModule):
    """DynamicModule(nvcc="nvcc", link_options=None, keep=False, no_extern_c=False, arch=None, code=None,
    cache_dir=None, include_dirs=None, message_handler=None, log_verbose=False, cuda_libdir=None)

    A module linked at run time from several sources, objects and libraries: add_*() in any order, then
    link().
    """

    def __init__(
        self,
        nvcc="nvcc",
        link_options=None,
        keep=False,
        no_extern_c=False,
        arch=None,
        code=None,
        cache_dir=None,
        include_dirs=None,
        message_handler=None,
        log_verbose=False,
        cuda_libdir=None,
    ):
        _arguments.path(nvcc, "nvcc")
        _arguments.name(arch, "arch")
        _arguments.name(code, "code")
        _arguments.cache_folder(cache_dir)
        cuda_libdir = None if cuda_libdir is None else _arguments.path(cuda_libdir, "cuda_libdir")
        device = _target.current()
        if device is not None and device.capability < (3, 5):
            raise RuntimeError(
                "linking at run time needs compute capability 3.5 or later, the device has "
                + _dotted(device.capability)
            )
        self.linker = drv.Linker(message_handler, link_options, log_verbose)
        self.module = None
        self.nvcc, self.keep, self.no_extern_c = nvcc, keep, no_extern_c
        self.arch, self.code = arch, code
        self.cache_dir, self.include_dirs = cache_dir, list(_arguments.folders(include_dirs))
        self.cuda_libdir, self.libdir, self.libptn = cuda_libdir, None, "lib%s.a"
        if arch is not None:
            self._warn_of_arch(arch)

    def _open_linker(self):
        if self.linker is None:
            raise drv.LogicError("the module is linked already: nothing can be added")
        return self.linker

    def add_source(self, source, nvcc_options=None, name="kernel.ptx"):
        """add_source(source, nvcc_options=None, name="kernel.ptx") -> self: compile to PTX and add it."""
        linker = self._open_linker()
        request = _Request(
            source, self.nvcc, nvcc_options, self.keep, self.no_extern_c, self.arch, self.code,
            self.cache_dir, self.include_dirs, "ptx",
        )  # fmt: skip
        linker.add_data(_compile(request).code, drv.jit_input_type.PTX, name)
        return self

    def add_data(self, data, input_type, name="unknown"):
        """add_data(data, input_type, name="unknown") -> self: add bytes of a jit_input_type."""
        self._open_linker().add_data(data, input_type, name)
        return self

    def add_file(self, filename, input_type):
        """add_file(filename, input_type) -> self: add a file of a jit_input_type."""
        self._open_linker().add_file(filename, input_type)
        return self

    def add_stdlib(self, libname):
        """add_stdlib(libname) -> self: add a static library of the toolkit, such as "cudadevrt". OSError when
        it is not found. The CPU device, which takes no libraries, has what cudadevrt holds of its own.
        """
        device = _target.current()
        if libname == "cudadevrt" and device is not None and device.takes_ptx:
            return self
        if self.libdir is None:
            self.libdir = _library_folder(self.cuda_libdir, self.nvcc, self.libptn)
        path = os.path.join(self.libdir, self.libptn % libname)
        if not os.path.isfile(path):
            raise OSError(f"{path}: no such library")
        return self.add_file(path, drv.jit_input_type.LIBRARY)

    def link(self):
        """link() -> self: link what was added and load it; then the getters work."""
        self.module = self._open_linker().link_module()
        self.linker = None
        return self


def _library_folders(cuda_libdir, nvcc):
    """Places of the toolkit's static libraries, the preferred first."""
    if cuda_libdir is not None:
        yield cuda_libdir
    for name in ("CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(name):
            yield os.path.join(os.environ[name], "lib64")
    yield from filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep))
    compiler, _ = finder.find_nvrtc(None, cache.folder(None))
    if compiler is not None:
        yield os.path.dirname(os.path.realpath(compiler.path))
        yield os.path.dirname(compiler.path)
    yield "/usr/lib/x86_64-linux-gnu"
    path = finder.find_nvcc(nvcc)
    if path:
        yield os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(path))), "lib64")
    yield "/usr/local/cuda/lib64"


def _library_folder(cuda_libdir, nvcc, pattern) -> str:
    """The folder of cudadevrt. RuntimeError when there is none."""
    for folder in _library_folders(cuda_libdir, nvcc):
        if os.path.isfile(os.path.join(folder, pattern % "cudadevrt")):
            return folder
    raise RuntimeError("the folder of CUDA's static libraries was not found: cuda_libdir names it")


class DynamicSourceModule(DynamicModule):
    """DynamicSourceModule(source, nvcc="nvcc", options=None, ..., include_dirs=None, cuda_libdir=None)

    A SourceModule whose kernels may launch kernels: compiled with -rdc=true and linked with cudadevrt.
    """

    def __init__(
        self,
        source,
        nvcc="nvcc",
        options=None,
        keep=False,
        no_extern_c=False,
        arch=None,
        code=None,
        cache_dir=None,
        include_dirs=None,
        cuda_libdir=None,
    ):
        super().__init__(
            nvcc=nvcc,
            keep=keep,
            no_extern_c=no_extern_c,
            arch=arch,
            code=code,
            cache_dir=cache_dir,
            include_dirs=include_dirs,
            cuda_libdir=cuda_libdir,
        )
        options = list(_arguments.options(DEFAULT_NVCC_FLAGS if options is None else options))
        if not any(re.match(r"--?(rdc|relocatable-device-code)", option) for option in options):
            options.append("-rdc=true")
        if "-lcudadevrt" not in options:
            options.append("-lcudadevrt")
        self.add_source(source, nvcc_options=options)
        self.add_stdlib("cudadevrt")
        self.link()
