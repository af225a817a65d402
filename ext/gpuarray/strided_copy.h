/* Copies on the device between layouts of any kind, by a kernel. */
#ifndef EXT_GPUARRAY_STRIDED_COPY_H
#define EXT_GPUARRAY_STRIDED_COPY_H

#include "ext/gpuarray/transfer.h"

/* Arrays of one shape and size of elements; they may share memory. 1 when it is queued, 0 when no kernel can
 * do it (odd addresses, no compiler), -1 with an exception. */
int strided_copy(GPUArrayObject *to, GPUArrayObject *from, TransferMode mode);

#endif
