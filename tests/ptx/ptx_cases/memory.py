"""Rows of loads and stores, atomics and the instructions of a warp or block (PTX manual, 9.7.9, 9.7.13).

Every lane has its own cell of memory (the register `cell`), so that results do not depend on the order of
lanes."""

from .expand import spellings, types_of
from .inputs import WIDTH

KINDS = "(.b8|.u8|.s8|.b16|.u16|.s16|.b32|.u32|.s32|.f32|.b64|.u64|.s64|.f64)"
SEMANTICS = "(.relaxed|.acquire|.release|.acq_rel)"
SCOPE = "(.cta|.gpu|.sys)"
SPACES = (("", "generic"), (".global", "global"), (".shared", "shared"), (".local", "local"))
FILL = "st.b32 [cell], a:b32; st.b32 [cell+4], b:b32; st.b32 [cell+8], c:b32; st.b32 [cell+12], e:b32;"
REGISTER = {"8": "b32", "16": "b16", "32": "b32", "64": "b64"}


def kinds(names):
    """The types of a choice, each with its register type (bytes are held in registers of 32 bits)."""
    return [(name, REGISTER[name[2:]]) for name in names[1:-1].split("|")]


def filled(space):
    """PTX that fills the cell with the operands a, b, c and e."""
    return FILL.replace("st.b32", f"st{space}.b32")


def read_back(space):
    """PTX that loads the cell into the results q, r and s."""
    return f"ld{space}.b32 q:b32, [cell]; ld{space}.b32 r:b32, [cell+4]; ld{space}.b64 s:b64, [cell+8];"


def load(table):
    def rows(operands, *mnemonics, **options):
        table.rows("load", operands, *mnemonics, lanes=1024, **options)

    for space, cell in SPACES:
        for kind, reg in kinds(KINDS):
            start = {"cell": cell, "before": filled(space)}
            rows(f"d:{reg}, [cell]", f"ld{{.weak}}{space}{kind}", **start)
            rows(f"d:{reg}, [cell+8]", f"ld{space}{{.ca|.cg|.cs|.lu|.cv}}{kind}", note="+8", **start)
            if space != ".local":
                rows(
                    f"d:{reg}, [cell]",
                    f"ld(.relaxed|.acquire){SCOPE}{space}{kind}",
                    f"ld.volatile{space}{kind}",
                    **start,
                )
                rows(f"{{d:{reg}, q:{reg}}}, [cell]", f"ld.volatile{space}.v2{kind}", **start)
            rows(f"{{d:{reg}, q:{reg}}}, [cell]", f"ld{space}.v2{kind}", **start)
            if kind[2:] != "64":
                rows(f"{{d:{reg}, q:{reg}, r:{reg}, s:{reg}}}, [cell]", f"ld{space}.v4{kind}", **start)
        rows("d:b128, [cell]", f"ld{space}.b128", cell=cell, before=filled(space))
        rows(
            "d:b64, [cell]",
            f"ld{space}(.u8|.s8|.u16|.s16|.u32|.s32)",
            note="into 64",
            cell=cell,
            before=filled(space),
        )
    for kind, reg in kinds(KINDS):
        start = {"cell": "const", "before": "mov.b32 x, a:b32;"}
        rows(f"d:{reg}, [cell]", f"ld.const{kind}", **start)
        rows(f"{{d:{reg}, q:{reg}}}, [cell]", f"ld.const.v2{kind}", **start)
        rows(
            f"d:{reg}, [cell]",
            f"ld.global{{.ca|.cg|.cs}}.nc{kind}",
            f"ldu.global{kind}",
            cell="read only",
            before="mov.b32 x, a:b32;",
        )
    rows(
        "d:b32, [cell]",
        "ld.global{.L1::evict_normal|.L1::evict_last|.L1::no_allocate}{.L2::64B|.L2::128B}.b32",
        cell="global",
        before=filled(".global"),
    )


