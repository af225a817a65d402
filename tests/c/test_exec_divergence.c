/* Divergence and forward progress: locks on which a naive order of lanes livelocks, barriers, exits, calls.
 *
 * Every program runs on the usual schedule, with several worker threads, and with random schedules of
 * single lanes.
 */
#include "check.h"

#include "exec_build.h"

typedef struct Cells {
    uint32_t lock, count, ticket, serving, flag, out[4096];
} Cells;

static BuildModule module;
static Build kernel, callee, other;

static Ref u32(uint32_t value) { return build_u32(&module, value); }

/* Starts a new module with an empty kernel. */
static void begin(void)
{
    build_module(&module);
    build_function(&module, &kernel, "kernel");
}

/* Runs the kernel on cleared cells in registered memory; returns the code of grid_run(). */
static int run(Cells *cells, BuildRun how, ExecFault *fault)
{
    MemoryMap *map = memory_map_create();
    MemoryRequest request = {.size = sizeof *cells, .align = 1, .kind = MEMORY_REGISTERED};
    int code;
    memset(cells, 0, sizeof *cells);
    memory_map_register(map, (uintptr_t)cells, &request);
    build_finish(&kernel);
    how.memory = map;
    how.address = (uintptr_t)cells;
    code = build_run(&module, &kernel, &how, fault);
    memory_map_destroy(map);
    if (code && code != CUDA_ERROR_LAUNCH_FAILED) printf("fault %d: %s\n", code, fault->text);
    return code;
}

/* Completes the functions that the kernel calls. */
static void finish_callees(void)
{
    build_finish(&callee);
    build_finish(&other);
}

#define AT(field) ((int64_t)offsetof(Cells, field))

/* These emit a strong load, a strong store and an atomic operation on the cell at the offset. */
static void load_cell(Ref d, int64_t offset)
{
    Insn *i = emit(&kernel, OP_ld_generic_b32_32, d, PARAM_ADDRESS, NONE, NONE);
    i->imm = offset;
    i->mods = MEM_STRONG;
}

static void store_cell(Ref value, int64_t offset)
{
    Insn *i = emit(&kernel, OP_st_generic_b32_32, NONE, PARAM_ADDRESS, value, NONE);
    i->imm = offset;
    i->mods = MEM_STRONG;
}

static void atomic(unsigned op, Ref d, int64_t offset, Ref b, Ref c)
{
    emit(&kernel, op, d, PARAM_ADDRESS, b, c)->imm = offset;
}

/* count++, without atomics: wrong unless the lane holds the lock. Leaves the count in R(1). */
static void count_up(void)
{
    load_cell(R(1), AT(count));
    emit(&kernel, OP_add_b32, R(1), R(1), u32(1), NONE);
    store_cell(R(1), AT(count));
    emit(&kernel, OP_fence, NONE, NONE, NONE, NONE);
}

/* while (cas(lock, 0, 1)); count++; lock = 0 */
static void spin_lock_kernel(void)
{
    begin();
    emit(&kernel, OP_label, NONE, NONE, NONE, NONE);
    atomic(OP_atom_cas_b32, R(0), AT(lock), u32(0), u32(1));
    emit(&kernel, OP_setp_ne_b32, P(0), R(0), u32(0), NONE);
    emit_branch(&kernel, OP_bra_p_back, P(0), 0, 0);
    count_up();
    atomic(OP_atom_exch_b32, NONE, AT(lock), u32(0), NONE);
    emit(&kernel, OP_exit, NONE, NONE, NONE, NONE);
}

/* mine = ticket++; while (serving != mine); count++; serving++ */
static void ticket_lock_kernel(void)
{
    uint32_t head;
    begin();
    atomic(OP_atom_add_u32, R(2), AT(ticket), u32(1), NONE);
    head = build_here(&kernel);
    emit(&kernel, OP_label, NONE, NONE, NONE, NONE);
    load_cell(R(0), AT(serving));
    emit(&kernel, OP_setp_ne_b32, P(0), R(0), R(2), NONE);
    emit_branch(&kernel, OP_bra_p_back, P(0), 0, head);
    count_up();
    emit(&kernel, OP_add_b32, R(0), R(0), u32(1), NONE);
    store_cell(R(0), AT(serving));
    emit(&kernel, OP_exit, NONE, NONE, NONE, NONE);
}

