"""Modules made from source: CudaModule, SourceModule."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pycuda import _driver
from pycuda._base.driver_extras import CompileError
from pycuda._base.public_names import documented_init

from . import arguments, symbols, target
from .records import CompiledCode
from .requests import Request, checked, compiled_code, is_cached

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from typing import Literal


def _is_plain(name: str) -> bool:
    """Whether a kernel's name stands in code as it is: it is no C++ expression."""
    return name.isidentifier() or re.fullmatch(r"[\w.$]*", name) is not None


def dotted(version) -> str:
    """ "12.8" for (12, 8)."""
    return ".".join(map(str, version))


class CudaModule:
    """The common base of modules made from source.

    Attributes
    ----------
    module : pycuda.driver.Module
        What was loaded.
    """

    module: _driver.Module | None = None
    _request: Request | None = None  # what the module was compiled from, if known
    _code = b""
    _names: dict[str, str] | None = None  # names in the code by squeezed C++ expression

    def _loaded(self):
        """The loaded module; LogicError if it is not linked yet."""
        if self.module is None:
            raise _driver.LogicError("the module is not linked yet: call link() first")
        return self.module

    def _in_code(self, name):
        """The name in the code of the kernel or variable that `name`, perhaps a C++ expression, names."""
        if not self._names or not isinstance(name, str):
            return name
        squeezed = symbols.squeezed(name)
        return self._names.get(squeezed) or self._names.get("&" + squeezed) or name

    def get_function(self, name: str) -> _driver.Function:
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
            from . import signatures

            function._note_types(signatures.Reader(self._request.source, self._request.options, name))
        return function

    def get_global(self, name: str) -> tuple[int, int]:
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
        except _driver.LogicError as problem:
            known = symbols.variables(self._code)
            if known:
                problem.args = (f"{problem}; the module's variables are: {', '.join(known)}",)
            raise

    def get_texref(self, name: str) -> _driver.TextureReference:
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

    def get_surfref(self, name: str) -> _driver.SurfaceReference:
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
        """Warns if the architecture is newer than the current device."""
        from . import report
        from .options import capability

        wanted, device = capability(arch), target.current()
        if wanted and device and wanted > device.capability:
            report.warn(
                f"trying to compile for the architecture {arch}, which the device (compute capability "
                f"{dotted(device.capability)}) may not run"
            )


def _register_limit(options) -> int | None:
    """The limit on registers among the options, None if there is none."""
    if not any("maxrregcount" in option for option in options):
        return None
    from .options import register_limit

    return register_limit(options)


def _load(compiled: CompiledCode, options):
    """The module of this code. The error says so if NVRTC was newer than the driver."""
    device = target.current()
    # PTX has no directive for a limit on registers of a module: it is an option of the driver's compiler.
    limit = _register_limit(options) if device is not None and device.takes_ptx else None
    try:
        limits = [(_driver.jit_option.MAX_REGISTERS, limit)] if limit else []
        return _driver.module_from_buffer(compiled.code, limits)
    except _driver.Error as problem:
        if compiled.compiler and device and not device.takes_ptx and compiled.compiler > device.driver:
            problem.args = (
                f"{problem} - compiled by NVRTC {dotted(compiled.compiler)}, newer than the driver's CUDA "
                f"{dotted(device.driver)}: pip install pycuda[cu{device.driver[0]}] has one that fits",
            )
        raise


def loaded(request: Request) -> CudaModule:
    """The module of a checked request, whose kernels' types are not read from the source: for kernels whose
    arguments this package makes itself."""
    made, compiled = CudaModule(), compiled_code(request)
    made.module, made._code = _load(compiled, request.options), compiled.code
    return made


def _for_module(given: tuple, name_expressions) -> Request:
    """The checked request of a SourceModule with these arguments, of which `given` has those before
    name_expressions."""
    return checked(Request._make((*given, "cubin", name_expressions)))


@documented_init
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
        For example "sm_90"; None is the device's.
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
        source: str | bytes,
        nvcc: str | os.PathLike[str] = arguments.NVCC,
        options: str | Sequence[str] | None = None,
        keep: bool = False,
        no_extern_c: bool = False,
        arch: str | None = None,
        code: str | None = None,
        cache_dir: str | os.PathLike[str] | Literal[False] | None = None,
        include_dirs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
        name_expressions: Sequence[str] = (),
    ) -> None:
        arguments.name(arch, "arch")
        if arch is not None:
            self._warn_of_arch(arch)
        given = source, nvcc, options, keep, no_extern_c, arch, code, cache_dir, include_dirs
        self._request = _for_module(given, name_expressions)
        compiled = compiled_code(self._request)
        self.module, self._code = _load(compiled, self._request.options), compiled.code
        self._names = symbols.by_expression(self._request.expressions, compiled.names)
        self._instances: dict = {}

    @staticmethod
    def is_cached(
        source: str | bytes,
        nvcc: str | os.PathLike[str] = arguments.NVCC,
        options: str | Sequence[str] | None = None,
        keep: bool = False,
        no_extern_c: bool = False,
        arch: str | None = None,
        code: str | None = None,
        cache_dir: str | os.PathLike[str] | Literal[False] | None = None,
        include_dirs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
        name_expressions: Sequence[str] = (),
    ) -> bool:
        """Whether a SourceModule with these arguments can be made without running a compiler.

        Nothing is compiled or loaded. A program can show that it is about to compile, or compile in another
        thread what would take long.

        Parameters
        ----------
        source : str or bytes
            This and the others as SourceModule has them; arch is by default that of the current context's
            device.
        nvcc : str
        options : sequence of str, or str
        keep, no_extern_c : bool
            True for keep always compiles: the answer is False.
        arch, code : str
        cache_dir : str or False
        include_dirs : sequence of str, or str
        name_expressions : sequence of str

        Returns
        -------
        bool
            True where this process has compiled the same before, or the cache folder has the code. A change
            of a header, an option or the compiler makes it False. So do a source that does not compile and
            a lack of compilers.

        Raises
        ------
        TypeError, ValueError
            As the constructor.

        Notes
        -----
        Code in PTX is still compiled by the driver when it is loaded. An instance of a template that is first
        requested of `get_function` is not asked about.
        """
        given = source, nvcc, options, keep, no_extern_c, arch, code, cache_dir, include_dirs
        return is_cached(_for_module(given, name_expressions))

    def get_function(self, name: str) -> _driver.Function:
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
        if not isinstance(name, str) or _is_plain(name) or self._in_code(name) != name:
            return super().get_function(name)
        squeezed = symbols.squeezed(name)
        if squeezed not in self._instances:
            self._instances[squeezed] = self._instantiate(name)
        module, in_code = self._instances[squeezed]
        return module.get_function(in_code)

    def _instantiate(self, name: str):
        """(a module that has the kernel of this C++ name, the kernel's name in its code)."""
        assert self._request is not None
        request = self._request._replace(expressions=(name,))
        try:
            compiled = compiled_code(request)
        except CompileError as problem:
            raise _driver.LogicError(f"there is no kernel {name!r}: {problem}") from None
        (in_code,) = compiled.names
        if in_code in symbols.kernels(self._code):
            return self.module, in_code
        variables = symbols.variables(compiled.code)
        if variables:
            raise _driver.LogicError(
                f"{name} is not in the module, and in another one it would have variables of its own "
                f"({', '.join(variables)}): SourceModule(..., name_expressions=[{name!r}]) puts it in"
            )
        return _load(compiled, request.options), in_code
