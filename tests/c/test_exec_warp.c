/* Collectives of a warp: by lanes together, by lanes at different instructions, without lanes that exited;
 * printf, assert and malloc of device code. */
#include "check.h"

#include "exec_build.h"

/* What the kernels read and write; arguments are those of printf. */
typedef struct Cells {
    uint32_t a[32], b[32], out[8][32];
    char format[64], text[32];
    uint64_t arguments[8];
} Cells;

static BuildModule module;
static Build kernel;
static Cells cells;
static ExecFault fault;
static char printed[4096];

static Ref u32(uint32_t value) { return build_u32(&module, value); }

/* Appends what device code prints to `printed`. */
static void append_printed(void *closure, const char *bytes, size_t count)
{
    (void)closure;
    strncat(printed, bytes, count);
}

/* R(0) lane, R(1) = &cells + 4 * lane, R(2) = a[lane], R(3) = b[lane] */
static void begin(void)
{
    build_module(&module);
    build_function(&module, &kernel, "kernel");
    emit(&kernel, OP_sreg_laneid, R(0), NONE, NONE, NONE);
    emit(&kernel, OP_mul_wide_u32, R(1), R(0), u32(4), NONE);
    emit(&kernel, OP_add_b64, R(1), R(1), PARAM_ADDRESS, NONE);
    emit(&kernel, OP_ld_generic_b32_32, R(2), R(1), NONE, NONE)->imm = offsetof(Cells, a);
    emit(&kernel, OP_ld_generic_b32_32, R(3), R(1), NONE, NONE)->imm = offsetof(Cells, b);
}

/* out[row][lane] = value */
static void put(int row, Ref value)
{
    emit(&kernel, OP_st_generic_b32_32, NONE, R(1), value, NONE)->imm = (int64_t)offsetof(Cells, out[row]);
}

/* Runs the kernel in one block, with a heap for malloc; returns the code of grid_run(). */
static int run(uint32_t threads)
{
    MemoryMap *map = memory_map_create();
    MemoryRequest request = {.size = sizeof cells, .align = 1, .kind = MEMORY_REGISTERED};
    MemoryRequest room = {.size = 1 << 16, .align = 512, .kind = MEMORY_HEAP};
    uint64_t base = memory_map_alloc(map, &room);
    BuildRun how = {.blocks = 1,
                    .threads = threads,
                    .memory = map,
                    .address = (uintptr_t)&cells,
                    .print = append_printed};
    int code;
    how.heap = device_heap_create(base, room.size);
    emit(&kernel, OP_exit, NONE, NONE, NONE, NONE);
    build_finish(&kernel);
    memory_map_register(map, (uintptr_t)&cells, &request);
    code = build_run(&module, &kernel, &how, &fault);
    device_heap_destroy(how.heap);
    memory_map_destroy(map);
    return code;
}

static uint32_t seed = 99;
static uint32_t random_u32(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8 | seed << 24;
}

/* What the lane gets, and its predicate in *p, by the pseudo code of shfl.sync in the PTX ISA. */
static uint32_t shuffled(unsigned op, uint32_t lane, uint32_t b, uint32_t c, bool *p)
{
    uint32_t bval = b & 31, cval = c & 31, segment = c >> 8 & 31;
    int max_lane = (int)((lane & segment) | (cval & ~segment)), min_lane = (int)(lane & segment), j;
    if (op == OP_shfl_up) {
        j = (int)lane - (int)bval;
        *p = j >= max_lane;
    } else {
        j = op == OP_shfl_down   ? (int)(lane + bval)
            : op == OP_shfl_bfly ? (int)(lane ^ bval)
                                 : (int)((uint32_t)min_lane | (bval & ~segment));
        *p = j <= max_lane;
    }
    return cells.a[*p ? (uint32_t)j : lane];
}