def store(table):
    def rows(operands, *mnemonics, **options):
        table.rows("store", operands, *mnemonics, lanes=1024, **options)

    for space, cell in SPACES:
        start = {
            "cell": cell,
            "after": read_back(space),
            "before": f"mov.b64 x64, 0x1122334455667788; "
            f"st{space}.b64 [cell], x64; st{space}.b64 [cell+8], x64;",
        }
        for kind, reg in kinds(KINDS):
            rows(f"[cell], a:{reg}", f"st{{.weak}}{space}{kind}", **start)
            rows(f"[cell+8], a:{reg}", f"st{space}{{.wb|.cg|.cs|.wt}}{kind}", note="+8", **start)
            if space != ".local":
                rows(
                    f"[cell], a:{reg}",
                    f"st(.relaxed|.release){SCOPE}{space}{kind}",
                    f"st.volatile{space}{kind}",
                    **start,
                )
                rows(f"[cell], {{a:{reg}, b:{reg}}}", f"st.volatile{space}.v2{kind}", **start)
            rows(f"[cell], {{a:{reg}, b:{reg}}}", f"st{space}.v2{kind}", **start)
            if kind[2:] != "64":
                rows(f"[cell], {{a:{reg}, b:{reg}, c:{reg}, e:{reg}}}", f"st{space}.v4{kind}", **start)
        rows("[cell], a:b128", f"st{space}.b128", **start)
        rows("[cell], a:b64", f"st{space}(.b8|.b16|.b32)", note="from 64", **start)


ATOMS = (
    "add(.u32|.s32|.u64|.f32|.f64)",
    "(and|or|xor)(.b32|.b64)",
    "exch(.b32|.b64)",
    "(inc|dec).u32",
    "(min|max)(.u32|.s32|.u64|.s64)",
    "add.noftz(.f16|.f16x2)",
)
RECENT = ("add.noftz(.bf16|.bf16x2)", "exch.b128")


def atomic(table):
    def rows(operands, *mnemonics, sm=75, **options):
        table.rows("atomic", operands, *mnemonics, lanes=1024, sm=sm, **options)

    def around(mnemonic, space, cell):
        """Options that fill the cell with a before the operation and load it into q after it."""
        kind = types_of(mnemonic)[-1]
        bits = WIDTH[kind]
        return {
            "cell": cell,
            "before": f"st{space}.b{bits} [cell], a:{kind};",
            "after": f"ld{space}.b{bits} q:{kind}, [cell];",
        }

    def each(names, space, cell, words="", sm=75):
        """Adds rows of atom and red for these operations in a space, with cells of this kind; words:
        modifiers before the space."""
        for operation in names:
            for mnemonic in spellings(f"{words}{space}.{operation}"):
                options = around(mnemonic, space, cell)
                rows("d:@, [cell], b:@", "atom" + mnemonic, sm=sm, **options)
                if "exch" not in mnemonic and "acq" not in mnemonic:
                    rows("[cell], b:@", "red" + mnemonic, sm=sm, **options)
        for mnemonic in spellings(f"{words}{space}.cas" + ("(.b16|.b32|.b64)" if sm == 75 else ".b128")):
            options = around(mnemonic, space, cell)
            rows("d:@, [cell], b:@, c:@", "atom" + mnemonic, sm=sm, **options)
            rows("d:@, [cell], a, c:@", "atom" + mnemonic, sm=sm, note="equal", **options)

    for space, cell in (("", "generic"), (".global", "global"), (".shared", "shared")):
        each(ATOMS, space, cell)
        each(RECENT, space, cell, sm=90)
    each(ATOMS, "", "generic shared", words="{.relaxed}.cta")
    each(ATOMS, "", "generic", words=f"{SEMANTICS}{SCOPE}")
    each(ATOMS, ".global", "global", words="(.cta|.sys)")


