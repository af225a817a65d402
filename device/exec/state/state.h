/* Blocks, grids and workers: the state round the warps, shared by the files of exec/ only.
 *
 * A worker is what one thread needs to run blocks: a pool of block states and of warp stores (register
 * files and local memory) that live from launch to launch, and small caches of the memory ranges that were
 * hit last. A warp holds a store from its first instruction to its last, so that warps that run one after
 * another use the same, warm registers.
 */
#ifndef DEVICE_EXEC_STATE_STATE_H
#define DEVICE_EXEC_STATE_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "exec/code/lines.h"
#include "exec/memory/memory_map.h"
#include "exec/state/grid.h"
#include "exec/state/warp.h"

enum { BARRIER_COUNT = 16, RANGE_SLOTS = 16, ENVREG_COUNT = 32 };

/* Addresses of a cluster's shared memory have rank + CLUSTER_FIRST from this bit on, or 0: the own block.
 * What lies between is nobody's. */
enum { CLUSTER_SHIFT = 24, CLUSTER_FIRST = 0x40 };

/* Time slices, in backward branches: in plain loops, in loops with atomics, in loops that look like
 * waiting. */
enum { FUEL_PLAIN = 16384, FUEL_ATOMIC = 64, FUEL_SPIN = 16, FUEL_SLEEP = 1 };

/* A named barrier of a block. Threads are counted, not warps. */
typedef struct Barrier {
    uint32_t arrived;   /* threads, 0: idle */
    uint32_t expected;  /* threads, 0: all that have not exited */
    uint32_t popc;      /* bar.red: threads whose predicate holds */
    uint32_t votes;     /* bar.red: threads that voted */
} Barrier;

typedef struct WarpStore {
    struct WarpStore *next;
    uint8_t *registers;
    size_t registers_size;
    uint8_t *local;
    size_t local_size;   /* mapped, never moved: generic addresses point into it */
} WarpStore;

/* The blocks of a cluster, which one worker runs in turn. A block without a cluster is one of its own. */
typedef struct Cluster {
    Block *blocks[CLUSTER_MOST];   /* by rank */
    uint32_t size;
    uint32_t arrived;              /* threads at the cluster's barrier in this phase */
    uint32_t stuck;                /* passes in a row that did nothing but time out waits */
    uint64_t stuck_since;          /* when the first of them was */
    uint32_t spins;                /* rounds in a row in which no block did more than wait */
    bool advanced;                 /* some block did more than wait */
} Cluster;

struct Block {
    Block *next;               /* in the worker's list of live or of free blocks */
    Grid *grid;
    Cluster *cluster;          /* that of its first block */
    Cluster own;               /* of a first block */
    uint32_t rank;             /* in the cluster */
    _Alignas(64) SpecialRow rows[BLOCK_ROWS]; /* by enum BlockRow */
    uint32_t id[3];
    uint64_t linear;
    uint8_t *shared;
    size_t shared_capacity;
    uint32_t shared_size;      /* bytes a thread may access, reserved ones too */
    Warp *warps;
    uint32_t warp_count, warp_capacity;
    uint32_t dims[3];          /* block shape that the warps' tid rows are made for */
    uint32_t threads, live;    /* threads in all, and not yet exited */
    uint32_t barriers_busy;    /* bit b: barrier b has arrivals */
    uint32_t spins;            /* passes in which no warp did more than wait */
    uint64_t wake_at;          /* when the first of the groups that sleep wakes; 0: none does */
    bool asleep;               /* nothing of it could run when it was given up */
    bool idle;                 /* the same, and nothing ran in that turn: it waits for its cluster */
    bool mbarrier_waits;       /* some group may wait for an mbarrier */
    Barrier barriers[BARRIER_COUNT];
    struct Checker *checker;   /* NULL where nothing is checked (check.h) */
};

/* A range of memory that was hit; size 0: empty. */
typedef struct RangeEntry {
    uint64_t base, size;
} RangeEntry;

