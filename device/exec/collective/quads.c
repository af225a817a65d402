/* mma.m8n8k4 of halves: four products of 8 x 4 and 4 x 8 matrices at once. Each is held by two quads of
 * lanes, the first by lanes 0 to 3 and 16 to 19, and so on. Devices from sm_80 on have no tensor core
 * instruction for it: they compute each element in floats, in an order that sum_of() keeps. */
#include <math.h>

#include "exec/collective/matrix.h"
#include "exec/numbers/half.h"

enum { SIZE = 8, DEPTH = 4, PRODUCTS = 4, MEMBERS = 8, HALF_LANES = 16 };

/* One product, as its eight lanes hold it together. */
typedef struct Quads {
    float a[SIZE][DEPTH], b[DEPTH][SIZE], c[SIZE][SIZE];
} Quads;

/* The lane of a member, 0 to 7, of a product's lanes. */
static unsigned lane_of(unsigned product, unsigned member)
{
    return member % 4 + 4 * product + (member < 4 ? 0 : HALF_LANES);
}

static uint32_t *quad_register(const Collective *collective, unsigned lane, unsigned r)
{
    Ref ref = matrix_refs(collective, lane)[r];
    return ref == REF_ABSENT ? NULL : (uint32_t *)(void *)collective_rows(collective, lane, ref) + lane;
}

/* Element i of a lane's registers from number `first` on. */
static float element_of(const Collective *collective, MatrixType type, unsigned lane, unsigned first,
                        unsigned i)
{
    if (type == MATRIX_F32) return f32_from(*quad_register(collective, lane, first + i));
    return f16_to_f32(*quad_register(collective, lane, first + i / 2) >> 16 * (i % 2) & 0xffff);
}

/* The place of element i of a member's c or d: halves are a row; floats are in two rows, in pairs. */
static MatrixPlace result_place(MatrixType type, unsigned member, unsigned i)
{
    if (type != MATRIX_F32) return (MatrixPlace){member, i};
    return (MatrixPlace){(member & 5) + (i & 2), (i & 4) + (member & 2) + (i & 1)};
}

static void read_quads(const Collective *collective, const MatrixProduct *p, unsigned product, Quads *q)
{
    const unsigned first = p->d.registers;
    for (unsigned member = 0; member < MEMBERS; member++) {
        const unsigned lane = lane_of(product, member), within = member % 4, upper = member & 4;
        for (unsigned i = 0; i < DEPTH; i++) {
            float x = element_of(collective, MATRIX_F16, lane, first, i);
            float y = element_of(collective, MATRIX_F16, lane, first + p->a.registers, i);
            *(p->a_columns ? &q->a[i + upper][within] : &q->a[member][i]) = x;
            *(p->b_columns ? &q->b[i][member] : &q->b[within][i + upper]) = y;
        }
        for (unsigned i = 0; i < SIZE; i++) {
            MatrixPlace at = result_place((MatrixType)p->c.type, member, i);
            q->c[at.row][at.column] = element_of(collective, (MatrixType)p->c.type, lane,
                                                 first + p->a.registers + p->b.registers, i);
        }
    }
}

/* An element of the result. For floats: the sum of the products in order, then c is added. For halves: c
 * plus the first two products, plus the last two. */
static float sum_of(const Quads *q, unsigned row, unsigned column, bool halves)
{
    const float *a = q->a[row], c = q->c[row][column];
    const float b[DEPTH] = {q->b[0][column], q->b[1][column], q->b[2][column], q->b[3][column]};
    if (halves) return (c + fmaf(a[1], b[1], a[0] * b[0])) + fmaf(a[3], b[3], a[2] * b[2]);
    float sum = fmaf(a[0], b[0], 0);
    for (unsigned k = 1; k < DEPTH; k++) sum = fmaf(a[k], b[k], sum);
    return sum + c;
}

static void write_quads(const Collective *collective, const MatrixProduct *p, unsigned product,
                        const Quads *q)
{
    const bool halves = p->d.type == MATRIX_F16;
    for (unsigned member = 0; member < MEMBERS; member++) {
        for (unsigned i = 0; i < SIZE; i++) {
            MatrixPlace at = result_place((MatrixType)p->d.type, member, i);
            float sum = sum_of(q, at.row, at.column, halves);
            uint32_t *d = quad_register(collective, lane_of(product, member), halves ? i / 2 : i);
            if (!d) continue;
            if (!halves)
                *d = sum != sum ? F32_NAN : f32_bits(sum);
            else
                *d = (*d & (i % 2 ? 0xffff : 0xffff0000)) | f32_to_f16(sum) << 16 * (i % 2);
        }
    }
}

void matrix_multiply_quads(const Collective *collective, const MatrixProduct *p)
{
    Quads q[PRODUCTS];
    for (unsigned product = 0; product < PRODUCTS; product++) read_quads(collective, p, product, &q[product]);
    for (unsigned product = 0; product < PRODUCTS; product++)
        write_quads(collective, p, product, &q[product]);
}
