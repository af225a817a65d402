/* Loads, stores and atomics: every shape of addresses against a plain loop, and every kind of wrong
 * address. */
#include "check.h"

#include "exec_build.h"

enum { CELLS = 256 };

/* What the kernels read and write; index holds byte offsets, one for each lane. */
typedef struct Memory {
    _Alignas(64) uint8_t in[CELLS * 16];
    _Alignas(64) uint8_t out[CELLS * 16];
    uint64_t index[32];
} Memory;

static BuildModule module;
static Build kernel;
static Memory memory;
static ExecFault fault;

static Ref u32(uint32_t value) { return build_u32(&module, value); }

/* Starts a new module with an empty kernel. */
static void begin(void)
{
    build_module(&module);
    build_function(&module, &kernel, "kernel");
}

/* Runs the kernel in one block with the first `size` bytes of `memory` registered; returns the code of
 * grid_run(), and `fault` has the details. */
static int run(uint32_t threads, uint32_t shared, uint64_t size)
{
    MemoryMap *map = memory_map_create();
    MemoryRequest request = {.size = size, .align = 1, .kind = MEMORY_REGISTERED};
    BuildRun how = {
        .blocks = 1, .threads = threads, .shared = shared, .memory = map, .address = (uintptr_t)&memory};
    int code;
    emit(&kernel, OP_exit, NONE, NONE, NONE, NONE);
    build_finish(&kernel);
    memory_map_register(map, (uintptr_t)&memory, &request);
    code = build_run(&module, &kernel, &how, &fault);
    memory_map_destroy(map);
    return code;
}

/* d = &memory + index[lane]; leaves the lane number in R(8). */
static void address_row(Ref d)
{
    emit(&kernel, OP_sreg_laneid, R(8), NONE, NONE, NONE);
    emit(&kernel, OP_mul_wide_u32, R(9), R(8), u32(8), NONE);
    emit(&kernel, OP_add_b64, R(9), R(9), PARAM_ADDRESS, NONE);
    emit(&kernel, OP_ld_generic_b64_64, R(9), R(9), NONE, NONE)->imm = offsetof(Memory, index);
    emit(&kernel, OP_add_b64, d, R(9), PARAM_ADDRESS, NONE);
}

/* A load, and the store that writes all of the register that it loads. */
typedef struct Kind {
    unsigned load, store;
    uint32_t size, width; /* bytes in memory and in the register */
    bool is_signed;
} Kind;

static const Kind kinds[] = {
    {OP_ld_generic_u8_16, OP_st_generic_b16_16, 1, 2, false},
    {OP_ld_generic_s8_16, OP_st_generic_b16_16, 1, 2, true},
    {OP_ld_generic_u8_32, OP_st_generic_b32_32, 1, 4, false},
    {OP_ld_generic_s8_32, OP_st_generic_b32_32, 1, 4, true},
    {OP_ld_generic_u8_64, OP_st_generic_b64_64, 1, 8, false},
    {OP_ld_generic_s8_64, OP_st_generic_b64_64, 1, 8, true},
    {OP_ld_generic_b16_16, OP_st_generic_b16_16, 2, 2, false},
    {OP_ld_generic_u16_32, OP_st_generic_b32_32, 2, 4, false},
    {OP_ld_generic_s16_32, OP_st_generic_b32_32, 2, 4, true},
    {OP_ld_generic_s16_64, OP_st_generic_b64_64, 2, 8, true},
    {OP_ld_generic_u16_64, OP_st_generic_b64_64, 2, 8, false},
    {OP_ld_generic_b32_32, OP_st_generic_b32_32, 4, 4, false},
    {OP_ld_generic_u32_64, OP_st_generic_b64_64, 4, 8, false},
    {OP_ld_generic_s32_64, OP_st_generic_b64_64, 4, 8, true},
    {OP_ld_generic_b64_64, OP_st_generic_b64_64, 8, 8, false},
    {OP_ld_generic_b128, OP_st_generic_b128, 16, 16, false},
};

typedef enum Shape { DENSE, UNIFORM, DENSE_HALVES, UNIFORM_HALVES, SCATTERED, DENSE_AT_FIRST, SHAPES } Shape;

