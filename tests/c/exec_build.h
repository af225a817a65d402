/* Builds decoded code by hand, for tests of the interpreter that need no PTX. */
#ifndef TESTS_C_EXEC_BUILD_H
#define TESTS_C_EXEC_BUILD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/state/launch.h"
#include "exec/memory/memory_map.h"
#include "exec/state/warp.h"

/* Limits of a function: instructions, constants of its module; bytes of a register (32 lanes of 8), of a
 * frame: 32 predicates of 4 bytes, then 32 registers. */
enum { BUILD_INSNS = 256, BUILD_CONSTANTS = 64, BUILD_ROW = 256, BUILD_FRAME = 128 + 32 * BUILD_ROW };

/* One function of the module. Branch targets are instruction numbers until build_finish(). */
typedef struct Build {
    CodeModule *module;
    CodeFunction function;
    Insn insns[BUILD_INSNS];
    Ref refs[64];
    CodeLine lines[BUILD_INSNS];
    bool is_branch[BUILD_INSNS];
} Build;

typedef struct BuildModule {
    CodeModule module;
    CodeFunction *functions[8];
    _Alignas(64) uint8_t constants[BUILD_CONSTANTS * BUILD_ROW];
    uint32_t constant_count;
    const char *files[1];
} BuildModule;

/* Operands: register n (of any width), predicate n; the frame has 32 of each. */
#define R(n) REF_MAKE(REF_FRAME, 128 + BUILD_ROW * (n))
#define P(n) REF_MAKE(REF_FRAME, 4 * (n))
#define NONE REF_ABSENT

/* An operand that has this value in all lanes: a new constant of the module. */
static inline Ref build_u32(BuildModule *m, uint32_t value)
{
    uint32_t *row = (uint32_t *)(void *)(m->constants + BUILD_ROW * m->constant_count);
    for (int l = 0; l < WARP_LANES; l++) row[l] = value;
    return REF_MAKE(REF_CONST, BUILD_ROW * m->constant_count++);
}

static inline Ref build_u64(BuildModule *m, uint64_t value)
{
    uint64_t *row = (uint64_t *)(void *)(m->constants + BUILD_ROW * m->constant_count);
    for (int l = 0; l < WARP_LANES; l++) row[l] = value;
    return REF_MAKE(REF_CONST, BUILD_ROW * m->constant_count++);
}

/* Begins a function of the module, which keeps a pointer to *b. */
static inline void build_function(BuildModule *m, Build *b, const char *name)
{
    memset(b, 0, sizeof *b);
    b->module = &m->module;
    b->function = (CodeFunction){.name = name,
                                 .module = &m->module,
                                 .is_entry = true,
                                 .insns = b->insns,
                                 .refs = b->refs,
                                 .lines = b->lines,
                                 .frame_size = BUILD_FRAME};
    m->functions[m->module.function_count++] = &b->function;
}

/* Begins a module. */
static inline void build_module(BuildModule *m)
{
    memset(m, 0, sizeof *m);
    m->files[0] = "";
    m->module = (CodeModule){.functions = m->functions,
                             .constants = m->constants,
                             .constants_size = sizeof m->constants,
                             .files = m->files,
                             .file_count = 1};
}

/* The number that the next instruction gets. */
static inline uint32_t build_here(const Build *b) { return b->function.insn_count; }

/* Adds an instruction to the function b, with result d and operands a, bb, c: NONE for those that it lacks.
 * Returns it, so that other fields can be set. */
static inline Insn *emit(Build *b, unsigned op, Ref d, Ref a, Ref bb, Ref c)
{
    uint32_t n = b->function.insn_count++;
    b->lines[n] = (CodeLine){.ptx_line = n + 1};
    b->function.line_count = n + 1;
    b->insns[n] = (Insn){.op = (uint16_t)op, .d = d, .a = a, .b = bb, .c = c, .e = NONE, .line = n};
    return &b->insns[n];
}

/* Adds a branch to an instruction number, which build_target() may set later. Returns the branch's own
 * number. */
static inline uint32_t emit_branch(Build *b, unsigned op, Ref predicate, unsigned mods, uint32_t target)
{
    Insn *i = emit(b, op, NONE, predicate, NONE, NONE);
    i->mods = (uint16_t)mods;
    i->imm = target;
    b->is_branch[i - b->insns] = true;
    return (uint32_t)(i - b->insns);
}

/* Makes the branch of that number go to the next instruction that is added. */
static inline void build_target(Build *b, uint32_t branch) { b->insns[branch].imm = build_here(b); }

/* Ends a function: its branches' targets become pointers. */
static inline void build_finish(Build *b)
{
    for (uint32_t n = 0; n < b->function.insn_count; n++) {
        if (b->is_branch[n]) b->insns[n].target = b->insns + b->insns[n].imm;
        b->is_branch[n] = false;
    }
}

/* How build_run() runs a function: a grid of so many blocks of threads with `shared` bytes of dynamic shared
 * memory, on so many worker threads (0: one). The function's one parameter, the address, is PARAM_ADDRESS. */
typedef struct BuildRun {
    uint32_t blocks, threads, shared;
    int workers;
    bool cooperative;
    uint64_t address;
    uint32_t stack_limit;
    struct MemoryMap *memory;
    DeviceHeap *heap;
    void (*print)(void *, const char *, size_t);
    void *print_closure;
} BuildRun;

/* 0, or the code of the fault that the function ended with, which is described in *fault. */
static inline int build_run(BuildModule *m, Build *b, const BuildRun *run, ExecFault *fault)
{
    CodeParamLoad load = {.offset = 0, .row = 0, .size = 8, .element = 8};
    WorkerPool *pool = worker_pool_create(run->workers ? run->workers : 1);
    GridLaunch launch = {.function = &b->function,
                         .grid = {run->blocks, 1, 1},
                         .block = {run->threads, 1, 1},
                         .dynamic_shared = run->shared,
                         .params = &run->address,
                         .cooperative = run->cooperative,
                         .memory = run->memory,
                         .heap = run->heap,
                         .print = run->print,
                         .print_closure = run->print_closure,
                         .stack_limit = run->stack_limit};
    int code;
    b->function.param_size = 8;
    b->function.param_loads = &load;
    b->function.param_load_count = 1;
    b->function.param_rows_size = BUILD_ROW;
    exec_bind(&m->module);
    code = grid_run(pool, &launch, fault);
    worker_pool_destroy(pool);
    return code;
}

#define PARAM_ADDRESS REF_MAKE(REF_PARAM, 0)

#endif
