/* Fragments of matrices to and from memory, and across the lanes of a warp: ldmatrix, stmatrix, movmatrix,
 * wmma.load and wmma.store. All 32 lanes take part, or there is a fault. */
#include <string.h>

#include "exec/checks/check.h"
#include "exec/collective/matrix.h"
#include "exec/state/ranges.h"

enum { TILE = 8, TILE_ROW_BYTES = 16 };

/* --- memory -------------------------------------------------------------------------------------------- */

/* A lane's address operand, without the immediate: of a row, or of the whole matrix. */
static uint64_t collective_address(const Collective *collective, unsigned lane)
{
    const Insn *insn = collective->insn[lane];
    const uint8_t *row = collective_rows(collective, lane, insn->a);
    return insn->mods & MEM_ADDR32 ? ((const uint32_t *)(const void *)row)[lane]
                                   : ((const uint64_t *)(const void *)row)[lane];
}

/* The host address of bytes that a lane accesses, at a multiple of `unit`. NULL if they are not all
 * accessible: then a fault is recorded, unless `look` is set. */
static uint8_t *host_bytes(const Collective *collective, unsigned lane, uint64_t address, uint64_t bytes,
                           uint32_t unit, bool write, bool look)
{
    const Insn *insn = collective->insn[lane];
    const Reach reach = {
        .address = address, .bytes = bytes, .unit = unit, .shared = insn->mods & MEM_SHARED, .write = write};
    return look ? range_look(collective->warp, insn, &reach)
                : range_reach(collective->warp, insn, (int)lane, &reach);
}

/* Returns `place` after the checks of the block (check.h); NULL after a fault, or if it is NULL. */
static uint8_t *checked_bytes(const Collective *collective, unsigned lane, uint8_t *place, uint32_t bytes,
                              bool write)
{
    if (!place || !collective->warp->block->checker) return place;
    AccessKind kind = write ? ACCESS_WRITE : ACCESS_READ;
    return check_reach(collective->warp, collective->insn[lane], (int)lane, place, bytes, kind) ? place
                                                                                                : NULL;
}

/* The word of a lane's register r, in the order of matrix_refs(); NULL if it is absent. */
static uint32_t *register_of(const Collective *collective, unsigned lane, unsigned r)
{
    Ref ref = matrix_refs(collective, lane)[r];
    return ref == REF_ABSENT ? NULL : (uint32_t *)(void *)collective_rows(collective, lane, ref) + lane;
}

/* --- tiles of 8 x 8 halves ----------------------------------------------------------------------------- */

typedef struct Tile {
    uint16_t at[TILE][TILE];
} Tile;

/* A lane's word of a tile: two neighbors in a row, or (transposed) in a column. */
static uint32_t tile_word(const Tile *t, unsigned lane, bool transposed)
{
    unsigned i = lane / 4, j = lane % 4 * 2;
    return transposed ? t->at[j][i] | (uint32_t)t->at[j + 1][i] << 16
                      : t->at[i][j] | (uint32_t)t->at[i][j + 1] << 16;
}

static void set_tile_word(Tile *t, unsigned lane, bool transposed, uint32_t word)
{
    unsigned i = lane / 4, j = lane % 4 * 2;
    *(transposed ? &t->at[j][i] : &t->at[i][j]) = (uint16_t)word;
    *(transposed ? &t->at[j + 1][i] : &t->at[i][j + 1]) = (uint16_t)(word >> 16);
}

/* The host address of a row of a tile, whose address lane 8 * tile + row gives. NULL after a fault. */
static uint8_t *tile_row(const Collective *collective, unsigned tile, unsigned row, bool write)
{
    unsigned lane = tile * TILE + row;
    uint8_t *place = host_bytes(collective, lane,
                                memory_offset(collective->insn[lane], collective_address(collective, lane)),
                                TILE_ROW_BYTES, TILE_ROW_BYTES, write, false);
    return checked_bytes(collective, lane, place, TILE_ROW_BYTES, write);
}

