/* Moves, packing, selection and predicate logic: bit by bit against the plain meaning, all lanes and some. */
#include "check.h"
#include "ops_run.h"

static OpsRun run;
static const uint32_t masks[] = {FULL_MASK, 0x00000001, 0xfffffffe, 0x0f0f1248, 0x80000000};
enum { MASK_COUNT = sizeof masks / sizeof *masks };

static uint64_t random_value(int row, int lane) { return ops_mix((uint64_t)(row * 32 + lane)); }
static uint64_t cut(uint64_t x, int size) { return size == 64 ? x : x & (((uint64_t)1 << size) - 1); }

/* What an op computes for one lane: d (or e, as `second` of a case) from a, b, c and e. */
typedef uint64_t (*Meaning)(uint64_t a, uint64_t b, uint64_t c, uint64_t e, int imm);
typedef struct Case {
    enum Op op;
    int d, a, b, c, e; /* sizes */
    int imm;
    Meaning meaning, second; /* second: of e as a destination */
    unsigned mods;
} Case;

#define MEANING(name, value) \
    static uint64_t name(uint64_t a, uint64_t b, uint64_t c, uint64_t e, int imm) \
    { \
        (void)a; (void)b; (void)c; (void)e; (void)imm; \
        return value; \
    }
MEANING(first, a)
MEANING(chosen, c & 1 ? a : b)
MEANING(two_halves, a | b << 16)
MEANING(two_words, a | b << 32)
MEANING(four_bytes, (a & 255) | (b & 255) << 8 | (c & 255) << 16 | (e & 255) << 24)
MEANING(four_halves, a | b << 16 | c << 32 | e << 48)
MEANING(high_half, a >> 16)
MEANING(high_word, a >> 32)
MEANING(shifted, a >> imm)
MEANING(byte_at, a >> imm & 255)
MEANING(conjunction, a & b)
MEANING(disjunction, a | b)
MEANING(exclusive, a ^ b)
MEANING(complement, ~a)
MEANING(a_and_c, a & c)
MEANING(not_a_and_c, ~a & c)
MEANING(a_or_c, a | c)
MEANING(not_a_or_c, ~a | c)
MEANING(a_xor_c, a ^ c)
MEANING(a_and_not_c, a & ~c)
MEANING(neither, ~a & ~c)
MEANING(halves_set, (a & 1 ? 0xffffu : 0) | (b & 1 ? 0xffff0000u : 0))
MEANING(half_sums, ((a - b) & 0xffff) | ((a >> 16) - (b >> 16)) << 16)
MEANING(saturated_bf16, (a & 0x8000) || (a & 0x7fff) > 0x7f80 ? 0 : a > 0x3f80 ? 0x3f80 : a)
MEANING(flushed_bf16, (a & 0x7f80) == 0 ? a & 0x8000 : (a & 0x7fff) > 0x7f80 ? 0x7fff : a)

static const Case cases[] = {
    {OP_mov_b16, 16, 16, 0, 0, 0, 0, first, NULL, 0},
    {OP_mov_b32, 32, 32, 0, 0, 0, 0, first, NULL, 0},
    {OP_mov_b64, 64, 64, 0, 0, 0, 0, first, NULL, 0},
    {OP_mov_pred, 1, 1, 0, 0, 0, 0, first, NULL, 0},
    {OP_selp_b16, 16, 16, 16, 1, 0, 0, chosen, NULL, 0},
    {OP_selp_b32, 32, 32, 32, 1, 0, 0, chosen, NULL, 0},
    {OP_selp_b64, 64, 64, 64, 1, 0, 0, chosen, NULL, 0},
    {OP_selp_pred, 1, 1, 1, 1, 0, 0, chosen, NULL, 0},
    {OP_pack_b32_b16, 32, 16, 16, 0, 0, 0, two_halves, NULL, 0},
    {OP_pack_b64_b32, 64, 32, 32, 0, 0, 0, two_words, NULL, 0},
    {OP_pack_b32_b8, 32, 16, 16, 16, 16, 0, four_bytes, NULL, 0},
    {OP_pack_b64_b16, 64, 16, 16, 16, 16, 0, four_halves, NULL, 0},
    {OP_unpack_b16_b32, 16, 32, 0, 0, 16, 0, first, high_half, 0},
    {OP_unpack_b32_b64, 32, 64, 0, 0, 32, 0, first, high_word, 0},
    {OP_extract_b8_b32, 16, 32, 0, 0, 0, 8, byte_at, NULL, 0},
    {OP_extract_b8_b32, 16, 32, 0, 0, 0, 24, byte_at, NULL, 0},
    {OP_extract_b16_b32, 16, 32, 0, 0, 0, 16, shifted, NULL, 0},
    {OP_extract_b16_b64, 16, 64, 0, 0, 0, 48, shifted, NULL, 0},
    {OP_extract_b32_b64, 32, 64, 0, 0, 0, 32, shifted, NULL, 0},
    {OP_and_pred, 1, 1, 1, 0, 0, 0, conjunction, NULL, 0},
    {OP_or_pred, 1, 1, 1, 0, 0, 0, disjunction, NULL, 0},
    {OP_xor_pred, 1, 1, 1, 0, 0, 0, exclusive, NULL, 0},
    {OP_not_pred, 1, 1, 0, 0, 0, 0, complement, NULL, 0},
    {OP_setp_and, 1, 1, 0, 1, 1, 0, a_and_c, not_a_and_c, 0},
    {OP_setp_or, 1, 1, 0, 1, 1, 0, a_or_c, not_a_or_c, 0},
    {OP_setp_xor, 1, 1, 0, 1, 0, 0, a_xor_c, NULL, 0},
    {OP_setp_and, 1, 1, 0, 1, 1, 0, a_and_not_c, neither, MODS_NEGATE},
    {OP_setp_both, 1, 1, 0, 0, 1, 0, first, complement, 0},
    {OP_set_x2, 32, 1, 1, 0, 0, 0, halves_set, NULL, 0},
    {OP_sub_b16x2, 32, 32, 32, 0, 0, 0, half_sums, NULL, 0},
    {OP_sat_bf16, 16, 16, 0, 0, 0, 0, saturated_bf16, NULL, 0},
    {OP_ftz_bf16, 16, 16, 0, 0, 0, 0, flushed_bf16, NULL, 0},
};