struct Worker {
    RangeEntry loads[RANGE_SLOTS], stores[RANGE_SLOTS]; /* by address of the instruction */
    Worker *next;
    uint64_t generation;       /* of the memory map when the caches were filled */
    Block *live, *live_last;   /* the first blocks of clusters, in the order of their turns */
    Block *free_blocks;
    Block *last;               /* whose memory the caches may know */
    WarpStore *free_stores;
    uint64_t share_next, share_end; /* clusters taken of the grid and not begun */
    uint32_t index;            /* shown as %smid */
    uint64_t random;           /* state of the random scheduler's generator; 0: no random scheduler */
    uint32_t heeds;            /* GridStop */
    struct GridRun *run;       /* room for the grid that it leads, or NULL */
    struct Front *front;       /* room for what front.c knows of a block, or NULL */
};

/* What threads of the pool can join in. */
typedef struct PoolJob {
    struct PoolJob *next;      /* in the pool's list */
    void (*work)(struct PoolJob *job); /* returns when there is nothing to do for one more thread */
    _Atomic uint32_t open;     /* 0: there is nothing at the moment */
    uint32_t helpers;          /* threads of the pool at work on it, under the pool's lock */
    atomic_bool queued;        /* it is in the list, or was asked to be, until it is finished */
} PoolJob;

struct Grid {
    PoolJob job;               /* first */
    const GridLaunch *launch;
    const CodeFunction *function;
    uint8_t *param_rows;
    uint32_t shared_used;   /* bytes of shared memory that the kernel asked for */
    uint32_t shared_size, threads, warps; /* with those that are reserved */
    size_t local_stride;       /* bytes between the local memories of two lanes */
    uint32_t local_size;       /* bytes of local memory a lane may use */
    uint64_t block_count, started_ns, schedule_seed;
    uint32_t cluster_size;     /* blocks */
    uint64_t cluster_count;
    uint32_t share;            /* clusters that a worker takes at a time */
    ExecFault *fault;
    pthread_mutex_t *fault_lock, *print_lock;
    WorkerPool *pool;
    bool called;               /* the pool was asked for help */
    struct Children *children;        /* what its threads launch */
    struct GlobalRace *global_race; /* what its blocks access, where that is checked; NULL */
    _Alignas(64) _Atomic uint64_t next_block; /* a cache line of its own: all workers write it */
    _Alignas(64) atomic_bool faulted;
    const _Atomic uint32_t *stop; /* the launch's, never NULL */
    _Atomic uint64_t resident; /* clusters begun and not done: one of each worker, and those that wait */
    _Alignas(64) uint32_t workspace[32]; /* of grid-wide barriers: %envreg1 and 2 point at it */
};

/* --- groups.c: divergence ------------------------------------------------------------------------------ */

/* All return the instruction to go on with, or NULL when the warp must leave the run loop. */
const Insn *group_split(Warp *warp, const Insn *here, const Insn *other, uint32_t other_mask);
const Insn *group_reach(Warp *warp, const Insn *label);
const Insn *group_rejoin(Warp *warp, const Insn *next);
const Insn *group_yield(Warp *warp, const Insn *pc);
const Insn *group_next(Warp *warp);
const Insn *group_exit(Warp *warp, uint32_t lanes, const Insn *rest);
void group_start(Warp *warp, uint32_t mask);
Group *group_divide(Warp *warp, uint32_t mask, const Insn *pc);
void group_fork(Warp *warp, uint32_t mask, const Insn *pc);
void group_refresh(Warp *warp);
const Insn *group_preempt(Warp *warp, const Insn *pc);

/* --- calls.c ------------------------------------------------------------------------------------------- */
const Insn *call_enter(Warp *warp, const Insn *insn, const CodeFunction *callee, uint32_t lanes);
const Insn *call_indirect(Warp *warp, const Insn *insn, uint32_t lanes);
const Insn *call_return(Warp *warp, const Insn *insn, uint32_t lanes);
const Insn *call_table(Warp *warp, const Insn *insn);

