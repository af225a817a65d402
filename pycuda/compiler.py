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
from pycuda._compile import build, cache, finder, includes, libraries, report, symbols
from pycuda._compile import nvcc as _nvcc_command
from pycuda._compile import options as _options
from pycuda._compile import signatures as _signatures
from pycuda._compile import source as _source
from pycuda._compile import target as _target
from pycuda._compile.files import absolute, is_of_system, passing

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


def __dir__() -> list[str]:
    return __all__


DEFAULT_NVCC_FLAGS: list[str] = os.environ.get("PYCUDA_DEFAULT_NVCC_FLAGS", "").split()

_ENVIRONMENT = ("PYCUDA_CACHE_DIR", "PYCUDA_DISABLE_CACHE", "PYCUDA_NVRTC", "PYCUDA_COMPILER")
_REMEMBERED = 512
_PLAIN_NAME = re.compile(r"[\w.$]*")

# Requests of this process to their product: a second identical one costs a look-up and a stat of each header
# of the user's.
_memory: dict = {}


def get_nvcc_version(nvcc: str) -> str:
    """What ``nvcc --version`` prints.

    Parameters
    ----------
    nvcc : str
        The command.

    Returns
    -------
    str
        Empty, with a UserWarning, when it cannot be run.
    """
    path = finder.find_nvcc(_arguments.path(nvcc, "nvcc"))
    try:
        if path is None:
            raise OSError(f"no command {nvcc!r}")
        return _nvcc_command.version_text(path)
    except OSError as problem:
        if not is_of_system(problem):
            raise
        report.warn(f"the version of {nvcc!r} is unknown: {problem}")
        return ""


def _find_nvcc_on_path() -> str | None:
    """For programs that use PyCUDA's own name: the path of nvcc, or None."""
    return finder.find_nvcc("nvcc")


def _find_pycuda_include_path() -> str:
    """The same: the folder of the headers for kernels."""
    return build.DEVICE_HEADERS


def _new_md5():
    """The same: a new hash, as hashlib.md5() makes it."""
    import hashlib

    return hashlib.md5(usedforsecurity=False)


