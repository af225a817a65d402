"""Writes docs/limits/: every driver function, PTX instruction and function of the CPU device's libcudart and
libnvJitLink, whether the CPU device has it and why not, from the tables that its answers are made of.

python tools/limits_pages.py writes the pages; tests/docs/test_limits.py compares them with the tables, and
what they say with what the device answers.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "ptx"))

from acceptance import tables

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "limits"

ROW = re.compile(r"^([A-Z_]+)\(((?:\"[^\"]*\"|[^\"()]|\((?:\"[^\"]*\"|[^\"()])*\))*)\)", re.M)


class Answer(NamedTuple):
    state: str  # "yes", "in part" or "no"
    why: str = ""  # why not, or what it refuses
    error: str = ""  # of a function that is refused: the name of its error


def rows(path):
    """(macro, columns) of each row of a table, strings joined and without their quotes."""
    text = re.sub(r"/\*.*?\*/", "", (ROOT / path).read_text(), flags=re.S)
    for macro, arguments in ROW.findall(text):
        joined = re.sub(r'"\s+"', "", arguments)
        parts = re.findall(r'\s*("[^"]*"|(?:\([^()]*\)|[^,()])+)', joined)
        yield macro, [part.strip().strip('"') for part in parts]


def driver_functions():
    """{symbol: (first CUDA version, Answer)} of the driver's exports; variants for per-thread streams are not
    in it."""
    reasons, answers = {}, {}
    for macro, columns in rows("device/api/base/refused.def"):
        if macro == "REASON":
            reasons[columns[0]] = columns[1:]
        elif macro == "IN_PART":
            answers[columns[0]] = Answer("in part", columns[1])
        else:
            error, text = reasons[columns[1]]
            text = text.replace("*", columns[0])
            answers[columns[0]] = Answer("no", text, f"CUDA_ERROR_{error}")
    found = {}
    for path in "abi/cuda_functions.def", "abi/cuda_exports.def":
        text = (ROOT / path).read_text()
        for symbol, version in re.findall(r"^CU_(?:FN|EXPORT)\(\w+,\s+(\w+),\s+(\d+),", text, re.M):
            if not re.search("_pt[ds][sz]$|Pycuda", symbol):
                since = f"{int(version) // 1000}.{int(version) % 1000 // 10}"
                found[symbol] = since, answers.get(symbol, Answer("yes"))
    return dict(sorted(found.items()))


def of_version(text, major):
    """A table as the preprocessor leaves it for that version: its #if lines compare MAJOR with 13."""
    kept, conditions = [], []
    for line in text.splitlines():
        if match := re.match(r"#if \w+_MAJOR (<|>=) 13", line):
            conditions.append((major < 13) == (match[1] == "<"))
        elif line.startswith(("#if", "#ifndef")):
            conditions.append(True)
        elif line.startswith("#else"):
            conditions[-1] = not conditions[-1]
        elif line.startswith("#endif"):
            conditions.pop()
        elif all(conditions):
            kept.append(line)
    return "\n".join(kept)


def runtime_functions():
    """{name: (major versions that have it, Answer)} of libcudart, without what nvcc's code calls."""
    found = {}
    for major in 12, 13:
        text = of_version((ROOT / "device/runtime/functions.def").read_text(), major)
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        reasons = dict(re.findall(r'^RT_REASON\((\w+), "([^"]*)"\)', text, re.M))
        for macro, arguments in re.findall(r"^RT_(FORWARD|FUNCTION|OTHER|MISSING)\(([^()]*)", text, re.M):
            columns = [part.strip() for part in arguments.split(",")]
            name = columns[1] if macro == "OTHER" else columns[0]
            answer = Answer("yes")
            if macro == "MISSING":
                answer = Answer("no", reasons[columns[2]], "cudaErrorNotSupported")
            versions, old = found.get(name, ((), answer))
            assert old == answer or versions, name
            found[name] = (*versions, (major, answer)), answer
    return {
        name: [pair for pair in versions]
        for name, (versions, _) in sorted(found.items())
        if not name.startswith("__")
    }


