"""The kernel of a form: loads the operands of a lane, runs the instruction, stores the results."""

from .inputs import WIDTH

BLOCK = 128  # threads
# Names that instructions of forms use: cells (16 bytes of global memory for each lane), table (constant
# memory), fixed (global memory that only loads of read-only data use), same() (returns its parameter of 16
# bytes), next() (adds 1), sum() (of the numbers up to its parameter, by recursion).
HEAD = """.version 8.5
.target sm_{sm}
.address_size 64
.global .align 16 .b8 cells[1048576];
.const .align 16 .b8 table[256] = {{{table}}};
.global .align 16 .b8 fixed[256] = {{{table}}};
.func (.param .align 16 .b8 back[16]) same(.param .align 16 .b8 given[16])
{{ .reg .b64 v; ld.param.b64 v, [given]; st.param.b64 [back], v; ld.param.b64 v, [given+8]; st.param.b64
[back+8], v; ret; }}
.func (.reg .b32 back) next(.reg .b32 given)
{{ add.u32 back, given, 1; ret; }}
.func (.reg .b32 back) sum(.reg .b32 given)
{{ .reg .pred p; .reg .b32 v; setp.eq.u32 p, given, 0; mov.u32 back, 0; @p ret; sub.u32 v, given, 1;
call (back), sum, (v); add.u32 back, back, given; ret; }}
"""
# Registers and memory that forms use without declaring them: index (of the lane), thread (in the block), cell
# (an address), x y z x16 y16 x64 y64 p t (free), near (shared memory), own (local memory).
KERNEL = """.visible .entry {entry}({parameters})
{{
.reg .b32 index, thread, x, y, z; .reg .b64 base, offset, cell, x64, y64; .reg .b16 x16, y16; .reg .pred p, t;
.shared .align 16 .b8 near[2048];
.local .align 16 .b8 own[64];
{registers}
mov.u32 thread, %tid.x; mov.u32 index, %ctaid.x; mad.lo.u32 index, index, {block}, thread;
{loads}{cell}{before}{text}
{after}{stores}ret;
}}
"""
# Statements that set `cell` to the lane's own address, for each kind of memory.
CELLS = {
    "": "",
    "global": "mov.u64 cell, cells; mul.wide.u32 offset, index, 16; add.u64 cell, cell, offset;\n",
    "shared": "mov.u64 cell, near; mul.wide.u32 offset, thread, 16; add.u64 cell, cell, offset;\n",
    "local": "mov.u64 cell, own;\n",
    "const": "mov.u64 cell, table; and.b32 x, thread, 7; mul.wide.u32 offset, x, 16; add.u64 cell, cell,"
    " offset;\n",
}
CELLS["read only"] = CELLS["const"].replace("table", "fixed")
CELLS["generic"] = CELLS["global"] + "cvta.global.u64 cell, cell;\n"
CELLS["generic shared"] = CELLS["shared"] + "cvta.shared.u64 cell, cell;\n"


def size_of(kind):
    """Bytes of an operand in its array; a predicate takes a word."""
    return max(WIDTH[kind], 32 if WIDTH[kind] == 1 else 8) // 8


def register(name, kind):
    return f".reg .{'pred' if WIDTH[kind] == 1 else f'b{WIDTH[kind]}'} {name};"


def address(name, kind):
    """PTX that sets `base` to the address of the lane's element in the array of an operand."""
    return (
        f"ld.param.u64 base, [{{entry}}_{name}]; mul.wide.u32 offset, index, {size_of(kind)}; "
        "add.u64 base, base, offset; "
    )


def load(name, kind):
    if WIDTH[kind] == 1:
        return address(name, kind) + f"ld.global.u32 x, [base]; setp.ne.u32 {name}, x, 0;\n"
    return address(name, kind) + f"ld.global.b{WIDTH[kind]} {name}, [base];\n"


def store(name, kind):
    if WIDTH[kind] == 1:
        return address(name, kind) + f"selp.u32 x, 1, 0, {name}; st.global.u32 [base], x;\n"
    return address(name, kind) + f"st.global.b{WIDTH[kind]} [base], {name};\n"


def text(form, entry):
    """The kernel of a form, with this name."""
    operands = form.sources + form.results
    return KERNEL.format(
        entry=entry,
        block=BLOCK,
        parameters=", ".join(f".param .u64 {entry}_{name}" for name, _ in operands),
        registers=" ".join(register(name, kind) for name, kind in operands),
        loads="".join(load(*operand) for operand in form.sources).replace("{entry}", entry),
        cell=CELLS[form.cell],
        before=form.before + "\n" if form.before else "",
        text=form.text,
        after=form.after + "\n" if form.after else "",
        stores="".join(store(*operand) for operand in form.results).replace("{entry}", entry),
    )


def module(forms):
    """PTX of a module with the kernel f0, f1 ... of each form."""
    sm = max(form.sm for form in forms)
    table = ", ".join(str(37 * i % 256) for i in range(256))
    return HEAD.format(sm=sm, table=table) + "".join(text(form, f"f{i}") for i, form in enumerate(forms))
