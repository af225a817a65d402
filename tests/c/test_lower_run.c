/* Lowered PTX run by the interpreter: values of a diverged lane survive whatever other lanes do in the same
 * rows, in the same function and in different ones, on the usual schedule and on random ones. */
#include "check.h"

#include "exec/state/launch.h"
#include "exec/memory/memory_map.h"
#include "lower/lower.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 64 };

#define HEADER ".version 8.0\n.target sm_75\n.address_size 64\n"
#define READ_LANE \
    "ld.param.u64 %base, [p]; mov.u32 %lane, %tid.x; mul.wide.u32 %at, %lane, 8; add.s64 %at, %base, %at;\n" \
    "ld.global.u32 %n, [%at];\n"

/* Lanes leave the loop one after another, and use rows of 64 bits while the rest still counts in rows
 * of 32. */
static const char loop_ptx[] = HEADER
    ".visible .entry k(.param .u64 p) { .reg .b32 %lane, %n, %i, %s; .reg .b64 %base, %at, %w<4>; .reg .pred "
    "%q;\n" READ_LANE "mov.u32 %i, 0; mov.u32 %s, 0;\n"
    "L1: setp.ge.u32 %q, %i, %n; @%q bra L2; mad.lo.u32 %s, %i, 3, %s; add.u32 %i, %i, 1; bra L1;\n"
    "L2: cvt.u64.u32 %w1, %s; shl.b64 %w2, %w1, 33; or.b64 %w3, %w2, %w1; st.global.u64 [%at], %w3; ret; }\n";

/* Two functions with different rows, called by different lanes that wait for each other inside. */
static const char call_ptx[] = HEADER
    ".func (.param .b64 out) wide(.param .b32 in) { .reg .b32 %r<3>; .reg .b64 %w<9>;\n"
    "ld.param.b32 %r1, [in]; cvt.u64.u32 %w1, %r1; add.u64 %w2, %w1, 1; mul.lo.u64 %w3, %w1, %w2;\n"
    "shl.b64 %w4, %w1, 40; bar.warp.sync 0xffffffff; add.u64 %w5, %w3, %w4; add.u64 %w6, %w5, %w2;\n"
    "st.param.b64 [out], %w6; ret; }\n"
    ".func (.param .b64 out) narrow(.param .b32 in) { .reg .b32 %r<9>; .reg .b64 %w; .reg .b16 %h<3>;\n"
    "ld.param.b32 %r1, [in]; add.u32 %r2, %r1, 5; xor.b32 %r3, %r1, 0x55; cvt.u16.u32 %h1, %r1; add.u32 %r4, "
    "%r2, %r3;\n"
    "bar.warp.sync 0xffffffff; add.u32 %r5, %r2, %r3; mad.lo.u32 %r6, %r5, %r4, %r1; cvt.u32.u16 %r7, %h1;\n"
    "add.u32 %r8, %r6, %r7; cvt.u64.u32 %w, %r8; st.param.b64 [out], %w; ret; }\n"
    ".visible .entry k(.param .u64 p) { .reg .b32 %lane, %n, %odd; .reg .b64 %base, %at, %w; .reg .pred "
    "%q;\n" READ_LANE "and.b32 %odd, %lane, 1; setp.eq.u32 %q, %odd, 1; @%q bra L1;\n"
    "{ .param .b32 x; .param .b64 y; st.param.b32 [x], %n; call (y), wide, (x); ld.param.b64 %w, [y]; } bra "
    "L2;\n"
    "L1: { .param .b32 x; .param .b64 y; st.param.b32 [x], %n; call (y), narrow, (x); ld.param.b64 %w, [y]; "
    "}\n"
    "L2: st.global.u64 [%at], %w; ret; }\n";

