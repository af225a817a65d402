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

/* Loads the driver if it is not loaded yet. Thread safe. CUDA_SUCCESS, or the error that every call will
 * return. */
CUresult driver_load(void);

/* True when the driver has this function: driver_has(offsetof(DriverTable, cuLaunchKernelEx)). */
bool driver_has(size_t field_offset);
#define DRIVER_HAS(name) driver_has(offsetof(DriverTable, name))

/* Why the last table call of this thread failed before it reached a driver, or NULL: no driver found, or a
 * function the driver lacks. Cleared by reading. */
const char *driver_problem(void);

/* Marks a function that makes driver calls on behalf of its caller, which decides about locks. */
#define IN_CALL

/* Why cuInit failed, as the CPU device explains it; NULL without an explanation, and for other drivers. */
IN_CALL const char *driver_init_problem(void);

/* What to do after a kernel's fault has ended a context; NULL where the driver gives no advice. */
const char *driver_fault_advice(void);

/* The environment variables that the CPU device reads, ending with NULL; NULL for other drivers. Loads the
 * driver. */
const char *const *driver_settings_read(void);

/* Launch IDs; NULL for drivers other than the CPU device. */
const CpuLaunchNumbers *driver_launch_numbers(void);

/* The function table by which a pool reports which bytes of its blocks are in use; NULL for drivers other
 * than the CPU device. */
const CpuMemoryMarks *driver_memory_marks(void);

/* Whether the driver is the CPU device, whose memory the host may read and write. */
bool driver_is_cpu_device(void);
/* The host is to write there, which no call of the driver shows. Blocks on nothing. */
void driver_note_host_write(CUdeviceptr address, size_t size);

/* Whether the driver reports parameter types at all. */
bool driver_knows_parameter_types(void);
/* The type of a kernel's parameter, as far as the driver reports it. */
IN_CALL CUresult driver_parameter_kind(CUfunction function, size_t index, CpuParameterKind *kind);

#endif
