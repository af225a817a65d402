"""The functions of the CUDA math, half, bfloat16, integer and SIMD headers: those of functions.txt, and those
here that give several results or take arrays."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent.parent

# letter of a signature: C type, bytes. Types that stand there twice differ in their values (inputs.py): s
# counts shifts, e and E are exponents, n is an order of a Bessel function.
TYPES = {
    "f": ("float", 4),
    "d": ("double", 8),
    "i": ("int", 4),
    "u": ("unsigned", 4),
    "l": ("long long", 8),
    "L": ("unsigned long long", 8),
    "t": ("short", 2),
    "T": ("unsigned short", 2),
    "c": ("signed char", 1),
    "C": ("unsigned char", 1),
    "h": ("__half", 2),
    "H": ("__half2", 4),
    "b": ("__nv_bfloat16", 2),
    "B": ("__nv_bfloat162", 4),
    "F": ("float2", 8),
    "s": ("unsigned", 4),
    "e": ("int", 4),
    "E": ("long", 8),
    "n": ("int", 4),
}
# group: compute capability of its module, header
GROUPS = {
    "float": (75, ""),
    "double": (75, ""),
    "integer": (75, ""),
    "simd": (75, ""),
    "simd 90": (90, ""),
    "half": (75, "cuda_fp16.h"),
    "half 90": (90, "cuda_fp16.h"),
    "bfloat16": (75, "cuda_bf16.h"),
    "bfloat16 90": (90, "cuda_bf16.h"),
}


@dataclass(frozen=True)
class Function:
    name: str  # as in the header, and the part of its result where it has several
    group: str
    signature: str  # result, then arguments
    statement: str  # of C: sets r from a, b, c, e

    @property
    def result(self):
        """The letter of its type."""
        return self.signature[0]

    @property
    def arguments(self):
        """(name, letter of its type) of each."""
        return list(zip("abce", self.signature[1:], strict=False))

    @property
    def entry(self):
        """The name of its kernel, unique in the group."""
        return f"{self.name.replace(' ', '_')}_{self.signature}"


def several(group, kind, suffix):
    """Functions of float or double with results behind pointers, or arrays; kind: the letter of the type,
    suffix: of the functions' names."""
    c = TYPES[kind][0]
    rows = []
    for call in (f"sincos{suffix}", f"sincospi{suffix}"):
        for part in "sc":
            rows.append((f"{call} {part}", kind * 2, f"{c} s, c; {call}(a, &s, &c); r = {part};"))
    rows += [
        (f"frexp{suffix}", kind * 2, f"int n; r = frexp{suffix}(a, &n);"),
        (f"frexp{suffix} exponent", "i" + kind, f"int n; frexp{suffix}(a, &n); r = n;"),
        (f"modf{suffix}", kind * 2, f"{c} n; r = modf{suffix}(a, &n);"),
        (f"modf{suffix} whole", kind * 2, f"{c} n; modf{suffix}(a, &n); r = n;"),
        (f"remquo{suffix}", kind * 3, f"int n; r = remquo{suffix}(a, b, &n);"),
        (f"remquo{suffix} quotient", "i" + kind * 2, f"int n; remquo{suffix}(a, b, &n); r = n;"),
        (f"norm{suffix}", kind * 4, f"{c} v[] = {{a, b, c}}; r = norm{suffix}(3, v);"),
        (f"rnorm{suffix}", kind * 4, f"{c} v[] = {{a, b, c}}; r = rnorm{suffix}(3, v);"),
        (f"divide{suffix}", kind * 3, "r = a / b;"),
    ]
    return [Function(name, group, signature, text) for name, signature, text in rows]


def special():
    """Functions that functions.txt cannot have: their calls are more than r = name(a, b, c, e)."""
    yield from several("float", "f", "f")
    yield from several("double", "d", "")
    for part in "sc":
        yield Function(f"__sincosf {part}", "float", "ff", f"float s, c; __sincosf(a, &s, &c); r = {part};")
    yield Function("__fns", "integer", "uuui", "r = __fns(a, b & 31, c % 34);")
    for name, letter in (("int", "i"), ("unsigned", "u"), ("long long", "l"), ("unsigned long long", "L")):
        for operator, word in (("/", "divide"), ("%", "remainder")):
            yield Function(f"{word} {name}", "integer", letter * 3, f"r = a {operator} b;")
    for which in ("max", "min"):
        for kind, letter in (("s32", "i"), ("u32", "u")):
            call = f"bool p; r = __vib{which}_{kind}(a, b, &p);"
            yield Function(f"__vib{which}_{kind}", "simd", letter * 3, call)
            yield Function(f"__vib{which}_{kind} p", "simd", "i" + letter * 2, call + " r = p;")
        for kind in ("s16x2", "u16x2"):
            call = f"bool p, q; r = __vib{which}_{kind}(a, b, &p, &q);"
            yield Function(f"__vib{which}_{kind}", "simd", "uuu", call)
            yield Function(f"__vib{which}_{kind} p q", "simd", "iuu", call + " r = 2 * p + q;")


def listed():
    """Those of functions.txt, whose lines are "group: signature: names"."""
    text = (FOLDER / "functions.txt").read_text().replace("\n    ", " ")
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        group, signature, names = line.split(": ")
        for name in names.split():
            call = f"r = {name}({', '.join('abce'[: len(signature) - 1])});"
            yield Function(name, group, signature, call)


@cache
def groups():
    """{group: its functions}: half, bfloat16 and SIMD twice, as compiled for old and new GPUs."""
    found = {group: [] for group in GROUPS}
    for function in (*listed(), *special()):
        base, _, newer = function.group.partition(" ")
        for group in (base, base + " 90"):
            if group in found and not (newer and group == base):
                found[group].append(function)
    return found
