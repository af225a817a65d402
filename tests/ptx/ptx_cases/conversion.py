"""Rows of cvt, mov, logic, shift and byte instructions (PTX manual, 9.7.8, 9.7.9.4 to 9.7.9.22).

The notation is explained in expand.py; `table` is its Table, to which each function adds the rows of a
section.
"""

from itertools import product

SMALL = "(.u8|.s8)"
LARGE = "(.u16|.s16|.u32|.s32|.u64|.s64)"
ANY = "(.u8|.s8|.u16|.s16|.u32|.s32|.u64|.s64)"
RND = "(.rn|.rz|.rm|.rp)"
WHOLE = "(.rni|.rzi|.rmi|.rpi)"

INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")


def contains(wide, narrow):
    """Whether the first type holds every value of the second, so that nothing saturates."""
    more = int(wide[1:]) - int(narrow[1:])
    return more >= 0 if wide[0] == narrow[0] else wide[0] == "s" and more > 0


def convert(table):
    def rows(*arguments, **options):
        table.rows("convert", *arguments, **options)

    same, byte = "d:@0, a:@1", "d:b32, a:@1"
    rows(same, f"cvt{LARGE}{ANY}")
    rows(byte, f"cvt{SMALL}{ANY}")
    for narrow, source in product(INTEGERS, INTEGERS):
        if not contains(narrow, source):
            rows(byte if narrow[1:] == "8" else same, f"cvt.sat.{narrow}.{source}")
    for real, ftz in ((".f32", "{.ftz}"), (".f64", ""), (".f16", "")):
        rows(same, f"cvt{WHOLE}{ftz}{{.sat}}{LARGE}{real}", f"cvt{RND}{{.sat}}{real}{ANY}")
        rows(byte, f"cvt{WHOLE}{ftz}{{.sat}}{SMALL}{real}")
    rows(same, f"cvt{WHOLE}{LARGE}.bf16", f"cvt{RND}.bf16{LARGE}", sm=90)
    # Between floating-point types.
    rows(
        same,
        "cvt{.rni|.rzi|.rmi|.rpi}{.ftz}{.sat}.f32.f32",
        "cvt{.rni|.rzi|.rmi|.rpi}{.sat}.f64.f64",
        "cvt{.rni|.rzi|.rmi|.rpi}{.sat}.f16.f16",
        f"cvt{RND}{{.ftz}}{{.sat}}.f32.f64",
        "cvt{.ftz}{.sat}.f64.f32",
        "cvt{.ftz}{.sat}.f32.f16",
        "cvt{.sat}.f64.f16",
        f"cvt{RND}{{.ftz}}{{.sat}}.f16.f32",
        f"cvt{RND}{{.sat}}.f16.f64",
    )
    rows(
        same,
        "cvt(.rni|.rzi|.rmi|.rpi).bf16.bf16",
        "cvt.f32.bf16",
        "cvt.f64.bf16",
        "cvt(.rn|.rz|.rm|.rp).bf16.f64",
        "cvt(.rn|.rz|.rm|.rp).bf16.f16",
        "cvt(.rn|.rz|.rm|.rp).f16.bf16",
        "cvt(.rm|.rp).bf16.f32",
        sm=90,
    )
    rows(same, "cvt(.rn|.rz){.relu}(.bf16|.f16).f32", sm=80)
    rows("d:@0, a:@1, b:@1", "cvt(.rn|.rz){.relu}(.f16x2|.bf16x2).f32", sm=80)
    rows("d:@0, a:f32", "cvt.rna.tf32.f32", sm=80)
    rows("d:@0, a:f32", "cvt(.rn|.rz){.relu}.tf32.f32", sm=90)
    rows("d:@0, a:@1, b:@1", "cvt.rn.satfinite{.relu}(.e4m3x2|.e5m2x2).f32", sm=90)
    rows(
        "d:@0, a:@1",
        "cvt.rn.satfinite{.relu}(.e4m3x2|.e5m2x2).f16x2",
        "cvt.rn{.relu}.f16x2(.e4m3x2|.e5m2x2)",
        sm=90,
    )
    rows("d:b32, a:s32, b:s32", "cvt.pack.sat(.u16|.s16).s32")
    rows("d:b32, a:s32, b:s32, c:b32", "cvt.pack.sat(.u8|.s8|.u4|.s4|.u2|.s2).s32.b32")


# Tables of functions for lop3: constants and those that compilers write, such as 0x96 (the exclusive or of
# three), 0xCA (selection), 0xE8 (majority).
LUTS = (
    0x00,
    0x01,
    0x17,
    0x1B,
    0x3C,
    0x55,
    0x69,
    0x78,
    0x80,
    0x96,
    0xAC,
    0xB8,
    0xCA,
    0xE8,
    0xEA,
    0xF8,
    0xFE,
    0xFF,
)