static void load_tiles(const Collective *collective)
{
    unsigned count = collective->insn[0]->mods & MEM_COUNT;
    bool transposed = collective->insn[0]->mods & MATRIX_TRANSPOSED;
    Tile tiles[4];
    for (unsigned t = 0; t < count; t++) {
        for (unsigned row = 0; row < TILE; row++) {
            const uint8_t *from = tile_row(collective, t, row, false);
            if (!from) return;
            memcpy(tiles[t].at[row], from, TILE_ROW_BYTES);
        }
    }
    for (unsigned l = 0; l < WARP_LANES; l++) {
        for (unsigned t = 0; t < count; t++) {
            uint32_t *d = register_of(collective, l, t);
            if (d) *d = tile_word(&tiles[t], l, transposed);
        }
    }
}

static void store_tiles(const Collective *collective)
{
    unsigned count = collective->insn[0]->mods & MEM_COUNT;
    bool transposed = collective->insn[0]->mods & MATRIX_TRANSPOSED;
    for (unsigned t = 0; t < count; t++) {
        Tile tile;
        for (unsigned l = 0; l < WARP_LANES; l++) /* its registers are sources, which are never absent */
            set_tile_word(&tile, l, transposed, *register_of(collective, l, t));
        for (unsigned row = 0; row < TILE; row++) {
            uint8_t *to = tile_row(collective, t, row, true);
            if (!to) return;
            memcpy(to, tile.at[row], TILE_ROW_BYTES);
        }
    }
}

static void transpose_tile(const Collective *collective)
{
    Tile tile;
    for (unsigned l = 0; l < WARP_LANES; l++) {
        const uint8_t *row = collective_rows(collective, l, collective->insn[l]->a);
        set_tile_word(&tile, l, false, ((const uint32_t *)(const void *)row)[l]);
    }
    for (unsigned l = 0; l < WARP_LANES; l++) {
        uint8_t *row = collective_rows(collective, l, collective->insn[l]->d);
        ((uint32_t *)(void *)row)[l] = tile_word(&tile, l, true);
    }
}

/* --- wmma ---------------------------------------------------------------------------------------------- */

/* A matrix in memory, `stride` elements from one line to the next. */
typedef struct Stored {
    const Collective *collective;
    const MatrixAccess *access;
    uint64_t address, stride;
    unsigned bits; /* of an element */
    uint8_t *block; /* the memory of the whole matrix; NULL: each element is found by its address */
    bool write;
} Stored;

static uint64_t stride_of(const Collective *collective, unsigned lane, const MatrixAccess *access)
{
    const Insn *insn = collective->insn[lane];
    const Fragment *f = &access->fragment;
    if (insn->b == REF_ABSENT) return access->columns ? f->rows : f->columns;
    return ((const uint32_t *)(const void *)collective_rows(collective, lane, insn->b))[lane];
}

static bool find_stored(Stored *s, const Collective *collective, bool write)
{
    const MatrixAccess *access = collective->insn[0]->pointer;
    const Fragment *f = &access->fragment;
    unsigned vectors = access->columns ? f->columns : f->rows,
             length = access->columns ? f->rows : f->columns;
    *s = (Stored){.collective = collective,
                  .access = access,
                  .address = collective_address(collective, 0),
                  .write = write};
    s->stride = stride_of(collective, 0, access);
    s->bits = matrix_type_bits(f->type);
    for (unsigned l = 1; l < WARP_LANES; l++) {
        if (collective_address(collective, l) == s->address && stride_of(collective, l, access) == s->stride)
            continue;
        exec_fault(collective->warp, collective->insn[l], (int)l, CUDA_ERROR_LAUNCH_FAILED,
                   "the lanes of a warp give different addresses or strides of one matrix");
        return false;
    }
    s->block = host_bytes(collective, 0, s->address, ((vectors - 1) * s->stride + length) * s->bits / 8,
                          s->bits < 32 ? 4 : s->bits / 8, write, true);
    return true;
}

