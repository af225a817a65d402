/* Instruction selection: each instruction of a function to the select_* of its opcode; the helpers they
 * share. */
#include "lower/select/select.h"

#include <stdio.h>
#include <string.h>

enum { MAX_ERRORS = 50, LOCAL_ALIGN = 16 };

void select_error(Select *s, uint32_t column, const char *format, ...)
{
    char text[256];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    s->failed = true;
    ptx_report(s->tree->home, s->lower->log, PTX_INVALID, s->insn->line, column ? column : s->insn->column,
               "%s: %s", s->insn->form->spelling, text);
}

void select_unsupported_at(Select *s, uint32_t column, const char *what)
{
    const char *why = ptx_refusal(s->insn->form);
    select_error(s, column, "%s%snot supported by the CPU device%s%s", what, *what ? " is " : "",
                 why ? ": " : "", why ? why : "");
}

void select_unsupported(Select *s, const char *what) { select_unsupported_at(s, 0, what); }

LowerInsn *select_emit(Select *s, uint16_t op)
{
    LowerInsn *insn = lower_new_insn(s->f, op, s->line);
    insn->guard = s->guard;
    insn->flags = s->guard_flag;
    return insn;
}

LowerInsn *select_temp(Select *s, uint16_t op, RegisterClass class)
{
    Ref d = lower_new_register(s->f, class);
    LowerInsn *insn = lower_new_insn(s->f, op, s->line);
    insn->flags = FLAG_PURE;
    insn->d = d;
    return insn;
}

Ref select_compute(Select *s, uint16_t op, RegisterClass class, Ref a, Ref b, Ref c)
{
    if (op == OP_COUNT) {
        if (!s->failed) select_unsupported(s, "a step of it");
        return lower_new_register(s->f, class);
    }
    LowerInsn *insn = select_temp(s, op, class);
    insn->a = a;
    insn->b = b;
    insn->c = c;
    return insn->d;
}

void select_copy(Select *s, Ref d, Ref a)
{
    static const uint16_t moves[] = {OP_mov_pred, OP_mov_b16, OP_mov_b32, OP_mov_b64, OP_mov_b128};
    LowerInsn *insn = select_emit(s, moves[select_class(s, d)]);
    insn->flags |= FLAG_PURE | FLAG_COPY;
    insn->d = d;
    insn->a = a;
}

void select_deliver(Select *s, Ref d, Ref value)
{
    LowerFunction *f = s->f;
    LowerInsn *last = f->insn_count ? &f->insns[f->insn_count - 1] : NULL;
    bool temporary = ref_is_register(value) && ref_number(value) >= s->tree->register_count; /* not PTX's */
    if (temporary && last && last->d == value && last->guard == REF_ABSENT && s->guard == REF_ABSENT)
        last->d = d;
    else
        select_copy(s, d, value);
}

static uint32_t new_label(Select *s)
{
    LowerFunction *f = s->f;
    f->labels = arena_grow(f->scratch, f->labels, f->label_count, &s->label_capacity, sizeof(uint32_t));
    f->labels[f->label_count] = 0;
    return f->label_count++;
}

GuardedBlock select_guarded_begin(Select *s)
{
    GuardedBlock guarded = {.guard = s->guard, .flag = s->guard_flag};
    if (s->guard == REF_ABSENT) return guarded;
    guarded.open = true;
    guarded.label = new_label(s);
    LowerInsn *jump = lower_new_insn(s->f, OP_bra, s->line);
    jump->a = s->guard;
    jump->mods = s->guard_flag ? 0 : MODS_NEGATE;
    jump->flags = FLAG_BRANCH;
    jump->target = guarded.label;
    s->guard = REF_ABSENT;
    s->guard_flag = 0;
    return guarded;
}

void select_guarded_end(Select *s, GuardedBlock guarded)
{
    if (!guarded.open) return;
    s->f->labels[guarded.label] = s->f->insn_count;
    s->guard = guarded.guard;
    s->guard_flag = guarded.flag;
}

/* Sets s->line to the source position of the instruction, which is added to
 * s->lines unless it is the last one there. */