/* The number of the element that lane l accesses. */
static uint32_t element(Shape shape, uint32_t l)
{
    switch (shape) {
    case DENSE: return l;
    case UNIFORM: return 5;
    case DENSE_HALVES: return l / 16 * 3 + l % 16;
    case UNIFORM_HALVES: return l / 16;
    case SCATTERED: return (l * 37 + 11) % 128;
    default: return l < 20 ? l : 90 - l;
    }
}

/* The bytes of the register that loads element e: sign- or zero-extended. */
static void expect(const Kind *k, uint32_t e, uint8_t *bytes)
{
    memcpy(bytes, memory.in + e * k->size, k->size);
    memset(bytes + k->size, k->is_signed && bytes[k->size - 1] >> 7 ? 0xff : 0, k->width - k->size);
}

/* Loads the elements of the shape and stores the registers densely; the output of lanes that do not run must
 * keep its bytes. */
static void check_load(const Kind *k, Shape shape, uint32_t threads, unsigned mods)
{
    uint32_t wrong = 0;
    begin();
    for (uint32_t l = 0; l < 32; l++) memory.index[l] = element(shape, l) * k->size;
    for (uint32_t n = 0; n < sizeof memory.in; n++) memory.in[n] = (uint8_t)(n * 151 + 60);
    memset(memory.out, 0xee, sizeof memory.out);
    address_row(R(0));
    emit(&kernel, k->load, R(0), R(0), NONE, NONE)->mods = (uint16_t)mods; /* into its own address row */
    emit(&kernel, OP_mul_wide_u32, R(4), R(8), u32(k->width), NONE);
    emit(&kernel, OP_add_b64, R(4), R(4), PARAM_ADDRESS, NONE);
    Insn *store = emit(&kernel, k->store, NONE, R(4), R(0), NONE);
    store->imm = offsetof(Memory, out);
    store->mods = (uint16_t)mods;
    CHECK(run(threads, 0, sizeof memory) == 0);
    for (uint32_t l = 0; l < 32; l++) {
        uint8_t want[16];
        expect(k, element(shape, l), want);
        if (l >= threads) memset(want, 0xee, sizeof want);
        wrong += memcmp(memory.out + l * k->width, want, k->width) != 0;
    }
    CHECK(wrong == 0);
}

static void test_loads(void)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (Shape shape = 0; shape < SHAPES; shape++) {
            check_load(&kinds[k], shape, 32, 0);
            check_load(&kinds[k], shape, 21, 0);
            if (kinds[k].size < 16) check_load(&kinds[k], shape, 32, MEM_STRONG);
        }
    }
}

/* Stores lane + 100 to the elements of the shape; where lanes collide, the last lane's value stays. */
static void check_store(unsigned op, uint32_t size, Shape shape, uint32_t threads)
{
    _Alignas(64) static uint8_t want[CELLS * 16];
    begin();
    memset(memory.out, 0, sizeof memory.out);
    memset(want, 0, sizeof want);
    for (uint32_t l = 0; l < 32; l++) memory.index[l] = element(shape, l) * size;
    address_row(R(0));
    emit(&kernel, OP_add_b32, R(1), R(8), u32(100), NONE);
    emit(&kernel, OP_cvt_u64_u32, R(2), R(1), NONE, NONE);
    emit(&kernel, op, NONE, R(0), op == OP_st_generic_b64_64 ? R(2) : R(1), NONE)->imm =
        offsetof(Memory, out);
    CHECK(run(threads, 0, sizeof memory) == 0);
    for (uint32_t l = 0; l < threads; l++) {
        uint64_t value = l + 100;
        memcpy(want + memory.index[l], &value, size);
    }
    CHECK(memcmp(want, memory.out, sizeof want) == 0);
}

static void test_stores(void)
{
    for (Shape shape = 0; shape < SHAPES; shape++) {
        for (uint32_t threads = 13; threads <= 32; threads += 19) {
            check_store(OP_st_generic_b8_32, 1, shape, threads);
            check_store(OP_st_generic_b16_32, 2, shape, threads);
            check_store(OP_st_generic_b32_32, 4, shape, threads);
            check_store(OP_st_generic_b64_64, 8, shape, threads);
        }
    }
}

/* Copies in -> registers -> out by vectors of n elements of 32 bits, through shared memory or not, and reads
 * in reverse order of lanes or not. */
