/* Every exact op of the interpreter against a real GPU (an H100): results recorded as one hash for 4096
 * lanes.
 *
 * Each op runs with full warps, and with a random mask and then its complement, on every instruction set of
 * the host; lanes outside the mask must keep their values. */
#include "check.h"
#include "ops_inputs.h"

#include <stdio.h>

enum { CARRY_IN = 1, CARRY_OUT = 2 };

/* Whether the op subtracts with carry. For those, the recorded carries of the GPU are borrows: it was set by
 * sub.cc and read by subc. The interpreter's carry is the complement. */
static bool is_difference(enum Op op)
{
    switch (op) {
    case OP_sub_cc_b32: case OP_subc_b32: case OP_subc_cc_b32:
    case OP_sub_cc_b64: case OP_subc_b64: case OP_subc_cc_b64: return true;
    default: return false;
    }
}

typedef struct Case {
    const char *name;
    enum Op op, then;   /* then: a second op on the result, or the op itself for none */
    unsigned mods;
    int64_t imm;
    int d_size, e_size; /* of the results, e 0 for none */
    Kind kinds[4];      /* of a b c e */
    unsigned carry;
    uint64_t hash;      /* FNV-1a of all d, then all e, as the GPU returned them */
} Case;

static const Case cases[] = {
#define GPU(name, op, then, mods, imm, d, e, a, b, c, ee, carry, hash) \
    {name, OP_##op, OP_##then, mods, imm, d, e, {a, b, c, ee}, carry, hash},
#include "test_ops_gpu.def"
#undef GPU
};

static uint64_t inputs[4][INPUT_LANES], results[2][INPUT_LANES];
static OpsRun run;

static uint64_t hash_results(const Case *c)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (int k = 0; k < (c->e_size ? 2 : 1); k++) {
        for (int i = 0; i < INPUT_LANES; i++) {
            for (int byte = 0; byte < 8; byte++) {
                hash = (hash ^ (results[k][i] >> 8 * byte & 0xff)) * 0x100000001b3u;
            }
        }
    }
    return hash;
}

static void make_inputs(const Case *c)
{
    for (unsigned k = 0; k < 4; k++) {
        for (unsigned i = 0; i < INPUT_LANES; i++) inputs[k][i] = input_value(c->kinds[k], k, i);
    }
}

static void load_rows(const Case *c, int first)
{
    memset(run.rows, 0xa5, sizeof run.rows);
    run.warp.carry = 0;
    for (int k = 0; k < 4; k++) {
        int size = kind_size(c->kinds[k]);
        for (int l = 0; size && l < WARP_LANES; l++) ops_set(&run, ROW_A + k, size, l, inputs[k][first + l]);
    }
    for (int l = 0; l < WARP_LANES; l++) {
        run.warp.carry |= (uint32_t)(input_value(I64, 3, (unsigned)(first + l)) & 1) << l;
    }
    if (is_difference(c->op)) run.warp.carry = ~run.warp.carry;
}

static Insn case_insn(const Case *c)
{
    Insn insn = ops_insn(c->op, c->mods, c->imm);
    if (c->kinds[1] == NONE) insn.b = REF_ABSENT;
    if (c->kinds[2] == NONE) insn.c = REF_ABSENT;
    if (c->kinds[3] == NONE && (!c->e_size || c->carry)) insn.e = REF_ABSENT;
    return insn;
}

/* Runs one warp of lanes under a mask and stores the results of its lanes. The other lanes must keep the
 * pattern that load_rows() filled the rows with. */
static void run_lanes(const Case *c, int first, uint32_t mask)
{
    Insn insn = case_insn(c);
    load_rows(c, first);
    const uint32_t carry = run.warp.carry;
    CHECK(ops_run_insn(&run, &insn, mask));
    const int size = c->then == c->op ? c->d_size : 32;
    for (int l = 0; l < WARP_LANES; l++) {
        if (mask >> l & 1) continue;
        const uint64_t kept = size == 1 ? 0xa5a5a5a5u >> l & 1 : 0xa5a5a5a5a5a5a5a5u >> (64 - size);
        CHECK(ops_get(&run, ROW_D, size, l) == kept);
        CHECK((run.warp.carry >> l & 1) == (carry >> l & 1));
    }
    int out = ROW_D;
    if (c->then != c->op) {
        Insn second = ops_insn(c->then, c->mods, 0);
        second.a = ROW_D * ROW_BYTES;
        second.d = ROW_OUT * ROW_BYTES;
        CHECK(ops_run_insn(&run, &second, mask));
        out = ROW_OUT;
    }
    for (int l = 0; l < WARP_LANES; l++) {
        if (!(mask >> l & 1)) continue;
        results[0][first + l] = ops_get(&run, out, c->d_size, l);
        results[1][first + l] = c->carry & CARRY_OUT ? (run.warp.carry >> l & 1) ^ is_difference(c->op)
                                : c->e_size ? ops_get(&run, ROW_E, c->e_size, l) : 0;
    }
}

static void check_hash(const Case *c, const char *form)
{
    bool same = hash_results(c) == c->hash;
    if (!same) printf("%s: not the results of the GPU (%s, %s)\n", c->name, exec_isa_name(), form);
    CHECK(same);
}

static void run_case(const Case *c)
{
    memset(results, 0, sizeof results);
    for (int i = 0; i < INPUT_LANES; i += WARP_LANES) run_lanes(c, i, FULL_MASK);
    check_hash(c, "all lanes");
    memset(results, 0, sizeof results);
    for (int i = 0; i < INPUT_LANES; i += WARP_LANES) {
        uint32_t mask = ((uint32_t)ops_mix((uint64_t)i) | 1) & ~2u;
        run_lanes(c, i, mask);
        run_lanes(c, i, ~mask);
    }
    check_hash(c, "some lanes");
}

int main(void)
{
    int instruction_sets = 0;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        make_inputs(&cases[k]);
        for (int isa = 0; isa < OPS_ISA_COUNT; isa++) {
            if (!ops_choose(ops_isas[isa])) continue;
            run_case(&cases[k]);
            instruction_sets++;
        }
    }
    CHECK(instruction_sets > 0);
    return check_done();
}
