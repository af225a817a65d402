/* What the CPU device offers pycuda beyond the driver API: it exports a function `cpuDeviceTable` of this
 * type. A library without one is another driver. */
#ifndef ABI_CPU_DEVICE_H
#define ABI_CPU_DEVICE_H

#include <stdbool.h>

#include "abi/cuda_abi.h"

typedef enum CpuParameterKind {
    CPU_PARAMETER_UNKNOWN,      /* no such parameter, or one without a recorded type */
    CPU_PARAMETER_INTEGER,      /* or a pointer */
    CPU_PARAMETER_FLOAT,
    CPU_PARAMETER_STRUCTURE     /* bytes: structures, unions and vectors */
} CpuParameterKind;

/* By these functions a pool of pycuda reports which bytes of its blocks are in use. Blocks are larger than
 * the request and are reused, but kernels may access only the bytes in use. The functions never wait and
 * need no context, so they may be called under any lock. */
typedef struct CpuMemoryMarks {
    /* The mark of a new block, for the other functions; NULL, which they accept, if it cannot be made. */
    void *(*make)(CUdeviceptr allocation);
    /* From now on the first `size` bytes of the block are in use. */
    void (*use)(void *mark, size_t size);
    /* The block is no longer in use, except by kernels that are queued already. */
    void (*end)(void *mark);
    /* The block is about to be freed: frees the mark. */
    void (*drop)(void *mark);
} CpuMemoryMarks;

/* Launches are numbered over all contexts. These functions never wait, and may be called under any lock. */
typedef struct CpuLaunchNumbers {
    /* The number of the last launch that this thread has queued; 0: none since the previous call. */
    cuuint64_t (*take)(void);
    /* The number of the launch whose fault ended the current context; 0: no launch did. */
    cuuint64_t (*failed)(void);
    /* Whether faults are reported (PYCUDA_CPU_REPORT), so that came_from() should be called. */
    bool (*reported)(void);
    /* Sets the place in the program of the launch with that number. */
    void (*came_from)(cuuint64_t number, const char *site);
} CpuLaunchNumbers;

typedef struct CpuDeviceTable {
    size_t size;                       /* of this structure: later versions are longer */
    const char *(*init_problem)(void); /* why cuInit failed; "" if unknown */
    CpuParameterKind (*parameter_kind)(CUfunction function, size_t index);
    const CpuMemoryMarks *memory_marks;
    const CpuLaunchNumbers *launch_numbers;
    const char *fault_advice;          /* what to do when a kernel's fault has ended a context */
    const char *const *settings;       /* the environment variables that it reads, then NULL */
    /* The host is about to write to memory of the device, without a driver call. */
    void (*host_writes)(CUdeviceptr address, size_t size);
} CpuDeviceTable;

/* The image that cuLinkComplete makes begins with this, followed by the image's size in 8 bytes. */
#define CPU_LINK_MAGIC "\177pycuda-link\n\3"
enum { CPU_LINK_MAGIC_BYTES = 16 };

/* The type of cpuDeviceTable. A caller shows init_problem() itself: once it was called the library no longer
 * prints that text on stderr. */
typedef const CpuDeviceTable *(*CpuDeviceTableFn)(void);

#endif