/* With `diverged`, the lanes below 13 and the others meet from two different instructions. */
static void check_shuffle(unsigned op, uint32_t c, bool diverged)
{
    uint32_t wrong = 0, second = 0, over = 0;
    for (int l = 0; l < 32; l++) {
        cells.a[l] = random_u32();
        cells.b[l] = op == OP_shfl_idx ? random_u32() : (uint32_t)(c * 7 + 3) % 32;
    }
    begin();
    kernel.refs[0] = u32(FULL_MASK);
    if (diverged) {
        emit(&kernel, OP_setp_lt_u32, P(0), R(0), u32(13), NONE);
        second = emit_branch(&kernel, OP_bra_p, P(0), 0, 0);
    }
    emit(&kernel, op, R(4), R(2), R(3), u32(c))->e = P(1);
    if (diverged) {
        over = emit_branch(&kernel, OP_bra, NONE, 0, 0);
        build_target(&kernel, second);
        emit(&kernel, OP_mov_b32, R(5), R(2), NONE, NONE);
        emit(&kernel, op, R(4), R(5), R(3), u32(c))->e = P(1);
        build_target(&kernel, over);
        emit(&kernel, OP_label, NONE, NONE, NONE, NONE);
    }
    put(0, R(4));
    emit(&kernel, OP_selp_b32, R(5), u32(1), u32(0), P(1));
    put(1, R(5));
    CHECK(run(32) == 0);
    for (uint32_t l = 0; l < 32; l++) {
        bool p;
        wrong += cells.out[0][l] != shuffled(op, l, cells.b[l], c, &p);
        wrong += cells.out[1][l] != (uint32_t)p;
    }
    CHECK(wrong == 0);
}

static void test_shuffles(void)
{
    /* operands c: the segment mask in bits 8 to 12, the clamp in bits 0 to 4 */
    const uint32_t clamps[] = {0x1f, 0, 0x181f, 0x1800, 0x101f, 0x1c03, 0x1c04};
    const unsigned ops[] = {OP_shfl_up, OP_shfl_down, OP_shfl_bfly, OP_shfl_idx};
    for (size_t o = 0; o < 4; o++) {
        for (size_t k = 0; k < sizeof clamps / sizeof *clamps; k++) {
            check_shuffle(ops[o], clamps[k], false);
            check_shuffle(ops[o], clamps[k], true);
        }
    }
}

/* The mask of those lanes for whose a[lane] holds() is true. */
static uint32_t lanes_where(bool (*holds)(uint32_t), uint32_t lanes)
{
    uint32_t word = 0;
    for (uint32_t l = 0; l < 32; l++) word |= (uint32_t)(lanes >> l & 1 && holds(cells.a[l])) << l;
    return word;
}

static bool is_small(uint32_t x) { return x < 4; }

/* Votes, matches and reductions by the lanes below `threads`; with `diverged`, even lanes have synchronized
 * before and odd lanes have not. */
