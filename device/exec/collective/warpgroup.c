/* wgmma: a warpgroup's product of 64 rows of a, from registers or shared memory, and b in shared memory.
 *
 * A warp has 16 of the rows and the results of these, so it computes them alone, eight columns at a time. A
 * descriptor says where a matrix is, by the rules of the PTX manual: it consists of pieces of 16 bytes, eight
 * neighbors of which follow each other in the distance that the swizzle mode says, and further ones in
 * the two distances of the descriptor.
 */
#include <string.h>

#include "exec/checks/check.h"
#include "exec/collective/product.h"
#include "exec/state/ranges.h"

enum {
    PIECE = 16,    /* bytes */
    NEIGHBORS = 8, /* pieces */
    WARPGROUP = 4  /* warps */
};

/* A matrix in shared memory. */
typedef struct Stored {
    const Collective *collective;
    const Fragment *fragment;
    uint32_t start, leading, stride; /* bytes */
    uint32_t width; /* of a line: how many bytes of a vector lie next to each other */
    uint32_t swizzled; /* mask of the bits of a line's number that its pieces are permuted by */
    uint32_t base; /* number of the line that is permuted as the first one */
    bool transposed; /* vectors are not along k, but across */
} Stored;

/* Bits `first` and up of a descriptor, of which each counts 16 bytes. */
static uint32_t descriptor_bytes(uint64_t descriptor, unsigned first)
{
    return (uint32_t)(descriptor >> first & 0x3fff) * PIECE;
}

static Stored stored_matrix(const Collective *collective, const Fragment *f, uint64_t descriptor,
                            bool transposed)
{
    static const uint8_t widths[] = {16, 128, 64, 32}; /* by swizzle mode */
    const uint32_t width = widths[descriptor >> 62];
    return (Stored){.collective = collective,
                    .fragment = f,
                    .start = descriptor_bytes(descriptor, 0),
                    .leading = descriptor_bytes(descriptor, 16),
                    .stride = descriptor_bytes(descriptor, 32),
                    .width = width,
                    .swizzled = width / PIECE - 1,
                    .base = (uint32_t)(descriptor >> 49 & 7),
                    .transposed = transposed};
}

/* The address of the piece that begins `along` bytes after the start of a vector. Vectors are rows of a and
 * columns of b; the other way round if the matrix is transposed. Without swizzling the two distances of a
 * transposed matrix change places. */
static uint32_t piece_address(const Stored *s, uint32_t vector, uint32_t along)
{
    enum { LINE_BITS = 7 };
    const bool swapped = s->transposed && s->width == PIECE;
    const uint32_t across = swapped ? s->leading : s->stride, further = swapped ? s->stride : s->leading;
    const uint32_t address = s->start + vector / NEIGHBORS * across + vector % NEIGHBORS * s->width
                             + along / s->width * further + along % s->width;
    return address ^ ((((address >> LINE_BITS) - s->base) & s->swizzled) * PIECE);
}

/* The host address of a piece. NULL after a fault. */
static const uint8_t *piece_at(const Stored *s, uint32_t vector, uint32_t along)
{
    const Collective *collective = s->collective;
    const Insn *insn = collective->insn[0];
    const Reach reach = {
        .address = piece_address(s, vector, along), .bytes = PIECE, .unit = PIECE, .shared = true};
    uint8_t *place = range_reach(collective->warp, insn, 0, &reach);
    if (!place || !collective->warp->block->checker) return place;
    return check_reach(collective->warp, insn, 0, place, PIECE, ACCESS_READ) ? place : NULL;
}

/* The exponent of a subnormal number of e4m3 is the minimum. */
static void raise_exponents(const Fragment *f, Matrix *m)
{
    enum { MIN_EXPONENT = -6 };
    if (f->type != MATRIX_E4M3) return;
    for (unsigned k = 0; k < (unsigned)f->rows * f->columns; k++)
        if (m->value[k] != 0 && m->exponent[k] < MIN_EXPONENT) m->exponent[k] = MIN_EXPONENT;
}

/* Copies the rows or columns of a fragment's size from number `first` on, of a row of a or a column of b so
 * many bytes along k. False after a fault. */
static bool read_stored(const Stored *s, unsigned first, Matrix *m)
{
    const Fragment *f = s->fragment;
    const bool of_b = f->role == MATRIX_B;
    const unsigned lines = of_b ? f->columns : f->rows, depth = of_b ? f->rows : f->columns;
    const unsigned bits = matrix_type_bits(f->type), packed = fragment_packed(f);
    const unsigned vectors = s->transposed ? depth : lines, length = s->transposed ? lines : depth;
    const unsigned from = s->transposed ? 0 : first, skipped = s->transposed ? first * bits / 8 : 0;
    const bool down = of_b != s->transposed;
    for (unsigned v = 0; v < vectors; v++) {
        for (unsigned byte = 0; byte < length * bits / 8; byte += PIECE) {
            uint32_t words[PIECE / 4];
            const uint8_t *piece = piece_at(s, from + v, skipped + byte);
            if (!piece) return false;
            memcpy(words, piece, PIECE);
            for (unsigned w = 0; w < PIECE / 4; w++) {
                unsigned element = byte * 8 / bits + w * packed;
                MatrixPlace at = down ? (MatrixPlace){element, v} : (MatrixPlace){v, element};
                matrix_take_word(f, m, at, down, words[w]);
            }
        }
    }
    raise_exponents(f, m);
    return true;
}

