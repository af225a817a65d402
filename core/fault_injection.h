/* Fault injection: makes the n-th driver call fail, to test that every error path cleans up; makes calls of
 * one function slow, to test what waits for them.
 *
 * If PYCUDA_FAULT_CALL=n is set, every pointer of the driver table is replaced by a function that counts the
 * call and then calls the driver, except that call number n returns the error PYCUDA_FAULT_CODE (a CUresult,
 * 2 by default) instead. A function that releases something still does that, as drivers do. If it is not set
 * the table is unchanged, and there is no overhead.
 */
#ifndef CORE_FAULT_INJECTION_H
#define CORE_FAULT_INJECTION_H

#include "core/driver_table.h"

/* Whether PYCUDA_FAULT_HIDES, a comma-separated list, hides this function, as if the driver lacked it. */
bool injection_hides(const char *name);

/* Replaces the pointers of the table, if PYCUDA_FAULT_CALL is set: fault injection is installed then. */
void injection_install(DriverTable *table);

/* The number of driver calls so far; 0 if not installed. */
unsigned long injection_calls(void);

/* The number of calls of that function that succeeded; -1 if not installed, or if there is no such
 * function. */
long injection_count(const char *name);

/* The n-th driver call after this one will fail with that code; n == 0: none will. False if not installed. */
bool injection_arm(unsigned long n, CUresult code);

/* The name of the function whose call was made to fail since injection_arm() with n > 0; NULL if none was. */
const char *injection_failed(void);

/* From now on every call of that function takes that many milliseconds longer. False if not installed, or if
 * there is no such function. */
bool injection_delay(const char *name, unsigned milliseconds);

#endif
