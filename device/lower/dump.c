/* Decoded code as text. */
#include "lower/lower.h"

#include <inttypes.h>
#include <string.h>

static void dump_ref(FILE *out, const char *name, Ref ref)
{
    static const char *const bases[] = {"r", "const+", "param+", "", "warp+", "block+"};
    if (ref >> REF_BASE_SHIFT == REF_NONE) return;
    fprintf(out, " %s=%s%" PRIu32, name, bases[ref >> REF_BASE_SHIFT], ref & REF_OFFSET_MASK);
}

static void dump_insn(FILE *out, const CodeFunction *f, const Insn *i)
{
    fprintf(out, "  %5td  %-18s", i - f->insns, exec_op_names[i->op]);
    dump_ref(out, "d", i->d);
    dump_ref(out, "e", i->e);
    dump_ref(out, "a", i->a);
    dump_ref(out, "b", i->b);
    dump_ref(out, "c", i->c);
    bool branch = !strncmp(exec_op_names[i->op], "bra", 3);
    if (branch)
        fprintf(out, " -> %td", i->target - f->insns);
    else if (i->imm)
        fprintf(out, " imm=%" PRId64, i->imm);
    if (i->mods) fprintf(out, " mods=%#x", i->mods);
    fprintf(out, "  ; line %" PRIu32 "\n", f->lines[i->line].ptx_line);
}

static void dump_function(FILE *out, const CodeFunction *f)
{
    fprintf(out,
            "%s %s: frame %" PRIu32 ", local %" PRIu32 ", shared %" PRIu32 ", params %" PRIu32 " in %" PRIu32
            " bytes of rows, stack %" PRIu32 "\n",
            f->is_entry ? "entry" : "func", f->name, f->frame_size, f->local_size, f->shared_size,
            f->param_size, f->param_rows_size, f->stack_size);
    for (uint32_t i = 0; i < f->insn_count; i++) dump_insn(out, f, &f->insns[i]);
}

void lower_dump(FILE *out, const CodeModule *module)
{
    for (uint32_t i = 0; i < module->global_count; i++)
        fprintf(out, "%s %s: %" PRIu64 " bytes at %#" PRIx64 "\n",
                module->globals[i].is_const ? "const" : "global", module->globals[i].name,
                module->globals[i].size, module->globals[i].address);
    for (uint32_t i = 0; i < module->function_count; i++) dump_function(out, module->functions[i]);
}
