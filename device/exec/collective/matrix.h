/* Matrices that the 32 lanes of a warp hold together, a fragment each: where an element is, products, and
 * copies between fragments and memory.
 *
 * fragment_place() says where the elements of every shape are: by the rule of mma in the PTX manual, applied
 * to tiles of 8 rows and 4 registers. The layout of wmma is not specified; here it is the same.
 */
#ifndef DEVICE_EXEC_COLLECTIVE_MATRIX_H
#define DEVICE_EXEC_COLLECTIVE_MATRIX_H

#include "exec/control/collective.h"

typedef enum MatrixType {
    MATRIX_F16,
    MATRIX_BF16,
    MATRIX_TF32,
    MATRIX_E4M3,
    MATRIX_E5M2,
    MATRIX_F32,
    MATRIX_F64,
    MATRIX_S8,
    MATRIX_U8,
    MATRIX_S4,
    MATRIX_U4,
    MATRIX_B1,
    MATRIX_S32,
    MATRIX_TYPES
} MatrixType;

/* d = a * b + c: a is m x k, b is k x n, c and d are m x n. */
typedef enum MatrixRole { MATRIX_A, MATRIX_B, MATRIX_C } MatrixRole;

typedef struct Fragment {
    uint8_t role, type;        /* MatrixRole, MatrixType */
    uint16_t rows, columns;
    uint8_t registers;         /* of a lane; if there are more than needed, they repeat the elements */
} Fragment;

/* Insn.pointer of mma. Its registers are refs[more ...] in the order d, a, b, c, metadata if a is sparse. */
typedef struct MatrixProduct {
    Fragment d, a, b, c;
    uint8_t round;             /* MODS_RN ... of each step, doubles */
    bool saturated;            /* integers are clamped; sums of floats that become halves are truncated */
    bool conjunction;          /* bits are combined by and, else by xor */
    bool quads;                /* m8n8k4 of halves: four products at once (quads.c) */
    bool a_columns, b_columns; /* with quads: whether the matrix is stored by columns */
    bool sparse;               /* half of a's columns are stored; metadata say which (sparse.c) */
    uint8_t selector;          /* with sparse: which lanes have the metadata */
    bool warpgroup;            /* a part of a product by wgmma */
} MatrixProduct;

/* Insn.pointer of wgmma. Its registers are refs[more ...] in the order d, d as a summand, a unless it is in
 * shared memory, metadata if a is sparse, and the scale of d: 0 if d is no summand. */
typedef struct WarpgroupProduct {
    MatrixProduct tile;        /* a warp's rows of a by eight columns of b */
    Fragment d;                /* a warp's rows of d */
    bool a_shared;
    bool a_transposed, b_transposed; /* of a matrix in shared memory: neighbors are not along k */
    bool a_negated, b_negated;
} WarpgroupProduct;

/* Insn.pointer of wmma_load and wmma_store. */
typedef struct MatrixAccess {
    Fragment fragment;
    bool columns;              /* the matrix is stored by columns, else by rows */
} MatrixAccess;

/* Insn.mods of ldmatrix and stmatrix. */
enum { MATRIX_TRANSPOSED = 1 << 8 };

/* The bits of an element in a register. */
static inline unsigned matrix_type_bits(unsigned type)
{
    static const uint8_t bits[MATRIX_TYPES] = {
        [MATRIX_F16] = 16, [MATRIX_BF16] = 16, [MATRIX_TF32] = 32, [MATRIX_E4M3] = 8, [MATRIX_E5M2] = 8,
        [MATRIX_F32] = 32, [MATRIX_F64] = 64,  [MATRIX_S8] = 8,    [MATRIX_U8] = 8,   [MATRIX_S4] = 4,
        [MATRIX_U4] = 4,   [MATRIX_B1] = 1,    [MATRIX_S32] = 32,
    };
    return bits[type];
}

/* Elements in a register. */
static inline unsigned fragment_packed(const Fragment *f)
{
    unsigned bits = matrix_type_bits(f->type);
    return bits >= 32 ? 1 : 32 / bits;
}

/* Registers that hold all elements once. */
static inline unsigned fragment_needed(const Fragment *f)
{
    return (unsigned)f->rows * f->columns / (WARP_LANES * fragment_packed(f));
}

/* Of a sparse a: the bits of a row for which one register has the metadata; the bits of a unit, which
 * metadata choose as a whole; the registers with the metadata of a row; the number of values of the
 * selector. */
enum { MATRIX_PART_BITS = 128 };
static inline unsigned matrix_unit_bits(const Fragment *a) { return matrix_type_bits(a->type) < 16 ? 8 : 16; }
static inline unsigned matrix_parts(const Fragment *a)
{
    return a->columns * matrix_type_bits(a->type) / MATRIX_PART_BITS;
}
static inline unsigned matrix_selectors(const Fragment *a)
{
    return (matrix_unit_bits(a) == 16 ? 4 : 2) / matrix_parts(a);
}

typedef struct MatrixPlace {
    unsigned row, column;
} MatrixPlace;

/* Which element of the matrix is element number `element` of a lane's register `reg`. */
static inline MatrixPlace fragment_place(const Fragment *f, unsigned lane, unsigned reg, unsigned element)
{
    const unsigned packed = fragment_packed(f), group = lane / 4, within = lane % 4;
    const unsigned r = reg % fragment_needed(f), along = within * packed + element;
    if (f->role == MATRIX_C) {
        const unsigned index = r * packed + element, tiles = f->rows / 8u, tile = index / 2;
        return (MatrixPlace){group + 8 * (tile % tiles), 2 * within + index % 2 + 8 * (tile / tiles)};
    }
    const unsigned tiles = f->role == MATRIX_A ? f->rows / 8u : f->rows / (4 * packed);
    if (f->role == MATRIX_A) return (MatrixPlace){group + 8 * (r % tiles), along + r / tiles * 4 * packed};
    return (MatrixPlace){along + r % tiles * 4 * packed, group + 8 * (r / tiles)};
}

/* fragment_place() as the sum of two places: one of the register, one of the lane and the element. */
static inline MatrixPlace fragment_register(const Fragment *f, unsigned reg)
{
    return fragment_place(f, 0, reg, 0);
}
static inline MatrixPlace fragment_lane(const Fragment *f, unsigned packed, unsigned lane, unsigned element)
{
    const unsigned group = lane / 4, within = lane % 4 * (f->role == MATRIX_C ? 2 : packed) + element;
    return f->role == MATRIX_B ? (MatrixPlace){within, group} : (MatrixPlace){group, within};
}

/* A lane's registers, in the operation's order. */
static inline const Ref *matrix_refs(const Collective *collective, unsigned lane)
{
    return collective->function[lane]->refs + collective->insn[lane]->more;
}

/* Carries out a matrix operation; a fault unless all 32 lanes take part, by equal instructions. */
void matrix_execute(const Collective *collective);
/* mma; and its form with quads. */
void matrix_multiply(const Collective *collective);
void matrix_multiply_warpgroup(const Collective *collective);
void matrix_multiply_quads(const Collective *collective, const MatrixProduct *p);
/* The running lanes come to a matrix operation. Returns the instruction to go on with, NULL when the warp
 * must wait or after a fault. */
const Insn *matrix_enter(Warp *warp, const Insn *insn);

#endif
