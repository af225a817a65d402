"""nvcc's options as NVRTC's.

PyCUDA's users write nvcc options. Each row of _TABLE says what one of them becomes for NVRTC: the same
option, nothing (if it concerns host code, of which there is none), or a reason to call nvcc. An option
without a row is passed on, and NVRTC accepts or refuses it.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Parsed(NamedTuple):
    """The outcome for a list of nvcc options."""

    nvrtc: list[str]  # in NVRTC's spelling, architecture apart
    folders: list[str]  # of -I and -isystem, in order
    forced: list[str]  # headers of -include
    arch: str | None  # of -arch, -gencode
    code: str | None  # of -code, -gencode
    needs_nvcc: str | None  # the option that only nvcc accepts


class _OptionRow(NamedTuple):
    action: str  # a key of _ACTIONS, or the name of a method of _Parser
    takes_value: bool
    name: str  # NVRTC's spelling


def _option_rows(action: str, takes_value: bool, *spellings: str) -> dict[str, _OptionRow]:
    """A row for each spelling. Each argument has the spellings of one option, of which the first is
    NVRTC's."""
    return {
        each: _OptionRow(action, takes_value, group.split()[0])
        for group in spellings
        for each in group.split()
    }


_TABLE: dict[str, _OptionRow] = {
    **_option_rows(
        "flag",
        False,
        "--use_fast_math -use_fast_math",
        "--generate-line-info -lineinfo",
        "--device-debug -G",
        "--disable-warnings -w",
        "--restrict -restrict",
        "--device-c -dc",
        "--extra-device-vectorization -extra-device-vectorization",
        "--display-error-number -err-no",
        "--extensible-whole-program -ewp",
        "--device-int128 -device-int128",
        "-default-device --device-as-default-execution-space",
    ),
    **_option_rows(
        "value",
        True,
        "--ftz -ftz",
        "--prec-div -prec-div",
        "--prec-sqrt -prec-sqrt",
        "--fmad -fmad",
        "--std -std",
        "--relocatable-device-code -rdc",
        "--undefine-macro -U",
        "--define-macro -D",
        "--diag-suppress -diag-suppress",
        "--diag-error -diag-error",
        "--diag-warn -diag-warn",
        "--dopt -dopt",
    ),
    **_option_rows(
        "drop",
        False,
        "--debug -g",
        "--expt-relaxed-constexpr -expt-relaxed-constexpr",
        "--extended-lambda -extended-lambda",
        "--expt-extended-lambda -expt-extended-lambda",
        "--compile -c",
        "-m64",
        "--cubin -cubin",
        "--ptx -ptx",
        "-Wno-deprecated-gpu-targets --Wno-deprecated-gpu-targets",
        "--use-local-env -use-local-env",
        "-O0",
        "-O1",
        "-O2",
        "-O3",
        "--source-in-ptx -src-in-ptx",
        "--host-relocatable-link",
        "--forward-unknown-to-host-compiler",
    ),
    **_option_rows(
        "drop",
        True,
        "--compiler-options -Xcompiler",
        "--linker-options -Xlinker",
        "--nvlink-options -Xnvlink",
        "--compiler-bindir -ccbin",
        "--library-path -L",
        "--library -l",
        "--optimize -O",
        "--x -x",
        "--threads -t",
        "--default-stream -default-stream",
        "--cudart -cudart",
        "--output-directory -odir",
    ),
    **_option_rows(
        "nvcc",
        False,
        "-m32",
        "--fatbin -fatbin",
        "--dryrun -dryrun",
        "--verbose -v",
        "--device-link -dlink",
        "--link -link",
        "--lib -lib",
        "--preprocess -E",
        "--run -run",
        "--keep -keep",
        "--save-temps -save-temps",
        "--clean-targets -clean",
        "--time -time",
        "--objdir-as-tempdir -objtemp",
        "--device-w -dw",
        "--dlink-time-opt -dlto",
    ),
    **_option_rows(
        "nvcc",
        True,
        "--options-file -optf",
        "--keep-dir -keep-dir",
        "--output-file -o",
        "--input-drive-prefix",
        "--run-args",
        "--archive-options -Xarchive",
        "--dependency-output -MF",
        "--generate-dependencies -M",
    ),
    **_option_rows("folder", True, "--include-path -I", "--include-path -isystem --system-include"),
    **_option_rows("forced", True, "--pre-include -include"),
    **_option_rows("arch", True, "--gpu-architecture -arch"),
    **_option_rows("code", True, "--gpu-code -code"),
    **_option_rows("gencode", True, "--generate-code -gencode"),
    **_option_rows("ptxas", True, "--ptxas-options -Xptxas"),
    **_option_rows("registers", True, "--maxrregcount -maxrregcount"),
    **_option_rows("usage", False, "--resource-usage -res-usage"),
    **_option_rows("cudafe", True, "-Xcudafe"),
    **_option_rows("machine", True, "--machine -m"),
    **_option_rows("werror", True, "--Werror -Werror"),
}
_JOINED = ("-I", "-D", "-U", "-L", "-l", "-O")  # options whose value may follow without a separator
_GENCODE = r"arch=(compute_\w+),code=\[?\"?(\w+)\"?\]?$"


