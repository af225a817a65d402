/* Operations on elements in memory, any number of them: see exec/stream.h. */
#ifndef DEVICE_EXEC_OPS_WIDE_H
#define DEVICE_EXEC_OPS_WIDE_H

#include <stddef.h>

typedef enum WideOp {
#define WIDE(name, size, sources) WIDE_##name,
#include "exec/ops/wide.def"
#undef WIDE
    WIDE_COUNT
} WideOp;

/* Destination and sources may be the same memory; of absent sources the first one stands in. */
typedef void (*WideFn)(void *d, const void *a, const void *b, const void *c, size_t count);

#endif