/* The operand of a lane in source row 0 to 3; 0 for operands that the op lacks. */
static uint64_t source(int row, int size, int lane) { return size ? cut(random_value(row, lane), size) : 0; }

/* Lanes in the mask get the meaning's value; the others keep the bytes 0xa5 that fill the rows. */
static void run_case(const Case *c, uint32_t mask)
{
    const int sizes[] = {c->a, c->b, c->c, c->second ? 0 : c->e};
    Insn insn = ops_insn(c->op, c->mods, c->imm);
    memset(run.rows, 0xa5, sizeof run.rows);
    for (int k = 0; k < 4; k++) {
        for (int l = 0; sizes[k] && l < WARP_LANES; l++) ops_set(&run, ROW_A + k, sizes[k], l,
            source(k, sizes[k], l));
    }
    if (!c->b) insn.b = REF_ABSENT;
    if (!c->e) insn.e = REF_ABSENT;
    CHECK(ops_run_insn(&run, &insn, mask));
    for (int l = 0; l < WARP_LANES; l++) {
        uint64_t a = source(0, sizes[0], l), b = source(1, sizes[1], l), cc = source(2, sizes[2], l),
            e = source(3, sizes[3], l);
        bool runs = mask >> l & 1;
        uint64_t kept = c->d == 1 ? 0xa5a5a5a5u >> l & 1 : cut(0xa5a5a5a5a5a5a5a5u, c->d);
        CHECK(ops_get(&run, ROW_D, c->d, l) == (runs ? cut(c->meaning(a, b, cc, e, c->imm), c->d) : kept));
        if (!c->second) continue;
        CHECK(ops_get(&run, ROW_E, c->e, l) == (runs ? cut(c->second(a, b, cc, e, c->imm), c->e) : kept));
    }
}

/* A destination may be the row of a source. */
static void test_same_row(void)
{
    Insn insn = ops_insn(OP_sub_b32, 0, 0);
    insn.a = insn.b = insn.d;
    for (int m = 0; m < MASK_COUNT; m++) {
        for (int l = 0; l < WARP_LANES; l++) ops_set(&run, ROW_D, 32, l, (uint64_t)l + 7);
        CHECK(ops_run_insn(&run, &insn, masks[m]));
        for (int l = 0; l < WARP_LANES; l++) {
            CHECK(ops_get(&run, ROW_D, 32, l) == (masks[m] >> l & 1 ? 0 : (uint64_t)l + 7));
        }
    }
}

/* Ops have their names, and handlers for full warps and for masks. */
static void test_names_and_handlers(void)
{
    CHECK(strcmp(exec_op_names[OP_setp_both], "setp_both") == 0);
    CHECK(strcmp(exec_op_names[OP_mov_b16], "mov_b16") == 0);
    for (int k = 0; k < OP_COUNT; k++) CHECK(exec_op_handlers((unsigned)k)[0] &&
        exec_op_handlers((unsigned)k)[1]);
}

int main(void)
{
    for (int isa = 0; isa < OPS_ISA_COUNT; isa++) {
        if (!ops_choose(ops_isas[isa])) continue;
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            for (int m = 0; m < MASK_COUNT; m++) run_case(&cases[k], masks[m]);
        }
        test_same_row();
        test_names_and_handlers();
    }
    return check_done();
}
