"""Rows of the integer, carry, floating-point, half and comparison instructions (PTX manual, 9.7.1 to 9.7.7).

The notation is explained in expand.py; `table` is its Table, to which each function adds the rows of a
section.
"""

# Words of mnemonics: one of those in () is required, those in {} are optional.
INT = "(.u16|.s16|.u32|.s32|.u64|.s64)"
WORD = "(.u32|.s32|.u64|.s64)"
SHORT = "(.u16|.s16|.u32|.s32)"
RND = "{.rn|.rz|.rm|.rp}"
MUST = "(.rn|.rz|.rm|.rp)"
ORDER = "(.eq|.ne|.lt|.le|.gt|.ge)"
UNSIGNED = "(.lo|.ls|.hi|.hs)"
FLOAT = "(.eq|.ne|.lt|.le|.gt|.ge|.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan)"
# Operands: a result and one, two or three sources, all of the last type of the mnemonic.
ONE, TWO, THREE = "d:@, a:@", "d:@, a:@, b:@", "d:@, a:@, b:@, c:@"


def integer(table):
    rows = table.rows
    name = "integer"
    rows(
        name,
        TWO,
        f"(add|sub|div|rem|min|max){INT}",
        f"mul(.lo|.hi){INT}",
        "(add|sub).sat.s32",
        "mul24(.lo|.hi)(.u32|.s32)",
    )
    rows(name, "d:w, a:@, b:@", f"mul.wide{SHORT}")
    rows(name, "d:w, a:@, b:@, c:w", f"mad.wide{SHORT}")
    rows(
        name,
        THREE,
        f"mad(.lo|.hi){INT}",
        "mad.hi.sat.s32",
        f"sad{INT}",
        "mad24(.lo|.hi)(.u32|.s32)",
        "mad24.hi.sat.s32",
    )
    rows(name, ONE, "(abs|neg)(.s16|.s32|.s64)", "brev(.b32|.b64)")
    rows(name, "d:b32, a:@", "(popc|clz)(.b32|.b64)", f"bfind{{.shiftamt}}{WORD}")
    rows(name, "d:@, a:@, b:shift, c:shift", f"bfe{WORD}")
    rows(name, "d:@, a:@, b:@, c:shift, e:shift", "bfi(.b32|.b64)")
    rows(name, "d:@, a:@, b:shift", "szext(.clamp|.wrap)(.u32|.s32)")
    rows(name, "d:b32, a:shift, b:shift", "bmsk(.clamp|.wrap).b32")
    rows(
        name,
        "d:b32, a:b32, b:b32, c:b32",
        "dp4a(.u32|.s32)(.u32|.s32)",
        "dp2a(.lo|.hi)(.u32|.s32)(.u32|.s32)",
    )
    rows(name, "d:b32, a:b32, b:lane, c:s32", "fns.b32", before="rem.s32 c:s32, c, 34;")
    rows(name, TWO, "(add|min|max)(.u16x2|.s16x2)", "(min|max).relu(.s32|.s16x2)", sm=90)


def carry(table):
    def rows(*arguments, **options):
        table.rows("carry", *arguments, **options)

    rows("d:@, a:@, b:@; addc.u32 q:b32, 0, 0", f"add.cc{WORD}")
    rows("d:@, a:@, b:@; subc.u32 q:b32, 0, 0", f"sub.cc{WORD}")
    rows("d:@, a:@, b:@, c:@; addc.u32 q:b32, 0, 0", f"mad(.lo|.hi).cc{WORD}")
    start = "add.cc.u32 x, e:bit, -1;"  # sets the carry flag where the bit is 1
    rows("d:@, a:@, b:@", f"addc{WORD}", before=start)
    rows("d:@, a:@, b:@; addc.u32 q:b32, 0, 0", f"addc.cc{WORD}", before=start)
    rows("d:@, a:@, b:@, c:@", f"madc(.lo|.hi){WORD}", before=start)
    rows("d:@, a:@, b:@, c:@; addc.u32 q:b32, 0, 0", f"madc(.lo|.hi).cc{WORD}", before=start)
    start = "sub.cc.u32 x, 0, e:bit;"  # sets the borrow
    rows("d:@, a:@, b:@", f"subc{WORD}", before=start)
    rows("d:@, a:@, b:@; subc.u32 q:b32, 0, 0", f"subc.cc{WORD}", before=start)