/* The host address of an element; NULL after a fault. */
static uint8_t *stored_at(const Stored *s, unsigned lane, MatrixPlace at, uint32_t bytes)
{
    uint64_t line = s->access->columns ? at.column : at.row, along = s->access->columns ? at.row : at.column;
    uint64_t offset = (line * s->stride + along) * s->bits / 8;
    uint8_t *place =
        s->block ? s->block + offset
                 : host_bytes(s->collective, lane, s->address + offset, bytes, bytes, s->write, false);
    return checked_bytes(s->collective, lane, place, bytes, s->write);
}

/* Copies one register, `words`, from or to memory element by element; elements of less than a byte by the
 * word. False after a fault. */
static bool move_register(const Stored *s, unsigned lane, unsigned r, uint8_t *words)
{
    const Fragment *f = &s->access->fragment;
    unsigned bytes = s->bits < 8 ? 4 : s->bits / 8, count = s->bits < 8 ? 1 : fragment_packed(f);
    for (unsigned e = 0; e < count; e++) {
        uint8_t *at = stored_at(s, lane, fragment_place(f, lane, r, e), bytes);
        if (!at) return false;
        memcpy(s->write ? at : words + e * bytes, s->write ? words + e * bytes : at, bytes);
    }
    return true;
}

static void move_stored(const Collective *collective, bool write)
{
    Stored s;
    if (!find_stored(&s, collective, write)) return;
    const Fragment *f = &s.access->fragment;
    unsigned size = f->type == MATRIX_F64 ? 8 : 4;
    for (unsigned l = 0; l < WARP_LANES; l++) {
        for (unsigned r = 0; r < f->registers; r++) {
            Ref ref = matrix_refs(collective, l)[r];
            uint8_t words[8] = {0}, *reg = collective_rows(collective, l, ref) + l * size;
            if (write) memcpy(words, reg, size);
            if (!move_register(&s, l, r, words)) return;
            if (!write && ref != REF_ABSENT) memcpy(reg, words, size);
        }
    }
}

/* --- all of them --------------------------------------------------------------------------------------- */

/* The size of what the operation's Insn.pointer points to; 0: it is not a pointer. */
static size_t described_bytes(const Insn *insn)
{
    switch (insn->op) {
    case OP_mma: return sizeof(MatrixProduct);
    case OP_wgmma: return sizeof(WarpgroupProduct);
    case OP_wmma_load:
    case OP_wmma_store: return sizeof(MatrixAccess);
    default: return 0;
    }
}

/* Whether all lanes execute the same form of the operation, maybe at several instructions. */
static bool is_one_form(const Collective *collective)
{
    const Insn *first = collective->insn[0];
    size_t size = described_bytes(first);
    for (unsigned l = 1; l < WARP_LANES; l++) {
        const Insn *insn = collective->insn[l];
        if (insn == first) continue;
        if (insn->mods != first->mods || (size && memcmp(insn->pointer, first->pointer, size) != 0))
            return false;
    }
    return true;
}

void matrix_execute(const Collective *collective)
{
    int first = __builtin_ctz(collective->lanes);
    const Insn *insn = collective->insn[first];
    if (collective->lanes != FULL_MASK || !is_one_form(collective)) {
        exec_fault(collective->warp, insn, first, CUDA_ERROR_LAUNCH_FAILED,
                   "%s is for all 32 threads of a warp, at one instruction", exec_op_names[insn->op]);
        return;
    }
    switch (insn->op) {
    case OP_mma: matrix_multiply(collective); break;
    case OP_wgmma: matrix_multiply_warpgroup(collective); break;
    case OP_ldmatrix: load_tiles(collective); break;
    case OP_stmatrix: store_tiles(collective); break;
    case OP_movmatrix: transpose_tile(collective); break;
    default: move_stored(collective, insn->op == OP_wmma_store); break;
    }
}

/* All 32 lanes must take part: operand c of these operations is a row of full member masks. */
const Insn *matrix_enter(Warp *warp, const Insn *insn)
{
    if (warp->mask != warp->live) return collective_enter(warp, insn, insn->c);
    collective_now(warp, insn);
    if (atomic_load_explicit(&warp->block->grid->faulted, memory_order_relaxed)) return NULL;
    return insn + 1;
}