def _split(option: str):
    """(spelling, value or None) of one list item; an unknown spelling is the whole item."""
    if option in _TABLE:
        return option, None
    for separator in ("=", " "):
        spelling, found, value = option.partition(separator)
        if found and spelling in _TABLE and _TABLE[spelling].takes_value:
            return spelling, value.strip()
    if option[:2] in _JOINED and len(option) > 2:
        return option[:2], option[2:].strip()
    return option, None


def _split_options(options):
    """(item as written, row or None, value or None) of each option. An option and its value in two items are
    joined."""
    items = iter(options)
    for item in items:
        spelling, value = _split(item)
        row = _TABLE.get(spelling)
        if row is not None and row.takes_value and value is None:
            value = next(items, "")
            item = f"{item} {value}"
        yield item, row, value


class _Parser:
    """Collects the fields of Parsed. There is a method for each action of rows: item is the option as
    written, row its _OptionRow (None for unknown()), value its value or None."""

    def __init__(self):
        self.nvrtc, self.folders, self.forced = [], [], []
        self.arch = self.code = self.needs_nvcc = None

    def flag(self, item, row, value):
        self.nvrtc.append(row.name)

    def value(self, item, row, value):
        self.nvrtc.append(f"{row.name}={value}")

    def drop(self, item, row, value):
        pass

    def nvcc(self, item, row, value):
        self.needs_nvcc = self.needs_nvcc or item

    def folder(self, item, row, value):
        self.folders.append(value)

    def header(self, item, row, value):
        self.forced.append(value)

    def set_arch(self, item, row, value):
        self.arch = value

    def set_code(self, item, row, value):
        self.code = value

    def gencode(self, item, row, value):
        match = re.match(_GENCODE, value.replace(" ", ""))
        if match is None or self.arch is not None:
            self.needs_nvcc = self.needs_nvcc or item
        else:
            self.arch, self.code = match.groups()

    def ptxas(self, item, row, value):
        self.nvrtc += [f"--ptxas-options={each}" for each in value.split(",") if each]

    def registers(self, item, row, value):
        if value != "0":  # nvcc takes 0 for no limit, NVRTC for the minimum
            self.value(item, row, value)

    def usage(self, item, row, value):
        self.nvrtc.append("--ptxas-options=-v")

    def cudafe(self, item, row, value):
        self.nvrtc += [
            each.replace("diag_", "diag-") for each in value.split(",") if each.startswith("--diag_")
        ]

    def machine(self, item, row, value):
        if value != "64":
            self.nvcc(item, row, value)

    def werror(self, item, row, value):
        if "all-warnings" in value:
            self.nvcc(item, row, value)

    def unknown(self, item, row, value):
        self.nvrtc.append(item)


# Actions whose methods have other names.
_ACTIONS = {
    "forced": _Parser.header,
    "arch": _Parser.set_arch,
    "code": _Parser.set_code,
    None: _Parser.unknown,
}


def parse(options) -> Parsed:
    """The Parsed form of a list of nvcc options."""
    parser = _Parser()
    for item, row, value in _split_options(options):
        action = row.action if row else None
        (_ACTIONS.get(action) or getattr(_Parser, str(action)))(parser, item, row, value)
    return Parsed(parser.nvrtc, parser.folders, parser.forced, parser.arch, parser.code, parser.needs_nvcc)


def register_limit(options) -> int | None:
    """The value of the last --maxrregcount; None if there is none."""
    limit = None
    for _, row, value in _split_options(options):
        if row is not None and row.name == "--maxrregcount" and value.isdecimal():
            limit = int(value)
    return limit


def capability(arch: str | None) -> tuple[int, int] | None:
    """The compute capability: (9, 0) for sm_90a, (12, 0) for sm_120; None if it is not one architecture."""
    match = re.match(r"(?:sm|compute|lto)_(\d+)(\d)[a-z]?$", arch or "")
    return (int(match[1]), int(match[2])) if match else None


def real_arch(arch: str | None, code: str | None) -> str | None:
    """The one architecture that the values of nvcc's -arch and -code mean together; None if they name none or
    several."""
    if code is None:
        return arch
    return code if "," not in code else None
