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

/* A pool's blocks are larger than the request, and reused: kernels may only access the bytes in use. None of
 * these blocks or needs a context, so they may be called under any lock. */
typedef struct CpuMemoryMarks {
    void *(*make)(CUdeviceptr allocation);      /* of a new block; or NULL, which the others take as well */
    void (*use)(void *mark, size_t size);       /* its first bytes are in use */
    void (*end)(void *mark);                    /* for all but kernels that are queued already it is not */
    void (*drop)(void *mark);                   /* the block goes back to the driver */
} CpuMemoryMarks;

/* Launches are numbered, in all contexts. None of these blocks, and all may be called under any lock. */
typedef struct CpuLaunchNumbers {
    cuuint64_t (*take)(void);                   /* last queued by this thread, reported once; 0: none */
    cuuint64_t (*failed)(void);                 /* whose fault ended the current context; 0: none */
    bool (*reported)(void);                     /* faults are reported (PYCUDA_CPU_REPORT), with... */
    void (*came_from)(cuuint64_t number, const char *site); /* ...the place in the program */
} CpuLaunchNumbers;

typedef struct CpuDeviceTable {
    size_t size;                                /* of this structure: later ones are longer */
    const char *(*init_problem)(void);          /* why cuInit failed; "" when unknown */
    CpuParameterKind (*parameter_kind)(CUfunction function, size_t index);
    const CpuMemoryMarks *memory_marks;
    const CpuLaunchNumbers *launch_numbers;
    const char *fault_advice;                   /* what to do when a kernel's fault has ended a context */
    const char *const *settings;                /* the environment variables that it reads, NULL after them */
    void (*host_writes)(CUdeviceptr address, size_t size); /* into memory of the device */
} CpuDeviceTable;

/* What cuLinkComplete makes there begins with this, and then the size of all of it in 8 bytes. */
#define CPU_LINK_MAGIC "\177pycuda-link\n\3"
enum { CPU_LINK_MAGIC_BYTES = 16 };

/* A caller that reads this shows the texts itself; otherwise they are printed on stderr. */
typedef const CpuDeviceTable *(*CpuDeviceTableFn)(void);

#endif
