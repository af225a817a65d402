/* Which instructions are checked, and what they access: by the form of an operation, for one lane after
 * another. */
#include "exec/checks/check.h"

#include <stdlib.h>
#include <string.h>

#include "exec/state/ranges.h"

/* --- the forms of operations ------------------------------------------------------------------------ */

typedef struct OperationAccess {
    uint8_t bytes; /* of an element in memory; 0: not looked at */
    uint8_t row; /* of an element of the row that is stored */
    uint8_t kind; /* AccessKind */
    bool shared; /* by an offset in shared memory */
    bool blind; /* an atomic operation whose result does not depend on the old value */
    bool caller_orders; /* acquire and release are done by the caller (check_acquire, check_release) */
} OperationAccess;

static const OperationAccess forms[OP_COUNT] = {
#define LOAD(name, size) \
    [OP_ld_generic_##name] = {.bytes = size, .kind = ACCESS_READ}, \
    [OP_ldv_generic_##name] = {.bytes = size, .kind = ACCESS_READ}, \
    [OP_ld_shared_##name] = {.bytes = size, .kind = ACCESS_READ, .shared = true}, \
    [OP_ldv_shared_##name] = {.bytes = size, .kind = ACCESS_READ, .shared = true},
#define STORE(name, size, element) \
    [OP_st_generic_##name] = {.bytes = size, .row = element, .kind = ACCESS_WRITE}, \
    [OP_stv_generic_##name] = {.bytes = size, .row = element, .kind = ACCESS_WRITE}, \
    [OP_st_shared_##name] = {.bytes = size, .row = element, .kind = ACCESS_WRITE, .shared = true}, \
    [OP_stv_shared_##name] = {.bytes = size, .row = element, .kind = ACCESS_WRITE, .shared = true},
#define ATOMIC(name, size) [OP_atom_##name] = {.bytes = size, .kind = ACCESS_ATOMIC},
#define EXCHANGE(name, size) [OP_atom_##name] = {.bytes = size, .kind = ACCESS_ATOMIC, .blind = true},
#include "exec/checks/check.def"
};

/* --- one access ------------------------------------------------------------------------------------- */

enum { MAX_VALUE = 64 }; /* bytes that a lane stores: v4.b128, v8.b64 */

/* What some lanes of an instruction access at one address. */
typedef struct CheckedAccess {
    Warp *warp;
    const Insn *insn;
    const OperationAccess *form;
    uint32_t lanes, bytes;
    uint64_t address; /* generic, or an offset in shared memory */
    bool is_offset;
    AccessKind kind;
    GlobalCursor *cursor;
} CheckedAccess;

static int first_lane(const CheckedAccess *access) { return __builtin_ctz(access->lanes); }

/* Reports a read of unwritten memory, of which `first` is the first byte. Returns false. */
static bool read_unwritten(const CheckedAccess *access, bool shared, uint64_t first)
{
    check_report_unwritten(access->warp, access->insn, first_lane(access), shared, access->bytes, first);
    return false;
}

/* Whether the old value is read: by loads, and by atomic operations other than exchanges and stores. */
static bool reads_old_value(const CheckedAccess *access)
{
    bool blind = access->form->blind || access->form->kind == ACCESS_WRITE;
    return access->kind == ACCESS_READ || (access->kind == ACCESS_ATOMIC && !blind);
}

/* Copies to `value` the bytes that a lane of a store writes. */
static void take_value(const CheckedAccess *access, uint8_t *value)
{
    uint32_t count = access->insn->mods & MEM_COUNT ? access->insn->mods & MEM_COUNT : 1;
    const Ref *refs = access->insn->mods & MEM_COUNT
                          ? &access->warp->current->function->refs[access->insn->more]
                          : &access->insn->b;
    uint32_t size = access->form->bytes, row = access->form->row, lane = (uint32_t)first_lane(access);
    for (uint32_t e = 0; e < count; e++, value += size) {
        const uint8_t *rows = ref_rows(access->warp, refs[e]);
        if (row == 16) {
            memcpy(value, rows + 8 * lane, 8);
            memcpy(value + 8, rows + 8 * (WARP_LANES + lane), 8);
        } else {
            memcpy(value, rows + row * lane, size);
        }
    }
}

/* An atomic operation releases the thread's clock, and acquires unless its result is not wanted. */
static void pass_clocks(const CheckedAccess *access, Race *race, uint32_t offset)
{
    bool atomic = access->form->kind == ACCESS_ATOMIC;
    for (uint32_t rest = access->lanes; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        if (access->form->kind == ACCESS_READ || (atomic && access->insn->d != REF_ABSENT))
            race_acquire(race, access->warp, l, offset);
        if (access->form->kind != ACCESS_READ) race_release(race, access->warp, l, offset);
    }
}

/* Checks an access to shared memory for races, and records it. False after a fault. */
static bool race_free(const CheckedAccess *checked, Race *race, uint32_t offset, const uint8_t *value)
{
    const RaceAccess access = {.warp = checked->warp,
                               .insn = checked->insn,
                               .lanes = checked->lanes,
                               .offset = offset,
                               .bytes = checked->bytes,
                               .kind = checked->kind,
                               .value = value};
    const AsyncCopies *copies = checked->warp->block->checker->copies;
    if (copies && !async_copies_access(copies, &access)) return false;
    if (!race_access(race, &access)) return false;
    if (checked->kind == ACCESS_ATOMIC && !checked->form->caller_orders) pass_clocks(checked, race, offset);
    return true;
}

/* Checks an access to the block's shared memory. A store is carried out here already, so that the next
 * lane's check sees the new value; the operation itself does it once more. */
static bool access_shared(const CheckedAccess *access, uint32_t offset)
{
    const Block *block = access->warp->block;
    const Checker *checker = block->checker;
    uint8_t value[MAX_VALUE];
    uint64_t first;
    if (checker->checks & CHECK_INIT_SHARED) {
        if (reads_old_value(access) && unwritten_find(&checker->unwritten, offset, access->bytes, &first))
            return read_unwritten(access, true, first);
        if (access->kind != ACCESS_READ) unwritten_clear(&checker->unwritten, offset, access->bytes);
    }
    if (!(checker->checks & CHECK_RACE)) return true;
    /* Reserved shared memory is not the program's: only its barriers count, because they order accesses. */
    if (offset >= block->grid->shared_used && access->kind != ACCESS_ATOMIC) return true;
    bool is_write = access->form->kind == ACCESS_WRITE;
    if (is_write) take_value(access, value);
    if (!race_free(access, checker->race, offset, is_write ? value : NULL)) return false;
    if (is_write) memcpy(block->shared + offset, value, access->bytes);
    return true;
}

bool check_is_atomic(const Insn *insn)
{
    return forms[insn->op].bytes && forms[insn->op].kind == ACCESS_ATOMIC;
}

static bool is_strong(const OperationAccess *form, const Insn *insn)
{
    return form->kind == ACCESS_ATOMIC || (insn->mods & (MEM_STRONG | MEM_COHERENT)) != 0;
}

/* The kind of an access to global memory, for global_race_access(). */
static GlobalKind global_kind(const CheckedAccess *access)
{
    const Checker *checker = access->warp->block->checker;
    bool strong =
        access->form->caller_orders ? access->kind == ACCESS_ATOMIC : is_strong(access->form, access->insn);
    if (access->kind == ACCESS_READ || access->form->kind == ACCESS_READ)
        return strong ? GLOBAL_STRONG_READ : GLOBAL_READ;
    if (strong) return GLOBAL_STRONG;
    return checker->fenced[access->warp->index] & access->lanes ? GLOBAL_FLAG : GLOBAL_WRITE;
}

/* Whether the access is to be checked as one to global memory. Not if it is to local memory, which is the
 * thread's own, or to addresses that are not accessible, which the operation itself reports. */
static bool is_global(const CheckedAccess *access, bool write)
{
    const Warp *warp = access->warp;
    const RangeEntry local = {(uintptr_t)warp->local, warp->local ? warp->local_stride * WARP_LANES : 0};
    const RangeEntry *hit = &(write ? warp->worker->stores : warp->worker->loads)[range_slot(access->insn)];
    if (range_has(&local, access->address, access->bytes)) return false;
    return range_has(hit, access->address, access->bytes)
           || range_find(access->warp, access->insn, access->address, access->bytes, write);
}

static bool race_free_globally(const CheckedAccess *checked)
{
    Checker *checker = checked->warp->block->checker;
    uint8_t value[MAX_VALUE];
    bool is_write = checked->form->kind == ACCESS_WRITE;
    GlobalAccess access = {.warp = checked->warp,
                           .insn = checked->insn,
                           .lane = first_lane(checked),
                           .address = checked->address,
                           .bytes = checked->bytes,
                           .kind = global_kind(checked)};
    bool write = access.kind != GLOBAL_READ && access.kind != GLOBAL_STRONG_READ;
    if (!is_global(checked, write)) return true;
    if (is_write) take_value(checked, value);
    if (is_write) access.value = value;
    if (checked->form->kind == ACCESS_ATOMIC && !checked->form->caller_orders
        && checked->insn->mods & MEM_RELEASE)
        global_race_fence(checked->warp);
    if (write) checker->fenced[checked->warp->index] &= ~checked->lanes;
    return global_race_access(checked->cursor, &access);
}

static bool access_global(const CheckedAccess *access)
{
    const Block *block = access->warp->block;
    const Checker *checker = block->checker;
    struct MemoryMap *memory = block->grid->launch->memory;
    uint64_t first;
    if (checker->checks & CHECK_INIT && memory) {
        if (reads_old_value(access) && memory_map_unwritten(memory, access->address, access->bytes, &first))
            return read_unwritten(access, false, first);
        if (access->kind != ACCESS_READ) memory_map_written(memory, access->address, access->bytes);
    }
    return !block->grid->global_race || race_free_globally(access);
}

/* Called when two blocks of a cluster may synchronize, by a strong access to the memory of one of them. A
 * block's clocks do not cover that: so all accesses recorded before count as ordered. */
static void forget_order(const Block *block, const Block *other)
{
    if (check_is_on(block, CHECK_RACE)) race_new_interval(block->checker->race);
    if (check_is_on(other, CHECK_RACE)) race_new_interval(other->checker->race);
}

/* Shared memory of another block of the cluster. Races with its threads are not looked for. */
static bool access_other(const CheckedAccess *access, const Block *other, uint64_t offset)
{
    const Checker *checker = other->checker;
    uint64_t first;
    if (access->kind == ACCESS_ATOMIC) forget_order(access->warp->block, other);
    if (!checker || !(checker->checks & CHECK_INIT_SHARED)) return true;
    if (reads_old_value(access) && unwritten_find(&checker->unwritten, offset, access->bytes, &first))
        return read_unwritten(access, true, first);
    if (access->kind != ACCESS_READ) unwritten_clear(&checker->unwritten, offset, access->bytes);
    return true;
}

/* The other block of the cluster that all of the access lies in; NULL: none. */
static const Block *other_block(const CheckedAccess *access, uint64_t *offset)
{
    const Block *block = access->warp->block, *other;
    if (access->is_offset)
        other = access->address >> CLUSTER_SHIFT ? cluster_block_of(block, access->address, offset) : NULL;
    else
        other = block->cluster->size > 1 ? cluster_holder(block, access->address) : NULL;
    if (other && !access->is_offset) *offset = access->address - (uintptr_t)other->shared;
    return other && *offset + access->bytes <= other->shared_size ? other : NULL;
}

/* The operation itself reports inaccessible and misaligned addresses. */
static bool check_access(const CheckedAccess *access)
{
    const Block *block = access->warp->block, *other;
    uint64_t offset = access->is_offset ? access->address : access->address - (uintptr_t)block->shared, place;
    if (access->address & (access->form->bytes - 1u)) return true;
    if (offset < block->shared_size && offset + access->bytes <= block->shared_size)
        return access_shared(access, (uint32_t)offset);
    if ((other = other_block(access, &place)))
        return other == block ? access_shared(access, (uint32_t)place) : access_other(access, other, place);
    return access->is_offset || access_global(access);
}

/* Lane l's address operand, with the immediate. */
static uint64_t lane_address(const Warp *w, const Insn *i, int l)
{
    uint64_t address =
        i->mods & MEM_ADDR32 ? ROW(const uint32_t, w, i->a)[l] : ROW(const uint64_t, w, i->a)[l];
    return memory_offset(i, address);
}

/* Of the lanes `rest`, those with the same address as the first of them that are found quickly: a run of
 * neighbors, and their counterparts 16 lanes further. The others are left for the next call. */
static uint32_t lanes_at_one_place(const uint64_t *address, uint32_t rest)
{
    int first = __builtin_ctz(rest);
    uint32_t lanes = 0;
    for (int l = first; l < WARP_LANES && rest >> l & 1 && address[l] == address[first]; l++)
        lanes |= 1u << l;
    for (uint32_t high = lanes << 16 & rest & ~lanes; high; high &= high - 1)
        if (address[__builtin_ctz(high)] == address[first]) lanes |= high & -high;
    return lanes;
}

/* Checks the accesses of the executing lanes; reads of one place are checked together. False after a
 * fault. */
static bool access_by_lanes(Warp *w, const Insn *i, GlobalCursor *cursor)
{
    const OperationAccess *form = &forms[i->op];
    bool vector = form->kind != ACCESS_ATOMIC && i->mods & MEM_COUNT;
    CheckedAccess x = {
        .warp = w, .insn = i, .form = form, .bytes = form->bytes, .kind = (AccessKind)form->kind};
    x.cursor = cursor;
    uint64_t address[WARP_LANES];
    x.is_offset = form->shared || (form->kind == ACCESS_ATOMIC && i->mods & MEM_SHARED);
    VectorPart part = {0, 1};
    if (vector) part = (VectorPart){0, i->mods & MEM_COUNT};
    if (vector && form->kind == ACCESS_READ) part = vector_part(w->current->function, i);
    if (!part.count) return true;
    x.bytes *= part.count;
    if (i->mods & MEM_ATOMIC) x.kind = ACCESS_ATOMIC;
    for (int l = 0; l < WARP_LANES; l++) address[l] = lane_address(w, i, l) + part.first * form->bytes;
    for (uint32_t rest = w->mask; rest; rest &= ~x.lanes) {
        x.lanes = form->kind == ACCESS_READ ? lanes_at_one_place(address, rest) : rest & -rest;
        x.address = address[__builtin_ctz(rest)];
        if (!check_access(&x)) return false;
    }
    if (x.kind == ACCESS_ATOMIC && check_is_on(w->block, CHECK_RACE)) race_tick(w->block->checker->race, w);
    return true;
}

static bool access_lanes(Warp *w, const Insn *i)
{
    GlobalCursor cursor = {0};
    bool good = access_by_lanes(w, i, &cursor);
    global_race_leave(&cursor);
    return good || !exec_has_failed(w);
}

/* Checks one lane's access to bytes at a host address, outside of the instruction's own form. False: the
 * launch has failed. */
bool check_reach(Warp *warp, const Insn *insn, int lane, const void *host, uint64_t bytes, AccessKind kind)
{
    const OperationAccess form = {.bytes = 1, .kind = ACCESS_ATOMIC, .caller_orders = true};
    GlobalCursor cursor = {0};
    const CheckedAccess x = {.warp = warp,
                             .insn = insn,
                             .form = &form,
                             .lanes = 1u << lane,
                             .bytes = (uint32_t)bytes,
                             .address = (uintptr_t)host,
                             .kind = kind,
                             .cursor = &cursor};
    bool good = check_access(&x) || !exec_has_failed(warp);
    global_race_leave(&cursor);
    return good;
}

/* --- handlers --------------------------------------------------------------------------------------- */

/* Runs the handler that check_bind() has replaced. */
static const Insn *original(Warp *w, const Insn *i)
{
    return w->current->function->module->handlers[i->op][w->full](w, i);
}

static const Insn *run_access(Warp *w, const Insn *i) { return access_lanes(w, i) ? original(w, i) : NULL; }

/* Whether it is a strong access that may go to global memory: it may acquire what another block has
 * released. */
static bool may_order(const Insn *insn)
{
    const OperationAccess *form = &forms[insn->op];
    bool shared = form->shared || (form->kind == ACCESS_ATOMIC && insn->mods & MEM_SHARED);
    return !shared && is_strong(form, insn);
}

static bool is_acquire(const Insn *insn)
{
    const OperationAccess *form = &forms[insn->op];
    return form->kind == ACCESS_READ || (form->kind == ACCESS_ATOMIC && insn->d != REF_ABSENT);
}

/* Runs an atomic or volatile access under the grid's lock, so that check and access are one step. A read
 * acquires what was released before it. Addresses are computed first: the access may overwrite their
 * register. */
static const Insn *run_strong(Warp *w, const Insn *i)
{
    GlobalRace *race = w->block->grid->global_race;
    uint64_t address[WARP_LANES];
    uint32_t lanes = is_acquire(i) ? w->mask : 0;
    if (!race) return run_access(w, i);
    for (int l = 0; l < WARP_LANES; l++) address[l] = lane_address(w, i, l);
    global_race_begin_strong(race);
    const Insn *next = run_access(w, i);
    for (; lanes; lanes &= lanes - 1) global_race_acquire(w, address[__builtin_ctz(lanes)]);
    global_race_end_strong(race);
    return next;
}

static const Insn *run_fence(Warp *w, const Insn *i)
{
    bool wide = w->block->grid->global_race && !(i->mods & FENCE_BLOCK);
    if (wide) global_race_fence(w);
    if (wide) w->block->checker->fenced[w->index] |= w->mask;
    return original(w, i);
}

static const Insn *run_arrival(Warp *w, const Insn *i) { return check_arrival(w, i) ? original(w, i) : NULL; }

/* Memory of the device's heap is new each time. */
static const Insn *run_malloc(Warp *w, const Insn *i)
{
    const uint64_t *size = ROW(const uint64_t, w, i->a), *address = ROW(const uint64_t, w, i->d);
    uint64_t bytes[WARP_LANES];
    memcpy(bytes, size, sizeof bytes);
    const Insn *next = original(w, i);
    Grid *grid = w->block->grid;
    for (uint32_t rest = next ? w->mask : 0; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        if (address[l]) memory_map_renewed(grid->launch->memory, address[l], bytes[l]);
        if (address[l] && grid->global_race) global_race_forget(grid->global_race, address[l], bytes[l]);
    }
    return next;
}

/* The function that checks an instruction and runs it; NULL if it needs no check. */
static OpFn checked_handler(const Insn *insn, unsigned checks)
{
    const unsigned op = insn->op;
    unsigned wanted = forms[op].shared ? CHECK_RACE | CHECK_INIT_SHARED : CHECK_ACCESSES;
    switch (op) {
    case OP_fence:
    case OP_fence_sc: return checks & CHECK_RACE ? run_fence : NULL;
    case OP_bar_sync:
    case OP_bar_arrive:
    case OP_bar_red_popc:
    case OP_bar_red_and:
    case OP_bar_red_or: return run_arrival;
    case OP_call_malloc: return checks & (CHECK_INIT | CHECK_RACE) ? run_malloc : NULL;
    default:
        if (!forms[op].bytes || !(checks & wanted)) return NULL;
        return checks & CHECK_RACE && may_order(insn) ? run_strong : run_access;
    }
}

void check_bind(CodeModule *module)
{
    uint32_t count = 0;
    for (uint32_t f = 0; f < module->function_count; f++) {
        CodeFunction *function = module->functions[f];
        function->first_insn = count;
        count += function->insn_count;
        for (uint32_t k = 0; k < function->insn_count; k++) {
            Insn *insn = &function->insns[k];
            OpFn run = checked_handler(insn, module->checks);
            if (run) insn->run[0] = insn->run[1] = run;
        }
    }
}

/* --- blocks ----------------------------------------------------------------------------------------- */

GlobalRace *check_grid(const Grid *grid)
{
    bool wanted = grid->function->module->checks & CHECK_RACE && grid->cluster_count > 1;
    return wanted && grid->cluster_count <= UINT32_MAX ? global_race_create(grid->cluster_count) : NULL;
}

bool checker_take(Block *block)
{
    unsigned checks = block->grid->function->module->checks;
    if (!block->checker && !checks) return true;
    if (!block->checker) block->checker = calloc(1, sizeof *block->checker);
    Checker *checker = block->checker;
    if (!checker) return false;
    checker->checks = checks;
    if (checks & CHECK_RACE && !race_fits(checker->race, block->warp_count, block->shared_size)) {
        race_destroy(checker->race);
        checker->race = race_create(block->warp_count, block->shared_size);
        if (!checker->race) return false;
    }
    if (checker->copies && !async_copies_fit(checker->copies, block->warp_count, block->shared_size)) {
        async_copies_destroy(checker->copies);
        checker->copies = NULL;
    }
    if (checks & CHECK_INIT_SHARED && checker->unwritten.size != block->shared_size) {
        unwritten_close(&checker->unwritten);
        if (!unwritten_open(&checker->unwritten, 0, block->shared_size)) return false;
    }
    return true;
}

void checker_begin(Block *block)
{
    Checker *checker = block->checker;
    memset(checker->missed, 0, sizeof checker->missed);
    memset(checker->fenced, 0, sizeof checker->fenced);
    if (checker->checks & CHECK_RACE) race_new_interval(checker->race);
    if (checker->copies) async_copies_forget(checker->copies);
    if (checker->checks & CHECK_INIT_SHARED) {
        unwritten_clear(&checker->unwritten, 0, block->shared_size);
        unwritten_set(&checker->unwritten, 0, block->grid->shared_used);
    }
}

void checker_free(Checker *checker)
{
    if (!checker) return;
    race_destroy(checker->race);
    async_copies_destroy(checker->copies);
    unwritten_close(&checker->unwritten);
    free(checker);
}

/* --- synchronization ----------------------------------------------------------------------------- */

void check_publish(const Warp *warp, uint32_t barrier)
{
    const Checker *checker = warp->block->checker;
    if (checker->checks & CHECK_RACE) race_arrive(checker->race, warp, barrier);
}

void check_barrier(Block *block, uint32_t barrier)
{
    if (block->checker->checks & CHECK_SYNC) check_complete(block, barrier);
    if (block->checker->checks & CHECK_RACE) race_barrier(block->checker->race, block, barrier);
}

void check_warp_sync(const Warp *warp, uint32_t lanes)
{
    const Checker *checker = warp->block->checker;
    if (checker->checks & CHECK_RACE) race_warp(checker->race, warp, lanes);
}

void check_release(const Warp *warp, int lane, const Block *at, uint64_t offset)
{
    const Checker *checker = warp->block->checker;
    if (at != warp->block) forget_order(warp->block, at);
    if (at != warp->block || !(checker->checks & CHECK_RACE)) return;
    race_release(checker->race, warp, lane, (uint32_t)offset);
    race_tick(checker->race, warp);
}

void check_acquire(const Warp *warp, uint32_t lanes, const Block *at, uint64_t offset)
{
    const Checker *checker = warp->block->checker;
    if (at != warp->block) forget_order(warp->block, at);
    for (uint32_t rest = at == warp->block && checker->checks & CHECK_RACE ? lanes : 0; rest;
         rest &= rest - 1)
        race_acquire(checker->race, warp, __builtin_ctz(rest), (uint32_t)offset);
}

void check_cluster_arrive(const Warp *warp)
{
    const Checker *checker = warp->block->checker;
    if (checker->checks & CHECK_RACE) race_arrive(checker->race, warp, CLUSTER_BARRIER_OPEN);
}

void check_cluster_phase(const Block *block)
{
    if (block->checker->checks & CHECK_RACE) race_cluster_phase(block->checker->race);
}

void check_cluster_wait(const Warp *warp, uint32_t lanes)
{
    const Checker *checker = warp->block->checker;
    if (checker->checks & CHECK_RACE) race_cluster_wait(checker->race, warp, lanes);
}