def floating(table):
    def rows(*arguments, **options):
        table.rows("float", *arguments, **options)

    rows(TWO, f"(add|sub|mul){RND}{{.ftz}}{{.sat}}.f32", f"(add|sub|mul){RND}.f64")
    rows(
        THREE,
        f"fma{MUST}{{.ftz}}{{.sat}}.f32",
        f"fma{MUST}.f64",
        f"mad{MUST}{{.ftz}}{{.sat}}.f32",
        f"mad{MUST}.f64",
        cancel=True,
    )
    rows(TWO, f"div{MUST}{{.ftz}}.f32", f"div{MUST}.f64", "copysign(.f32|.f64)")
    rows(
        ONE, f"(rcp|sqrt){MUST}{{.ftz}}.f32", f"(rcp|sqrt){MUST}.f64", "(abs|neg){.ftz}.f32", "(abs|neg).f64"
    )
    rows(TWO, "(min|max){.ftz}.f32", "(min|max).f64")
    rows(TWO, "(min|max){.ftz}.NaN.f32", sm=80)
    rows(TWO, "(min|max){.ftz}{.NaN}.xorsign.abs.f32", sm=90)
    rows("d:pred, a:@", "testp(.finite|.infinite|.number|.notanumber|.normal|.subnormal)(.f32|.f64)")


def approximate(table):
    def rows(operands, *mnemonics, **options):
        table.rows("approx", operands, *mnemonics, **options)

    rows(ONE, "(rcp|sqrt|rsqrt|sin|cos|lg2|ex2).approx{.ftz}.f32", "tanh.approx.f32")
    rows(TWO, "div(.approx|.full){.ftz}.f32")
    rows(ONE, "rcp.approx.ftz.f64", "rsqrt.approx{.ftz}.f64", "(tanh|ex2).approx(.f16|.f16x2)")
    rows(ONE, "tanh.approx(.bf16|.bf16x2)", "ex2.approx.ftz(.bf16|.bf16x2)", sm=90)


def half(table):
    def rows(*arguments, **options):
        table.rows("half", *arguments, **options)

    kinds = "(.f16|.f16x2)"
    rows(TWO, f"(add|sub|mul){{.rn}}{{.ftz}}{{.sat}}{kinds}")
    rows(THREE, "fma.rn{.ftz}{.sat}.f16", cancel=True)
    rows(THREE, "fma.rn{.ftz}{.sat}.f16x2")
    rows(THREE, f"fma.rn{{.ftz}}.relu{kinds}", sm=80)
    rows(THREE, f"fma.rn.oob{{.relu}}{kinds}", "fma.rn.oob{.relu}(.bf16|.bf16x2)", sm=90)
    # The NaN that means "out of bounds" to .oob: in one of two halves, or in one operand.
    for kind, value in (
        ("f16", "0xfff7"),
        ("f16x2", "0x3c00fff7"),
        ("bf16", "0xfff7"),
        ("bf16x2", "0xfff73f80"),
    ):
        word = "x" if kind.endswith("x2") else "x16"
        start = f"mov.b{32 if word == 'x' else 16} {word}, {value};"
        rows(
            f"d:@, {word}, b:@, c:@",
            f"fma.rn.oob{{.relu}}.{kind}",
            note="a out of bounds",
            before=start,
            sm=90,
        )
        rows(
            f"d:@, a:@, {word}, c:@",
            f"fma.rn.oob{{.relu}}.{kind}",
            note="b out of bounds",
            before=start,
            sm=90,
        )
    rows(ONE, f"(abs|neg){{.ftz}}{kinds}")
    rows(TWO, f"(min|max){{.ftz}}{{.NaN}}{kinds}", sm=80)
    rows(TWO, f"(min|max){{.ftz}}{{.NaN}}.xorsign.abs{kinds}", sm=90)
    brain = "(.bf16|.bf16x2)"
    rows(TWO, f"(add|sub|mul){{.rn}}{brain}", f"(min|max){{.NaN}}.xorsign.abs{brain}", sm=90)
    rows(TWO, f"(min|max){{.NaN}}{brain}", sm=80)
    rows(THREE, f"fma.rn{{.relu}}{brain}", sm=80)
    rows(ONE, f"(abs|neg){brain}", sm=80)