def logic(table):
    def rows(*arguments, **options):
        table.rows("logic", *arguments, **options)

    rows("d:@, a:@, b:@", "(and|or|xor)(.b16|.b32|.b64)", "(and|or|xor).pred")
    rows("d:@, a:@", "(not|cnot)(.b16|.b32|.b64)", "not.pred")
    for lut in LUTS:
        rows(f"d:@, a:@, b:@, c:@, {lut:#x}", "lop3.b32", note=f"{lut:#x}")
    rows("d:b32|q:pred, a:b32, b:b32, c:b32, 0xCA, e:pred", "lop3(.and|.or).b32")
    rows("d:b32, a:b32, b:b32, c:shift", "shf(.l|.r)(.clamp|.wrap).b32")
    rows("d:@, a:@, b:shift", "shl(.b16|.b32|.b64)", "shr(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64)")
    rows("d:b32, a:b32, b:b32, c:b32", "prmt.b32")
    rows("d:b32, a:b32, b:b32, c:mode", "prmt.b32(.f4e|.b4e|.rc8|.ecl|.ecr|.rc16)")
    for count in (0, 1, 31, 32, 33, 255):
        rows(
            f"d:@, a:@, {count}",
            "(shl.b32|shr.u32|shr.s32|shl.b64|shr.u64|shr.s64|shl.b16|shr.s16|shr.u16)",
            note=f"by {count}",
        )


def move(table):
    """mov of every type, of a vector into one register and back (pack, unpack), and of constants."""

    def rows(*arguments, **options):
        table.rows("move", *arguments, **options)

    rows("d:@, a:@", "mov(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64)", "mov.pred", "mov.b128")
    narrow = ".reg .b8 low, high; cvt.u8.u16 low, a:b16; cvt.u8.u16 high, b:b16;"
    rows("d:b16, {low, high}", "mov.b16", note="pack 2x8", before=narrow)
    declared = ".reg .b8 low, high;"
    widen = "cvt.u16.u8 d:b16, low; cvt.u16.u8 q:b16, high;"
    rows("{low, high}, a:b16", "mov.b16", note="unpack 2x8", before=declared, after=widen)
    rows("d:b32, {a:b16, b:b16}", "mov.b32", note="pack 2x16")
    rows("d:b64, {a:b32, b:b32}", "mov.b64", note="pack 2x32")
    rows("d:b64, {a:b16, b:b16, c:b16, e:b16}", "mov.b64", note="pack 4x16")
    rows("d:b128, {a:b64, b:b64}", "mov.b128", note="pack 2x64")
    rows("{d:b16, q:b16}, a:b32", "mov.b32", note="unpack 2x16")
    rows("{d:b32, q:b32}, a:b64", "mov.b64", note="unpack 2x32")
    rows("{d:b16, q:b16, r:b16, s:b16}, a:b64", "mov.b64", note="unpack 4x16")
    rows("{d:b64, q:b64}, a:b128", "mov.b128", note="unpack 2x64")
    rows("{_, q:b32}, a:b64", "mov.b64", note="high half")
    for kind, value in (
        ("f32", "0f7F800001"),
        ("f64", "0dFFF0000000000001"),
        ("s16", "-32768"),
        ("u64", "0xFFFFFFFFFFFFFFFF"),
        ("f32", "1.5"),
        ("f64", "-0.1"),
        ("s32", "-2147483648"),
        ("b16", "0xffff"),
        ("u32", "4294967295U"),
    ):
        rows(f"d:{kind}, {value}; mov.b32 x, a:b32", f"mov.{kind}", note=value, lanes=128)


def video(table):
    def rows(*arguments, **options):
        table.rows("video", *arguments, **options)

    three = "d:b32, a:b32, b:b32, c:b32"
    signs = "(.u32|.s32)(.u32|.s32)(.u32|.s32)"
    for lanes in "24":
        simd = f"(vadd{lanes}|vsub{lanes}|vavrg{lanes}|vabsdiff{lanes}|vmin{lanes}|vmax{lanes})"
        rows(
            three,
            f"{simd}{signs}{{.sat}}",
            f"{simd}{signs}.add",
            f"vset{lanes}(.u32|.s32)(.u32|.s32)(.eq|.ne|.lt|.le|.gt|.ge){{.add}}",
            lanes=2048,
        )
    scalar = "(vadd|vsub|vabsdiff|vmin|vmax)"
    rows("d:b32, a:b32, b:b32", f"{scalar}{signs}{{.sat}}", lanes=2048)
    rows(three, f"{scalar}(.u32.u32.u32|.s32.s32.s32)(.add|.min|.max)", lanes=2048)
    rows(
        "d:b32, a:b32.b1, b:b32.h1", f"{scalar}(.u32.u32.u32|.s32.s32.s32){{.sat}}", note="b1 h1", lanes=2048
    )
    rows("d:b32.b2, a:b32, b:b32, c:b32", f"{scalar}.s32.s32.s32{{.sat}}", note="into b2", lanes=2048)
    rows("d:b32, a:b32, b:shift", "(vshl|vshr)(.u32.u32.u32|.s32.s32.u32){.sat}(.clamp|.wrap)", lanes=2048)
    rows("d:b32, a:b32, b:b32", "vset(.u32|.s32)(.u32|.s32)(.eq|.ne|.lt|.le|.gt|.ge)", lanes=2048)
    rows(three, "vmad(.u32.u32.u32|.s32.s32.s32){.sat}{.shr7|.shr15}", lanes=2048)
    rows(
        "d:b32, a:b32.b0, b:b32.h1, c:b32", "vmad(.u32.u32.u32|.s32.s32.s32){.sat}", note="b0 h1", lanes=2048
    )


