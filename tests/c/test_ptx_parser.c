/* The tree that the parser returns: operands and scopes are resolved, modifiers decoded, initializers turned
 * into bytes. */
#include <stdint.h>
#include <stdlib.h>

#include "check.h"
#include "ptx/ptx.h"

#define HEAD ".version 8.3\n.target sm_90\n.address_size 64\n"
#define BODY \
    HEAD \
        ".global .align 8 .u32 g[4];\n.visible .entry k(.param .u64 a, .param .u32 n)\n{\n" \
        ".reg .pred p<4>; .reg .b16 h<9>; .reg .b32 r<9>; .reg .f32 f<9>; .reg .f64 d<9>; .reg .b64 q<9>;\n" \
        ".reg .u32 u<9>; .reg .s32 s<9>; .shared .align 4 .b8 sh[64]; .reg .f16 e<3>; .reg .b128 w<2>;\n"

static PtxLog last;

/* The module of a text; after an error NULL, and the message is printed. */
static PtxModule *parse(const char *text)
{
    ptx_log_free(&last);
    PtxModule *module = ptx_parse(text, strlen(text), NULL, &last);
    if (!module) printf("%s", ptx_log_text(&last));
    return module;
}

/* The module of a kernel with the body. */
static PtxModule *parse_body(const char *body)
{
    char text[8192];
    snprintf(text, sizeof text, "%s%s\n}\n", BODY, body);
    return parse(text);
}

static const PtxFunction *function(const PtxModule *module, const char *name)
{
    for (uint32_t i = 0; module && i < module->function_count; i++)
        if (strcmp(module->functions[i]->name, name) == 0) return module->functions[i];
    return NULL;
}

/* Whether a statement is accepted in a body. */
static int accepts(const char *statement)
{
    char text[8192];
    PtxLog log = {0};
    snprintf(text, sizeof text, "%s%s\nret;\n}\n", BODY, statement);
    PtxModule *module = ptx_parse(text, strlen(text), NULL, &log);
    int good = module != NULL;
    ptx_module_free(module);
    ptx_log_free(&log);
    return good;
}

static void test_header(void)
{
    PtxModule *m = parse(
        ".version 6.4\n.target sm_70, debug\n.address_size 64\n.file 1 \"a.cu\"\n.file 2 \"b.h\", 5, 6\n");
    CHECK(m && m->version == 64 && m->target == 70 && m->debug && m->address_size == 64);
    CHECK(m && m->file_count == 2);
    CHECK_TEXT(m ? ptx_file_name(m, 2) : "", "b.h");
    CHECK_TEXT(m ? ptx_file_name(m, 3) : "?", "");
    ptx_module_free(m);
    m = parse(".version 8.0\n.target sm_90a\n");
    CHECK(m && m->target == 90 && m->target_suffix == 'a' && !m->debug);
    ptx_module_free(m);
}

static void test_entry(void)
{
    PtxModule *m = parse(
        HEAD
        ".visible .entry k(.param .u64 .ptr .global .align 16 a, .param .align 8 .b8 b[24], .param .f32 c)\n"
        ".maxntid 128, 2\n.minnctapersm 3\n.maxnreg 32\n{ ret; }\n.entry j() .reqntid 64 { }");
    const PtxFunction *k = function(m, "k"), *j = function(m, "j");
    CHECK(k && k->is_entry && k->defined && k->linkage == PTX_LINKAGE_VISIBLE && k->param_count == 3);
    CHECK(k && k->maxntid[0] == 128 && k->maxntid[1] == 2 && k->maxntid[2] == 1);
    CHECK(k && k->minnctapersm == 3 && k->maxnreg == 32 && k->reqntid[0] == 0);
    CHECK(j && j->reqntid[0] == 64 && j->reqntid[2] == 1 && j->insn_count == 0
          && j->linkage == PTX_LINKAGE_INTERNAL);
    const PtxVariable *a = k ? k->params[0] : NULL, *b = k ? k->params[1] : NULL,
                      *c = k ? k->params[2] : NULL;
    CHECK(a && a->is_pointer && a->pointer_space == PTX_SPACE_GLOBAL && a->pointer_align == 16
          && a->size == 8);
    CHECK(b && b->size == 24 && b->align == 8 && b->type == PTX_b8 && b->dim_count == 1);
    CHECK(c && c->size == 4 && c->align == 4 && c->type == PTX_f32 && c->space == PTX_SPACE_PARAM);
    ptx_module_free(m);
}