/* done = 0; do { if (cas(lock, 0, 1) == 0) { count++; done = 1; lock = 0 } } while (!done) */
static void flag_lock_kernel(void)
{
    uint32_t head, skip;
    begin();
    emit(&kernel, OP_mov_b32, R(3), u32(0), NONE, NONE);
    head = build_here(&kernel);
    emit(&kernel, OP_label, NONE, NONE, NONE, NONE);
    atomic(OP_atom_cas_b32, R(0), AT(lock), u32(0), u32(1));
    emit(&kernel, OP_setp_ne_b32, P(0), R(0), u32(0), NONE);
    skip = emit_branch(&kernel, OP_bra_p, P(0), 0, 0);
    count_up();
    emit(&kernel, OP_mov_b32, R(3), u32(1), NONE, NONE);
    atomic(OP_atom_exch_b32, NONE, AT(lock), u32(0), NONE);
    build_target(&kernel, skip);
    emit(&kernel, OP_label, NONE, NONE, NONE, NONE);
    emit(&kernel, OP_setp_eq_b32, P(0), R(3), u32(0), NONE);
    emit_branch(&kernel, OP_bra_p_back, P(0), 0, head);
    emit(&kernel, OP_exit, NONE, NONE, NONE, NONE);
}

/* Every lane gets through each lock exactly once. */
static void test_locks(void)
{
    void (*const kernels[])(void) = {spin_lock_kernel, ticket_lock_kernel, flag_lock_kernel};
    static Cells cells;
    ExecFault fault;
    for (int k = 0; k < 3; k++) {
        kernels[k]();
        CHECK(run(&cells, (BuildRun){.blocks = 1, .threads = 32}, &fault) == 0);
        CHECK(cells.count == 32);
        CHECK(run(&cells, (BuildRun){.blocks = 3, .threads = 75}, &fault) == 0);
        CHECK(cells.count == 225);
        CHECK(run(&cells, (BuildRun){.blocks = 8, .threads = 33, .workers = 3}, &fault) == 0);
        CHECK(cells.count == 264);
    }
}

/* out[tid] = sum over rounds of what the next thread stored in the round; threads below `exited` exit first.
 * R(3) is the sum, R(4) the round; a thread stores 1000 * round + tid. */
static void barrier_kernel(uint32_t threads, uint32_t rounds, uint32_t exited)
{
    uint32_t head;
    begin();
    emit(&kernel, OP_sreg_tid, R(0), NONE, NONE, NONE);
    emit(&kernel, OP_setp_lt_u32, P(0), R(0), u32(exited), NONE);
    emit(&kernel, OP_exit, NONE, P(0), NONE, NONE);
    emit(&kernel, OP_mul_lo_b32, R(1), R(0), u32(4), NONE);
    emit(&kernel, OP_add_b32, R(2), R(0), u32(1), NONE);
    emit(&kernel, OP_setp_ge_u32, P(1), R(2), u32(threads), NONE);
    emit(&kernel, OP_selp_b32, R(2), u32(exited), R(2), P(1));
    emit(&kernel, OP_mul_lo_b32, R(2), R(2), u32(4), NONE);
    emit(&kernel, OP_mov_b32, R(3), u32(0), NONE, NONE);
    emit(&kernel, OP_mov_b32, R(4), u32(0), NONE, NONE);
    head = build_here(&kernel);
    emit(&kernel, OP_label, NONE, NONE, NONE, NONE);
    emit(&kernel, OP_mad_lo_b32, R(5), R(4), u32(1000), R(0));
    emit(&kernel, OP_st_shared_b32_32, NONE, R(1), R(5), NONE)->mods = MEM_ADDR32;
    emit(&kernel, OP_bar_sync, NONE, u32(0), NONE, NONE);
    emit(&kernel, OP_ld_shared_b32_32, R(5), R(2), NONE, NONE)->mods = MEM_ADDR32;
    emit(&kernel, OP_add_b32, R(3), R(3), R(5), NONE);
    emit(&kernel, OP_bar_sync, NONE, u32(0), NONE, NONE);
    emit(&kernel, OP_add_b32, R(4), R(4), u32(1), NONE);
    emit(&kernel, OP_setp_lt_u32, P(0), R(4), u32(rounds), NONE);
    emit_branch(&kernel, OP_bra_p_back, P(0), 0, head);
    emit(&kernel, OP_cvt_u64_u32, R(6), R(1), NONE, NONE);
    emit(&kernel, OP_add_b64, R(6), R(6), PARAM_ADDRESS, NONE);
    emit(&kernel, OP_st_generic_b32_32, NONE, R(6), R(3), NONE)->imm = AT(out);
    emit(&kernel, OP_exit, NONE, NONE, NONE, NONE);
}

