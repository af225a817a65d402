"""One compilation, from request to bytes.

NVRTC compiles unless nvcc is requested (by path, by PYCUDA_COMPILER=nvcc, by target="fatbin") or needed (for
an option or a header that only nvcc has, or because there is no NVRTC). Both use the same cache.
"""

from __future__ import annotations

import functools
import os
import re
from typing import NamedTuple

import pycuda

from . import attributes, cache, finder, includes, nvcc, nvrtc, options, progress, report, textures
from .arguments import PLAIN
from .files import absolute, is_of_system, passing, real
from .records import CompiledCode, without_names
from .source import NAME, USERS_NAME, lines_of, without_folder
from .target import CompileTarget

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEVICE_HEADERS = os.path.join(_PACKAGE, "cuda")
_STAND_INS = os.path.join(_PACKAGE, "_headers")
_CUDA_STD = os.path.join(_STAND_INS, "std")  # headers of C++ that include those of the CUDA C++ library
_PRELUDE = "pycuda_prelude.h"
# The modules that decide what is compiled, and how, as they were when this process imported them.
_OWN_MODULES = tuple(
    (entry.path, includes.stamp(entry.path))
    for entry in os.scandir(os.path.dirname(os.path.abspath(__file__)))
    if entry.name.endswith(".py")
)
# The architecture of code that is compiled where there is no device: the oldest that NVRTC 12 and 13 both
# know.
_OLDEST_ARCH = "sm_75"
# Compute capabilities times 10, the newest first.
_KNOWN_CAPABILITIES = (121, 120, 110, 103, 100, 90, 89, 87, 86, 80, 75, 72, 70, 61, 60, 53, 52, 50)


class CompileJob(NamedTuple):
    """A compilation to be done. The options are nvcc's and include the architecture."""

    source: str
    options: tuple[str, ...]
    target: str
    nvcc: str | None  # None: the caller named none
    keep: bool
    cache_dir: object
    device: CompileTarget | None
    users: str | None = None  # the source before it was wrapped, for a debugger to show
    expressions: tuple[str, ...] = ()  # C++ names of kernels and variables
    only_cached: bool = False  # cache.NotCached in place of a compiler's run


class _UseNvcc(Exception):
    """NVRTC cannot do this job; the text says why."""

    entry: str | None = None
    """The name of the cache entry that is to hold the reason; None unless NVRTC was run to find the
    reason."""


def _nvcc_of(job: CompileJob) -> str | None:
    """The path of the nvcc for this job; None if there is none. An nvcc that the caller did not name must
    also run: a wrapper script can outlive its toolkit.
    """
    path = finder.find_nvcc(job.nvcc or "nvcc")
    if path and job.nvcc in (None, "nvcc") and not nvcc.runs(path):
        return None
    return path


def _newest_major(job: CompileJob) -> int | None:
    """The newest major version of CUDA whose code the job's device loads; None if there is no limit."""
    return None if job.device is None else job.device.newest_major


def _why_nvcc(job: CompileJob, parsed: options.Parsed) -> str | None:
    """Why nvcc compiles this, as far as the job and its options decide it; None if NVRTC is to try."""
    if job.nvcc not in (None, "nvcc") or (job.nvcc and _nvcc_of(job)):
        return "nvcc was named"
    if os.environ.get("PYCUDA_COMPILER", "") == "nvcc":
        return "PYCUDA_COMPILER is nvcc"
    if job.target == "fatbin":
        return 'target="fatbin" needs nvcc'
    if parsed.needs_nvcc:
        return f"the option {parsed.needs_nvcc} is one that only nvcc accepts"
    real = options.real_arch(parsed.arch, parsed.code)
    if parsed.arch and options.capability(real) is None:
        return (
            f"-arch {parsed.arch} -code {parsed.code} needs nvcc"
            if parsed.code
            else f"-arch {parsed.arch} needs nvcc"
        )
    return None


