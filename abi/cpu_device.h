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
    size_t size;                       /* of this structure: later versions are longer, and pycuda refuses
                                        * a shorter one */
    const char *(*init_problem)(void); /* why cuInit failed; "" if unknown */
    CpuParameterKind (*parameter_kind)(CUfunction function, size_t index);
    const CpuMemoryMarks *memory_marks;
    const CpuLaunchNumbers *launch_numbers;
    const char *fault_advice;          /* what to do when a kernel's fault has ended a context */
    const char *const *settings;       /* the environment variables that it reads, then NULL */
    /* The host is about to write to memory of the device, without a driver call. */
    void (*host_writes)(CUdeviceptr address, size_t size);
} CpuDeviceTable;

/* Links without a context, also before cuInit: for a library that stands in for NVIDIA's linker. The function
 * `cpuDeviceLinker` of type CpuLinkerFn is exported like cpuDeviceTable. */
typedef struct CpuLinkOptions {
    int capability;         /* 90 for 9.0: of what the PTX may be for */
    unsigned max_registers; /* of a thread, for kernels that name no limit; 0: no limit */
    bool as_written;        /* optimization level 0, or code to be debugged */
    bool relocatable;       /* what is missing may come in a later link */
} CpuLinkOptions;
typedef struct CpuLink CpuLink;

typedef struct CpuLinker {
    /* A link, for the functions below, by one thread at a time; NULL if out of memory. */
    CpuLink *(*begin)(const CpuLinkOptions *options);
    /* Adds PTX, a fat binary that holds PTX, an image of an earlier link, or libcudadevrt.a; `name`, for
     * messages, may be NULL. */
    CUresult (*add)(CpuLink *link, const void *data, size_t size, const char *name);
    /* *image, of *size bytes, is for cuModuleLoadData and belongs to the link. */
    CUresult (*complete)(CpuLink *link, const void **image, size_t *size);
    const char *(*log)(const CpuLink *link); /* why calls failed, "" if none did; until the next call */
    void (*end)(CpuLink *link);
} CpuLinker;
typedef const CpuLinker *(*CpuLinkerFn)(void);

/* The image that cuLinkComplete makes begins with this, followed by the image's size in 8 bytes. */
#define CPU_LINK_MAGIC "\177pycuda-link\n\3"
enum { CPU_LINK_MAGIC_BYTES = 16 };

/* The type of cpuDeviceTable. A caller shows init_problem() itself: once it was called the library no longer
 * prints that text on stderr. */
typedef const CpuDeviceTable *(*CpuDeviceTableFn)(void);

#endif
