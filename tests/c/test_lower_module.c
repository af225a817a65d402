/* Modules lowered from PTX: layouts of parameters, shared and local memory, variables and their initial
 * bytes, calls, and the errors of what cannot run.
 */
#include "check.h"

#include "lower/lower.h"

#include <stdlib.h>
#include <string.h>

#define HEADER ".version 8.0\n.target sm_75\n.address_size 64\n"

/* ---- a host that keeps variables in its own memory ---- */

typedef struct Host {
    uint64_t taken[16];
    uint32_t count, released;
    bool full;
} Host;

static uint64_t host_allocate(void *closure, const char *name, uint64_t size, uint64_t align,
                              VariableKind kind)
{
    Host *host = closure;
    (void)name;
    (void)kind;
    if (host->full || host->count == 16) return 0;
    void *memory = aligned_alloc(256, (size + 255) / 256 * 256);
    CHECK(align <= 256);
    if (!memory) return 0;
    memset(memory, 0, (size + 255) / 256 * 256);
    return host->taken[host->count++] = (uint64_t)(uintptr_t)memory;
}

static void host_release(void *closure, uint64_t address)
{
    Host *host = closure;
    (void)address;
    host->released++;
}

static const CodeFunction *find(const CodeModule *module, const char *name)
{
    for (uint32_t i = 0; module && i < module->function_count; i++)
        if (!strcmp(module->functions[i]->name, name)) return module->functions[i];
    return NULL;
}

static void host_free(Host *host)
{
    for (uint32_t i = 0; i < host->count; i++) free((void *)(uintptr_t)host->taken[i]);
}

/* Lowers PTX. Returns the module, or NULL on errors; their messages are in `text`, or printed if it is
 * NULL. */
static CodeModule *lower_text(const char *ptx, Host *host, char *text, size_t size)
{
    PtxLog log = {.text = NULL};
    LowerHost callbacks = {.closure = host, .allocate = host_allocate, .release = host_release};
    PtxModule *tree = ptx_parse(ptx, strlen(ptx), NULL, &log);
    CodeModule *module = tree ? lower_module(tree, &callbacks, &log) : NULL;
    if (text)
        snprintf(text, size, "%s", ptx_log_text(&log));
    else if (!module)
        printf("%s\n", ptx_log_text(&log));
    ptx_module_free(tree);
    ptx_log_free(&log);
    return module;
}

static uint32_t count_op(const CodeFunction *f, Op op)
{
    uint32_t count = 0;
    for (uint32_t i = 0; f && i < f->insn_count; i++) count += f->insns[i].op == op;
    return count;
}

/* ---- tests ---- */

static void test_parameters(void)
{
    Host host = {.count = 0};
    CodeModule *m = lower_text(
        HEADER ".visible .entry k(.param .u8 a, .param .u64 .ptr .global p, .param .f32 b, .param .align 16 "
               ".b8 s[20]) {\n"
               ".reg .b16 %h; .reg .b32 %r<3>; .reg .b64 %d<3>;\n"
               "ld.param.u8 %h, [a]; ld.param.u64 %d1, [p]; cvta.to.global.u64 %d2, %d1;\n"
               "ld.param.s8 %r1, [s+3]; ld.param.u32 %r2, [s+16];\n"
               "st.global.u8 [%d2], %h; st.global.u32 [%d2+4], %r1; st.global.u32 [%d2+8], %r2; ret; }\n",
        &host, NULL, 0);
    const CodeFunction *k = find(m, "k");
    CHECK(k && k->is_entry && k->param_count == 4 && k->param_size == 52);
    if (!k) return;
    CHECK(k->params[0].offset == 0 && k->params[1].offset == 8 && k->params[2].offset == 16
          && k->params[3].offset == 32);
    CHECK(k->params[3].size == 20 && k->params[3].align == 16);
    /* every ld.param becomes a row of parameters, and cvta.to.global no instruction at all */
    CHECK(k->insn_count == 4 && k->frame_size == 0 && k->param_load_count == 4);
    bool found_signed = false;
    for (uint32_t i = 0; i < k->param_load_count; i++) {
        const CodeParamLoad *load = &k->param_loads[i];
        if (load->offset == 35) found_signed = load->is_signed && load->size == 1 && load->element == 4;
        CHECK(load->row + 32u * load->element <= k->param_rows_size);
    }
    CHECK(found_signed);
    code_module_free(m);
    host_free(&host);
}