static void test_operands(void)
{
    PtxModule *m =
        parse_body("@!p1 add.s32 r1, r2, -3;\nld.global.v2.f32 {f1, _}, [q1+-8];\nst.shared.u32 [sh+4], r1;\n"
                   "mov.u32 r3, %ctaid.z;\nmov.u64 q2, g+8;\nsetp.lt.and.f32 p1|p2, f1, 0f40000000, !p3;\n"
                   "mov.b64 {r1, r2}, q1;\nmov.b32 r4, %envreg7;\nld.param.u64 q3, [a];\n");
    const PtxFunction *k = function(m, "k");
    CHECK(k && k->insn_count == 9);
    if (!k || k->insn_count != 9) return;
    const PtxInsn *i = k->insns;
    CHECK(i[0].guard != PTX_NO_GUARD && i[0].guard_negated && k->registers[i[0].guard].type == PTX_pred);
    CHECK(k->registers[i[0].guard].number == 1 && strcmp(k->registers[i[0].guard].name, "p") == 0);
    CHECK(i[0].operands[0].kind == PTX_OPERAND_REGISTER && i[0].operands[0].type == PTX_b32);
    CHECK(i[0].operands[2].kind == PTX_OPERAND_IMMEDIATE && (int64_t)i[0].operands[2].bits == -3);
    CHECK(i[1].guard == PTX_NO_GUARD && i[1].form->vector == 2 && i[1].form->spaces[0] == PTX_SPACE_GLOBAL);
    CHECK(i[1].operands[0].kind == PTX_OPERAND_VECTOR && i[1].operands[0].count == 2);
    CHECK(i[1].operands[0].items[1].kind == PTX_OPERAND_SINK);
    CHECK(i[1].operands[1].kind == PTX_OPERAND_ADDRESS && i[1].operands[1].base == PTX_BASE_REGISTER);
    CHECK(i[1].operands[1].offset == -8);
    CHECK(i[2].operands[0].base == PTX_BASE_VARIABLE && i[2].operands[0].variable == k->variables[0]);
    CHECK(i[2].operands[0].offset == 4 && i[2].operands[1].reg == i[0].operands[0].reg);
    CHECK(i[3].operands[1].kind == PTX_OPERAND_SPECIAL && i[3].operands[1].special == PTX_SPECIAL_ctaid);
    CHECK(i[3].operands[1].component == 2 && i[3].operands[1].type == PTX_u32);
    CHECK(i[4].operands[1].kind == PTX_OPERAND_VARIABLE && i[4].operands[1].variable == m->globals[0]);
    CHECK(i[4].operands[1].offset == 8);
    CHECK(i[5].operands[0].kind == PTX_OPERAND_PAIR && i[5].operands[0].items[1].type == PTX_pred);
    CHECK(i[5].operands[2].type == PTX_f32 && i[5].operands[2].bits == 0x40000000
          && i[5].operands[3].negated);
    CHECK(i[6].operands[0].kind == PTX_OPERAND_VECTOR && i[6].operands[1].type == PTX_b64);
    CHECK(i[7].operands[1].special == PTX_SPECIAL_envreg && i[7].operands[1].component == 7);
    CHECK(i[8].operands[1].variable == k->params[0] && i[8].line == i[0].line + 8 && i[8].column == 1);
    ptx_module_free(m);
}

