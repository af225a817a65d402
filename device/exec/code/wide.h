/* Operations on consecutive elements of many threads: see exec/code/elementwise.h and
 * exec/code/lockstep.h. */
#ifndef DEVICE_EXEC_CODE_WIDE_H
#define DEVICE_EXEC_CODE_WIDE_H

#include <stddef.h>
#include <stdint.h>

#include "exec/code/ops.h"

typedef enum WideOp {
#define WIDE(name, size, sources) WIDE_##name,
#include "exec/code/wide.def"
#undef WIDE
    WIDE_COUNT
} WideOp;

/* What corresponds to an operation of alu.def; size 0: nothing does. */
typedef struct WideForm {
    uint8_t op; /* enum WideOp */
    uint8_t size; /* bytes of an element */
    uint8_t sources; /* their number */
} WideForm;
extern const WideForm wide_forms[OP_COUNT];

/* Destination and sources may be the same memory. For absent sources the first one is passed. */
typedef void (*WideFn)(void *d, const void *a, const void *b, const void *c, size_t count);

/* Splits vectors of 2 or 4 elements, one vector for each thread, into a row for each element. */
typedef void WideSplitFn(void *const rows[4], unsigned count, const void *from, unsigned warps);
/* Each lane gets the 32 bits of lane (own number ^ lane_mask) of its warp. */
typedef void WideExchangeFn(void *d, const void *a, unsigned lane_mask, unsigned warps);

/* The functions of one instruction set. */
typedef struct WideTable {
    WideFn ops[WIDE_COUNT];
    WideSplitFn *split_32, *split_64;
    WideExchangeFn *exchange;
} WideTable;

#endif