static void select_line(Select *s)
{
    const PtxInsn *insn = s->insn;
    uint32_t file = 0;
    while (file < s->lower->tree->file_count && s->lower->tree->files[file].number != insn->file) file++;
    file = file < s->lower->tree->file_count ? file + 1 : 0;
    CodeLine line = {insn->line, file, insn->source_line};
    if (s->line_count && !memcmp(&s->lines[s->line_count - 1], &line, sizeof line)) return;
    s->lines = arena_grow(s->f->scratch, s->lines, s->line_count, &s->line_capacity, sizeof(CodeLine));
    s->line = s->line_count;
    s->lines[s->line_count++] = line;
}

static void select_insn(Select *s)
{
    switch (s->insn->form->opcode) {
#define ALU(opcode) \
    case PTX_OP_##opcode: select_alu(s); break;
#define SELECT(opcode, name) \
    case PTX_OP_##opcode: select_##name(s); break;
#include "lower/select/select.def"
    default: select_unsupported(s, "");
    }
}

/* Makes a virtual register for each PTX register, with the same number. */
static void select_registers(Select *s)
{
    for (uint32_t r = 0; r < s->tree->register_count; r++)
        lower_new_register(s->f, class_of(s->tree->registers[r].type));
}

static void select_labels(Select *s)
{
    for (uint32_t l = 0; l < s->tree->label_count; l++) new_label(s);
}

/* Places labels before the first operation of their PTX instruction. `starts`: by PTX instruction, and for
 * the end, the index of that operation. */
static void place_labels(Select *s, const uint32_t *starts)
{
    for (uint32_t l = 0; l < s->tree->label_count; l++)
        s->f->labels[s->tree->labels[l]->id] = starts[s->tree->labels[l]->position];
}

/* Selects all instructions, then places the labels and ends the function. */
static void select_body(Select *s)
{
    uint32_t *starts = ARENA_ARRAY(s->f->scratch, uint32_t, s->tree->insn_count + 1);
    select_take_parameters(s);
    for (uint32_t i = 0; i < s->tree->insn_count && s->lower->log->errors < MAX_ERRORS; i++) {
        s->insn = &s->tree->insns[i];
        starts[i] = s->f->insn_count;
        select_line(s);
        s->guard = s->insn->guard == PTX_NO_GUARD ? REF_ABSENT : REF_MAKE(REF_FRAME, s->insn->guard);
        s->guard_flag = s->insn->guard_negated ? FLAG_GUARD_NOT : 0;
        select_insn(s);
        bool cuts = select_cuts(s->insn);
        for (uint32_t n = starts[i]; cuts && n < s->f->insn_count; n++) s->f->insns[n].flags |= FLAG_CUTS;
    }
    if (s->failed) return;
    starts[s->tree->insn_count] = s->f->insn_count;
    place_labels(s, starts);
    s->guard = REF_ABSENT;
    s->guard_flag = 0;
    select_return_results(s);
    lower_new_insn(s->f, OP_ret, s->line)->flags = FLAG_ENDS;
}

/* Copies the tables that selection has filled to the CodeFunction. */
static void keep_tables(Select *s)
{
    CodeFunction *code = s->code;
    code->lines = ARENA_ARRAY(s->lower->keep, CodeLine, s->line_count + 1);
    code->line_count = s->line_count;
    if (s->line_count)
        memcpy(code->lines, s->lines, s->line_count * sizeof(CodeLine));
    else
        code->lines[code->line_count++] = (CodeLine){.ptx_line = s->tree->line};
    code->param_loads = ARENA_ARRAY(s->lower->keep, CodeParamLoad, s->load_count);
    code->param_load_count = s->load_count;
    if (s->load_count) memcpy(code->param_loads, s->loads, s->load_count * sizeof(CodeParamLoad));
    code->local_size = (uint32_t)align_up(s->local_size, LOCAL_ALIGN);
    code->barrier_count = s->barrier_count;
}

bool lower_select(Lower *lower, FunctionFacts *facts, LowerFunction *f)
{
    Select s = {.lower = lower,
                .facts = facts,
                .tree = facts->tree,
                .code = facts->code,
                .f = f,
                .guard = REF_ABSENT};
    if (lower->log->errors >= MAX_ERRORS) return false;
    lower_reserve(f, facts->tree->insn_count + facts->tree->insn_count / 4 + 16); /* grows if need be */
    select_registers(&s);
    select_labels(&s);
    select_frame(&s);
    select_body(&s);
    keep_tables(&s);
    return !s.failed;
}