static void test_variables(void)
{
    Host host = {.count = 0};
    CodeModule *m = lower_text(
        HEADER ".global .align 4 .b32 number = 42;\n.const .align 8 .b8 bytes[4] = {1, 2, 3, 4};\n"
               ".global .align 8 .u64 pointer = generic(number)+4;\n.extern .global .b32 unused;\n"
               ".visible .entry k() { .reg .b32 %r; ld.global.u32 %r, [pointer]; st.global.u32 [number], "
               "%r; ret; }\n",
        &host, NULL, 0);
    CHECK(m && m->global_count == 4);
    if (!m) return;
    const CodeGlobal *g = m->globals;
    CHECK(!strcmp(g[0].name, "number") && *(uint32_t *)(uintptr_t)g[0].address == 42 && !g[0].is_const);
    CHECK(g[1].is_const && g[1].size == 4 && !memcmp((void *)(uintptr_t)g[1].address, "\1\2\3\4", 4));
    CHECK(*(uint64_t *)(uintptr_t)g[2].address == g[0].address + 4);
    const CodeFunction *k = find(m, "k");
    CHECK(k->insns[0].op == OP_ld_generic_b32_32 && (uint64_t)k->insns[0].imm == g[2].address);
    CHECK((uint64_t)k->insns[1].imm == g[0].address);
    code_module_free(m);
    host_free(&host);
}

/* Variables of different kernels overlap in shared memory; those that functions use have a fixed place;
 * extern arrays start after all of them. */
static void test_shared_memory(void)
{
    Host host = {.count = 0};
    CodeModule *m = lower_text(
        HEADER
        ".shared .align 4 .b8 common[100];\n.extern .shared .align 16 .b8 dynamic[];\n"
        ".func f() { .reg .b32 %r; ld.shared.u32 %r, [common]; st.shared.u32 [common+4], %r; ret; }\n"
        ".visible .entry a() { .shared .align 8 .b8 own[1000]; .reg .b64 %d; call f, (); mov.u64 %d, own;"
        " st.shared.u64 [%d], %d; ret; }\n"
        ".visible .entry b() { .shared .align 8 .b8 own[2000]; .reg .b64 %d; st.shared.u64 [own], %d;"
        " mov.u64 %d, dynamic; st.shared.u64 [%d], %d; ret; }\n",
        &host, NULL, 0);
    const CodeFunction *a = find(m, "a"), *b = find(m, "b");
    CHECK(a && a->shared_size == 1104);  /* 100, then 1000 from 104 on */
    CHECK(b && b->shared_size == 2000);  /* b uses neither `common` nor the `own` of a */
    const CodeFunction *f = find(m, "f");
    CHECK(f && f->insns[1].op == OP_st_shared_b32_32 && f->insns[1].imm == 4);
    code_module_free(m);
    host_free(&host);
}

static void test_calls(void)
{
    Host host = {.count = 0};
    CodeModule *m = lower_text(HEADER ".func (.param .b32 out) twice(.param .b32 in) { .reg .b32 %r<3>; "
                                      "ld.param.b32 %r1, [in]; add.s32 %r2, %r1, %r1;"
                                      " st.param.b32 [out], %r2; ret; }\n"
                                      ".func deep(.param .b32 in) { .local .align 8 .b8 pad[40]; .reg .b64 "
                                      "%d; mov.u64 %d, pad; st.local.u64 [%d], %d;"
                                      " ret; }\n"
                                      ".visible .entry k(.param .u64 p) { .reg .b32 %r<3>; .reg .b64 %d; "
                                      ".reg .pred %p; ld.param.u64 %d, [p];\n"
                                      "ld.global.u32 %r1, [%d]; setp.eq.s32 %p, %r1, 0;\n"
                                      "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; @%p call (y), "
                                      "twice, (x); ld.param.b32 %r2, [y]; }\n"
                                      "{ .param .b32 x; st.param.b32 [x], %r2; call deep, (x); }\n"
                                      "st.global.u32 [%d], %r2; ret; }\n",
                               &host, NULL, 0);
    const CodeFunction *k = find(m, "k"), *twice = find(m, "twice"), *deep = find(m, "deep");
    CHECK(k && twice && deep);
    if (!k || !twice || !deep) return;
    CHECK(m->entry_count == 1 && m->functions[0] == k);
    CHECK(count_op(k, OP_call) == 2 && count_op(k, OP_guard) == 0 && count_op(k, OP_bra_p) == 1);
    CHECK(count_op(k, OP_st_local_b32_32) == 2 && count_op(k, OP_ld_local_b32_32) == 1);
    CHECK(twice->local_size == 32 && deep->local_size >= 56 && deep->local_size % 16 == 0);
    CHECK(k->stack_size == k->local_size + deep->local_size);
    /* functions that are called share one frame layout */
    CHECK(twice->frame_size == deep->frame_size);
    code_module_free(m);
    host_free(&host);
}

static void test_recursion_has_no_known_stack(void)
{
    Host host = {.count = 0};
    CodeModule *m = lower_text(
        HEADER ".func f() { call f, (); ret; }\n.visible .entry k() { call f, (); ret; }\n", &host, NULL, 0);
    CHECK(find(m, "k") && find(m, "k")->stack_size == 0);
    code_module_free(m);
}

