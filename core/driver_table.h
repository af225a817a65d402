/* The driver as a table of function pointers, one per row of abi/cuda_functions.def.
 *
 * `driver.cuMemAlloc(...)` calls whatever library was found (driver_locate.h). The table initially contains
 * functions that load the driver on the first call, so importing costs nothing and no caller has to check
 * whether the driver is loaded. A function the driver lacks is never a NULL pointer: the stub in its place
 * returns an error, and driver_problem() says which function is missing and which CUDA version introduced
 * it.
 */
#ifndef CORE_DRIVER_TABLE_H
#define CORE_DRIVER_TABLE_H

#include <stdbool.h>
#include "abi/cpu_device.h"

typedef struct DriverTable {
#define CU_FN(name, symbol, version, per_thread, waits, params, args) CUresult(*name) params;
#include "abi/cuda_functions.def"
#undef CU_FN
} DriverTable;

/* Written once, when the driver is loaded; read-only from then on. */
extern DriverTable driver;

/* Loads the driver if it is not loaded yet; thread safe. Returns CUDA_SUCCESS, or the error that every driver
 * call will return. */
CUresult driver_load(void);

/* Whether the driver has the function of that field: driver_has(offsetof(DriverTable, cuLaunchKernelEx)). */
bool driver_has(size_t field_offset);
#define DRIVER_HAS(name) driver_has(offsetof(DriverTable, name))

/* Why a call by this thread failed before it reached a driver: no driver was found, or it lacks the function.
 * NULL: no call did since the previous driver_problem(). */
const char *driver_problem(void);

/* Before a function: it makes driver calls, which may wait, so its caller decides which locks (the GIL) to
 * release before. */
#define IN_CALL

/* Why cuInit of the CPU device failed, in words; NULL if it did not, and for other drivers. */
IN_CALL const char *driver_init_problem(void);

/* What a user can do after a kernel's fault has ended a context; NULL for drivers other than the CPU
 * device. */
const char *driver_fault_advice(void);

/* The names of the environment variables that the CPU device reads, with NULL at the end; NULL for other
 * drivers. Loads the driver. */
const char *const *driver_settings_read(void);

/* The functions for numbers of launches; NULL for drivers other than the CPU device. */
const CpuLaunchNumbers *driver_launch_numbers(void);

/* The functions by which a pool reports which bytes of its blocks are in use; NULL for drivers other than
 * the CPU device. */
const CpuMemoryMarks *driver_memory_marks(void);

/* Whether the driver is the CPU device, whose memory the host may read and write. */
bool driver_is_cpu_device(void);
/* Reports to the CPU device that the host is about to write to that memory without a driver call. Never
 * waits. */
void driver_note_host_write(CUdeviceptr address, size_t size);

/* Whether the driver reports parameter types at all. */
bool driver_knows_parameter_types(void);
/* *kind: the type of the kernel's parameter; CPU_PARAMETER_UNKNOWN if the driver does not report it. Always
 * CUDA_SUCCESS. */
IN_CALL CUresult driver_parameter_kind(CUfunction function, size_t index, CpuParameterKind *kind);

#endif