static void test_modifiers(void)
{
    PtxModule *m =
        parse_body("ex2.approx.ftz.f32 f1, f2;\nex2.approx.f32.ftz f1, f2;\nex2.approx.ftz.f32 f3, f4;\n"
                   "ld.u32.global.volatile r1, [q1];\nmad.lo.s32 r1, r2, r3, r4;\ncvt.rn.f32.s32 f1, r1;\n"
                   "atom.add.acq_rel.gpu.global.u32 r1, [q1], 1;\nadd .f32 f1, f2, f3;\n"
                   "ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {f1, f2, f3, f4}, [q1];\n");
    const PtxFunction *k = function(m, "k");
    CHECK(k && k->insn_count == 9);
    if (!k || k->insn_count != 9) return;
    const PtxInsn *i = k->insns;
    CHECK(i[0].form == i[2].form && i[0].form != i[1].form && m->form_count == 8);
    CHECK(ptx_has(i[0].form, PTX_MOD_ftz) && ptx_has(i[1].form, PTX_MOD_ftz)
          && ptx_has(i[1].form, PTX_MOD_approx));
    CHECK(!ptx_has(i[0].form, PTX_MOD_sat) && i[1].form->types[0] == PTX_f32 && i[1].form->type_count == 1);
    CHECK(i[3].form->opcode == PTX_OP_ld && i[3].form->group[PTX_GROUP_SEMANTICS] == PTX_MOD_volatile);
    CHECK(i[3].form->spaces[0] == PTX_SPACE_GLOBAL && i[3].form->space_count == 1);
    CHECK(i[4].form->group[PTX_GROUP_HALF] == PTX_MOD_lo
          && i[4].form->group[PTX_GROUP_ROUND] == PTX_MOD_NONE);
    CHECK(i[5].form->types[0] == PTX_f32 && i[5].form->types[1] == PTX_s32);
    CHECK(i[5].form->group[PTX_GROUP_ROUND] == PTX_MOD_rn);
    CHECK(i[6].form->group[PTX_GROUP_OPERATION] == PTX_MOD_add
          && i[6].form->group[PTX_GROUP_SCOPE] == PTX_MOD_gpu);
    CHECK_TEXT(i[7].form->spelling, "add.f32");
    CHECK(i[8].form->vector == 4 && ptx_has(i[8].form, PTX_MOD_nc)
          && ptx_has(i[8].form, PTX_MOD_L1_no_allocate));
    ptx_module_free(m);
}

static void test_scopes(void)
{
    PtxModule *m = parse_body(
        "mov.u32 r1, 1;\n{ .reg .f32 r1; .reg .b32 z; mov.f32 r1, 1.0; mov.b32 z, 2; }\nmov.u32 r1, 3;\n"
        "{ .reg .b32 r<3>; mov.u32 r1, 4; mov.u32 r7, 5; }\nmov.u32 r7, 6;\n");
    const PtxFunction *k = function(m, "k");
    CHECK(k && k->insn_count == 7 && k->register_count == 5);
    if (k && k->insn_count == 7) {
        const PtxInsn *i = k->insns;
        CHECK(i[0].operands[0].reg == i[3].operands[0].reg && i[0].operands[0].reg != i[1].operands[0].reg);
        CHECK(i[1].operands[0].type == PTX_f32 && i[2].operands[0].type == PTX_b32);
        CHECK(i[4].operands[0].reg != i[0].operands[0].reg);
        CHECK(i[5].operands[0].reg == i[6].operands[0].reg); /* r<3> hides r0 to r2 only */
    }
    ptx_module_free(m);
    CHECK(!accepts("{ .reg .b32 z; } mov.b32 z, 1;"));
    CHECK(!accepts(".reg .b32 r1;"));
    CHECK(!accepts(".reg .b32 z; .reg .b32 z;"));
    CHECK(!accepts(".reg .b32 %tid;"));
    CHECK(!accepts("mov.b32 r9, 1;"));
    CHECK(accepts("mov.b32 r8, 1;"));
}