static void test_blocks(void)
{
    Host host = {.count = 0};
    CodeModule *m = lower_text(
        HEADER ".visible .entry k(.param .u32 n) { .reg .b32 %r<3>; .reg .pred %p; ld.param.u32 %r1, [n]; "
               "mov.u32 %r2, 0;\n"
               "L1: add.s32 %r2, %r2, 1; bar.sync 3; setp.lt.s32 %p, %r2, %r1; @%p bra L1; bra L2;\n"
               "add.s32 %r2, %r2, 5;\n"
               "L2: exit; }\n",
        &host, NULL, 0);
    const CodeFunction *k = find(m, "k");
    CHECK(k && count_op(k, OP_bra_p_back) == 1 && count_op(k, OP_bra) == 0 && count_op(k, OP_label) == 1);
    CHECK(k && k->barrier_count == 4 && count_op(k, OP_add_b32) == 1); /* unreachable code is removed */
    for (uint32_t i = 0; k && i < k->insn_count; i++)
        if (k->insns[i].op == OP_bra_p_back) CHECK(k->insns[i].target->op == OP_label);
    code_module_free(m);
}

static void test_errors(void)
{
    static const struct {
        const char *ptx, *message;
    } cases[] = {
        {HEADER
         ".visible .entry k() {\n  .reg .b32 %r;\n  wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32.satfinite"
         " {%r,%r,%r,%r,%r,%r,%r,%r}, {%r,%r,%r,%r,%r,%r,%r,%r}, {%r,%r,%r,%r,%r,%r,%r,%r},"
         " {%r,%r,%r,%r,%r,%r,%r,%r};\n ret; }\n",
         "ptx:6:"},
        {HEADER ".extern .func missing();\n.visible .entry k() { call missing, (); ret; }\n", "'missing'"},
        {HEADER ".extern .global .b32 absent[];\n.visible .entry k() { .reg .b32 %r; ld.global.u32 %r, "
                "[absent]; ret; }\n",
         "unresolved variable 'absent'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Host host = {.count = 0};
        char text[2000];
        CodeModule *m = lower_text(cases[i].ptx, &host, text, sizeof text);
        CHECK(!m);
        CHECK(strstr(text, cases[i].message));
        CHECK(strstr(text, "^"));
        code_module_free(m);
    }
}

enum { MAX_TEXTS = 3 };

/* Links texts and lowers the result. Returns the module, or NULL on errors; messages are in `text`. */
static CodeModule *lower_texts(const char *const *ptx, Host *host, char *text, size_t size)
{
    PtxLog log = {.text = NULL};
    LowerHost callbacks = {.closure = host, .allocate = host_allocate, .release = host_release};
    PtxModule *trees[MAX_TEXTS];
    uint32_t count = 0;
    char name[] = "a";
    for (; count < MAX_TEXTS && ptx[count]; count++, name[0]++) {
        trees[count] = ptx_parse(ptx[count], strlen(ptx[count]), &(PtxOptions){.name = name}, &log);
        CHECK(trees[count] != NULL);
    }
    PtxModule *whole = ptx_link(trees, count, &log);
    CodeModule *module = whole ? lower_module(whole, &callbacks, &log) : NULL;
    snprintf(text, size, "%s", ptx_log_text(&log));
    for (uint32_t i = 0; !whole && i < count; i++) ptx_module_free(trees[i]);
    ptx_module_free(whole);
    ptx_log_free(&log);
    return module;
}

/* Two texts that use each other's functions and variables become one module: names resolve across texts,
 * static variables of the same name stay separate, and functions share a frame layout. */
static void test_link(void)
{
    static const char *const texts[] = {
        HEADER ".extern .func there();\n.extern .global .u32 number;\n.global .u32 own = 1;\n"
               ".visible .func back() { .shared .b32 s; .reg .b32 %r; ld.shared.u32 %r, [s]; ret; }\n"
               ".visible .entry k() { .reg .b32 %r; call there, (); ld.global.u32 %r, [number];"
               " st.global.u32 [own], %r; ret; }\n",
        HEADER ".extern .func back();\n.visible .global .u32 number = 42;\n.global .u32 own = 2;\n"
               ".visible .global .u64 where = back;\n"
               ".visible .func there() { .reg .b64 %d; ld.global.u64 %d, [where]; st.global.u32 [own], 3;"
               " call back, (); st.global.u64 [where], %d; ret; }\n",
        NULL};
    char text[2000];
    Host host = {.count = 0};
    CodeModule *m = lower_texts(texts, &host, text, sizeof text);
    CHECK(m && m->function_count == 3 && m->entry_count == 1 && m->global_count == 4);
    if (!m) {
        printf("%s\n", text);
        return;
    }
    const CodeFunction *k = find(m, "k"), *there = find(m, "there"), *back = find(m, "back");
    const CodeGlobal *g = m->globals;
    CHECK(k && there && back && k->insns[0].op == OP_call && k->insns[0].pointer == there);
    CHECK(k->shared_size == 4 && there->frame_size == back->frame_size);
    CHECK(k->stack_size != 0 && k->stack_size != UINT32_MAX);
    CHECK(*(uint32_t *)(uintptr_t)g[1].address == 42 && *(uint32_t *)(uintptr_t)g[2].address == 2);
    CHECK(*(uint64_t *)(uintptr_t)g[3].address == (uint64_t)(uintptr_t)back);
    CHECK(g[0].address != g[2].address && (uint64_t)k->insns[1].imm == g[1].address);
    code_module_free(m);
    host_free(&host);
}

/* A strong function replaces a weak one, the first weak variable wins, and the largest common one. */
static void test_link_of_weak_and_common(void)
{
    static const char *const texts[] = {
        HEADER ".weak .func f() { trap; ret; }\n.common .global .b8 c[4];\n.weak .global .u32 w = 1;\n",
        HEADER ".visible .func f() { ret; }\n.common .global .b8 c[16];\n.weak .global .u32 w = 2;\n",
        HEADER ".extern .func f();\n.extern .global .b8 c[];\n.visible .entry k() { call f, (); ret; }\n",
    };
    char text[2000];
    Host host = {.count = 0};
    CodeModule *m = lower_texts(texts, &host, text, sizeof text);
    const CodeFunction *f = find(m, "f");
    CHECK(m && m->function_count == 2 && m->global_count == 2);
    if (!m) {
        printf("%s\n", text);
        return;
    }
    CHECK(f && count_op(f, OP_trap) == 0);
    CHECK(!strcmp(m->globals[0].name, "w") && *(uint32_t *)(uintptr_t)m->globals[0].address == 1);
    CHECK(!strcmp(m->globals[1].name, "c") && m->globals[1].size == 16);
    code_module_free(m);
    host_free(&host);
}

static void test_link_errors(void)
{
    static const struct {
        const char *first, *second, *message;
    } cases[] = {
        {".visible .func f() { ret; }\n", "\n.visible .func f() { ret; }\n",
         "error   : Multiple definition of 'f' in 'b', first defined in 'a'\n"},
        {".visible .global .u32 x;\n", ".visible .global .u32 x;\n", "Multiple definition of 'x' in 'b'"},
        {".visible .func f(.param .b32 a) { ret; }\n", ".extern .func f(.param .b64 a);\n",
         "error   : Prototype doesn't match for 'f' in 'b', first defined in 'a'\n"},
        {".visible .const .u32 x;\n", ".extern .global .u32 x;\n",
         "error   : Memory space doesn't match for 'x' in 'b', first specified in 'a'\n"},
        {".extern .func f();\n", ".extern .func f();\n.visible .entry k() { call f, (); ret; }\n",
         "unresolved symbol: function 'f' has no body"},
        {".extern .global .u32 x;\n",
         ".extern .global .u32 x;\n.visible .entry k() { st.global.u32 [x], 1; ret; }\n", "'x'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char first[400], second[400], text[2000];
        const char *texts[MAX_TEXTS] = {first, second, NULL};
        Host host = {.count = 0};
        snprintf(first, sizeof first, HEADER "%s", cases[i].first);
        snprintf(second, sizeof second, HEADER "%s", cases[i].second);
        CodeModule *m = lower_texts(texts, &host, text, sizeof text);
        CHECK(!m && strstr(text, cases[i].message));
        if (m || !strstr(text, cases[i].message)) printf("%zu: %s\n", i, text);
        code_module_free(m);
        host_free(&host);
    }
}

/* Memory of variables is released if lowering fails, and a lack of memory is reported. */
static void test_failure_releases(void)
{
    Host host = {.count = 0};
    char text[2000];
    CHECK(!lower_text(HEADER ".global .b32 x;\n.extern .func missing();\n"
                             ".visible .entry k() { call missing, (); ret; }\n",
                      &host, text, sizeof text));
    CHECK(host.count == 1 && host.released == 1);
    host_free(&host);
    Host full = {.full = true};
    CHECK(!lower_text(HEADER ".global .b32 x;\n.visible .entry k() { ret; }\n", &full, text, sizeof text));
    CHECK(strstr(text, "no memory for variable 'x'"));
}

int main(void)
{
    test_parameters();
    test_variables();
    test_shared_memory();
    test_calls();
    test_recursion_has_no_known_stack();
    test_blocks();
    test_errors();
    test_link();
    test_link_of_weak_and_common();
    test_link_errors();
    test_failure_releases();
    return check_done();
}