/* --- barrier.c, collective.c --------------------------------------------------------------------------- */
const Insn *barrier_arrive(Warp *warp, const Insn *insn);
void barrier_exit(Block *block);
const Insn *collective_enter(Warp *warp, const Insn *insn, Ref member_ref);
void collective_exit(Warp *warp);

/* --- sleep.c ------------------------------------------------------------------------------------------- */
const Insn *sleep_enter(Warp *warp, const Insn *insn);
/* Lets the groups go on whose time has come. */
void sleep_wake(Block *block);
/* Waits for a while when all that the worker runs is asleep. */
void sleep_worker(const Worker *worker);

/* --- block.c ------------------------------------------------------------------------------------------- */
typedef enum { BLOCK_DONE, BLOCK_WAITING, BLOCK_STOPPED } BlockResult;
Block *block_take(Worker *worker, Grid *grid);
void block_begin(Block *block, uint64_t linear);
BlockResult block_run(Block *block, Worker *worker);
void block_give_back(Worker *worker, Block *block);

/* --- stream.c, front.c: warps together ----------------------------------------------------------------- */

/* Runs a block of which nothing has run yet as a whole. False, and nothing was done, where that cannot be. */
bool stream_run(Block *block, Worker *worker);
/* Runs the first instructions of a block for all its warps at once, as far as that goes. */
void front_run(Block *block, Worker *worker);
void front_free(struct Front *front);
/* A warp gets registers and is at its first instruction; false without memory. */
bool warp_begin(Warp *warp, Worker *worker);

/* Nothing has run yet, threads are numbered along x alone, and nothing is to be watched one by one. */
static inline bool block_is_line(const Block *block, const Worker *worker)
{
    return block->dims[1] == 1 && block->dims[2] == 1 && !block->warps[0].started && !block->checker
           && !worker->random;
}

static inline bool ref_is_frame(Ref ref) { return ref >> REF_BASE_SHIFT == REF_FRAME; }

/* The same value in all threads of the block, and no register. */
static inline bool ref_is_value(Ref ref)
{
    const uint32_t base = ref >> REF_BASE_SHIFT;
    return base == REF_CONST || base == REF_PARAM || base == REF_BLOCK;
}

/* The row of such a value. */
static inline const uint8_t *block_value_row(const Block *block, Ref ref)
{
    const Grid *grid = block->grid;
    const uint32_t offset = ref & REF_OFFSET_MASK, base = ref >> REF_BASE_SHIFT;
    return base == REF_CONST   ? grid->function->module->constants + offset
           : base == REF_PARAM ? grid->param_rows + offset
                               : (const uint8_t *)block->rows + offset;
}

/* The line of what is not a register: a value, %tid.x, or nothing. */
static inline Line block_line(const Block *block, Ref ref, unsigned bits)
{
    if (!ref_is_value(ref)) return (Line){0, ref >> REF_BASE_SHIFT == REF_WARP};
    const void *row = block_value_row(block, ref);
    return (Line){bits == 64 ? *(const int64_t *)row : (int64_t)*(const uint32_t *)row, 0};
}

/* The block is deadlocked, with those of its cluster: a fault says who waits where. */
void block_fault_stuck(Block *block);
/* Whether waits may time out once more, where nothing of the cluster can run; not when that has gone on for
 * long. */
bool cluster_is_patient(Cluster *cluster);
bool store_grow(Warp *warp, size_t registers);
Worker *worker_create(uint32_t index);
void worker_destroy(Worker *worker);
uint32_t worker_random(Worker *worker);

/* --- cluster.c ----------------------------------------------------------------------------------------- */