def link_functions():
    """{name: (major versions that have it, Answer)} of libnvJitLink."""
    found = {"nvJitLinkVersion": [(12, Answer("yes")), (13, Answer("yes"))]}
    for major in 12, 13:
        text = of_version((ROOT / "device/toolkit/nvjitlink_functions.def").read_text(), major)
        for macro, name, rest in re.findall(r"^NVJITLINK_(FN|REFUSED)\((\w+), (.*)\)$", text, re.M):
            answer = Answer("yes")
            if macro == "REFUSED":
                answer = Answer("no", re.search(r'"(.*)"', rest)[1], "NVJITLINK_ERROR_INVALID_INPUT")
            found.setdefault(f"nvJitLink{name}", []).append((major, answer))
    return dict(sorted(found.items()))


# The chapters of the PTX manual's instruction set, and the instructions in each.
MANUAL = {
    "Integer arithmetic": "add sub mul mad mul24 mad24 sad div rem abs neg min max popc clz bfind fns brev"
    " bfe bfi szext bmsk dp4a dp2a",
    "Extended precision": "addc subc madc",
    "Floating point": "testp copysign fma rcp sqrt rsqrt sin cos lg2 ex2 tanh",
    "Comparison and selection": "set setp selp slct",
    "Logic and shift": "and or xor not cnot lop3 shf shl shr",
    "Data movement": "mov shfl prmt ld ldu st multimem prefetch prefetchu applypriority discard createpolicy"
    " isspacep cvta cvt cvt.pack mapa getctarank cp.async cp.async.bulk cp.reduce.async.bulk"
    " cp.async.bulk.tensor cp.reduce.async.bulk.tensor tensormap",
    "Texture": "tex tld4 txq istypep",
    "Surface": "suld sust sured suq",
    "Control flow": "bra brx call ret exit",
    "Synchronization": "bar barrier bar.warp.sync barrier.cluster membar fence atom red red.async vote match"
    " activemask redux griddepcontrol elect mbarrier clusterlaunchcontrol",
    "Warp-level matrix": "wmma mma ldmatrix stmatrix movmatrix mma.sp",
    "Asynchronous warpgroup matrix": "wgmma",
    "Fifth-generation tensor core": "tcgen05",
    "Stack": "stacksave stackrestore alloca",
    "Video": "vadd vsub vabsdiff vmin vmax vshl vshr vmad vset",
    "SIMD video": "vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vset2 vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4"
    " vset4",
    "Miscellaneous": "brkpt nanosleep pmevent trap setmaxnreg",
}
INSTRUCTIONS = " ".join(MANUAL.values()).split()


class Refusal(NamedTuple):
    opcode: str
    words: list[str]  # without dots
    some: str  # what among them; "": all
    why: str


def refusals():
    """The rows of device/ptx/refused.def, in their order."""
    reasons, found = {}, []
    for macro, columns in rows("device/ptx/refused.def"):
        if macro == "WHY":
            reasons[columns[0]] = columns[1]
        else:
            opcode, words, *some, why = columns
            found.append(Refusal(opcode, words.split(), "".join(some), reasons[why]))
    return found


def name_of(opcode, words):
    """The longest of INSTRUCTIONS that names a mnemonic of these words (without dots)."""

    def fits(name):
        first, *rest = name.split(".")
        return first == opcode and all(any(word.startswith(part) for word in words) for part in rest)

    return max(filter(fits, INSTRUCTIONS), key=len)


def required_words(row):
    """The words of a row of instructions.def that its mnemonics have, of alternatives the first."""
    return [element.words[0][1:] for element in row.elements if not element.optional]


def concerned(refusal):
    """The instructions of which a row of instructions.def has the words that are refused."""
    found = {}
    for row in tables.instruction_rows():
        words = {word[1:] for element in row.elements for word in element.words}
        if row.opcode == refusal.opcode and words.issuperset(refusal.words):
            found[name_of(row.opcode, required_words(row) + refusal.words)] = None
    return list(found) or [refusal.opcode]