/* Every lane recurses to a depth of its own. */
static const char recursion_ptx[] = HEADER
    ".func (.param .b64 out) sum(.param .b32 in) { .reg .b32 %n, %m; .reg .b64 %w<4>; .reg .pred %q;\n"
    "ld.param.b32 %n, [in]; mov.u64 %w1, 0; setp.eq.u32 %q, %n, 0; @%q bra L1; sub.u32 %m, %n, 1;\n"
    "{ .param .b32 x; .param .b64 y; st.param.b32 [x], %m; call (y), sum, (x); ld.param.b64 %w2, [y]; }\n"
    "mul.wide.u32 %w3, %n, %n; add.u64 %w1, %w2, %w3;\n"
    "L1: st.param.b64 [out], %w1; ret; }\n"
    ".visible .entry k(.param .u64 p) { .reg .b32 %lane, %n; .reg .b64 %base, %at, %w;\n" READ_LANE
    "{ .param .b32 x; .param .b64 y; st.param.b32 [x], %n; call (y), sum, (x); ld.param.b64 %w, [y]; }\n"
    "st.global.u64 [%at], %w; ret; }\n";

/* ---- the expected results, by the same arithmetic in C ---- */

static uint64_t expect_loop(uint32_t lane, uint32_t n)
{
    uint32_t s = 0;
    (void)lane;
    for (uint32_t i = 0; i < n; i++) s += i * 3;
    return (uint64_t)s << 33 | s;
}

static uint64_t expect_call(uint32_t lane, uint32_t n)
{
    uint64_t w = n;
    if (lane % 2 == 0) return w * (w + 1) + (w << 40) + w + 1;
    uint32_t t = n + 5 + (n ^ 0x55);
    return (uint32_t)(t * t + n + (uint16_t)n);
}

static uint64_t expect_recursion(uint32_t lane, uint32_t n)
{
    uint64_t sum = 0;
    (void)lane;
    for (uint64_t i = 1; i <= n; i++) sum += i * i;
    return sum;
}

/* ---- running ---- */

static CodeModule *load(const char *ptx)
{
    PtxLog log = {.text = NULL};
    LowerHost host = {.closure = NULL};
    PtxModule *tree = ptx_parse(ptx, strlen(ptx), NULL, &log);
    CodeModule *module = tree ? lower_module(tree, &host, &log) : NULL;
    if (!module) printf("%s\n", ptx_log_text(&log));
    ptx_module_free(tree);
    ptx_log_free(&log);
    if (module) exec_bind(module);
    return module;
}

/* Runs the kernel in one block of LANES threads on `data`; returns the code of grid_run(). */
static int launch(const CodeModule *module, uint64_t *data)
{
    MemoryMap *map = memory_map_create();
    WorkerPool *pool = worker_pool_create(1);
    MemoryRequest request = {.size = LANES * sizeof *data, .align = 8, .kind = MEMORY_REGISTERED};
    memory_map_register(map, (uintptr_t)data, &request);
    uint64_t params = (uintptr_t)data;
    GridLaunch grid = {.function = module->functions[0],
                       .grid = {1, 1, 1},
                       .block = {LANES, 1, 1},
                       .params = &params,
                       .memory = map};
    ExecFault fault;
    int code = grid_run(pool, &grid, &fault);
    if (code) printf("%s\n", fault.text);
    worker_pool_destroy(pool);
    memory_map_destroy(map);
    return code;
}

static void check_program(const char *ptx, uint64_t (*expect)(uint32_t lane, uint32_t n))
{
    uint64_t data[LANES];
    CodeModule *module = load(ptx);
    CHECK(module != NULL);
    if (!module) return;
    for (uint32_t l = 0; l < LANES; l++) data[l] = l * 7 % 23;
    CHECK(launch(module, data) == 0);
    uint32_t wrong = 0;
    for (uint32_t l = 0; l < LANES; l++) wrong += data[l] != expect(l, l * 7 % 23);
    CHECK_EQUAL(wrong, 0);
    code_module_free(module);
}

int main(void)
{
    static const char *const schedules[] = {"", "random:1", "random:2", "random:77"};
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
        setenv("PYCUDA_CPU_SCHEDULE", schedules[i], 1);
        check_program(loop_ptx, expect_loop);
        check_program(call_ptx, expect_call);
        check_program(recursion_ptx, expect_recursion);
    }
    return check_done();
}