/* Changes the sign of all elements, which are reals. */
static void negate(const Fragment *f, Matrix *m)
{
    for (unsigned k = 0; k < (unsigned)f->rows * f->columns; k++) m->value[k] = -m->value[k];
}

/* --- the product ---------------------------------------------------------------------------------------- */

/* A lane's descriptor of a, or of b; 0 if it is absent. */
static uint64_t descriptor_of(const Collective *collective, unsigned lane, bool of_b)
{
    const Insn *insn = collective->insn[lane];
    const Ref ref = of_b ? insn->b : insn->a;
    if (ref == REF_ABSENT) return 0;
    return ((const uint64_t *)(const void *)collective_rows(collective, lane, ref))[lane];
}

static uint32_t register_word(const Collective *collective, unsigned lane, unsigned r)
{
    const uint8_t *row = collective_rows(collective, lane, matrix_refs(collective, lane)[r]);
    return ((const uint32_t *)(const void *)row)[lane];
}

/* Whether the warp belongs to a whole warpgroup, and its lanes have the same descriptors and scale, which is
 * register number `scale`; else there is a fault. */
static bool is_uniform(const Collective *collective, unsigned scale)
{
    Warp *warp = collective->warp;
    const char *problem = NULL;
    unsigned lane = 0;
    if (warp->index / WARPGROUP * WARPGROUP + WARPGROUP > warp->block->warp_count)
        problem =
            "wgmma is for four warps of a block, the first of which has a number that is a multiple of four";
    for (unsigned l = 1; l < WARP_LANES && !problem; l++) {
        lane = l;
        if (descriptor_of(collective, l, false) != descriptor_of(collective, 0, false)
            || descriptor_of(collective, l, true) != descriptor_of(collective, 0, true))
            problem = "the lanes of a warp give different descriptors of one matrix";
        else if (register_word(collective, l, scale) != register_word(collective, 0, scale))
            problem = "the lanes of a warp give different predicates for d";
    }
    if (problem) exec_fault(warp, collective->insn[lane], (int)lane, CUDA_ERROR_LAUNCH_FAILED, "%s", problem);
    return !problem;
}

/* The warp's rows of a. False after a fault. */
static bool read_rows(const Collective *collective, const WarpgroupProduct *w, unsigned first, Matrix *a)
{
    const Fragment *f = &w->tile.a;
    const unsigned row = collective->warp->index % WARPGROUP * f->rows;
    if (w->a_shared) {
        const uint64_t descriptor = descriptor_of(collective, 0, false);
        const Stored stored = stored_matrix(collective, f, descriptor, w->a_transposed);
        if (!read_stored(&stored, row, a)) return false;
    } else {
        matrix_read_fragment(collective, f, first, a);
        raise_exponents(f, a);
    }
    if (w->a_negated != w->b_negated) negate(f, a);
    return true;
}

void matrix_multiply_warpgroup(const Collective *collective)
{
    const WarpgroupProduct *w = collective->insn[0]->pointer;
    const MatrixProduct *p = &w->tile;
    const unsigned at_a = 2u * w->d.registers, at_metadata = at_a + (w->a_shared ? 0 : p->a.registers);
    const unsigned at_scale = at_metadata + p->sparse;
    uint32_t metadata[WARP_LANES];
    Matrix a = {0}, b = {0}, c = {0}, rows;
    if (!is_uniform(collective, at_scale) || !read_rows(collective, w, at_a, &rows)) return;
    if (p->sparse) matrix_metadata(collective, at_metadata, metadata);
    const Stored stored =
        stored_matrix(collective, &p->b, descriptor_of(collective, 0, true), w->b_transposed);
    const bool adds = register_word(collective, 0, at_scale) != 0;
    for (unsigned r = 0; r < w->d.registers; r += p->d.registers) {
        const unsigned tile = r / p->d.registers;
        if (!read_stored(&stored, tile * p->b.columns, &b)) return;
        if (adds)
            matrix_read_fragment(collective, &p->c, w->d.registers + r, &c);
        else
            matrix_clear(&p->c, &c);
        a = rows;
        if (p->sparse)
            matrix_multiply_sparse(p, metadata, &a, &b, &c);
        else
            matrix_multiply_values(p, &a, &b, &c);
        matrix_write_fragment(collective, &p->d, r, &c);
    }
}
