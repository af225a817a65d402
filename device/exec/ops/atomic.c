/* Atomic operations (atom), lane after lane in ascending order; red is the same without a destination.
 *
 * A row of numbers/atomic.def says the new value, from the old one x and the operands b and c. If all lanes
 * address one place, their operations are applied to it in one step, in ascending order, which is one of the
 * allowed orders. Shared memory belongs to one worker thread at a time and needs no locked instructions.
 */
#include "exec/ops/addresses.h"
#include "exec/numbers/atomic.h"

/* name##x2: the operation on two halves in a word. */
#define PAIR_ATOMIC(name) \
    LANE_FN u32 name##x2(u32 x, u32 b) \
    { \
        return name((u16)x, (u16)b) | (u32)name((u16)(x >> 16), (u16)(b >> 16)) << 16; \
    }
PAIR_ATOMIC(add_f16)
PAIR_ATOMIC(min_f16)
PAIR_ATOMIC(max_f16)
PAIR_ATOMIC(add_bf16)
PAIR_ATOMIC(min_bf16)
PAIR_ATOMIC(max_bf16)

/* Lane l's address operand, without the immediate. */
LANE_FN uint64_t atomic_address(const Access *access, int l)
{
    return access->i->mods & MEM_ADDR32 ? ROW(const uint32_t, access->w, access->i->a)[l]
                                        : ROW(const uint64_t, access->w, access->i->a)[l];
}

/* The host address that lane l accesses; NULL: see atomic_fault(). */

LANE_FN uint8_t *atomic_place(const Access *access, int l)
{
    uint64_t address = atomic_address(access, l);
    return access->i->mods & MEM_SHARED ? at_shared(access, address, access->size)
                                        : at_generic(access, address, access->size);
}

/* Whether a place is in shared memory, which may also be reached by generic addresses. That of all blocks
 * of a cluster is used by one worker. */
static bool is_shared(const Access *access, const void *p)
{
    const Block *block = access->w->block;
    return access->i->mods & MEM_SHARED || (uintptr_t)p - (uintptr_t)block->shared < block->shared_size
           || (block->cluster->size > 1 && cluster_holder(block, (uintptr_t)p));
}

/* What takes the place of the bytes: see fault_generic(). */
static uint8_t *atomic_fault(const Access *access, int l)
{
    uint64_t address = atomic_address(access, l);
    return access->i->mods & MEM_SHARED ? fault_shared(access, l, address)
                                        : fault_generic(access, l, address);
}

/* True when the executing lanes all address one place. */
static bool one_place(const Access *access)
{
    uint64_t first = atomic_address(access, __builtin_ctz(access->w->mask));
    for (uint32_t rest = access->w->mask & (access->w->mask - 1); rest; rest &= rest - 1) {
        if (atomic_address(access, __builtin_ctz(rest)) != first) return false;
    }
    return true;
}

/* The time slice of a loop with the operation: shorter for those that spin locks are made of. */
static uint32_t atomic_fuel(unsigned op)
{
    switch (op) {
    case OP_atom_cas_b16: case OP_atom_cas_b32: case OP_atom_cas_b64: case OP_atom_cas_b128:
    case OP_atom_exch_b32: case OP_atom_exch_b64: case OP_atom_exch_b128:
        return FUEL_SPIN;
    default:
        return FUEL_ATOMIC;
    }
}

/* The functions of an operation on T. next_: the new value. apply_: the value after the operations of the
 * lanes of `mask` in turn, from the value x; old[l] becomes the value that lane l found. update_: does
 * that at the place p, atomically; in shared memory without locked instructions. atom_: the handler. */