def warp(table):
    def rows(operands, *mnemonics, **options):
        table.rows("warp", operands, *mnemonics, **options)

    every = "0xffffffff"
    shuffle = "shfl.sync(.up|.down|.bfly|.idx).b32"
    rows(f"d:b32|q:pred, a:b32, b:lane, c:lane, {every}", shuffle, note="any clamp")
    for note, clamp in (("", "31"), ("width 8", "0x181f"), ("width 16 up", "0x1000"), ("up", "0")):
        rows(f"d:b32|q:pred, a:b32, b:lane, {clamp}, {every}", shuffle, note=note)
    for members in ("0x55555555", "0xffff0000", "0x00000001"):
        guard = (
            f"mov.u32 y, %laneid; shr.u32 y, {members}, y; and.b32 y, y, 1; "
            "setp.eq.u32 p, y, 0; mov.b32 d:b32, 0; @p bra over;"
        )
        for row in ("shfl.sync.bfly.b32 d:b32, a:b32, 2, 31,",)[members == "0x00000001" :] + (
            "vote.sync.ballot.b32 d:b32, e:pred,",
            "match.any.sync.b32 d:b32, c:mode,",
        ):
            mnemonic, operands = row.split(" ", 1)
            rows(f"{operands} {members}", mnemonic, note=members, before=guard, after="over:")
    rows(f"d:pred, a:pred, {every}", "vote.sync(.all|.any|.uni).pred")
    rows(f"d:pred, !a:pred, {every}", "vote.sync(.all|.any|.uni).pred", note="!a")
    rows(f"d:b32, a:pred, {every}", "vote.sync.ballot.b32")
    rows(f"d:b32, a:mode, {every}", "match.any.sync.b32")
    rows(
        f"d:b32, x64, {every}; mov.b32 x, a:mode",
        "match.any.sync.b64",
        before="cvt.u64.u32 x64, a; shl.b64 x64, x64, 40;",
    )
    rows(f"d:b32|q:pred, y, {every}; mov.b32 x, a:lane", "match.all.sync.b32", before="shr.u32 y, a, 5;")
    rows(f"d:b32|q:pred, a:mode, {every}", "match.all.sync.b32", note="differing")
    rows(
        f"d:b32|q:pred, x64, {every}; mov.b32 x, a:lane",
        "match.all.sync.b64",
        before="cvt.u64.u32 x64, a; shr.u64 x64, x64, 5;",
    )
    rows(
        f"d:b32, a:@, {every}",
        "redux.sync(.add|.min|.max)(.u32|.s32)",
        "redux.sync(.and|.or|.xor).b32",
        sm=80,
    )
    rows(f"d:b32|q:pred, {every}; mov.b32 x, a:b32", "elect.sync", sm=90)
    rows("d:b32; mov.b32 x, a:b32", "activemask.b32")
    joined = "d:b32, 1, y, p"
    count = "and.b32 y, a:b32, 1; setp.ne.u32 p, y, 0; mov.u32 y, 128;"
    rows(
        joined,
        "bar.red.popc.u32",
        "bar.cta.red.popc.u32",
        "barrier.red.popc{.aligned}.u32",
        "barrier.cta.red.popc{.aligned}.u32",
        before=count,
    )
    rows(
        "d:pred, 1, y, p",
        "bar.red(.and|.or).pred",
        "barrier{.cta}.red(.and|.or){.aligned}.pred",
        before=count,
    )
    rows("d:pred, 3, !p", "bar.red(.and|.or).pred", note="all, !p", before=count)
    other = "st.shared.b32 [cell], a:b32;"
    look = (
        "xor.b32 y, thread, 77; mul.wide.u32 offset, y, 16; mov.u64 cell, near; "
        "add.u64 cell, cell, offset; ld.shared.b32 d:b32, [cell];"
    )
    for row in ("bar.sync", "bar.cta.sync", "barrier.sync{.aligned}", "barrier.cta.sync{.aligned}"):
        rows("0", row, cell="shared", before=other, after=look)
        rows("5, 128", row, note="5, 128", cell="shared", before=other, after=look)
    look = look.replace("77", "21")
    rows(every, "bar.warp.sync", cell="shared", before=other, after=look)
    same = "st.global.b32 [cell], a:b32;"
    rows(
        "",
        "membar(.cta|.gl|.sys)",
        "fence{.sc|.acq_rel}(.cta|.gpu|.sys)",
        cell="global",
        before=same,
        after="ld.global.b32 d:b32, [cell];",
    )
    rows(
        "",
        "fence(.acquire|.release)(.cta|.gpu|.sys)",
        "fence{.sc|.acq_rel}.cluster",
        sm=90,
        cell="global",
        before=same,
        after="ld.global.b32 d:b32, [cell];",
    )