static void check_votes(uint32_t threads, bool diverged)
{
    uint32_t lanes = threads == 32 ? FULL_MASK : (1u << threads) - 1, second = 0, wrong = 0, sum = 0,
             min = UINT32_MAX;
    for (int l = 0; l < 32; l++) cells.a[l] = random_u32() % 8;
    begin();
    emit(&kernel, OP_setp_lt_u32, P(0), R(2), u32(4), NONE);
    if (diverged) {
        emit(&kernel, OP_and_b32, R(4), R(0), u32(1), NONE);
        emit(&kernel, OP_setp_ne_b32, P(1), R(4), u32(0), NONE);
        second = emit_branch(&kernel, OP_bra_p, P(1), 0, 0);
        emit(&kernel, OP_bar_warp_sync, NONE, u32(0x55555555), NONE, NONE); /* the even lanes */
        build_target(&kernel, second);
    }
    Ref all = u32(FULL_MASK);
    emit(&kernel, OP_vote_ballot, R(5), P(0), all, NONE);
    put(0, R(5));
    emit(&kernel, OP_vote_all, P(2), P(0), all, NONE);
    emit(&kernel, OP_vote_any, P(3), P(0), all, NONE)->mods = MODS_NEGATE;
    emit(&kernel, OP_selp_b32, R(5), u32(1), u32(0), P(2));
    emit(&kernel, OP_selp_b32, R(6), u32(2), u32(0), P(3));
    emit(&kernel, OP_or_b32, R(5), R(5), R(6), NONE);
    put(1, R(5));
    emit(&kernel, OP_match_any_b32, R(5), R(2), all, NONE);
    put(2, R(5));
    emit(&kernel, OP_redux_add_b32, R(5), R(2), all, NONE);
    put(3, R(5));
    emit(&kernel, OP_redux_min_u32, R(5), R(2), all, NONE);
    put(4, R(5));
    emit(&kernel, OP_elect, R(5), NONE, all, NONE)->e = P(4);
    put(5, R(5));
    emit(&kernel, OP_selp_b32, R(5), u32(1), u32(0), P(4));
    put(6, R(5));
    CHECK(run(threads) == 0);
    for (uint32_t l = 0; l < threads; l++) {
        sum += cells.a[l];
        if (cells.a[l] < min) min = cells.a[l];
    }
    for (uint32_t l = 0; l < threads; l++) {
        uint32_t small = lanes_where(is_small, lanes), same = 0;
        for (uint32_t k = 0; k < threads; k++) same |= (uint32_t)(cells.a[k] == cells.a[l]) << k;
        wrong += cells.out[0][l] != small;
        wrong += cells.out[1][l] != ((small == lanes ? 1u : 0u) | (small != lanes ? 2u : 0u));
        wrong += cells.out[2][l] != same;
        wrong += cells.out[3][l] != sum;
        wrong += cells.out[4][l] != min;
        wrong += cells.out[5][l] != 0;
        wrong += cells.out[6][l] != (l == 0);
    }
    CHECK(wrong == 0);
}

/* The lanes with the same lane % 3 reduce among themselves: member masks differ from lane to lane. */
static void test_masks_differ_by_lane(void)
{
    uint32_t wrong = 0, sums[3] = {0};
    for (uint32_t l = 0; l < 32; l++) {
        cells.a[l] = random_u32() % 1000;
        cells.b[l] = l % 3;
        sums[l % 3] += cells.a[l];
    }
    begin();
    emit(&kernel, OP_match_any_b32, R(4), R(3), u32(FULL_MASK), NONE);
    emit(&kernel, OP_redux_add_b32, R(5), R(2), R(4), NONE);
    put(0, R(5));
    CHECK(run(32) == 0);
    for (uint32_t l = 0; l < 32; l++) wrong += cells.out[0][l] != sums[l % 3];
    CHECK(wrong == 0);
}

/* One thread calls vprintf with the format and cells.arguments. */
static void check_print(const char *format, const char *expected)
{
    strcpy(cells.format, format);
    printed[0] = '\0';
    begin();
    emit(&kernel, OP_add_b64, R(4), PARAM_ADDRESS, build_u64(&module, offsetof(Cells, format)), NONE);
    emit(&kernel, OP_add_b64, R(5), PARAM_ADDRESS, build_u64(&module, offsetof(Cells, arguments)), NONE);
    emit(&kernel, OP_call_vprintf, R(6), R(4), R(5), NONE);
    put(0, R(6));
    CHECK(run(1) == 0);
    if (strcmp(printed, expected) != 0) printf("  %s\n", printed);
    CHECK(strcmp(printed, expected) == 0);
}

static void test_printf(void)
{
    double pi = 3.14159265358979;
    uint64_t text = (uintptr_t)cells.text;
    memset(cells.arguments, 0, sizeof cells.arguments);
    memcpy(cells.arguments, (const int32_t[]){-42, 7}, 8);
    memcpy(&cells.arguments[1], &pi, 8);
    strcpy(cells.text, "abc");
    cells.arguments[2] = text;
    check_print("%d|%5u|%.3f|%-6s|%%\n", "-42|    7|3.142|abc   |%\n");
    CHECK(cells.out[0][0] == 4);
    check_print("%x %o %e %s", "ffffffd6 7 3.141593e+00 abc");
    check_print("%hd %hhu %g [%.2s]", "-42 7 3.14159 [ab]");
    check_print("%+08d %c", "-0000042 \a");
}