static void check_vector(uint32_t n, uint32_t threads, bool reverse, bool shared)
{
    uint32_t wrong = 0, size = 4 * n;
    begin();
    for (uint32_t l = 0; l < 32; l++) memory.index[l] = (reverse ? 31 - l : l) * size;
    for (uint32_t k = 0; k < sizeof memory.in; k++) memory.in[k] = (uint8_t)(k * 13 + 1);
    memset(memory.out, 0, sizeof memory.out);
    address_row(R(0));
    for (uint32_t e = 0; e < n; e++) kernel.refs[e] = R(e);
    emit(&kernel, OP_ldv_generic_b32_32, NONE, R(0), NONE, NONE)->mods = (uint16_t)n;
    emit(&kernel, OP_mul_lo_b32, R(10), R(8), u32(size), NONE);
    if (shared) {
        emit(&kernel, OP_stv_shared_b32_32, NONE, R(10), NONE, NONE)->mods = (uint16_t)(n | MEM_ADDR32);
        for (uint32_t e = 0; e < n; e++) emit(&kernel, OP_mov_b32, R(e), u32(0), NONE, NONE);
        emit(&kernel, OP_ldv_shared_b32_32, NONE, R(10), NONE, NONE)->mods = (uint16_t)(n | MEM_ADDR32);
    }
    emit(&kernel, OP_cvt_u64_u32, R(11), R(10), NONE, NONE);
    emit(&kernel, OP_add_b64, R(11), R(11), PARAM_ADDRESS, NONE);
    Insn *store = emit(&kernel, OP_stv_generic_b32_32, NONE, R(11), NONE, NONE);
    store->mods = (uint16_t)n;
    store->imm = offsetof(Memory, out);
    CHECK(run(threads, 32 * size, sizeof memory) == 0);
    for (uint32_t l = 0; l < threads; l++)
        wrong += memcmp(memory.out + l * size, memory.in + memory.index[l], size) != 0;
    CHECK(wrong == 0);
}

static void test_vectors(void)
{
    for (uint32_t n = 2; n <= 8; n *= 2) {
        for (int how = 0; how < 4; how++) {
            check_vector(n, 32, how & 1, how & 2);
            check_vector(n, 9, how & 1, how & 2);
        }
    }
}

/* Each lane has its own local memory; generic addresses of it agree with local ones. */
static void test_local(void)
{
    uint32_t wrong = 0;
    begin();
    kernel.function.local_size = 64;
    emit(&kernel, OP_sreg_laneid, R(0), NONE, NONE, NONE);
    emit(&kernel, OP_st_local_b32_32, NONE, NONE, R(0), NONE)->imm = 20;
    emit(&kernel, OP_cvta_local, R(1), NONE, NONE, NONE)->imm = 16;
    emit(&kernel, OP_ld_generic_b32_32, R(2), R(1), NONE, NONE)->imm = 4;
    emit(&kernel, OP_add_b32, R(2), R(2), u32(7), NONE);
    emit(&kernel, OP_st_generic_b32_32, NONE, R(1), R(2), NONE)->imm = 8;
    emit(&kernel, OP_local_address, R(3), NONE, NONE, NONE)->imm = 24;
    emit(&kernel, OP_ld_local_b32_32, R(4), R(3), NONE, NONE);
    emit(&kernel, OP_isspacep_local, P(0), R(1), NONE, NONE);
    emit(&kernel, OP_isspacep_global, P(1), R(1), NONE, NONE);
    emit(&kernel, OP_selp_b32, R(5), u32(1000), u32(0), P(0));
    emit(&kernel, OP_add_b32, R(4), R(4), R(5), NONE);
    emit(&kernel, OP_selp_b32, R(5), u32(5000), u32(0), P(1));
    emit(&kernel, OP_add_b32, R(4), R(4), R(5), NONE);
    emit(&kernel, OP_mul_wide_u32, R(6), R(0), u32(4), NONE);
    emit(&kernel, OP_add_b64, R(6), R(6), PARAM_ADDRESS, NONE);
    emit(&kernel, OP_st_generic_b32_32, NONE, R(6), R(4), NONE)->imm = offsetof(Memory, out);
    CHECK(run(32, 0, sizeof memory) == 0);
    for (uint32_t l = 0; l < 32; l++) wrong += ((uint32_t *)(void *)memory.out)[l] != l + 1007;
    CHECK(wrong == 0);
}

/* The old values and the result of an atomic operation of 32 lanes on one word, in lane order: lane l has the
 * operand l * l + 3, and next() returns the new value of the word for an old one and an operand. */