static void check_rounds(const Cells *cells, uint32_t threads, uint32_t rounds, uint32_t exited)
{
    uint32_t wrong = 0;
    for (uint32_t t = exited; t < threads; t++) {
        uint32_t next = t + 1 < threads ? t + 1 : exited;
        wrong += cells->out[t] != rounds * next + 1000 * rounds * (rounds - 1) / 2;
    }
    CHECK(wrong == 0);
}

static void test_barriers(void)
{
    static Cells cells;
    ExecFault fault;
    const struct {
        uint32_t threads, exited;
    } cases[] = {{256, 0}, {70, 0}, {256, 45}, {1024, 500}, {32, 3}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        uint32_t threads = cases[k].threads, exited = cases[k].exited;
        barrier_kernel(threads, 5, exited);
        CHECK(run(&cells, (BuildRun){.blocks = 1, .threads = threads, .shared = 4096}, &fault) == 0);
        check_rounds(&cells, threads, 5, exited);
    }
}

/* Half of the threads wait for the whole block at barrier 1, the others at barrier 2: a deadlock, which is
 * reported as a fault. */
static void test_deadlock(void)
{
    static Cells cells;
    ExecFault fault;
    begin();
    emit(&kernel, OP_sreg_tid, R(0), NONE, NONE, NONE);
    emit(&kernel, OP_setp_lt_u32, P(0), R(0), u32(32), NONE);
    emit(&kernel, OP_selp_b32, R(1), u32(1), u32(2), P(0));
    emit(&kernel, OP_bar_sync, NONE, R(1), NONE, NONE);
    emit(&kernel, OP_exit, NONE, NONE, NONE, NONE);
    CHECK(run(&cells, (BuildRun){.blocks = 1, .threads = 64}, &fault) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(strstr(fault.text, "barrier 1") && strstr(fault.text, "PTX line 4"));
    CHECK(getenv("PYCUDA_CPU_SCHEDULE") || strstr(fault.text, "barrier 2"));
}

/* Barriers with a count: producers arrive, consumers wait. */
static void test_arrive(void)
{
    static Cells cells;
    ExecFault fault;
    uint32_t to_wait;
    begin();
    emit(&kernel, OP_sreg_tid, R(0), NONE, NONE, NONE);
    emit(&kernel, OP_setp_ge_u32, P(0), R(0), u32(32), NONE);
    emit(&kernel, OP_mov_b32, R(1), u32(7), NONE, NONE);
    to_wait = emit_branch(&kernel, OP_bra_p, P(0), MODS_NEGATE, 0);
    store_cell(R(1), AT(flag));
    emit(&kernel, OP_bar_arrive, NONE, u32(3), u32(64), NONE);
    emit(&kernel, OP_exit, NONE, NONE, NONE, NONE);
    build_target(&kernel, to_wait);
    emit(&kernel, OP_bar_sync, NONE, u32(3), u32(64), NONE);
    load_cell(R(2), AT(flag));
    store_cell(R(2), AT(out));
    emit(&kernel, OP_exit, NONE, NONE, NONE, NONE);
    CHECK(run(&cells, (BuildRun){.blocks = 1, .threads = 64}, &fault) == 0);
    CHECK(cells.out[0] == 7);
}

/* bar.red over divergent values. */
static void test_barrier_votes(void)
{
    static Cells cells;
    ExecFault fault;
    begin();
    emit(&kernel, OP_sreg_tid, R(0), NONE, NONE, NONE);
    emit(&kernel, OP_setp_lt_u32, P(0), R(0), u32(41), NONE);
    emit(&kernel, OP_bar_red_popc, R(1), u32(0), NONE, P(0));
    emit(&kernel, OP_bar_red_and, P(1), u32(0), NONE, P(0));
    emit(&kernel, OP_bar_red_or, P(2), u32(0), NONE, P(0));
    emit(&kernel, OP_selp_b32, R(2), u32(1), u32(0), P(1));
    emit(&kernel, OP_selp_b32, R(3), u32(1), u32(0), P(2));
    store_cell(R(1), AT(out));
    store_cell(R(2), AT(out[1]));
    store_cell(R(3), AT(out[2]));
    emit(&kernel, OP_exit, NONE, NONE, NONE, NONE);
    CHECK(run(&cells, (BuildRun){.blocks = 1, .threads = 100}, &fault) == 0);
    CHECK(cells.out[0] == 41 && cells.out[1] == 0 && cells.out[2] == 1);
}

/* Lanes that wait for the whole warp go on once the other lanes have exited. */
static void test_exit_releases(void)
{
    static Cells cells;
    ExecFault fault;
    uint32_t leave;
    begin();
    emit(&kernel, OP_sreg_laneid, R(0), NONE, NONE, NONE);
    emit(&kernel, OP_setp_lt_u32, P(0), R(0), u32(20), NONE);
    leave = emit_branch(&kernel, OP_bra_p, P(0), 0, 0);
    emit(&kernel, OP_bar_warp_sync, NONE, u32(FULL_MASK), NONE, NONE);
    atomic(OP_atom_add_u32, NONE, AT(count), u32(1), NONE);
    emit(&kernel, OP_exit, NONE, NONE, NONE, NONE);
    build_target(&kernel, leave);
    emit(&kernel, OP_exit, NONE, NONE, NONE, NONE);
    CHECK(run(&cells, (BuildRun){.blocks = 1, .threads = 32}, &fault) == 0);
    CHECK(cells.count == 12);
}

/* factorial(lane % 7) by recursion: argument and result in the callee's first row, n kept across the call
 * in R(1). */
static void test_recursion(void)
{
    static Cells cells;
    ExecFault fault;
    const Ref argument = REF_MAKE(REF_FRAME, BUILD_FRAME + WARP_CALL_HEADER + 128);
    const uint32_t factorials[] = {1, 1, 2, 6, 24, 120, 720};
    uint32_t base, wrong = 0;
    begin();
    build_function(&module, &callee, "factorial");
    callee.function.is_entry = false;
    emit(&callee, OP_mov_b32, R(1), R(0), NONE, NONE);
    emit(&callee, OP_setp_lt_u32, P(0), R(1), u32(2), NONE);
    base = emit_branch(&callee, OP_bra_p, P(0), 0, 0);
    emit(&callee, OP_sub_b32, argument, R(1), u32(1), NONE);
    emit(&callee, OP_call, NONE, NONE, NONE, NONE)->pointer = &callee.function;
    emit(&callee, OP_mul_lo_b32, R(0), R(1), argument, NONE);
    emit(&callee, OP_ret, NONE, NONE, NONE, NONE);
    build_target(&callee, base);
    emit(&callee, OP_mov_b32, R(0), u32(1), NONE, NONE);
    emit(&callee, OP_ret, NONE, NONE, NONE, NONE);
    emit(&kernel, OP_sreg_laneid, R(0), NONE, NONE, NONE);
    emit(&kernel, OP_rem_u32, argument, R(0), u32(7), NONE);
    emit(&kernel, OP_call, NONE, NONE, NONE, NONE)->pointer = &callee.function;
    emit(&kernel, OP_mov_b32, R(2), argument, NONE, NONE);
    emit(&kernel, OP_mul_wide_u32, R(3), R(0), u32(4), NONE);
    emit(&kernel, OP_add_b64, R(3), R(3), PARAM_ADDRESS, NONE);
    emit(&kernel, OP_st_generic_b32_32, NONE, R(3), R(2), NONE)->imm = AT(out);
    emit(&kernel, OP_exit, NONE, NONE, NONE, NONE);
    build_finish(&callee);
    CHECK(run(&cells, (BuildRun){.blocks = 1, .threads = 32}, &fault) == 0);
    for (uint32_t l = 0; l < 32; l++) wrong += cells.out[l] != factorials[l % 7];
    CHECK(wrong == 0);
}

/* Endless recursion is a fault. */
static void test_endless_recursion(void)
{
    static Cells cells;
    ExecFault fault;
    begin();
    build_function(&module, &callee, "endless");
    emit(&callee, OP_call, NONE, NONE, NONE, NONE)->pointer = &callee.function;
    emit(&callee, OP_ret, NONE, NONE, NONE, NONE);
    emit(&kernel, OP_call, NONE, NONE, NONE, NONE)->pointer = &callee.function;
    emit(&kernel, OP_exit, NONE, NONE, NONE, NONE);
    CHECK(run(&cells, (BuildRun){.blocks = 1, .threads = 32}, &fault) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(strstr(fault.text, "stack overflow"));
}

/* Lanes call one of two functions through an address, then jump through a table. */
static void test_indirect(void)
{
    static Cells cells;
    ExecFault fault;
    const Insn *targets[2];
    CodeTable table = {.count = 2, .targets = targets};
    const Ref result = REF_MAKE(REF_FRAME, BUILD_FRAME + WARP_CALL_HEADER + 128);
    uint32_t wrong = 0, first, second, over;
    begin();
    build_function(&module, &callee, "five");
    emit(&callee, OP_mov_b32, R(0), u32(5), NONE, NONE);
    emit(&callee, OP_ret, NONE, NONE, NONE, NONE);
    build_function(&module, &other, "nine");
    emit(&other, OP_mov_b32, R(0), u32(9), NONE, NONE);
    emit(&other, OP_ret, NONE, NONE, NONE, NONE);
    emit(&kernel, OP_sreg_laneid, R(0), NONE, NONE, NONE);
    emit(&kernel, OP_and_b32, R(1), R(0), u32(1), NONE);
    emit(&kernel, OP_setp_eq_b32, P(0), R(1), u32(0), NONE);
    emit(&kernel, OP_selp_b64, R(2), build_u64(&module, (uintptr_t)&callee.function),
         build_u64(&module, (uintptr_t)&other.function), P(0));
    emit(&kernel, OP_call_indirect, NONE, R(2), NONE, NONE);
    emit(&kernel, OP_mov_b32, R(4), result, NONE, NONE);
    emit(&kernel, OP_brx_idx, NONE, R(1), NONE, NONE)->pointer = &table;
    first = build_here(&kernel);
    emit(&kernel, OP_add_b32, R(4), R(4), u32(100), NONE);
    over = emit_branch(&kernel, OP_bra, NONE, 0, 0);
    second = build_here(&kernel);
    emit(&kernel, OP_add_b32, R(4), R(4), u32(200), NONE);
    build_target(&kernel, over);
    emit(&kernel, OP_label, NONE, NONE, NONE, NONE);
    emit(&kernel, OP_mul_wide_u32, R(3), R(0), u32(4), NONE);
    emit(&kernel, OP_add_b64, R(3), R(3), PARAM_ADDRESS, NONE);
    emit(&kernel, OP_st_generic_b32_32, NONE, R(3), R(4), NONE)->imm = AT(out);
    emit(&kernel, OP_activemask, R(5), NONE, NONE, NONE);
    store_cell(R(5), AT(flag));
    emit(&kernel, OP_exit, NONE, NONE, NONE, NONE);
    targets[0] = kernel.insns + first;
    targets[1] = kernel.insns + second;
    finish_callees();
    CHECK(run(&cells, (BuildRun){.blocks = 1, .threads = 32}, &fault) == 0);
    for (uint32_t l = 0; l < 32; l++) wrong += cells.out[l] != (l & 1 ? 209u : 105u);
    CHECK(wrong == 0);
    if (!getenv("PYCUDA_CPU_SCHEDULE")) CHECK(cells.flag == FULL_MASK);
}

/* All blocks spin until the last one sets the flag: one worker must switch between blocks. */
static void test_blocks_wait(void)
{
    static Cells cells;
    ExecFault fault;
    uint32_t head, set;
    begin();
    emit(&kernel, OP_sreg_ctaid, R(0), NONE, NONE, NONE);
    emit(&kernel, OP_setp_eq_b32, P(0), R(0), u32(9), NONE);
    set = emit_branch(&kernel, OP_bra_p, P(0), 0, 0);
    head = build_here(&kernel);
    emit(&kernel, OP_label, NONE, NONE, NONE, NONE);
    load_cell(R(1), AT(flag));
    emit(&kernel, OP_setp_eq_b32, P(0), R(1), u32(0), NONE);
    emit_branch(&kernel, OP_bra_p_back, P(0), 0, head);
    atomic(OP_atom_add_u32, NONE, AT(count), u32(1), NONE);
    emit(&kernel, OP_exit, NONE, NONE, NONE, NONE);
    build_target(&kernel, set);
    store_cell(u32(1), AT(flag));
    emit(&kernel, OP_exit, NONE, NONE, NONE, NONE);
    CHECK(run(&cells, (BuildRun){.blocks = 10, .threads = 40}, &fault) == 0);
    CHECK(cells.count == 360);
    CHECK(run(&cells, (BuildRun){.blocks = 10, .threads = 40, .cooperative = true, .workers = 4}, &fault)
          == 0);
    CHECK(cells.count == 360);
}

/* Lanes spin in a loop in which odd and even lanes diverge and join again; the lane that would end the loop
 * is to run code after it. */
static void test_diverging_spin(void)
{
    static Cells cells;
    ExecFault fault;
    uint32_t head, set, odd, join;
    begin();
    emit(&kernel, OP_sreg_laneid, R(0), NONE, NONE, NONE);
    emit(&kernel, OP_setp_eq_b32, P(0), R(0), u32(31), NONE);
    emit(&kernel, OP_and_b32, R(2), R(0), u32(1), NONE);
    emit(&kernel, OP_setp_ne_b32, P(1), R(2), u32(0), NONE);
    set = emit_branch(&kernel, OP_bra_p, P(0), 0, 0);
    head = build_here(&kernel);
    emit(&kernel, OP_label, NONE, NONE, NONE, NONE);
    odd = emit_branch(&kernel, OP_bra_p, P(1), 0, 0);
    load_cell(R(1), AT(flag));
    join = emit_branch(&kernel, OP_bra, NONE, 0, 0);
    build_target(&kernel, odd);
    load_cell(R(1), AT(flag));
    build_target(&kernel, join);
    emit(&kernel, OP_label, NONE, NONE, NONE, NONE);
    emit(&kernel, OP_setp_eq_b32, P(0), R(1), u32(0), NONE);
    emit_branch(&kernel, OP_bra_p_back, P(0), 0, head);
    atomic(OP_atom_add_u32, NONE, AT(count), u32(1), NONE);
    emit(&kernel, OP_exit, NONE, NONE, NONE, NONE);
    build_target(&kernel, set);
    store_cell(u32(1), AT(flag));
    emit(&kernel, OP_exit, NONE, NONE, NONE, NONE);
    CHECK(run(&cells, (BuildRun){.blocks = 1, .threads = 64}, &fault) == 0);
    CHECK(cells.count == 62);
}

static void test_all(void)
{
    test_diverging_spin();
    test_locks();
    test_barriers();
    test_deadlock();
    test_arrive();
    test_barrier_votes();
    test_exit_releases();
    test_recursion();
    test_endless_recursion();
    test_indirect();
    test_blocks_wait();
}

int main(void)
{
    test_all();
    setenv("PYCUDA_CPU_SCHEDULE", "random:7", 1);
    test_all();
    setenv("PYCUDA_CPU_SCHEDULE", "random:123456", 1);
    test_all();
    return check_done();
}
