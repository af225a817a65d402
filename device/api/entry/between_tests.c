/* What a runner of tests calls between two of them, by these names: a fault, which ends a context for good on
 * a GPU, then fails the test that caused it and no other. */
#include "api/base/fault_places.h"
#include "api/base/report.h"
#include "api/context/upcalls.h"

static void recover(Context *context)
{
    queue_wait_context_despite_capture(context);
    context_flush(context);
    atomic_store(&context->failed_launch, 0);
    atomic_store(&context->error, 0);
}

/* Waits for the work of all contexts, so that its faults are reported (PYCUDA_CPU_REPORT), and lifts the
 * contexts' sticky errors; faults that launches survive are named again. Before cuInit and in a forked child
 * it does nothing. */
void cpuDeviceRecover(void)
{
    if (driver_check() != CUDA_SUCCESS) return;
    context_each_live(recover);
    fault_places_forget();
}

/* Bytes that are allocated, on all devices together. */
uint64_t cpuDeviceMemoryUsed(void)
{
    uint64_t bytes = 0;
    for (int i = 0; driver_check() == CUDA_SUCCESS && i < driver_settings()->devices; i++)
        bytes += atomic_load(&driver_device(i)->memory_used);
    return bytes;
}