/* Registers of ranges, which the parser finds by number, and others with similar names. */
static void test_numbered(void)
{
    PtxModule *m = parse_body(
        ".reg .b32 %r<4>, %r7; .reg .pred %p<2>; .reg .b32 %envreg<2>; .reg .v2 .b32 %v<3>;\n"
        "mov.b32 %r3, 1;\nmov.b32 %r7, 2;\n{ .reg .b64 %r2; .reg .b16 %r<2>; mov.b64 %r2, 3; mov.b16 %r1, 4; "
        "mov.b32 %r3, 5; }\n@!%p1 mov.b32 %r2, %envreg1;\nmov.b32 %r1, %envreg2;\nmov.b32 %v1.y, %v2.x;\n");
    const PtxFunction *k = function(m, "k");
    CHECK(k && k->insn_count == 8);
    if (k && k->insn_count == 8) {
        static const uint8_t types[] = {PTX_b32, PTX_b32, PTX_b64, PTX_b16,
                                        PTX_b32, PTX_b32, PTX_b32, PTX_b32};
        const PtxInsn *i = k->insns;
        for (int n = 0; n < 8; n++) CHECK(k->registers[i[n].operands[0].reg].type == types[n]);
        CHECK(k->registers[i[0].operands[0].reg].number == 3);
        CHECK(k->registers[i[1].operands[0].reg].number == PTX_NOT_NUMBERED);
        CHECK(i[4].operands[0].reg == i[0].operands[0].reg && i[5].operands[0].reg != i[2].operands[0].reg);
        CHECK(i[5].guard != PTX_NO_GUARD && i[5].guard_negated && k->registers[i[5].guard].number == 1);
        CHECK(i[5].operands[1].kind == PTX_OPERAND_REGISTER && i[6].operands[1].kind == PTX_OPERAND_SPECIAL);
        CHECK(i[7].operands[0].kind == PTX_OPERAND_REGISTER && i[7].operands[1].kind == PTX_OPERAND_REGISTER);
    }
    ptx_module_free(m);
    CHECK(!accepts(".reg .b32 %r<4>; mov.b32 %r4, 1;"));
    CHECK(!accepts(".reg .b32 %r<4>; mov.b32 %r01, 1;"));
    CHECK(!accepts(".reg .b32 %r<4>; .reg .b32 %r2;"));
    CHECK(!accepts(".reg .b32 %r<4>; @%r1 ret;"));
    CHECK(!accepts(".reg .b32 %r<4>; mov.b32 r1, -%r1;"));
    CHECK(!accepts(".reg .b32 %r<4>; %r1 r1, 1;"));
    CHECK(accepts(".reg .b32 %r<4>; .reg .b32 %r4; mov.b32 %r4, %r3;"));
}

static void test_labels(void)
{
    PtxModule *m = parse_body("bra end;\nagain: mov.u32 r1, 1;\n@p1 bra again;\n{ inner: bra inner; { bra "
                              "end; bra inner; } }\nend:\n");
    const PtxFunction *k = function(m, "k");
    CHECK(k && k->insn_count == 6 && k->label_count == 3);
    if (k && k->insn_count == 6 && k->label_count == 3) {
        CHECK(k->insns[0].operands[0].kind == PTX_OPERAND_LABEL
              && k->insns[0].operands[0].label->position == 6);
        CHECK(k->insns[2].operands[0].label->position == 1 && k->insns[3].operands[0].label->position == 3);
        CHECK(k->insns[4].operands[0].label == k->insns[0].operands[0].label);
        CHECK(k->insns[5].operands[0].label == k->insns[3].operands[0].label);
    }
    ptx_module_free(m);
    m = parse_body(
        "L: bra L; { bra L; L: ret; } { L: bra L; }\n"); /* the inner label wins, even when it follows */
    k = function(m, "k");
    CHECK(k && k->label_count == 3 && k->insns[0].operands[0].label->position == 0);
    CHECK(k && k->label_count == 3 && k->insns[1].operands[0].label->position == 2);
    CHECK(k && k->label_count == 3 && k->insns[3].operands[0].label->position == 3);
    ptx_module_free(m);
    m = parse_body("T: .branchtargets A, B, A;\nbrx.idx r1, T;\nA: ret;\nB: ret;\n");
    k = function(m, "k");
    CHECK(k && k->insns[0].operands[1].kind == PTX_OPERAND_TABLE
          && k->insns[0].operands[1].table->count == 3);
    CHECK(k && k->insns[0].operands[1].table->labels[1]->position == 2);
    CHECK(k && k->insns[0].operands[1].table->labels[0] == k->insns[0].operands[1].table->labels[2]);
    ptx_module_free(m);
    CHECK(!accepts("bra nowhere;"));
    CHECK(!accepts("{ L: } bra L;"));
    CHECK(!accepts("L: L:"));
    CHECK(!accepts("bra r1;"));
    CHECK(!accepts("T: .branchtargets A; bra T; A:"));
    CHECK(!accepts("T: .branchtargets A; brx.idx r1, T;"));
    CHECK(!accepts("A: brx.idx r1, A;"));
}

