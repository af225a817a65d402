/* Copies on the device between layouts of any kind, by a kernel. */
#ifndef EXT_GPUARRAY_STRIDED_COPY_H
#define EXT_GPUARRAY_STRIDED_COPY_H

#include "ext/gpuarray/transfer.h"

/* Copies between arrays of the same shape and itemsize, which may share memory. 1 when the copy is queued, 0
 * when no kernel can do it (odd addresses, no compiler), -1 with an exception. */
int strided_copy(GPUArrayObject *to, GPUArrayObject *from, TransferMode mode);

#endif