/* As those of blocks, for the blocks of a cluster together; number: of the cluster in its grid. */
Block *cluster_take(Worker *worker, Grid *grid);
void cluster_begin(Block *leader, uint64_t number);
BlockResult cluster_run(Block *leader, Worker *worker);
void cluster_give_back(Worker *worker, Block *leader);
/* What a register of enum ClusterPlace reads. */
uint32_t cluster_place(const Block *block, unsigned place);
/* The block of the cluster that has that byte in its shared memory; NULL: none. */
Block *cluster_holder(const Block *block, uint64_t address);
/* The address of the cluster's shared memory, of 32 bits, for an offset in that of a block. */
uint32_t cluster_address(const Block *of, uint64_t offset);
/* The block, and the offset in its shared memory, of an address of the cluster's; NULL: there is none. */
Block *cluster_block_of(const Block *block, uint64_t address, uint64_t *offset);
uint8_t *cluster_shared_at(const Block *block, uint64_t address, uint64_t bytes);

/* Some thread did more than wait. */
static inline void cluster_advance(Cluster *cluster)
{
    cluster->stuck = 0;
    cluster->advanced = true;
}

/* --- cluster_barrier.c --------------------------------------------------------------------------------- */
const Insn *cluster_arrive(Warp *warp, const Insn *insn);
const Insn *cluster_wait(Warp *warp, const Insn *insn);
/* Lanes of a warp end. */
void cluster_exit(Warp *warp, uint32_t lanes);

/* The host's address of bytes of shared memory at an offset that is aligned for `unit`, a power of two; NULL
 * where they are not all there. */
static inline uint8_t *block_shared_at(const Block *block, uint64_t offset, uint64_t bytes, uint32_t unit)
{
    bool inside = offset < block->shared_size && offset + bytes <= block->shared_size;
    if (offset & (unit - 1)) return NULL;
    if (inside) return block->shared + offset;
    return offset >> CLUSTER_SHIFT ? cluster_shared_at(block, offset, bytes) : NULL;
}

/* --- grid.c -------------------------------------------------------------------------------------------- */

/* Whether the worker is to stop after this turn: after a fault, or as GridStop says. */
static inline bool grid_stops(const Grid *grid, const Worker *worker)
{
    return atomic_load_explicit(&grid->faulted, memory_order_relaxed)
           || (atomic_load_explicit(grid->stop, memory_order_relaxed) & worker->heeds);
}

/* Runs the grid without what it launches, which is gathered. */
void grid_run_blocks(WorkerPool *pool, const GridLaunch *launch, struct Children *children, ExecFault *fault);
void grid_run_free(struct GridRun *run);

/* --- workers.c ----------------------------------------------------------------------------------------- */
/* Before that, waking a thread is not worth it. */
enum { HELP_AFTER_NS = 15000 };
Worker *worker_acquire(WorkerPool *pool);
void worker_release(WorkerPool *pool, Worker *worker);
/* Lets the pool's threads join in, once the grid has run for long enough to be worth it. */
void grid_ask_help(Grid *grid);
/* The same, at once. */
void grid_call_help(Grid *grid);
/* Lets that many of the pool's threads join in the job: puts it into the list and wakes them. */
void worker_pool_call(WorkerPool *pool, PoolJob *job, uint64_t threads);
/* Takes the job from the list and waits for those who joined in. */
void worker_pool_finish(WorkerPool *pool, PoolJob *job);
/* Whether a thread of the pool has nothing to do and could be called; a hint. */
bool worker_pool_sleepers(WorkerPool *pool);
pthread_mutex_t *worker_pool_print_lock(WorkerPool *pool);
pthread_mutex_t *worker_pool_fault_lock(WorkerPool *pool);
uint64_t exec_now_ns(void);

/* --- fault.c ------------------------------------------------------------------------------------------- */