def _product_kind(job: CompileJob, parsed: options.Parsed) -> tuple[str, str]:
    """(architecture for NVRTC, "cubin" or "ptx"). PTX for a virtual architecture and for the CPU device."""
    arch = options.real_arch(parsed.arch, parsed.code) or _OLDEST_ARCH
    takes_ptx = job.device is not None and job.device.takes_ptx
    if job.target == "ptx" or takes_ptx or arch.startswith("compute_"):
        return "compute_" + arch.partition("_")[2], "ptx"
    return arch, "cubin"


def _cache_name(*parts) -> str:
    """The name, without its suffix, of the cache entry for code that depends on these parts."""
    return cache.digest(
        *(part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogateescape") for part in parts)
    )


def _load_or_make(where, name, make, found: includes.Includes, compiler=None) -> CompiledCode:
    """The code of the cache entry of this name in the folder `where`; if there is none, the result of make(),
    which is stored. Without caching (`where` is None, or an #include names a macro) always the result of
    make()."""
    where = None if found.computed else where
    code = cache.read(where, name) if where else None
    if code is None:
        code = make()
        if where:
            cache.write(where, name, code)
    return CompiledCode(code, found.watched, where is not None, compiler)


def _recordable(
    compiled: CompiledCode, entry: str, compiler: finder.Compiler, system: includes.Includes
) -> CompiledCode:
    """The code with what a record of its request names: the cache entry, and the files of this installation
    that decided about it. system: the package's headers that were scanned."""
    used = (compiler.path, includes.stamp(compiler.path))
    if not compiled.cacheable or not os.path.isabs(compiler.path) or not finder.is_current(compiler):
        return compiled
    return compiled._replace(entry=entry, installed=(*_OWN_MODULES, *system.watched, used))


def _with_names(code: bytes, names) -> bytes:
    """The content of a cache entry: a line for each name, then the code."""
    return b"".join(name.encode() + b"\n" for name in names) + code


def _keep_folder(job: CompileJob) -> tuple[str, str]:
    """(a new folder with the source in it, the text to compile there), for keep=True. The folder's path is
    printed, and #line directives of the text name the user's source there, for debuggers."""
    import tempfile

    folder = tempfile.mkdtemp(prefix="pycuda-")
    text = job.source
    if job.users is not None:
        users = os.path.join(folder, USERS_NAME)
        _keep_file(users, job.users.encode("utf-8", "surrogateescape"))
        text = lines_of(text, users)
    _keep_file(os.path.join(folder, NAME), text.encode("utf-8", "surrogateescape"))
    print(f"*** compiler output in {folder}")
    return folder, text


def _keep_file(path: str, content: bytes | None) -> None:
    """Write the file, unless there is no content."""
    if content:
        with open(path, "wb") as file:
            file.write(content)


def _run_nvrtc(job: CompileJob, compiler, arguments, kind: str) -> tuple[bytes, tuple[str, ...]]:
    """(code, lowered names) by NVRTC. CompileError, or _UseNvcc if the source needs nvcc."""
    if job.only_cached:
        raise cache.NotCached
    folder, text = _keep_folder(job) if job.keep else (None, job.source)
    with progress.watched("NVRTC", job.users or job.source):
        code, log, has_host, names = nvrtc.compile_source(
            compiler.path, text, arguments, kind, job.expressions, folder
        )
    if folder:
        _keep_file(os.path.join(folder, f"kernel.{kind}"), code)
        _keep_file(os.path.join(folder, "log"), log.encode())
    if code is None:
        command = ["nvrtc", *arguments, NAME]
        option, header = nvrtc.refused_option(log), nvrtc.missing_header(log)
        if option:
            raise _UseNvcc(f"NVRTC does not accept the option {option}")
        refused = None if header else nvrtc.refused_source(log, has_host, compiler.folders)
        # A name without a suffix is a header of C++: one that NVRTC lacks is the host compiler's, which nvcc
        # uses.
        is_of_host = header is not None and header.isidentifier() and header not in dict(_cuda_std())
        needs_nvcc = (refused is not None or is_of_host) and _nvcc_of(job) is None
        problem = report.failed(compiler, log, command, header, needs_nvcc)
        if header or refused:
            raise _UseNvcc(refused or f"NVRTC has no header {header}") from problem
        raise problem
    report.compiler_output(log)
    if kind == "ptx" and not folder:
        with passing:  # this folder was removed
            code = without_folder(code, os.getcwd())
    return code, names


def _older_archs(arch: str):
    """The virtual architectures older than `arch`, the newest first: a driver newer than the compiler can
    compile their PTX for its device."""
    wanted = options.capability(arch)
    return [
        f"compute_{known}" for known in _KNOWN_CAPABILITIES if wanted and known < wanted[0] * 10 + wanted[1]
    ]


def _compile_for(job: CompileJob, compiler, arch: str, kind: str, arguments) -> tuple[bytes, tuple[str, ...]]:
    """(code, lowered names) for `arch`. If this NVRTC does not know it, PTX for the newest older architecture
    that it knows."""
    try:
        return _run_nvrtc(job, compiler, [f"--gpu-architecture={arch}", *arguments], kind)
    except report.CompileError as problem:
        if not nvrtc.refused_arch(problem.stderr or ""):
            raise
        refusal = problem
    for older in _older_archs(arch):
        try:
            return _run_nvrtc(job, compiler, [f"--gpu-architecture={older}", *arguments], "ptx")
        except report.CompileError as problem:
            if not nvrtc.refused_arch(problem.stderr or ""):
                raise
    raise refusal


@functools.cache
def _stand_ins() -> dict[str, tuple]:
    """The package's own headers by name, each with its file's signature."""
    found: dict[str, tuple] = {}
    for prefix in ("", "sys/"):
        found.update((prefix + name, known) for name, known in _headers_in(os.path.join(_STAND_INS, prefix)))
    return found


def _headers_in(folder: str) -> list[tuple]:
    """(name, signature) of each header in the folder itself."""
    return [
        (entry.name, includes.signature(entry.path))
        for entry in os.scandir(folder)
        if entry.is_file() and not entry.name.endswith(".md")
    ]


@functools.cache
def _cuda_std() -> list[tuple]:
    """(name, signature) of each of the package's headers of C++, sorted."""
    return sorted(_headers_in(_CUDA_STD))


def _dialect(job: CompileJob, parsed: options.Parsed, compiler) -> list[str]:
    """Options that give NVRTC nvcc's defaults: at least C++14, as NVRTC 11 has an older default; __int128;
    and variables of headers without __device__, if the headers have texture references. Kernels that need
    neither textures nor the CUDA runtime are compiled without their declarations, which saves a third of the
    time for a small kernel.
    """
    old = compiler.version < (12, 0) and not any("-std=" in option for option in parsed.nvrtc)
    unmarked = textures.IN_HEADERS in job.options
    small = PLAIN in job.options and compiler.version >= (12, 4)
    wide = compiler.version >= (12, 0)
    return (
        ["-std=c++14"] * old
        + ["--device-int128"] * wide
        + ["-default-device"] * unmarked
        + ["--minimal"] * small
    )


def _line_options(job: CompileJob, given) -> list[str]:
    """The option for line information, by which the CPU device names lines of the source. Empty for a GPU and
    for target="ptx", and if the options `given` ask for it already."""
    debug_options = {"--generate-line-info", "-lineinfo", "--device-debug", "-G"}.intersection(given)
    wanted = job.device is not None and job.device.takes_ptx and job.target != "ptx"
    return ["-lineinfo"] if wanted and not debug_options else []


def _with_attributes(job: CompileJob, parsed: options.Parsed, found: includes.Includes) -> CompileJob:
    """The job with attributes that stand after a class's closing brace moved to where NVRTC applies them to
    the class (attributes.py). Headers are not rewritten: _UseNvcc if one of the user's headers has such
    attributes.
    """
    own = os.fsencode(os.path.join(_PACKAGE, ""))
    files = zip(found.contents[::2], found.contents[1::2], strict=True)
    headers = [
        (path, text.decode("utf-8", "replace"))
        for path, text in files
        if not path.startswith(own) and b"__a" in text  # __align__, __attribute__
    ]
    macros = [
        f"#define {option.partition('=')[2].replace('=', ' ', 1)}"
        for option in parsed.nvrtc
        if option.startswith("--define-macro=")
    ]
    words = attributes.names([job.source, *(text for _, text in headers), *macros])
    for path, text in headers:
        line = attributes.first_line(text, words)
        if line is not None:
            name = os.fsdecode(path)
            raise _UseNvcc(
                f"{name}({line}) has an attribute after a class's closing brace, which NVRTC ignores"
            ) from report.misplaced_attribute(name, line)
    return job._replace(source=attributes.moved(job.source, words))


def _nvrtc_arguments(job: CompileJob, parsed: options.Parsed, compiler, toolkit: list[str]) -> list[str]:
    """NVRTC's options, except the architecture. toolkit: the folders of the CUDA headers, if they are
    needed."""
    own = [absolute(folder) for folder in parsed.folders]
    arguments = [f"--include-path={folder}" for folder in [*own, _STAND_INS, *toolkit]]
    arguments += [f"--pre-include={name}" for name in (_PRELUDE, *parsed.forced)] + parsed.nvrtc
    arguments += _dialect(job, parsed, compiler) + _line_options(job, parsed.nvrtc)
    if compiler.version >= (12, 9) and any(each.startswith("--ptxas-options=") for each in parsed.nvrtc):
        # NVRTC's own cache, which it uses if there is a GPU's driver, keeps code but not the messages of
        # ptxas.
        arguments.append("--no-cache")
    if toolkit:
        # The CUDA C++ library defines the macros of limits.h again, with different text: warning 47.
        arguments.append("--diag-suppress=47")
    return arguments


def _with_nvrtc(
    job: CompileJob, parsed: options.Parsed, found: includes.Includes, where: str | None, compiler
) -> CompiledCode:
    """The code from the cache or by NVRTC. _UseNvcc if the source needs nvcc, which a cache entry may say
    already."""
    job = _with_attributes(job, parsed, found)
    arch, kind = _product_kind(job, parsed)
    own = [absolute(folder) for folder in parsed.folders]
    system = includes.scan("", [*own, _STAND_INS], [_PRELUDE, *found.outside])
    toolkit = [_CUDA_STD, *compiler.folders] if system.outside and compiler.folders else []
    arguments = _nvrtc_arguments(job, parsed, compiler, toolkit)
    marks = _marks(job, parsed)
    key = _cache_name(
        pycuda.VERSION_TEXT,
        marks,
        job.source,
        job.expressions,
        arch,
        arguments,
        compiler.identity,
        (compiler.headers, _cuda_std(), sorted(_stand_ins().items())) if toolkit else "",
        *system.contents,
        *found.contents,
    )

    def make() -> bytes:
        """The content of the cache entry, by NVRTC. _UseNvcc if NVRTC refuses the source or, without a run of
        NVRTC, if a cache entry says that it did and there is an nvcc."""
        entry = f"{key}.nvcc"
        reason = cache.read(where, entry) if where else None
        if reason is not None and _nvcc_of(job):
            raise _UseNvcc(reason.decode("utf-8", "surrogateescape"))
        try:
            code, names = _compile_for(job, compiler, arch, kind, arguments)
            return _with_names(_for_device(marks, code), names)
        except _UseNvcc as refusal:
            refusal.entry = entry
            raise

    entry = f"{key}.{kind}"
    compiled = _load_or_make(where, entry, make, found, compiler.version)
    if not system.outside:
        compiled = _recordable(compiled, entry, compiler, system)
    return without_names(compiled, len(job.expressions))


class _Marks(NamedTuple):
    """What PTX for the CPU device is marked with. Code for a GPU has no marks."""

    newest: tuple[int, int] | None = None
    """The newest PTX version that the device reads, which replaces a newer one; None: the device poses as a
    driver of CUDA 13 or newer, and reads any version."""
    assembled: bool = False
    """Whether a GPU would get machine code instead, so that the CPU device refuses what ptxas refuses,
    although a driver would accept it as PTX."""


def _marks(job: CompileJob, parsed: options.Parsed) -> _Marks:
    """The marks of the code for this job's device."""
    if job.device is None or not job.device.takes_ptx:
        return _Marks()
    arch = options.real_arch(parsed.arch, parsed.code) or _OLDEST_ARCH
    return _Marks(
        None if job.device.driver >= (13, 0) else job.device.ptx_version,
        job.target == "cubin" and not arch.startswith("compute_"),
    )


def _for_device(marks: _Marks, code: bytes) -> bytes:
    """The code with its marks, which change no line numbers.

    A newer PTX version than the device's driver reads is replaced by the one that it reads: the NVRTC here
    may be newer than the driver that the CPU device poses as. That hides no error, as the device looks at
    each instruction and refuses those that it does not know.
    """
    if marks.assembled:
        mark = rb'\1 .pragma "pycuda.assembled";'
        code = re.sub(rb"^(\.address_size 64)$", mark, code, count=1, flags=re.MULTILINE)
    newest = marks.newest
    if newest is None:
        return code
    match = re.search(rb"^\.version (\d+)\.(\d+)", code, re.MULTILINE)
    if match is None or (int(match[1]), int(match[2])) <= newest:
        return code
    return code[: match.start()] + b".version %d.%d" % newest + code[match.end() :]


def _run_nvcc(job: CompileJob, path: str, target: str) -> bytes:
    """The code by the nvcc command; CompileError if it fails. Messages of a run that succeeds become a
    warning."""
    if job.only_cached:
        raise cache.NotCached
    with progress.watched("nvcc", job.users or job.source):
        outcome = nvcc.compile_source(path, job.source, job.options, target, job.keep, job.users)
    if outcome.folder:
        print(f"*** compiler output in {outcome.folder}")
    if outcome.code is None:
        raise report.nvcc_failed(outcome)
    report.compiler_output(outcome.stdout + outcome.stderr)
    return outcome.code


def _constexpr_options(found: includes.Includes) -> list[str]:
    """The nvcc option by which kernels can call constexpr functions of the host's C++ library, if a header
    without a suffix is included that is not the user's."""
    return ["--expt-relaxed-constexpr"] if any(name.isidentifier() for name in found.outside) else []


def _with_nvcc(
    job: CompileJob, parsed: options.Parsed, found: includes.Includes, where: str | None, why: str
) -> CompiledCode:
    """The code from the cache or by nvcc. why: the reason why NVRTC does not compile it, for error
    messages."""
    if job.expressions:
        raise report.no_expressions(why)
    path = finder.find_nvcc(job.nvcc or "nvcc")
    if path is None and job.nvcc not in (None, "nvcc"):
        raise report.nvcc_missing(job.nvcc, _newest_major(job))
    if path is None:
        raise report.needs_nvcc(why, ["nvcc", *job.options])
    try:
        version = nvcc.version_text(path)
    except OSError as problem:
        if not is_of_system(problem):
            raise
        raise report.CompileError(f"{path} cannot be run: {problem}", [path, "--version"]) from problem
    takes_ptx = job.device is not None and job.device.takes_ptx
    target = "ptx" if takes_ptx and job.target == "cubin" else job.target
    identity = (path, version, includes.signature(real(path)))
    job = job._replace(options=(*job.options, *_constexpr_options(found), *_line_options(job, job.options)))
    flags = [os.environ.get(name, "") for name in ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")]
    marks = _marks(job, parsed)
    key = _cache_name(pycuda.VERSION_TEXT, marks, job.source, job.options, identity, flags, *found.contents)
    return _load_or_make(
        where, f"{key}.{target}", lambda: _for_device(marks, _run_nvcc(job, path, target)), found
    )


def _instead_of_nvrtc(refusal: _UseNvcc, job: CompileJob, parsed, found, where) -> CompiledCode:
    """nvcc's code for a source that NVRTC refused. If there is no nvcc, or nvcc fails without naming a wrong
    line, NVRTC's error is raised. nvcc's success is reported by a warning, and the refusal stored in the
    cache."""
    path, reason = _nvcc_of(job), str(refusal)
    if path is None and refusal.__cause__ is not None:
        raise refusal.__cause__ from None
    try:
        compiled = _with_nvcc(job, parsed, found, where, reason)
    except report.CompileError as problem:
        if refusal.__cause__ is not None and not report.names_a_line(problem):
            raise refusal.__cause__ from None
        raise
    if refusal.entry and path:
        report.instead_of_nvrtc(path, reason)
        if where:
            cache.write(where, refusal.entry, reason.encode("utf-8", "surrogateescape"))
    return compiled


def _scan(job: CompileJob, parsed: options.Parsed) -> includes.Includes:
    """The files that the job's source includes from the folders of its options."""
    folders = [absolute(folder) for folder in parsed.folders]
    return includes.scan(job.source, folders, parsed.forced)


def _with_textures(job: CompileJob, parsed: options.Parsed, found: includes.Includes) -> CompileJob:
    """The job itself if neither its source nor a header of the user's has texture references. Otherwise a job
    whose source and options make them compile (textures.py)."""
    own = os.fsencode(os.path.join(_PACKAGE, ""))
    files = zip(found.contents[::2], found.contents[1::2], strict=True)
    in_headers = textures.declared_in(text for path, text in files if not path.startswith(own))
    source = textures.annotate(job.source) if textures.mentioned(job.source) else None
    if source is None and not in_headers:
        return job
    added = ["-include", textures.HEADER]
    if DEVICE_HEADERS not in parsed.folders:
        added.append(f"-I{DEVICE_HEADERS}")
    if in_headers:
        added.append(textures.IN_HEADERS)
    return job._replace(source=source or job.source, options=(*job.options, *added))


def _parse_job(job: CompileJob) -> tuple[CompileJob, options.Parsed, includes.Includes]:
    """(the job with what its texture references need, its parsed options, the files that it includes)."""
    parsed = options.parse(job.options)
    found = _scan(job, parsed)
    whole = _with_textures(job, parsed, found)
    if whole is job:
        return job, parsed, found
    parsed = options.parse(whole.options)
    return whole, parsed, _scan(whole, parsed)


def run(job: CompileJob) -> CompiledCode:
    """The compiled code, from the cache or by a compiler. CompileError if that is not possible;
    cache.NotCached if a compiler would have to run and must not."""
    job, parsed, found = _parse_job(job)
    where = None if job.keep else cache.folder(job.cache_dir)
    why = _why_nvcc(job, parsed)
    if why:
        return _with_nvcc(job, parsed, found, where, why)
    compiler, problem = finder.find_nvrtc(_newest_major(job), where)
    if compiler is None and not os.environ.get("PYCUDA_NVRTC") and _nvcc_of(job):
        return _with_nvcc(job, parsed, found, where, "no NVRTC was found")
    if compiler is None:
        raise report.no_compiler(problem, _newest_major(job))
    try:
        return _with_nvrtc(job, parsed, found, where, compiler)
    except _UseNvcc as refusal:
        return _instead_of_nvrtc(refusal, job, parsed, found, where)
