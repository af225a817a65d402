/* Fault injection: makes the n-th driver call fail, to test that every error path cleans up; makes calls of
 * one function slow, to test what waits for them.
 *
 * PYCUDA_FAULT_CALL=n and PYCUDA_FAULT_CODE=c (a CUresult, 2 by default) replace every pointer of the table
 * by a function that counts and, at call n, returns c without calling the driver; a function that releases
 * something does so and returns c, as drivers do. Without them the table is unchanged and there is no
 * overhead.
 */
#ifndef CORE_FAULT_H
#define CORE_FAULT_H

#include "core/driver_table.h"

/* Whether PYCUDA_FAULT_HIDES, a comma-separated list, hides this function, as if the driver lacked it. */
bool fault_hides(const char *name);

void fault_install(DriverTable *table);

/* Driver calls counted so far; 0 when nothing was installed. */
unsigned long fault_calls(void);

/* Calls of that function that succeeded; -1 when not installed, or when there is no such function. */
long fault_count(const char *name);

/* From now on the n-th further call fails with this code; n == 0 switches faults off. False when not
 * installed. */
bool fault_arm(unsigned long n, CUresult code);

/* The function whose call failed since fault_arm with n > 0; NULL when none did. */
const char *fault_failed(void);

/* From now on every call of that function takes that many milliseconds longer. False when not installed, or
 * when there is no such function. */
bool fault_delay(const char *name, unsigned milliseconds);

#endif