static void test_calls(void)
{
    PtxModule *m = parse(
        HEAD ".extern .func (.param .b32 r) vprintf(.param .b64 x, .param .b64 y);\n"
             ".func (.param .b64 r) f(.param .b64 x);\n.func g() { ret; }\n"
             ".visible .entry k() { .reg .b64 q<3>;\n{ .param .b64 x; .param .b64 r; st.param.b64 [x], q1;\n"
             "call.uni (r), f, (x); ld.param.b64 q2, [r]; }\n"
             "call g;\n{ .param .b64 x; .param .b64 r; P: .callprototype (.param .b64 _) _ (.param .b64 _);\n"
             "call (r), q1, (x), P; } }\n"
             ".func (.param .b64 r) f(.param .b64 x) .noreturn { ret; }\n");
    const PtxFunction *k = function(m, "k"), *f = function(m, "f"), *v = function(m, "vprintf");
    CHECK(m && m->function_count == 4);
    CHECK(v && !v->defined && v->linkage == PTX_LINKAGE_EXTERN && v->return_count == 1
          && v->param_count == 2);
    CHECK(f && f->defined && f->insn_count == 1 && f->noreturn);
    CHECK(k && k->insn_count == 5 && k->variable_count == 4);
    if (k && k->insn_count == 5) {
        const PtxOperand *direct = k->insns[1].operands, *plain = k->insns[3].operands,
                         *indirect = k->insns[4].operands;
        CHECK(k->insns[1].operand_count == 4 && direct[0].kind == PTX_OPERAND_LIST && direct[0].count == 1);
        CHECK(direct[0].items[0].variable == k->variables[1] && direct[1].function == f);
        CHECK(direct[2].items[0].variable == k->variables[0] && direct[3].kind == PTX_OPERAND_NONE);
        CHECK(plain[0].count == 0 && plain[1].function == function(m, "g") && plain[2].count == 0);
        CHECK(indirect[1].kind == PTX_OPERAND_REGISTER && indirect[3].kind == PTX_OPERAND_PROTOTYPE);
        CHECK(indirect[3].prototype->return_count == 1 && indirect[3].prototype->param_count == 1);
    }
    ptx_module_free(m);
    CHECK(!accepts("call k;"));
    CHECK(!accepts("call nothing;"));
    CHECK(!accepts("call (r1), q1, (r2);"));
}

static void test_initializers(void)
{
    PtxModule *m =
        parse(HEAD ".global .align 4 .b8 text[6] = \"abc\";\n.global .u32 grid[2][2] = {{1, 2}, {3}};\n"
                   ".const .f64 c = 0d4000000000000000;\n.global .u16 open[] = {1, 2, 3};\n"
                   ".visible .global .u64 where[3] = {grid, generic(grid)+4, 9};\n.global .u8 parts[2] = "
                   "{0xff(grid), 0xff00(grid)};\n"
                   ".global .v2 .f32 v = {1.0, 2.0};\n.extern .shared .align 16 .b8 dynamic[];\n"
                   ".global .attribute(.managed) .u32 managed;\n.extern .global .u32 later;\n.visible "
                   ".global .u32 later = 7;\n");
    CHECK(m && m->global_count == 10);
    if (!m || m->global_count != 10) return;
    PtxVariable **g = m->globals;
    static const uint32_t grid[] = {1, 2, 3, 0};
    CHECK(memcmp(g[0]->initial, "abc\0\0\0", 6) == 0 && g[0]->align == 4 && g[0]->size == 6);
    CHECK(memcmp(g[1]->initial, grid, 16) == 0 && g[1]->dim_count == 2 && g[1]->size == 16);
    CHECK(g[2]->space == PTX_SPACE_CONST && g[2]->initial[7] == 0x40);
    CHECK(g[3]->dims[0] == 3 && g[3]->size == 6 && g[3]->initial[4] == 3);
    CHECK(g[4]->relocation_count == 2 && g[4]->relocations[0].variable == g[1]
          && g[4]->relocations[0].offset == 0);
    CHECK(g[4]->relocations[1].generic && g[4]->relocations[1].addend == 4
          && g[4]->relocations[1].offset == 8);
    CHECK(!g[4]->relocations[0].generic && g[4]->initial[16] == 9 && g[4]->linkage == PTX_LINKAGE_VISIBLE);
    CHECK(g[5]->relocations[1].size == 1 && g[5]->relocations[1].shift == 8
          && g[5]->relocations[1].offset == 1);
    CHECK(g[6]->vector == 2 && g[6]->size == 8 && g[6]->align == 8 && g[6]->initial[7] == 0x40);
    CHECK(g[7]->space == PTX_SPACE_SHARED && g[7]->size == 0 && !g[7]->defined && g[7]->align == 16);
    CHECK(g[8]->managed && !g[8]->initial && g[8]->defined);
    CHECK(g[9]->defined && g[9]->initial[0] == 7);
    ptx_module_free(m);
}