/* Records a fault of one lane; the first of a launch wins. Always returns NULL. */
const Insn *exec_fault(Warp *warp, const Insn *insn, int lane, CUresult code, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Records a text that is complete already (kernel named, no place added). */
void exec_fault_plain(Grid *grid, CUresult code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const Insn *exec_fault_access(Warp *warp, const Insn *insn, int lane, uint64_t address, uint32_t size,
                              bool write);
const Insn *exec_fault_window(Warp *warp, const Insn *insn, int lane, const char *space, uint64_t offset,
                              uint32_t size, uint64_t limit, bool write);
/* "12 bytes past the end of the device memory at 0x... of 4096 bytes" and the like. */
void exec_tell_nearest(const GridLaunch *launch, uint64_t address, uint64_t size, bool write, char *out,
                       size_t room);
const char *exec_place(const CodeFunction *function, const Insn *insn, char *out, size_t size);

/* --- ranges.c ------------------------------------------------------------------------------------------ */

/* True when the lane may access size bytes at address; remembers the range for this instruction. */
bool range_find(Warp *warp, const Insn *insn, uint64_t address, uint64_t size, bool write);
/* The same in memory that is not the launch's own. */
bool range_find_map(const GridLaunch *launch, uint64_t address, uint64_t size, bool write, RangeEntry *out);
/* Why the launch may not touch that range, in words; NULL when it may. */
const char *range_refusal(const GridLaunch *launch, const MemoryRange *range, bool write);
/* Whether kernels of the launch may read, or write, there: not arrays, constants, nor what is refused. */
bool range_is_open(const GridLaunch *launch, const MemoryRange *range, bool write);

/* Many bytes of a lane, aligned for `unit`, a power of two. */
typedef struct Reach {
    uint64_t address; /* generic, or an offset in shared memory */
    uint64_t bytes; /* at least 1 */
    uint32_t unit;
    bool shared, write;
} Reach;
/* The host's address of them; NULL where they are not all there, with a fault or without. */
uint8_t *range_reach(Warp *warp, const Insn *insn, int lane, const Reach *reach);
uint8_t *range_look(Warp *warp, const Insn *insn, const Reach *reach);
void range_forget(Worker *worker);
void range_check_generation(Worker *worker, struct MemoryMap *memory);

static inline uint32_t range_slot(const Insn *insn)
{
    return (uint32_t)((uintptr_t)insn / _Alignof(Insn)) % RANGE_SLOTS;
}

static inline bool range_has(const RangeEntry *entry, uint64_t address, uint64_t size)
{
    uint64_t offset = address - entry->base;
    return offset < entry->size && offset + size <= entry->size;
}

/* Whether all of a block's bytes are there, for an instruction that all its threads run. */
static inline bool range_has_block(const Block *block, Worker *worker, const Insn *insn, uint64_t address,
                                   uint64_t bytes, bool write)
{
    RangeEntry *range = &(write ? worker->stores : worker->loads)[range_slot(insn)];
    return range_has(range, address, bytes)
           || range_find_map(block->grid->launch, address, bytes, write, range);
}

/* --- printf.c, heap.c, runtime.c ----------------------------------------------------------------------- */
const Insn *print_formatted(Warp *warp, const Insn *insn);
const Insn *print_assert(Warp *warp, const Insn *insn);
uint64_t device_heap_alloc(DeviceHeap *heap, uint64_t size, uint64_t align);
bool device_heap_free(DeviceHeap *heap, uint64_t address);
const Insn *runtime_call(Warp *warp, const Insn *insn);

/* The lanes for which the predicate operand holds. */
static inline uint32_t pred_lanes(const Warp *warp, Ref ref, uint32_t mods)
{
    uint32_t word = PRED(warp, ref);
    return (mods & MODS_NEGATE) ? ~word : word;
}

/* The running loop may be a spin wait: its time slice ends sooner. */
static inline void warp_rest(Warp *warp, uint32_t fuel)
{
    if (warp->fuel > fuel) warp->fuel = fuel;
    warp->spinning = true;
}

/* The same of a loop that reads memory another thread may write. */
static inline void warp_may_spin(Warp *warp, uint32_t fuel)
{
    warp_rest(warp, fuel);
    warp->watching = true;
}

#endif