def preprocess_source(source: str, options, nvcc: str) -> str:
    """The source after nvcc's preprocessor.

    Parameters
    ----------
    source : str
    options : sequence of str
    nvcc : str
        The command.

    Returns
    -------
    str

    Raises
    ------
    CompileError
        The preprocessor failed.
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
    here = None
    with passing:
        here = os.getcwd()  # what relative folders are relative to
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
    """Compile a source as it stands: no extern "C", no architecture but one among the
    options.

    Parameters
    ----------
    source : str
    options : sequence of str
    keep : bool
        Leave the compiler's files in a folder and print its path.
    nvcc : str
        The command.
    cache_dir : str or False
        The cache folder; False is none.
    target : {"cubin", "ptx", "fatbin"}

    Returns
    -------
    bytes

    Raises
    ------
    CompileError
        The source does not compile.
    """
    source, options, nvcc = (
        _arguments.source(source),
        _arguments.options(options),
        _arguments.command(nvcc),
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
    """What SourceModule and compile are requested, under the names of their parameters, as _checked returns
    it.
    """

    source: str
    nvcc: str | None
    options: Sequence[str]
    keep: bool
    no_extern_c: bool
    arch: str | None
    code: str | None
    cache_dir: str | bool | None
    include_dirs: Sequence[str]
    target: str = "cubin"
    expressions: Sequence[str] = ()


def _job(request: _Request, device) -> build.Job:
    folders = [absolute(folder) for folder in request.include_dirs]
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
        tuple(request.expressions),
    )


def _checked(request: _Request) -> _Request:
    """The request with each argument of the type that the rest works with. TypeError or ValueError."""
    source, nvcc, options, keep, no_extern_c, arch, code, cache_dir, include_dirs, target, names = request
    _arguments.target(target)
    _arguments.name(arch, "arch")
    _arguments.name(code, "code")
    _arguments.cache_folder(cache_dir)
    source, nvcc = _arguments.source(source), _arguments.command(nvcc)
    options = _arguments.options(DEFAULT_NVCC_FLAGS if options is None else options)
    folders = _arguments.folders(include_dirs)
    names = _arguments.options(names, "name_expressions")
    return _Request(
        source, nvcc, options, bool(keep), bool(no_extern_c), arch, code, cache_dir, folders, target, names
    )


def _compile(request: _Request) -> build.Product:
    return _product(_checked(request))


def _product(request: _Request) -> build.Product:
    device = _target.current()
    key = _job_memory_key("wrapped", request.source, device, *request[1:])
    try:
        return _recall(key) or _run(key, _job(request, device))
    except drv.CompileError as problem:  # what went on in here says nothing about the source
        raise problem.with_traceback(None) from problem.__cause__


def compile(
    source,
    nvcc=_arguments.NVCC,
    options=None,
    keep=False,
    no_extern_c=False,
    arch=None,
    code=None,
    cache_dir=None,
    include_dirs=None,
    target="cubin",
) -> bytes:
    """Compile as SourceModule does and return the code.

    Parameters
    ----------
    source : str or bytes
        CUDA C.
    nvcc : str
        The command to run in place of NVRTC. By default NVRTC compiles; so it does for "nvcc"
        where there is no such command.
    options : sequence of str
        nvcc's; None is DEFAULT_NVCC_FLAGS.
    keep : bool
        Leave the compiler's files in a folder and print its path.
    no_extern_c : bool
        Do not wrap the source in extern "C".
    arch : str
        For instance "sm_90"; None is the device's.
    code : str
        As nvcc's -code.
    cache_dir : str or False
        The cache folder; False is none.
    include_dirs : sequence of str
    target : {"cubin", "ptx", "fatbin"}
        On the CPU device, which loads PTX, "cubin" gives PTX; so does a virtual arch such
        as "compute_75". "fatbin" is nvcc's.

    Returns
    -------
    bytes

    Raises
    ------
    CompileError
        The source does not compile.
    """
    return _compile(
        _Request(source, nvcc, options, keep, no_extern_c, arch, code, cache_dir, include_dirs, target)
    ).code


def _dotted(version) -> str:
    return ".".join(map(str, version))


class CudaModule:
    """What modules made from source have in common.

    Attributes
    ----------
    module : pycuda.driver.Module
        What was loaded.
    """

    module: drv.Module | None = None
    _request: _Request | None = None  # what it was made from, where that is known
    _code = b""
    _names: dict[str, str] | None = None  # of what C++ expressions name, by squeezed ones

    def _loaded(self):
        if self.module is None:
            raise drv.LogicError("the module is not linked yet: call link() first")
        return self.module

    def _in_code(self, name):
        """What a kernel or a variable is called in the code."""
        if not self._names or not isinstance(name, str):
            return name
        squeezed = symbols.squeezed(name)
        return self._names.get(squeezed) or self._names.get("&" + squeezed) or name

    def get_function(self, name):
        """Find a kernel of the module.

        Parameters
        ----------
        name : str

        Returns
        -------
        pycuda.driver.Function

        Raises
        ------
        LogicError
            The module has no kernel of this name.

        Notes
        -----
        Calls cuModuleGetFunction.
        """
        function = self._loaded().get_function(self._in_code(name))
        if self._request:
            function._note_types(_signatures.reader(self._request.source, self._request.options, name))
        return function

    def get_global(self, name):
        """Find a __device__ or __constant__ variable of the module.

        Parameters
        ----------
        name : str

        Returns
        -------
        (address, size) : tuple of int
            The device address and the size in bytes.

        Raises
        ------
        LogicError
            The module has no variable of this name.

        Notes
        -----
        Calls cuModuleGetGlobal.
        """
        try:
            return self._loaded().get_global(self._in_code(name))
        except drv.LogicError as problem:
            known = symbols.variables(self._code)
            if known:
                problem.args = (f"{problem}; the module's variables are: {', '.join(known)}",)
            raise

    def get_texref(self, name):
        """Find a ``texture<>`` variable of the module.

        Parameters
        ----------
        name : str

        Returns
        -------
        pycuda.driver.TextureReference

        Raises
        ------
        LogicError
            The module has no texture of this name.
        """
        return self._loaded().get_texref(self._in_code(name))

    def get_surfref(self, name):
        """Find a ``surface<>`` variable of the module.

        Parameters
        ----------
        name : str

        Returns
        -------
        pycuda.driver.SurfaceReference

        Raises
        ------
        LogicError
            The module has no surface of this name.
        """
        return self._loaded().get_surfref(self._in_code(name))

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
    # PTX has no directive for a limit on registers of a module: it is an option of the driver's compiler.
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
    """CUDA C compiled and loaded into the current context.

    Parameters
    ----------
    source : str or bytes
        Wrapped in extern "C", so that kernels keep their names, unless no_extern_c is
        true.
    nvcc : str
        The command to run in place of NVRTC. By default NVRTC compiles; so it does for "nvcc"
        where there is no such command.
    options : sequence of str, or str
        nvcc's; None is DEFAULT_NVCC_FLAGS.
    keep : bool
        Leave the compiler's files in a folder and print ``*** compiler output in`` and its
        path.
    no_extern_c : bool
    arch : str
        For instance "sm_90"; None is the device's.
    code : str
        As nvcc's -code.
    cache_dir : str or False
        The cache folder; False is none.
    include_dirs : sequence of str, or str
    name_expressions : sequence of str
        C++ names, ``"scale<float>"`` or ``"(void (*)(int *))add"``, by which get_function
        finds kernels, and get_global variables; templates are instantiated.

    Raises
    ------
    CompileError
        The source does not compile; the message has the compiler's messages with the
        lines of source.
    """

    def __init__(
        self,
        source,
        nvcc=_arguments.NVCC,
        options=None,
        keep=False,
        no_extern_c=False,
        arch=None,
        code=None,
        cache_dir=None,
        include_dirs=None,
        name_expressions=(),
    ):
        _arguments.name(arch, "arch")
        if arch is not None:
            self._warn_of_arch(arch)
        self._request = _checked(
            _Request(
                source, nvcc, options, keep, no_extern_c, arch, code, cache_dir, include_dirs,
                expressions=name_expressions,
            )
        )  # fmt: skip
        product = _product(self._request)
        self.module, self._code = _load(product, self._request.options), product.code
        self._names = symbols.by_expression(self._request.expressions, product.names)
        self._instances: dict = {}

    def get_function(self, name):
        """Find a kernel of the module.

        Parameters
        ----------
        name : str
            Also a C++ name: ``"scale<float>"``, ``"space::kernel"``,
            ``"(void (*)(int *))add"``. One that is not in name_expressions is compiled for
            when it is first requested.

        Returns
        -------
        pycuda.driver.Function

        Raises
        ------
        LogicError
            The module has no kernel of this name; or it is an instance of a template that
            is not in name_expressions, and the source has variables of its own, which
            would be there twice.

        Notes
        -----
        Calls cuModuleGetFunction.
        """
        if not isinstance(name, str) or _PLAIN_NAME.fullmatch(name) or self._in_code(name) != name:
            return super().get_function(name)
        squeezed = symbols.squeezed(name)
        if squeezed not in self._instances:
            self._instances[squeezed] = self._instance(name)
        module, in_code = self._instances[squeezed]
        return module.get_function(in_code)

    def _instance(self, name: str):
        """(a module that has the kernel of this C++ name, what it is called there)."""
        assert self._request is not None
        request = self._request._replace(expressions=(name,))
        try:
            product = _product(request)
        except drv.CompileError as problem:
            raise drv.LogicError(f"there is no kernel {name!r}: {problem}") from None
        (in_code,) = product.names
        if in_code in symbols.kernels(self._code):
            return self.module, in_code
        variables = symbols.variables(product.code)
        if variables:
            raise drv.LogicError(
                f"{name} is not in the module, and in another one it would have variables of its own "
                f"({', '.join(variables)}): SourceModule(..., name_expressions=[{name!r}]) puts it in"
            )
        return _load(product, request.options), in_code


class DynamicModule(CudaModule):
    """A module linked at run time from several sources, objects and libraries: add them in
    any order, then link().

    Parameters
    ----------
    nvcc : str
        As in SourceModule.
    link_options : iterable of (jit_option, int)
    keep, no_extern_c : bool
        As in SourceModule.
    arch, code : str
        As in SourceModule.
    cache_dir : str or False
        As in SourceModule.
    include_dirs : sequence of str
        As in SourceModule.
    message_handler : callable
        As in pycuda.driver.Linker.
    log_verbose : bool
        As in pycuda.driver.Linker.
    cuda_libdir : str
        The folder of the toolkit's libraries.
    """

    def __init__(
        self,
        nvcc=_arguments.NVCC,
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
        """Compile a source to PTX and add it.

        Parameters
        ----------
        source : str or bytes
        nvcc_options : sequence of str
        name : str
            For messages.

        Returns
        -------
        DynamicModule
            Itself.
        """
        linker = self._open_linker()
        request = _Request(
            source, self.nvcc, nvcc_options, self.keep, self.no_extern_c, self.arch, self.code,
            self.cache_dir, self.include_dirs, "ptx",
        )  # fmt: skip
        linker.add_data(_compile(request).code, drv.jit_input_type.PTX, name)
        return self

    def add_data(self, data, input_type, name="unknown"):
        """Add code from a buffer.

        Parameters
        ----------
        data : bytes-like
        input_type : jit_input_type
        name : str
            For messages.

        Returns
        -------
        DynamicModule
            Itself.
        """
        self._open_linker().add_data(data, input_type, name)
        return self

    def add_file(self, filename, input_type):
        """Add code from a file.

        Parameters
        ----------
        filename : str
        input_type : jit_input_type

        Returns
        -------
        DynamicModule
            Itself.
        """
        self._open_linker().add_file(filename, input_type)
        return self

    def add_stdlib(self, libname):
        """Add a static library of the toolkit. The CPU device has what cudadevrt holds of its
        own.

        Parameters
        ----------
        libname : str
            For instance "cudadevrt".

        Returns
        -------
        DynamicModule
            Itself.

        Raises
        ------
        OSError
            It is not found.
        """
        device = _target.current()
        if libname == "cudadevrt" and device is not None and device.takes_ptx:
            return self
        if self.libdir is None:
            self.libdir = libraries.folder(self.cuda_libdir, self.nvcc, self.libptn)
        path = os.path.join(self.libdir, self.libptn % libname)
        if not os.path.isfile(path):
            raise OSError(f"{path}: no such library")
        return self.add_file(path, drv.jit_input_type.LIBRARY)

    def link(self):
        """Link what was added and load it; then the getters work.

        Returns
        -------
        DynamicModule
            Itself.
        """
        self.module = self._open_linker().link_module()
        self.linker = None
        return self


class DynamicSourceModule(DynamicModule):
    """A SourceModule whose kernels may launch kernels: compiled with -rdc=true and linked
    with cudadevrt.

    Parameters
    ----------
    source : str or bytes
        As in SourceModule.
    nvcc : str
        As in SourceModule.
    options : sequence of str
        As in SourceModule.
    keep, no_extern_c : bool
        As in SourceModule.
    arch, code : str
        As in SourceModule.
    cache_dir : str or False
        As in SourceModule.
    include_dirs : sequence of str
        As in SourceModule.
    cuda_libdir : str
        The folder of the toolkit's libraries.
    """

    def __init__(
        self,
        source,
        nvcc=_arguments.NVCC,
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
