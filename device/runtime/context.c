/* The device of a thread, and the primary contexts of devices: made when a call first needs one. */
#include "runtime/runtime.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 64 };

static pthread_once_t driver_once = PTHREAD_ONCE_INIT;
static cudaError_t driver_error;

static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primaries[MAX_DEVICES]; /* retained, or NULL */
static CUcontext reset_contexts[MAX_DEVICES]; /* before the last reset: threads may still have it */
static _Atomic unsigned reset_count;

static _Thread_local int thread_device;
static _Thread_local unsigned thread_resets; /* that this thread has seen */

_Atomic bool runtime_is_ending;

static void end(void) { runtime_is_ending = true; }

/* Called in main or later: the process calls end() before what was registered before main. */
static void start_driver(void)
{
    atexit(end);
    int version = 0;
    driver_error = (cudaError_t)cuInit(0);
    if (!driver_error) driver_error = (cudaError_t)cuDriverGetVersion(&version);
    if (!driver_error && version / 1000 < CUDART_MAJOR) driver_error = cudaErrorInsufficientDriver;
}

cudaError_t runtime_need_driver(void)
{
    pthread_once(&driver_once, start_driver);
    return driver_error;
}

static cudaError_t check_device(int device)
{
    CUdevice found;
    if (device < 0 || device >= MAX_DEVICES) return cudaErrorInvalidDevice;
    return (cudaError_t)cuDeviceGet(&found, device);
}

cudaError_t runtime_primary(int device, CUcontext *out)
{
    TRY(check_device(device));
    cudaError_t error = cudaSuccess;
    pthread_mutex_lock(&primary_lock);
    if (!primaries[device]) error = (cudaError_t)cuDevicePrimaryCtxRetain(&primaries[device], device);
    *out = primaries[device];
    pthread_mutex_unlock(&primary_lock);
    return error;
}

static cudaError_t enter_device(int device)
{
    CUcontext context;
    TRY(runtime_primary(device, &context));
    return (cudaError_t)cuCtxSetCurrent(context);
}

/* Whether another thread has reset the device of this thread's context; *device: which. */
static bool was_reset(CUcontext current, int *device)
{
    bool found = false;
    thread_resets = reset_count;
    pthread_mutex_lock(&primary_lock);
    for (int i = 0; i < MAX_DEVICES && !found; i++)
        if (reset_contexts[i] == current) {
            *device = i;
            found = true;
        }
    pthread_mutex_unlock(&primary_lock);
    return found;
}

cudaError_t runtime_need_context(void)
{
    CUcontext current;
    TRY(runtime_need_driver());
    TRY(cuCtxGetCurrent(&current));
    int device = thread_device;
    if (current && (thread_resets == reset_count || !was_reset(current, &device))) return cudaSuccess;
    return enter_device(device);
}

cudaError_t run_cudaGetDeviceCount(int *count)
{
    TRY(cuDeviceGetCount(count));
    return *count ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t run_cudaSetDevice(int device)
{
    TRY(check_device(device));
    thread_device = device;
    return enter_device(device);
}

/* That of the context that the program has made current by the driver's calls, if any. */
cudaError_t run_cudaGetDevice(int *device)
{
    CUcontext current;
    if (!device) return cudaErrorInvalidValue;
    TRY(cuCtxGetCurrent(&current));
    if (current) return (cudaError_t)cuCtxGetDevice(device);
    *device = thread_device;
    return cudaSuccess;
}

/* The first of the list becomes the device of a thread that has none yet. */
cudaError_t run_cudaSetValidDevices(int *devices, int count)
{
    CUcontext current;
    if (count < 0 || (count && !devices)) return cudaErrorInvalidValue;
    for (int i = 0; i < count; i++) TRY(check_device(devices[i]));
    TRY(cuCtxGetCurrent(&current));
    if (count && !current) thread_device = devices[0];
    return cudaSuccess;
}

cudaError_t run_cudaGetDeviceFlags(unsigned int *flags)
{
    int active, device;
    CUcontext current;
    if (!flags) return cudaErrorInvalidValue;
    TRY(cuCtxGetCurrent(&current));
    TRY(run_cudaGetDevice(&device));
    TRY(current ? cuCtxGetFlags(flags) : cuDevicePrimaryCtxGetState(device, flags, &active));
    *flags |= CU_CTX_MAP_HOST; /* of every context since CUDA 11 */
    return cudaSuccess;
}

cudaError_t run_cudaSetDeviceFlags(unsigned int flags)
{
    int device;
    TRY(run_cudaGetDevice(&device));
    return (cudaError_t)cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

/* flags: whether device_flags are to be set; other bits mean nothing. */
cudaError_t run_cudaInitDevice(int device, unsigned int device_flags, unsigned int flags)
{
    enum { FLAGS_ARE_VALID = 1 };
    CUcontext context;
    TRY(check_device(device));
    if (flags & FLAGS_ARE_VALID) TRY(cuDevicePrimaryCtxSetFlags_v2(device, device_flags));
    return runtime_primary(device, &context);
}

cudaError_t run_cudaDeviceReset(void)
{
    int device;
    TRY(run_cudaGetDevice(&device));
    pthread_mutex_lock(&primary_lock);
    bool retained = primaries[device] != NULL;
    if (retained) reset_contexts[device] = primaries[device];
    primaries[device] = NULL;
    pthread_mutex_unlock(&primary_lock);
    TRY(cuCtxSetCurrent(NULL));
    thread_device = device;
    cudaError_t error = (cudaError_t)cuDevicePrimaryCtxReset_v2(device);
    if (retained) cuDevicePrimaryCtxRelease_v2(device);
    reset_count++;
    return error;
}

cudaError_t run_cudaDeviceEnablePeerAccess(int device, unsigned int flags)
{
    CUcontext peer;
    TRY(runtime_primary(device, &peer));
    return (cudaError_t)cuCtxEnablePeerAccess(peer, flags);
}

cudaError_t run_cudaDeviceDisablePeerAccess(int device)
{
    CUcontext peer;
    TRY(runtime_primary(device, &peer));
    return (cudaError_t)cuCtxDisablePeerAccess(peer);
}

#if CUDART_MAJOR < 13
cudaError_t run_cudaThreadExit(void) { return run_cudaDeviceReset(); }
#endif
