"""The functions of the CUDA math, half, bfloat16, integer and SIMD headers: those of functions.txt, and here
those that need more than one call with the arguments, as functions with several results."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent.parent

# letter of a signature: C type, bytes. Letters of the same C type differ in the values that arguments get
# (inputs.py): s is a shift count, e and E are exponents, n is an order of a Bessel function.
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
# group: compute capability of its module (75 for 7.5), header to include
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
    name: str  # the header's name; after a space, which of several results
    group: str  # as in functions.txt
    signature: str  # letters of TYPES: the result, then the arguments
    statement: str  # C code that sets the result r from the arguments a, b, c, e

    @property
    def result(self):
        """The letter of the result's type."""
        return self.signature[0]

    @property
    def arguments(self):
        """[(name, letter of its type)] of the arguments."""
        return list(zip("abce", self.signature[1:], strict=False))

    @property
    def entry(self):
        """The name of the function's kernel, unique in the group."""
        return f"{self.name.replace(' ', '_')}_{self.signature}"


def with_pointers(group, kind, suffix):
    """The Functions of float or double that store results through pointers or take an array, and division.

    kind: the letter of the type; suffix: the end of the functions' names.
    """
    c_type = TYPES[kind][0]
    rows = []
    for call in (f"sincos{suffix}", f"sincospi{suffix}"):
        for part in "sc":
            rows.append((f"{call} {part}", kind * 2, f"{c_type} s, c; {call}(a, &s, &c); r = {part};"))
    rows += [
        (f"frexp{suffix}", kind * 2, f"int n; r = frexp{suffix}(a, &n);"),
        (f"frexp{suffix} exponent", "i" + kind, f"int n; frexp{suffix}(a, &n); r = n;"),
        (f"modf{suffix}", kind * 2, f"{c_type} n; r = modf{suffix}(a, &n);"),
        (f"modf{suffix} whole", kind * 2, f"{c_type} n; modf{suffix}(a, &n); r = n;"),
        (f"remquo{suffix}", kind * 3, f"int n; r = remquo{suffix}(a, b, &n);"),
        (f"remquo{suffix} quotient", "i" + kind * 2, f"int n; remquo{suffix}(a, b, &n); r = n;"),
        (f"norm{suffix}", kind * 4, f"{c_type} v[] = {{a, b, c}}; r = norm{suffix}(3, v);"),
        (f"rnorm{suffix}", kind * 4, f"{c_type} v[] = {{a, b, c}}; r = rnorm{suffix}(3, v);"),
        (f"divide{suffix}", kind * 3, "r = a / b;"),
    ]
    return [Function(name, group, signature, text) for name, signature, text in rows]


def special():
    """Yields the Functions that functions.txt cannot describe: their code is more than r = name(a, b, c,
    e)."""
    yield from with_pointers("float", "f", "f")
    yield from with_pointers("double", "d", "")
    for part in "sc":
        yield Function(f"__sincosf {part}", "float", "ff", f"float s, c; __sincosf(a, &s, &c); r = {part};")
    # __fns is defined for positions below 32; counts beyond the 32 bits of a word are valid
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
    """Yields the Functions of functions.txt, whose lines are "group: signature: names"."""
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
    """{group: its Functions}, in the order of GROUPS.

    Functions of half, bfloat16 and simd are in two groups, compiled for 7.5 and for 9.0, where the headers
    use newer instructions; those that need a newer GPU than 7.5 ("half 80" in functions.txt) only in the
    second.
    """
    found = {group: [] for group in GROUPS}
    for function in (*listed(), *special()):
        base, _, needed = function.group.partition(" ")
        if not needed:
            found[base].append(function)
        if base + " 90" in found:
            found[base + " 90"].append(function)
    return found