#define ATOMIC_FN(name, T, value) \
    LANE_FN T next_##name(T x, T b, T c, bool shared) \
    { \
        (void)x, (void)b, (void)c, (void)shared; \
        return (T)(value); \
    } \
    LANE_FN T apply_##name(T x, uint32_t mask, const T *b, const T *c, T *old, bool shared) \
    { \
        for (; mask; mask &= mask - 1) { \
            int l = __builtin_ctz(mask); \
            old[l] = x; \
            x = next_##name(x, b[l], c[l], shared); \
        } \
        return x; \
    } \
    static void update_##name(T *p, uint32_t mask, const T *b, const T *c, T *old, bool shared) \
    { \
        if (shared) { \
            __atomic_store_n(p, apply_##name(__atomic_load_n(p, __ATOMIC_RELAXED), mask, b, c, old, true), \
                             __ATOMIC_RELAXED); \
            return; \
        } \
        T x = __atomic_load_n(p, __ATOMIC_RELAXED); \
        while (!__atomic_compare_exchange_n(p, &x, apply_##name(x, mask, b, c, old, false), true, \
                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) { \
        } \
    } \
    static const Insn *atom_##name(Warp *w, const Insn *i) \
    { \
        const Access x = {w, i, sizeof(T), true}; \
        const T *b = ROW(const T, w, i->b), *c = ROW(const T, w, i->c); \
        const bool together = one_place(&x); \
        T old[WARP_LANES]; \
        warp_may_spin(w, atomic_fuel(i->op)); \
        for (uint32_t rest = w->mask; rest; rest &= rest - 1) { \
            int l = __builtin_ctz(rest); \
            T *p = (T *)(void *)atomic_place(&x, l); \
            bool valid = p; \
            if (!valid && !(p = (T *)(void *)atomic_fault(&x, l))) return NULL; \
            bool all = together && valid; \
            update_##name(p, all ? w->mask : 1u << l, b, c, old, is_shared(&x, p)); \
            if (all) break; \
        } \
        if (i->d != REF_ABSENT) { \
            T *d = ROW(T, w, i->d); \
            for (uint32_t rest = w->mask; rest; rest &= rest - 1) \
                d[__builtin_ctz(rest)] = old[__builtin_ctz(rest)]; \
        } \
        return i + 1; \
    } \
    HANDLER(atom_##name, full) { return atom_##name(w, i); } \
    HANDLER(atom_##name, part) { return atom_##name(w, i); }
#define ATOMIC(name, bits, value) ATOMIC_FN(name, u##bits, value)
#include "exec/numbers/atomic.def"
ATOMIC(add_f16x2, 32, add_f16x2(x, b))
ATOMIC(add_bf16x2, 32, add_bf16x2(x, b))
ATOMIC(min_f16x2, 32, min_f16x2(x, b))
ATOMIC(min_bf16x2, 32, min_bf16x2(x, b))
ATOMIC(max_f16x2, 32, max_f16x2(x, b))
ATOMIC(max_bf16x2, 32, max_bf16x2(x, b))
ATOMIC(exch_b32, 32, b)
ATOMIC(exch_b64, 64, b)
ATOMIC(cas_b16, 16, x == b ? c : x)
ATOMIC(cas_b32, 32, x == b ? c : x)
ATOMIC(cas_b64, 64, x == b ? c : x)

/* --- 128 bits: rows of low halves and of high halves --------------------------------------------------- */

__extension__ typedef unsigned __int128 u128;

/* Lane l's value of 128 bits. */
static u128 join(const u64 *row, int l)
{
    return (u128)row[WARP_LANES + l] << 64 | row[l];
}

/* Compare and swap: if *p is *expected it becomes value. Returns whether it did; *expected becomes what
 * was found. The first one is for builds whose compiler may not use cmpxchg16b, which all processors
 * in use have. */
#if defined(__x86_64__) && !defined(__GCC_HAVE_SYNC_COMPARE_AND_SWAP_16)
static bool swap_128(u128 *p, u128 *expected, u128 value)
{
    u64 low = (u64)*expected, high = (u64)(*expected >> 64);
    bool done;
    __asm__ volatile("lock cmpxchg16b %1"
                     : "=@ccz"(done), "+m"(*p), "+a"(low), "+d"(high)
                     : "b"((u64)value), "c"((u64)(value >> 64))
                     : "memory");
    *expected = (u128)high << 64 | low;
    return done;
}
#else
static bool swap_128(u128 *p, u128 *expected, u128 value)
{
    u128 found = __sync_val_compare_and_swap(p, *expected, value);
    bool done = found == *expected;
    *expected = found;
    return done;
}
#endif

static const Insn *atom_128(Warp *w, const Insn *i, bool exchange)
{
    const Access x = {w, i, 16, true};
    const u64 *b = ROW(const u64, w, i->b), *c = ROW(const u64, w, i->c);
    u64 *d = i->d == REF_ABSENT ? NULL : ROW(u64, w, i->d);
    warp_may_spin(w, FUEL_SPIN);
    for (uint32_t rest = w->mask; rest; rest &= rest - 1) {
        int l = __builtin_ctz(rest);
        u128 *p = (u128 *)(void *)atomic_place(&x, l), old = 0, value = join(b, l);
        if (!p && !(p = (u128 *)(void *)atomic_fault(&x, l))) return NULL;
        if (exchange) {
            while (!swap_128(p, &old, value)) {
            }
        } else {
            old = value;
            swap_128(p, &old, join(c, l));
        }
        if (!d) continue;
        d[l] = (u64)old;
        d[WARP_LANES + l] = (u64)(old >> 64);
    }
    return i + 1;
}

HANDLER(atom_exch_b128, full) { return atom_128(w, i, true); }
HANDLER(atom_exch_b128, part) { return atom_128(w, i, true); }
HANDLER(atom_cas_b128, full) { return atom_128(w, i, false); }
HANDLER(atom_cas_b128, part) { return atom_128(w, i, false); }