def instructions():
    """{name: Answer} of the PTX instructions."""
    texts = {}
    for refusal in refusals():
        for name in concerned(refusal):
            words = " with ".join(f"`.{word}`" for word in refusal.words)
            texts.setdefault(name, {}).setdefault(refusal.why, []).append(
                f"{words} {refusal.some}".strip() or "all"
            )
    found = {}
    for name in INSTRUCTIONS:
        reasons = texts.get(name, {})
        if ["all"] in reasons.values():
            found[name] = Answer("no", next(iter(reasons)))
        elif reasons:
            parts = [f"{', '.join(forms)}: {why}" for why, forms in reasons.items()]
            found[name] = Answer("in part", "; ".join(parts))
        else:
            found[name] = Answer("yes")
    return found


def line(*cells):
    return "| " + " | ".join(cells) + " |\n"


def heading(*cells):
    return line(*cells) + line(*["---"] * len(cells))


def counted(answers):
    """The number of answers, how many of them are yes and in part: for str.format."""
    states = [answer.state for answer in answers]
    return {"all": len(states), "yes": states.count("yes"), "part": states.count("in part")}


def cells_of(answer):
    text = f"`{answer.error}`: {answer.why}" if answer.error else answer.why
    return answer.state, text


DRIVER = """# Driver functions

What the [CPU device](../cpu_device.md) has of the CUDA driver API: each function that NVIDIA's driver
exports, the CUDA version it came with, and whether it is there: {yes} of {all} are, and {part} more in part.
One that is refused answers an error, and the driver's log has the line that stands here
(`PYCUDA_CPU_LOG=stderr`). Forms for per-thread default streams (`_ptsz`, `_ptds`) answer as the functions
that they are of. EGL's and VDPAU's functions (`cuEGL...`, `cuVDPAU...`) are not exported.

"""
PTX = """# PTX instructions

What the [CPU device](../cpu_device.md) executes of the PTX instruction set: {yes} of {all} instructions in
every form of CUDA 13.0's assembler, {part} more in part. A form that is refused is an error when the module
is loaded, with the line and the reason that stands here; it is never executed in some other way.
"""
RUNTIME = """# CUDA's runtime and nvJitLink

What two libraries in the [CPU device](../cpu_device.md)'s folder have: of CUDA's runtime API
(`libcudart.so.12`, `libcudart.so.13`) {runtime[yes]} of {runtime[all]} functions, of nvJitLink
(`libnvJitLink.so.12`, `libnvJitLink.so.13`) {link[yes]} of {link[all]}. The column "in" says which versions
have a function. One that is refused answers an error, whose reason stands in the driver's log
(`PYCUDA_CPU_LOG=stderr`), or in the link's error log. Forms for per-thread default streams (`_ptsz`,
`_ptds`) answer as the functions that they are of.
"""


def driver_page():
    functions = driver_functions()
    text = DRIVER.format(**counted([answer for _, answer in functions.values()]))
    text += heading("function", "CUDA", "", "why not, or what it refuses")
    return text + "".join(
        line(f"`{symbol}`", version, *cells_of(answer)) for symbol, (version, answer) in functions.items()
    )


def ptx_page():
    answers = instructions()
    text = PTX.format(**counted(answers.values()))
    for chapter, names in MANUAL.items():
        text += f"\n## {chapter}\n" + heading("instruction", "", "why not, or what it refuses")
        text += "".join(line(f"`{name}`", *cells_of(answers[name])) for name in names.split())
    return text


def versioned(functions):
    """The lines of {name: [(major, Answer)]}, one for each answer of a function."""
    text = heading("function", "in", "", "why not")
    for name, pairs in functions.items():
        for answer in dict.fromkeys(answer for _, answer in pairs):
            majors = ", ".join(str(major) for major, other in pairs if other == answer)
            text += line(f"`{name}`", majors, *cells_of(answer))
    return text


def last_answers(functions):
    return [pairs[-1][1] for pairs in functions.values()]


def runtime_page():
    runtime, link = runtime_functions(), link_functions()
    text = RUNTIME.format(runtime=counted(last_answers(runtime)), link=counted(last_answers(link)))
    text += "\n## libcudart\n" + versioned(runtime)
    return text + "\n## libnvJitLink\n" + versioned(link)


PAGES = {"driver.md": driver_page, "ptx.md": ptx_page, "runtime.md": runtime_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page())
