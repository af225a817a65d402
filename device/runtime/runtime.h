/* What the files of the runtime library share: entering a call, the errors, and what a host address stands
 * for. */
#ifndef DEVICE_RUNTIME_RUNTIME_H
#define DEVICE_RUNTIME_RUNTIME_H

#include <stdbool.h>

/* The driver's functions come from libcuda.so.1, not from this library. */
#define CU_API __attribute__((visibility("default")))
#include "abi/fat_binary.h"
#include "runtime/types.h"

#define RT_API __attribute__((visibility("default"))) /* exported */

#define ADDRESS(pointer) ((CUdeviceptr)(uintptr_t)(pointer))

/* Returns the error of a call from a function that returns cudaError_t. */
#define TRY(call) \
    do { \
        cudaError_t error_ = (cudaError_t)(call); \
        if (error_) return error_; \
    } while (0)

/* Whether the NULL stream of this thread's call is the per-thread one. */
extern _Thread_local bool runtime_null_is_per_thread;

/* The variant of a driver function that this call needs. */
#define PTSZ_OF(symbol) (runtime_null_is_per_thread ? symbol##_ptsz : symbol)
#define PTDS_OF(symbol) (runtime_null_is_per_thread ? symbol##_ptds : symbol)

/* errors.c: keeps the error for cudaGetLastError, if it is one, and returns it. */
cudaError_t runtime_return(cudaError_t error);
/* Writes to the driver's log why the function is not supported. Returns that error, which is kept. */
cudaError_t runtime_refuse(const char *function, const char *reason);

/* context.c */
extern _Atomic bool runtime_is_ending; /* the process exits */
cudaError_t runtime_need_driver(void);  /* initializes the driver, once */
cudaError_t runtime_need_context(void); /* makes a context current, unless one is */
/* The primary context of the device, which is kept until the device is reset. */
cudaError_t runtime_primary(int device, CUcontext *out);

/* image.c; a context is current. */
CUresult runtime_load_image(CUlibrary *out, const FatWrapper *wrapper);

/* registry.c: what the addresses of host code stand for. */
typedef struct Variable {
    CUdeviceptr address; /* in the current context */
    size_t size;
} Variable;
/* What the driver can launch, for a host function, a cudaKernel_t or a cudaFunction_t. */
cudaError_t runtime_kernel(const void *host, CUfunction *out);
/* Of a host function only. */
cudaError_t runtime_registered_kernel(const void *host, cudaKernel_t *out);
/* As runtime_kernel(), a function of the current context. */
cudaError_t runtime_function(const void *host, CUfunction *out);
cudaError_t runtime_variable(const void *host, Variable *out);
/* The host function of a function of the current context; the function itself where there is none. */
const void *runtime_host_function(CUfunction function);

/* array.c */
typedef struct ElementFormat {
    CUarray_format format;
    unsigned int channels;
} ElementFormat;
cudaError_t runtime_element_format(const struct cudaChannelFormatDesc *desc, ElementFormat *out);
struct cudaChannelFormatDesc runtime_channel_desc(CUarray_format format, unsigned int channels);
cudaError_t runtime_element_size(cudaArray_const_t array, size_t *out); /* 1 where there is no array */

/* copy_shaped.c */
cudaError_t runtime_copy_3d(const struct cudaMemcpy3DParms *from, CUDA_MEMCPY3D *out);
cudaError_t runtime_copy_3d_back(const CUDA_MEMCPY3D *from, struct cudaMemcpy3DParms *out);
/* Of `count` bytes in a line. */
cudaError_t runtime_copy_line(void *to, const void *from, size_t count, enum cudaMemcpyKind kind,
                              CUDA_MEMCPY3D *out);
/* The address in the variable of `count` bytes from `offset` on. */
cudaError_t runtime_part(const void *symbol, size_t count, size_t offset, void **out);

#define RT_FUNCTION(name, per_thread, needs, params, args) cudaError_t run_##name params;
#define RT_OTHER(type, name, params) RT_API type name params;
#include "runtime/functions.def"

#endif