static void check_atomic(unsigned op, uint32_t start, uint32_t (*next)(uint32_t, uint32_t), unsigned mods)
{
    uint32_t x = start, wrong = 0;
    begin();
    memset(memory.out, 0, sizeof memory.out);
    memory.index[0] = start;
    emit(&kernel, OP_sreg_laneid, R(0), NONE, NONE, NONE);
    emit(&kernel, OP_mul_lo_b32, R(1), R(0), R(0), NONE);
    emit(&kernel, OP_add_b32, R(1), R(1), u32(3), NONE);
    if (mods & MEM_SHARED) {
        emit(&kernel, OP_st_shared_b32_32, NONE, NONE, u32(start), NONE)->imm = 8;
        Insn *i = emit(&kernel, op, R(2), NONE, R(1), NONE);
        i->imm = 8;
        i->mods = (uint16_t)mods;
        emit(&kernel, OP_ld_shared_b32_32, R(3), NONE, NONE, NONE)->imm = 8;
        emit(&kernel, OP_st_generic_b32_32, NONE, PARAM_ADDRESS, R(3), NONE)->imm = offsetof(Memory, index);
    } else {
        emit(&kernel, op, R(2), PARAM_ADDRESS, R(1), NONE)->imm = offsetof(Memory, index);
    }
    emit(&kernel, OP_mul_wide_u32, R(6), R(0), u32(4), NONE);
    emit(&kernel, OP_add_b64, R(6), R(6), PARAM_ADDRESS, NONE);
    emit(&kernel, OP_st_generic_b32_32, NONE, R(6), R(2), NONE)->imm = offsetof(Memory, out);
    CHECK(run(32, 64, sizeof memory) == 0);
    for (uint32_t l = 0; l < 32; l++) {
        wrong += ((uint32_t *)(void *)memory.out)[l] != x;
        x = next(x, l * l + 3);
    }
    CHECK(wrong == 0);
    CHECK((uint32_t)memory.index[0] == x);
}

static uint32_t next_add(uint32_t x, uint32_t b) { return x + b; }
static uint32_t next_min(uint32_t x, uint32_t b) { return (int32_t)x < (int32_t)b ? x : b; }
static uint32_t next_max(uint32_t x, uint32_t b) { return x > b ? x : b; }
static uint32_t next_inc(uint32_t x, uint32_t b) { return x >= b ? 0 : x + 1; }
static uint32_t next_dec(uint32_t x, uint32_t b) { return x == 0 || x > b ? b : x - 1; }
static uint32_t next_xor(uint32_t x, uint32_t b) { return x ^ b; }
static uint32_t next_exch(uint32_t x, uint32_t b)
{
    (void)x;
    return b;
}

static void test_atomics(void)
{
    for (unsigned mods = 0; mods <= MEM_SHARED; mods += MEM_SHARED) {
        check_atomic(OP_atom_add_u32, 4000000000u, next_add, mods);
        check_atomic(OP_atom_min_s32, (uint32_t)-2, next_min, mods);
        check_atomic(OP_atom_min_s32, 500, next_min, mods);
        check_atomic(OP_atom_max_u32, 100, next_max, mods);
        check_atomic(OP_atom_inc_u32, 11, next_inc, mods);
        check_atomic(OP_atom_dec_u32, 2, next_dec, mods);
        check_atomic(OP_atom_xor_b32, 77, next_xor, mods);
        check_atomic(OP_atom_exch_b32, 9, next_exch, mods);
    }
}

/* 32 lanes add the value of make(); `expected` holds the bits of the sum. */
static void check_float_add(unsigned op, Ref (*make)(void), uint64_t expected, uint32_t size)
{
    uint64_t sum = 0;
    begin();
    memset(memory.out, 0, sizeof memory.out);
    emit(&kernel, op, NONE, PARAM_ADDRESS, make(), NONE)->imm = offsetof(Memory, out);
    CHECK(run(32, 0, sizeof memory) == 0);
    memcpy(&sum, memory.out, size);
    CHECK_EQUAL(sum, expected);
    CHECK(memory.out[size] == 0);
}