def address(table):
    def rows(operands, *mnemonics, **options):
        table.rows("address", operands, *mnemonics, lanes=256, **options)

    space = "(.global|.shared|.local|.const)"
    for name, cell in (
        ("global", "generic"),
        ("shared", "generic shared"),
        ("local", "local"),
        ("const", "const"),
    ):
        to = f"cvta.{name}.u64 cell, cell; " if cell in ("local", "const") else ""
        rows("d:pred, cell; mov.b32 x, a:b32", f"isspacep{space}", note="of " + name, cell=cell, before=to)
        rows(
            f"x64, cell; ld.{name}.b32 d:b32, [x64]",
            f"cvta.to.{name}.u64",
            cell=cell,
            before=f"{to}{'mov.b32 x, a:b32' if name == 'const' else 'st.b32 [cell], a:b32'};",
        )
        if name != "const":
            rows(
                "x64, cell; st.b32 [x64], a:b32",
                f"cvta.{name}.u64",
                cell=cell.replace("generic ", "").replace("generic", "global"),
                after=f"ld.{name}.b32 d:b32, [cell];",
            )
    kept = {
        "cell": "global",
        "before": "st.global.b32 [cell], a:b32;",
        "after": "ld.global.b32 d:b32, [cell];",
    }
    rows("[cell]", "prefetch.global(.L1|.L2)", "prefetch(.L1|.L2)", **kept)
    rows("7", "pmevent", **kept)
    rows("20", "nanosleep.u32", **kept)
    rows(
        "a:mode, targets; zero: mov.u32 d:b32, 10; bra out; one: mov.u32 d:b32, 11; bra out;"
        " two: mov.u32 d:b32, 12; bra out; three: mov.u32 d:b32, 13; out: mov.b32 x, 0",
        "brx.idx",
        before="targets: .branchtargets zero, one, two, three;",
    )


def parameters(table):
    """Parameters of functions, by every kind of access."""

    def rows(operands, *mnemonics, **options):
        table.rows("parameter", operands, *mnemonics, lanes=1024, **options)

    opened = "{ .param .align 16 .b8 to[16]; .param .align 16 .b8 fro[16]; "
    # One type on both sides: the GPU's compiler does not define what a load of another type returns.
    filled_in = "".join(f"st.param.b32 [to+{4 * i}], {name}:b32; " for i, name in enumerate("abce"))
    call = "call (fro), same, (to);"
    for kind, reg in kinds(KINDS):
        rows(f"d:{reg}, [fro]", f"ld.param{kind}", before=opened + filled_in + call, after="}")
        rows(
            f"{{d:{reg}, q:{reg}}}, [fro]", f"ld.param.v2{kind}", before=opened + filled_in + call, after="}"
        )
        two, four = f"{{d:{reg}, q:{reg}}}, [fro]", f"{{d:{reg}, q:{reg}, r:{reg}, s:{reg}}}, [fro]"
        rows(
            f"[to], a:{reg}",
            f"st.param{kind}",
            before=opened,
            after=f"{call} ld.param{kind} d:{reg}, [fro]; }}",
        )
        rows(
            f"[to], {{a:{reg}, b:{reg}}}",
            f"st.param.v2{kind}",
            before=opened,
            after=f"{call} ld.param.v2{kind} {two}; }}",
        )
        if kind[2:] != "64":
            rows(four, f"ld.param.v4{kind}", before=opened + filled_in + call, after="}")
            rows(
                f"[to], {{a:{reg}, b:{reg}, c:{reg}, e:{reg}}}",
                f"st.param.v4{kind}",
                before=opened,
                after=f"{call} ld.param.v4{kind} {four}; }}",
            )