def compare(table):
    def rows(*arguments, **options):
        table.rows("compare", *arguments, **options)

    plain, joined = "d:pred, a:@, b:@", "d:pred|q:pred, a:@, b:@, c:pred"
    negated = "d:pred|q:pred, a:@, b:@, !c:pred"
    whole = [f"setp{ORDER}{INT}", f"setp{UNSIGNED}(.u16|.u32|.u64)", "setp(.eq|.ne)(.b16|.b32|.b64)"]
    real = [f"setp{FLOAT}{{.ftz}}.f32", f"setp{FLOAT}.f64"]
    rows(plain, *whole, *real, f"setp{FLOAT}{{.ftz}}.f16")
    rows("d:pred|q:pred, a:@, b:@", *whole, *real, note="d|q")
    bools = [
        row.replace("}", "}(.and|.or|.xor)", 1)
        if "{.ftz}" in row
        else row[: row.rindex("(")] + "(.and|.or|.xor)" + row[row.rindex("(") :]
        for row in whole
    ]
    bools += [f"setp{FLOAT}(.and|.or|.xor){{.ftz}}.f32", f"setp{FLOAT}(.and|.or|.xor).f64"]
    rows(joined, *bools)
    rows("d:pred, a:@, b:@, c:pred", f"setp{FLOAT}(.and|.or|.xor){{.ftz}}.f16")
    rows(negated, "setp.lt(.and|.or|.xor)(.s32|.f32)", note="!c")
    rows("d:pred|q:pred, a:@, b:@", f"setp{FLOAT}{{.ftz}}.f16x2")
    rows(joined, f"setp{FLOAT}(.and|.or|.xor){{.ftz}}.f16x2")
    rows(plain, f"setp{FLOAT}.bf16", sm=90)
    rows("d:pred|q:pred, a:@, b:@", f"setp{FLOAT}.bf16x2", sm=90)
    rows("d:pred, a:@, b:@, c:pred", f"setp{FLOAT}(.and|.or|.xor).bf16", sm=90)
    rows(joined, f"setp{FLOAT}(.and|.or|.xor).bf16x2", sm=90)
    sets(rows)
    rows("d:@, a:@, b:@, c:pred", "selp(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64)")
    rows(
        "d:@0, a:@0, b:@0, c:@1",
        "slct(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64).s32",
        "slct{.ftz}(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64).f32",
    )


def sets(rows):
    """Rows of set, whose result is a number."""
    result = "(.u32|.s32|.f32)"
    two, three = "d:@0, a:@1, b:@1", "d:@0, a:@1, b:@1, c:pred"
    rows(
        two,
        f"set{ORDER}{result}(.u16|.s16|.u32|.s32|.u64|.s64)",
        f"set(.eq|.ne){result}(.b16|.b32|.b64)",
        f"set{UNSIGNED}{result}(.u16|.u32|.u64)",
        f"set{FLOAT}{{.ftz}}{result}.f32",
        f"set{FLOAT}{result}.f64",
        f"set{FLOAT}{{.ftz}}(.f16|.u16|.s16|.u32|.s32).f16",
        f"set{FLOAT}{{.ftz}}.f16x2.f16x2",
    )
    rows(
        three,
        f"set.lt(.and|.or|.xor){result}(.u32|.s32|.u64|.f32|.f64)",
        "set.lt(.and|.or|.xor).f16.f16",
        "set.gtu(.and|.or|.xor){.ftz}.f16x2.f16x2",
    )
    rows(two, f"set{FLOAT}(.bf16|.u16|.s16|.u32|.s32).bf16", f"set{FLOAT}.bf16x2.bf16x2", sm=90)
    rows(three, "set.lt(.and|.or|.xor).bf16.bf16", sm=90)


def fill(table):
    for section in (integer, carry, floating, approximate, half, compare):
        section(table)