/* The constant 0.5 in each format; packed formats have 0.5 in the low half and 1 in the high one. */
static Ref half_f32(void) { return u32(0x3f000000); }
static Ref half_f64(void) { return build_u64(&module, 0x3fe0000000000000); }
static Ref half_one_f16x2(void) { return u32(0x3c003800); }
static Ref half_one_bf16x2(void) { return u32(0x3f803f00); }
static Ref half_f16(void)
{
    Ref row = u32(0);
    uint16_t *lanes = (uint16_t *)(void *)(module.constants + (row & REF_OFFSET_MASK));
    for (int l = 0; l < 32; l++) lanes[l] = 0x3800;
    return row;
}

/* 32 * 0.5 == 16 and 32 * 1 == 32, which every format holds exactly. */
static void test_float_adds(void)
{
    check_float_add(OP_atom_add_f32, half_f32, 0x41800000, 4);
    check_float_add(OP_atom_add_f64, half_f64, 0x4030000000000000, 8);
    check_float_add(OP_atom_add_f16, half_f16, 0x4c00, 2);
    check_float_add(OP_atom_add_f16x2, half_one_f16x2, 0x50004c00, 4);
    check_float_add(OP_atom_add_bf16x2, half_one_bf16x2, 0x42004180, 4);
}

/* cas.b16 and cas.b128: exactly one of 32 lanes finds 0; the exchange finds what that lane wrote. */
static void test_wide_and_narrow_cas(void)
{
    const uint64_t *out = (const uint64_t *)(const void *)memory.out;
    uint32_t zeros = 0;
    begin();
    memset(memory.out, 0, sizeof memory.out);
    emit(&kernel, OP_sreg_laneid, R(0), NONE, NONE, NONE);
    emit(&kernel, OP_cvt_b16_b32, R(1), R(0), NONE, NONE);
    emit(&kernel, OP_add_b16, R(1), R(1), R(1), NONE);
    emit(&kernel, OP_mov_b16, R(2), u32(0), NONE, NONE);
    emit(&kernel, OP_atom_cas_b16, R(3), PARAM_ADDRESS, R(2), R(1))->imm = offsetof(Memory, out) + 6;
    emit(&kernel, OP_mul_wide_u32, R(8), R(0), u32(2), NONE);
    emit(&kernel, OP_add_b64, R(8), R(8), PARAM_ADDRESS, NONE);
    emit(&kernel, OP_st_generic_b16_16, NONE, R(8), R(3), NONE)->imm = offsetof(Memory, out) + 64;
    for (int half = 0; half < 2; half++) {
        Ref zero = R(10) + BUILD_ROW * half, value = R(12) + BUILD_ROW * half;
        emit(&kernel, OP_mov_b64, zero, build_u64(&module, 0), NONE, NONE);
        emit(&kernel, OP_cvt_u64_u32, value, R(0), NONE, NONE);
        emit(&kernel, OP_add_b64, value, value, build_u64(&module, 5 + half), NONE);
    }
    emit(&kernel, OP_atom_cas_b128, R(14), PARAM_ADDRESS, R(10), R(12))->imm = offsetof(Memory, out) + 16;
    emit(&kernel, OP_atom_exch_b128, R(14), PARAM_ADDRESS, R(12), NONE)->imm = offsetof(Memory, out) + 32;
    CHECK(run(32, 0, sizeof memory) == 0);
    CHECK(out[2] == 5 && out[3] == 6);
    CHECK(out[4] == 31 + 5 && out[5] == 31 + 6);
    CHECK(out[0] >> 48 == 2);
    for (int l = 0; l < 32; l++) zeros += ((const uint16_t *)(const void *)(memory.out + 64))[l] == 0;
    CHECK(zeros == 2); /* lane 0 wrote 0, so that lane 1 found 0 as well and wrote 2 */
}

/* A histogram of 5 bins: several lanes add to the same word. */
static void test_scattered_adds(void)
{
    begin();
    memset(memory.out, 0, sizeof memory.out);
    for (uint32_t l = 0; l < 32; l++) memory.index[l] = l % 5 * 4;
    address_row(R(0));
    emit(&kernel, OP_atom_add_u32, NONE, R(0), u32(1), NONE)->imm = offsetof(Memory, out);
    CHECK(run(96, 0, sizeof memory) == 0);
    const uint32_t *bins = (const uint32_t *)(const void *)memory.out;
    CHECK(bins[0] == 21 && bins[1] == 21 && bins[2] == 18 && bins[3] == 18 && bins[4] == 18);
}