/* Lanes print in the order of their numbers. */
static void test_print_order(void)
{
    strcpy(cells.format, "%d,");
    printed[0] = '\0';
    begin();
    emit(&kernel, OP_add_b64, R(4), PARAM_ADDRESS, build_u64(&module, offsetof(Cells, format)), NONE);
    put(0, R(0));
    emit(&kernel, OP_add_b64, R(5), R(1), build_u64(&module, offsetof(Cells, out)), NONE);
    emit(&kernel, OP_call_vprintf, NONE, R(4), R(5), NONE);
    CHECK(run(5) == 0);
    CHECK(strcmp(printed, "0,1,2,3,4,") == 0);
}

/* A failed assertion is a fault whose text has the file, line, function, block, thread and condition. */
static void test_assert(void)
{
    strcpy(cells.text, "x > 0");
    strcpy(cells.format, "file.cu");
    begin();
    emit(&kernel, OP_add_b64, R(4), PARAM_ADDRESS, build_u64(&module, offsetof(Cells, text)), NONE);
    emit(&kernel, OP_add_b64, R(5), PARAM_ADDRESS, build_u64(&module, offsetof(Cells, format)), NONE);
    kernel.refs[0] = R(4);
    kernel.refs[1] = R(5);
    kernel.refs[2] = u32(12);
    kernel.refs[3] = R(5);
    emit(&kernel, OP_call_assertfail, NONE, NONE, NONE, NONE);
    CHECK(run(1) == CUDA_ERROR_ASSERT);
    CHECK(
        strstr(fault.text, "file.cu:12: file.cu: block: [0,0,0], thread: [0,0,0] Assertion `x > 0` failed."));
}

/* Every lane mallocs, writes, reads back and frees; a second free is a fault, and malloc returns null if the
 * heap is too small. */
static void test_malloc(void)
{
    uint32_t wrong = 0;
    begin();
    emit(&kernel, OP_cvt_u64_u32, R(4), R(0), NONE, NONE);
    emit(&kernel, OP_add_b64, R(4), R(4), build_u64(&module, 8), NONE);
    emit(&kernel, OP_call_malloc, R(5), R(4), NONE, NONE);
    emit(&kernel, OP_st_generic_b32_32, NONE, R(5), R(0), NONE)->imm = 4;
    emit(&kernel, OP_ld_generic_b32_32, R(6), R(5), NONE, NONE)->imm = 4;
    put(0, R(6));
    emit(&kernel, OP_call_free, NONE, R(5), NONE, NONE);
    CHECK(run(32) == 0);
    for (uint32_t l = 0; l < 32; l++) wrong += cells.out[0][l] != l;
    CHECK(wrong == 0);
    begin();
    emit(&kernel, OP_call_malloc, R(5), build_u64(&module, 100), NONE, NONE);
    emit(&kernel, OP_call_free, NONE, R(5), NONE, NONE);
    emit(&kernel, OP_call_free, NONE, R(5), NONE, NONE);
    CHECK(run(1) == CUDA_ERROR_LAUNCH_FAILED);
    begin();
    emit(&kernel, OP_call_malloc, R(5), build_u64(&module, 1 << 20), NONE, NONE);
    emit(&kernel, OP_cvt_b32_b64, R(6), R(5), NONE, NONE);
    put(0, R(6));
    CHECK(run(1) == 0);
    CHECK(cells.out[0][0] == 0);
}

int main(void)
{
    test_shuffles();
    for (uint32_t threads = 11; threads <= 32; threads += 7) {
        check_votes(threads, false);
        check_votes(threads, true);
    }
    test_masks_differ_by_lane();
    test_printf();
    test_print_order();
    test_assert();
    test_malloc();
    setenv("PYCUDA_CPU_SCHEDULE", "random:5", 1);
    test_shuffles();
    check_votes(32, true);
    check_votes(25, true);
    test_masks_differ_by_lane();
    return check_done();
}