def video_parts(table):
    """Selectors, masks, merging and the mixed types of video instructions."""

    def rows(*arguments, **options):
        table.rows("video parts", *arguments, lanes=512, **options)

    signs = "(.u32|.s32)(.u32|.s32)(.u32|.s32)"
    scalar = "(vadd|vsub|vabsdiff|vmin|vmax)"
    for part in ("b2", "h1"):
        rows(f"d:b32.{part}, a:b32, b:b32, c:b32", f"{scalar}{signs}{{.sat}}", note=f"into {part}")
    rows("d:b32, a:b32, b:b32, c:b32", f"{scalar}{signs}{{.sat}}(.add|.min|.max)")
    rows("d:b32, a:b32.h0, b:b32.b3, c:b32", f"{scalar}{signs}{{.sat}}(.add|.min|.max)", note="h0 b3")
    shifts = "(vshl|vshr)(.u32|.s32)(.u32|.s32).u32{.sat}(.clamp|.wrap)"
    rows("d:b32, a:b32, b:shift", shifts)
    rows("d:b32.h0, a:b32.h1, b:shift, c:b32", shifts, note="h1 into h0")
    rows("d:b32, a:b32, b:shift, c:b32", f"{shifts}(.add|.min|.max)")
    compare = "vset(.u32|.s32)(.u32|.s32)(.eq|.ne|.lt|.le|.gt|.ge)"
    rows("d:b32, a:b32.b1, b:b32.h1", compare, note="b1 h1")
    rows("d:b32.b3, a:b32.h0, b:b32, c:b32", compare, note="h0 into b3")
    rows("d:b32, a:b32, b:b32, c:b32", f"{compare}(.add|.min|.max)")
    scale = "{.sat}{.shr7|.shr15}"
    types = "(.u32.u32.u32|.s32.s32.s32|.s32.u32.s32|.s32.s32.u32)"
    rows("d:b32, a:b32, b:b32, c:b32", f"vmad{types}{scale}", f"vmad{types}.po{scale}")
    rows("d:b32, a:b32.h1, b:b32.b2, c:b32", f"vmad{types}.po{scale}", note="h1 b2")
    for note, operands in (
        ("-a", "-a:b32, b:b32, c:b32"),
        ("-b", "a:b32.h0, -b:b32.b1, c:b32"),
        ("-c", "a:b32, b:b32, -c:b32"),
    ):
        rows(f"d:b32, {operands}", f"vmad.s32.s32.s32{scale}", f"vmad.s32.u32.u32{scale}", note=note)
    for lanes, unit, masks, picks in (
        ("2", "h", ("0", "1", "10"), ("01", "32", "20", "13")),
        ("4", "b", ("0", "2", "31", "210", "3210"), ("0123", "7654", "7036", "1564")),
    ):
        names = "(" + "|".join(name + lanes for name in "vadd vsub vavrg vabsdiff vmin vmax".split()) + ")"
        tests = f"vset{lanes}(.u32|.s32)(.u32|.s32)(.lt|.ge|.ne)"
        for mask in masks:
            for added in ("", ".add"):
                rows(
                    f"d:b32.{unit}{mask}, a:b32, b:b32, c:b32",
                    f"{names}(.u32.u32.s32|.s32.s32.s32){added or '{.sat}'}",
                    f"{tests}{added}",
                    note=f"into {unit}{mask}",
                )
        for pick, other in zip(picks, picks[1:] + picks[:1], strict=True):
            rows(
                f"d:b32, a:b32.{unit}{pick}, b:b32.{unit}{other}, c:b32",
                f"{names}(.u32.u32.u32|.s32.u32.s32){{.sat}}",
                tests,
                note=f"{unit}{pick} {unit}{other}",
            )


def fill(table):
    for section in (convert, logic, move, video, video_parts):
        section(table)