def control(table):
    def rows(operands, *mnemonics, **options):
        table.rows("control", operands, *mnemonics, lanes=1024, **options)

    rows("over; mov.u32 d:b32, 2; over: mov.b32 x, a:b32", "bra{.uni}", before="mov.u32 d, 1;")
    test = "setp.lt.s32 p, a:b32, b:b32; mov.b32 d:b32, 5; "
    rows("over; mov.u32 d, 7; over: mov.b32 x, 0", "@p bra", "@!p bra", before=test)
    rows("d, 7", "@p mov.b32", "@!p mov.b32", before=test)
    rows(
        "again; mov.b32 x, 0",
        "@p bra",
        note="loop",
        before="mov.b32 x, a:mode; mov.b32 d:b32, 0; again: add.u32 d, d, 3;"
        " sub.u32 x, x, 1; setp.ge.s32 p, x, 0;",
    )
    rows("(d:b32), next, (a:b32)", "call{.uni}")
    rows("(d:b32), sum, (a:mode)", "call", note="recursion")
    rows(
        "(d:b32), x64, (a:b32), proto",
        "call",
        note="by address",
        before="proto: .callprototype (.reg .b32 _) _ (.reg .b32 _); mov.u64 x64, next;",
    )
    rows(
        "; mov.b32 x, 0",
        "@p exit",
        "@p ret",
        before=f"{test}mov.u64 cell, cells; mul.wide.u32 offset, index, 4;",
    )
    for name in (
        "tid.x",
        "tid.y",
        "ntid.x",
        "ntid.z",
        "ctaid.x",
        "ctaid.y",
        "nctaid.x",
        "nctaid.z",
        "laneid",
        "lanemask_eq",
        "lanemask_le",
        "lanemask_lt",
        "lanemask_ge",
        "lanemask_gt",
        "dynamic_smem_size",
    ):
        rows(f"d:b32, %{name}; mov.b32 x, a:b32", "mov.u32", note=name)
    rows("d:b16, %tid.x; mov.b32 x, a:b32", "cvt.u16.u32", note="tid.x")


def vector_atomic(table):
    """Vectors: each component is one atomic operation."""

    def rows(operands, *mnemonics, **options):
        table.rows("atomic", operands, *mnemonics, lanes=1024, sm=90, cell="global", **options)

    start = {"before": "st.global.b64 [cell], a:b64; st.global.b64 [cell+8], b:b64;"}
    done = "ld.global.b64 r:b64, [cell]; ld.global.b64 s:b64, [cell+8];"
    rows("{d:f32, q:f32}, [cell], {c:f32, e:f32}", "atom.global.add.v2.f32", after=done, **start)
    rows("[cell], {c:f32, e:f32}", "red.global.add.v2.f32", after=done, **start)
    rows(
        "{d:@, q:@}, [cell], {c:@, e:@}",
        "atom.global.add.noftz.v2(.f16|.bf16|.f16x2|.bf16x2)",
        after=done,
        **start,
    )
    rows(
        "{d:@, q:@}, [cell], {c:@, e:@}",
        "atom.global(.min|.max).noftz.v2(.f16|.bf16|.f16x2|.bf16x2)",
        after=done,
        **start,
    )


def fill(table):
    for section in (load, store, atomic, vector_atomic, warp, address, parameters, control):
        section(table)