/* Thread t accesses the word 4 * t + offset of `size` registered bytes: that must end with the code and a
 * message that has the text. */
static void check_fault(unsigned op, int64_t offset, uint64_t size, int code, const char *text)
{
    begin();
    emit(&kernel, OP_sreg_tid, R(0), NONE, NONE, NONE);
    emit(&kernel, OP_mul_wide_u32, R(1), R(0), u32(4), NONE);
    emit(&kernel, OP_add_b64, R(1), R(1), PARAM_ADDRESS, NONE);
    emit(&kernel, op, R(2), R(1), R(0), R(0))->imm = offset;
    CHECK(run(64, 0, size) == code);
    if (!strstr(fault.text, text)) printf("  %s\n", fault.text);
    CHECK(strstr(fault.text, text));
    CHECK(strstr(fault.text, "kernel kernel, block (0,0,0), thread ("));
    CHECK(strstr(fault.text, "PTX line 4"));
}

static void test_faults(void)
{
    check_fault(OP_ld_generic_b32_32, 0, 64 * 4 - 1, CUDA_ERROR_ILLEGAL_ADDRESS, "thread (63,0,0)");
    check_fault(OP_ld_generic_b32_32, 0, 64 * 4 - 1, CUDA_ERROR_ILLEGAL_ADDRESS, "invalid read of 4 bytes");
    check_fault(OP_st_generic_b32_32, 0, 64 * 4 - 4, CUDA_ERROR_ILLEGAL_ADDRESS,
                "just past the end of the registered");
    check_fault(OP_st_generic_b32_32, 0, 50 * 4, CUDA_ERROR_ILLEGAL_ADDRESS, "thread (50,0,0)");
    check_fault(OP_st_generic_b32_32, -4, 64 * 4, CUDA_ERROR_ILLEGAL_ADDRESS, "thread (0,0,0)");
    check_fault(OP_st_generic_b32_32, -4, 64 * 4, CUDA_ERROR_ILLEGAL_ADDRESS, "4 bytes before");
    check_fault(OP_ld_generic_b32_32, 2, 4096, CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned read of 4 bytes");
    check_fault(OP_ld_generic_b64_64, 0, 4096, CUDA_ERROR_MISALIGNED_ADDRESS, "thread (1,0,0)");
    check_fault(OP_atom_add_u32, 128, 64 * 4, CUDA_ERROR_ILLEGAL_ADDRESS, "thread (32,0,0)");
    check_fault(OP_atom_add_u32, 128, 64 * 4, CUDA_ERROR_ILLEGAL_ADDRESS, "atomic operation on 4 bytes");
}

/* Faults by a null pointer and by addresses past the end of shared memory, window or generic. */
static void test_null_and_shared(void)
{
    begin();
    emit(&kernel, OP_ld_generic_b32_32, R(0), NONE, NONE, NONE)->imm = 16;
    CHECK(run(32, 0, 64) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(strstr(fault.text, "null pointer"));
    begin();
    emit(&kernel, OP_sreg_tid, R(0), NONE, NONE, NONE);
    emit(&kernel, OP_shl_b32, R(1), R(0), u32(2), NONE);
    emit(&kernel, OP_st_shared_b32_32, NONE, R(1), R(0), NONE)->mods = MEM_ADDR32;
    CHECK(run(32, 127, 64) == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(strstr(fault.text, "shared memory at offset 0x7c: it has 127 bytes")
          && strstr(fault.text, "thread (31,0,0)"));
    begin();
    emit(&kernel, OP_cvta_shared, R(0), NONE, NONE, NONE)->imm = 60;
    emit(&kernel, OP_ld_generic_b32_32, R(1), R(0), NONE, NONE)->imm = 4;
    CHECK(run(32, 64, 64) == CUDA_ERROR_ILLEGAL_ADDRESS);
    begin();
    emit(&kernel, OP_cvta_shared, R(0), NONE, NONE, NONE)->imm = 60;
    emit(&kernel, OP_ld_generic_b32_32, R(1), R(0), NONE, NONE);
    CHECK(run(32, 64, 64) == 0);
}

int main(void)
{
    test_loads();
    test_stores();
    test_vectors();
    test_local();
    test_atomics();
    test_float_adds();
    test_wide_and_narrow_cas();
    test_scattered_adds();
    test_faults();
    test_null_and_shared();
    return check_done();
}