static void test_positions(void)
{
    PtxModule *m = parse_body(
        ".loc 1 10 3\nmov.u32 r1, 1;\n.loc 1 20 5, function_name F, inlined_at 1 10 3\n  mov.u32 r2, 2;");
    const PtxFunction *k = function(m, "k");
    CHECK(k && k->insn_count == 2 && k->insns[0].file == 1 && k->insns[0].source_line == 10);
    CHECK(k && k->insn_count == 2 && k->insns[1].source_line == 20 && k->insns[1].column == 3);
    CHECK(k && k->insn_count == 2 && k->insns[1].line == k->insns[0].line + 2);
    ptx_module_free(m);
}

/* Statements are accepted and refused as by ptxas. */
static void test_types(void)
{
    CHECK(accepts("add.s32 u1, s1, r1;"));
    CHECK(accepts("add.f32 f1, r1, f2;"));
    CHECK(!accepts("add.f32 f1, u1, f2;"));
    CHECK(!accepts("add.f32 f1, f2, 1;"));
    CHECK(!accepts("add.u32 r1, %tid.x, 1;"));
    CHECK(!accepts("mov.u32 r1, %clock64;"));
    CHECK(!accepts("mov.u32 r1, %tid;"));
    CHECK(accepts("fma.rn.f16x2 r1, r2, r3, r4;"));
    CHECK(!accepts("fma.rn.f16x2 f1, f2, f3, f4;"));
    CHECK(accepts("add.f16 h1, h2, h3;"));
    CHECK(accepts("add.f16 e1, e2, h3;"));
    CHECK(!accepts("add.bf16 e1, e2, e1;"));
    CHECK(accepts("and.b32 f1, f2, u3;"));
    CHECK(accepts("ld.global.u8 r1, [q1];"));
    CHECK(accepts("ld.global.b8 d1, [q1];"));
    CHECK(!accepts("ld.global.u8 d1, [q1];"));
    CHECK(!accepts("ld.global.u32 f1, [q1];"));
    CHECK(!accepts("ld.global.u32 r1, [r2];"));
    CHECK(accepts("ld.shared.u32 r1, [r2];"));
    CHECK(!accepts("ld.shared.u32 r1, [g];"));
    CHECK(!accepts("ld.u32 r1, [n];"));
    CHECK(!accepts("ld.global.v2.u32 {r1, r2, r3}, [q1];"));
    CHECK(accepts("mul.wide.u32 q1, r2, r3;"));
    CHECK(!accepts("mul.wide.u32 r1, r2, r3;"));
    CHECK(!accepts("mul.u32 r1, r2, r3;"));
    CHECK(!accepts("cvt.f32.u32 f1, r1;"));
    CHECK(accepts("cvt.rn.f32.u32 f1, q1;"));
    CHECK(accepts("cvt.u8.u32 r1, r2;"));
    CHECK(!accepts("setp.ltu.s32 p1, r1, r2;"));
    CHECK(!accepts("setp.lo.s32 p1, r1, r2;"));
    CHECK(accepts("setp.lo.u32 p1, r1, r2;"));
    CHECK(!accepts("popc.b64 q1, q2;"));
    CHECK(!accepts("shl.b32 r1, r2, h3;"));
    CHECK(accepts("bar.sync 15;"));
    CHECK(!accepts("bar.sync 16;"));
    CHECK(accepts("lop3.b32 r1, r2, r3, r4, 0x80;"));
    CHECK(!accepts("lop3.b32 r1, r2, r3, r4, r5;"));
    CHECK(accepts("ld.global.L2::cache_hint.b32 r1, [q1], q2;"));
    CHECK(!accepts("ld.global.b32 r1, [q1], q2;"));
    CHECK(!accepts("ld.global.L2::cache_hint.b32 r1, [q1];"));
    CHECK(accepts("atom.global.add.u32 _, [q1], 1;"));
    CHECK(accepts("atom.global.cas.b128 w1, [q1], w0, w1;"));
    CHECK(accepts("vadd.s32.s32.s32.sat s1, s2.b0, -s3.h1;"));
    CHECK(!accepts("add.s32 s1, s2.b0, s3;"));
    CHECK(accepts("{ .reg .v4 .f32 V; mov.f32 V.x, f1; ld.global.v4.f32 V, [q1]; }"));
    CHECK(!accepts("{ .reg .v2 .f32 V; mov.f32 V.z, f1; }"));
    CHECK(accepts("mov.b64 d1, {r1, r2};"));
    CHECK(!accepts("mov.b64 q1, {r1, r2, r3};"));
    CHECK(!accepts("mov.b32 {h1, 3}, r1;"));
    CHECK(accepts("tex.2d.v4.f32.f32 {f1, f2, f3, f4}, [q1, {f1, f2}];"));
    CHECK(accepts("suld.b.2d.b32.trap {r4}, [q2, {r3, r2}];"));
}

