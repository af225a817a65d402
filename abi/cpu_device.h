/* What the CPU device tells pycuda beyond the driver API: it exports a function `cpuDeviceTable` of this
 * type. A library without one is another driver. */
#ifndef ABI_CPU_DEVICE_H
#define ABI_CPU_DEVICE_H

#include "abi/cuda_abi.h"

typedef enum CpuParameterKind {
    CPU_PARAMETER_UNKNOWN,      /* no such parameter, a structure, or one whose type was not written down */
    CPU_PARAMETER_INTEGER,
    CPU_PARAMETER_FLOAT
} CpuParameterKind;

typedef struct CpuDeviceTable {
    size_t size;                                /* of this structure: later ones are longer */
    const char *(*init_problem)(void);          /* why cuInit failed, in words; "" when that is not known */
    CpuParameterKind (*parameter_kind)(CUfunction function, size_t index);
} CpuDeviceTable;

/* Who asks shows the texts himself; for others they are printed on stderr. */
typedef const CpuDeviceTable *(*CpuDeviceTableFn)(void);

#endif
