/* The driver as a table of function pointers, one per row of abi/cuda_functions.def.
 *
 * `driver.cuMemAlloc(...)` calls whatever library was found (driver_locate.h). The table starts out filled
 * with functions that load the driver on the first call, so importing costs nothing and no caller has to ask
 * whether the driver is there. A function the driver lacks is never a NULL pointer: the stub in its place
 * returns an error and driver_problem() says which function, and which CUDA version brings it.
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

/* Loads the driver if that has not happened. Thread safe. CUDA_SUCCESS, or the error that every call will
 * give. */
CUresult driver_load(void);

/* True when the driver has this function: driver_has(offsetof(DriverTable, cuLaunchKernelEx)). */
bool driver_has(size_t field_offset);
#define DRIVER_HAS(name) driver_has(offsetof(DriverTable, name))

/* Marks a function that makes driver calls on behalf of its caller, who decides about locks. */
#define IN_CALL

/* What cuDriverGetVersion says, 0 before the driver is loaded. */
int driver_version(void);

/* Why the last table call of this thread failed before it reached a driver, or NULL: no driver found, or a
 * function the driver lacks. Cleared by reading. */
const char *driver_problem(void);

/* Why cuInit failed, in the words of the CPU device; NULL when it has none, and of other drivers. */
IN_CALL const char *driver_init_problem(void);

/* What to do when a kernel's fault has ended a context; NULL where the driver has nothing to say of it. */
const char *driver_fault_advice(void);

/* The environment variables that the CPU device reads, NULL after the last; NULL of other drivers. Loads
 * the driver. */
const char *const *driver_settings_read(void);

/* Launches by numbers; NULL of other drivers than the CPU device. */
const CpuLaunchNumbers *driver_launch_numbers(void);

/* Where a pool says what of its blocks is in use; NULL of other drivers than the CPU device. */
const CpuMemoryMarks *driver_memory_marks(void);

/* Whether the driver tells such types at all. */
bool driver_tells_types(void);
/* The type of a kernel's parameter, as far as the driver tells. */
IN_CALL CUresult driver_parameter_kind(CUfunction function, size_t index, CpuParameterKind *kind);

#endif