static void test_immediates(void)
{
    PtxOperand decimal = {.kind = PTX_OPERAND_IMMEDIATE, .type = PTX_f64, .bits = 0x3ff8000000000000};
    PtxOperand minus = {.kind = PTX_OPERAND_IMMEDIATE, .type = PTX_s64, .bits = UINT64_MAX};
    PtxOperand tiny = {
        .kind = PTX_OPERAND_IMMEDIATE, .type = PTX_f64, .bits = 0x3e70000000000000}; /* 2^-24 */
    PtxOperand half_tie = {
        .kind = PTX_OPERAND_IMMEDIATE, .type = PTX_f64, .bits = 0x40a0020000000000}; /* 2049 */
    PtxOperand single = {.kind = PTX_OPERAND_IMMEDIATE, .type = PTX_f32, .bits = 0x3fc00000};
    CHECK_EQUAL(ptx_immediate_bits(&decimal, PTX_f32), 0x3fc00000);
    CHECK_EQUAL(ptx_immediate_bits(&decimal, PTX_f16), 0x3e00);
    CHECK_EQUAL(ptx_immediate_bits(&decimal, PTX_bf16), 0x3fc0);
    CHECK_EQUAL(ptx_immediate_bits(&decimal, PTX_b64), 0x3ff8000000000000);
    CHECK_EQUAL(ptx_immediate_bits(&single, PTX_f64), 0x3ff8000000000000);
    CHECK_EQUAL(ptx_immediate_bits(&minus, PTX_s32), 0xffffffff);
    CHECK_EQUAL(ptx_immediate_bits(&minus, PTX_u16), 0xffff);
    CHECK_EQUAL(ptx_immediate_bits(&minus, PTX_pred), 1);
    CHECK_EQUAL(ptx_immediate_bits(&tiny, PTX_f16), 1);
    CHECK_EQUAL(ptx_immediate_bits(&half_tie, PTX_f16), 0x6800);
}

int main(void)
{
    CHECK_GROUP(test_header);
    CHECK_GROUP(test_entry);
    CHECK_GROUP(test_operands);
    CHECK_GROUP(test_modifiers);
    CHECK_GROUP(test_scopes);
    CHECK_GROUP(test_numbered);
    CHECK_GROUP(test_labels);
    CHECK_GROUP(test_calls);
    CHECK_GROUP(test_initializers);
    CHECK_GROUP(test_positions);
    CHECK_GROUP(test_types);
    CHECK_GROUP(test_immediates);
    ptx_log_free(&last);
    return check_done();
}
