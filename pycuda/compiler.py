"""Kernels from CUDA C source, compiled at run time.

`SourceModule` is the usual way: source in, a module with `get_function` out. `compile` gives the code alone.
Sources are compiled in this process by NVRTC; nvcc is called only when it is named or when an option or a
header needs it. Compiled code is cached on disk.
"""

from __future__ import annotations

import os
import re

import pycuda.driver as drv
from pycuda._base.public_names import documented_init as _documented_init
from pycuda._base.public_names import name_public_module as _name_public_module
from pycuda._compile import arguments as _arguments
from pycuda._compile import build, finder, libraries, modules, report, requests
from pycuda._compile import nvcc as _nvcc_command
from pycuda._compile import target as _target
from pycuda._compile.files import is_of_system
from pycuda._compile.modules import CudaModule, SourceModule

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


DEFAULT_NVCC_FLAGS: list[str] = requests.options_of_environment()


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


# ---- private names of PyCUDA that programs use


def _find_nvcc_on_path() -> str | None:
    """The path of nvcc, or None."""
    return finder.find_nvcc("nvcc")


def _find_pycuda_include_path() -> str:
    """The folder of the headers for kernels."""
    return build.DEVICE_HEADERS


def _new_md5():
    """A new hash, as hashlib.md5() makes it."""
    import hashlib

    return hashlib.md5(usedforsecurity=False)


# ---- compiling


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
    asked = (source, options, target, nvcc, bool(keep), cache_dir)
    return requests.remembered(
        "plain", device, asked, cache_dir, lambda: build.CompileJob(*asked, device)
    ).code


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
        For example "sm_90"; None is the device's.
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
    request = requests.Request(
        source, nvcc, options, keep, no_extern_c, arch, code, cache_dir, include_dirs, target
    )
    return requests.compiled_code(requests.checked(request)).code


@_documented_init
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
                + modules.dotted(device.capability)
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
        """The linker. LogicError after link(), which uses it up."""
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
        request = requests.Request(
            source, self.nvcc, nvcc_options, self.keep, self.no_extern_c, self.arch, self.code,
            self.cache_dir, self.include_dirs, "ptx",
        )  # fmt: skip
        linker.add_data(requests.compiled_code(requests.checked(request)).code, drv.jit_input_type.PTX, name)
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
            For example "cudadevrt".

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


@_documented_init
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


_name_public_module(globals(), ["CudaModule", "SourceModule"])
