/* Runs one op of the interpreter on rows of its own, for the tests of arithmetic.
 *
 * Values travel as the low bits of a uint64_t; a size is 1 (a predicate), 16, 32 or 64 bits.
 */
#ifndef TESTS_OPS_RUN_H
#define TESTS_OPS_RUN_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exec/bind.h"
#include "exec/state/warp.h"

/* The rows of an instruction's result and operands, as ops_insn() places them, and one more for tests; their
 * number; bytes of a row. */
enum { ROW_D, ROW_A, ROW_B, ROW_C, ROW_E, ROW_OUT, ROW_COUNT, ROW_BYTES = 256 };

typedef struct OpsRun {
    _Alignas(64) uint8_t rows[ROW_COUNT][ROW_BYTES];
    Warp warp;
} OpsRun;

#define NAME_OF(isa) #isa,
static const char *const ops_isas[] = {EXEC_ISAS(NAME_OF)};
#undef NAME_OF
enum { OPS_ISA_COUNT = sizeof ops_isas / sizeof *ops_isas };

/* Makes the interpreter use this instruction set; returns false if the host does not have it. */
static inline bool ops_choose(const char *isa)
{
    setenv("PYCUDA_CPU_ISA", isa, 1);
    return strcmp(exec_isa_name(), isa) == 0;
}

/* Sets a lane's value in a row. */
static inline void ops_set(OpsRun *run, int row, int size, int lane, uint64_t value)
{
    uint8_t *p = run->rows[row];
    uint32_t bit = 1u << lane, *word = (uint32_t *)(void *)p;
    if (size == 64) ((uint64_t *)(void *)p)[lane] = value;
    else if (size == 32) ((uint32_t *)(void *)p)[lane] = (uint32_t)value;
    else if (size == 16) ((uint16_t *)(void *)p)[lane] = (uint16_t)value;
    else *word = (*word & ~bit) | (value & 1 ? bit : 0);
}

static inline uint64_t ops_get(const OpsRun *run, int row, int size, int lane)
{
    const uint8_t *p = run->rows[row];
    if (size == 64) return ((const uint64_t *)(const void *)p)[lane];
    if (size == 32) return ((const uint32_t *)(const void *)p)[lane];
    if (size == 16) return ((const uint16_t *)(const void *)p)[lane];
    return *(const uint32_t *)(const void *)p >> lane & 1;
}

/* An instruction with result ROW_D and operands ROW_A, ROW_B, ROW_C, ROW_E. */
static inline Insn ops_insn(enum Op op, unsigned mods, int64_t imm)
{
    return (Insn){.d = ROW_D * ROW_BYTES, .a = ROW_A * ROW_BYTES, .b = ROW_B * ROW_BYTES,
                  .c = ROW_C * ROW_BYTES, .e = ROW_E * ROW_BYTES, .imm = imm, .op = (uint16_t)op,
                  .mods = (uint16_t)mods};
}

/* Runs the instruction for the lanes of mask. Returns true if the next instruction follows, which is false
 * after a fault. */
static inline bool ops_run_insn(OpsRun *run, const Insn *insn, uint32_t mask)
{
    run->warp.base[REF_FRAME] = run->rows[0];
    warp_set_mask(&run->warp, mask);
    return exec_op_handlers(insn->op)[run->warp.full](&run->warp, insn) == insn + 1;
}

/* The result (of d_size bits) of a unary, binary or ternary op for operands of `size` bits, in one lane of a
 * full warp. */
static inline uint64_t ops_value(OpsRun *run, enum Op op, unsigned mods, int d_size, int size, uint64_t a,
                                 uint64_t b, uint64_t c)
{
    const int lane = 5;
    Insn insn = ops_insn(op, mods, 0);
    ops_set(run, ROW_A, size, lane, a);
    ops_set(run, ROW_B, size, lane, b);
    ops_set(run, ROW_C, size, lane, c);
    ops_run_insn(run, &insn, FULL_MASK);
    return ops_get(run, ROW_D, d_size, lane);
}

/* A pseudorandom number for x (splitmix64). */
static inline uint64_t ops_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

#endif
