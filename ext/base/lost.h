/* Contexts that a kernel's fault has ended. The driver answers every later call there with the same error
 * code. So the text of the first exception is kept, and every later one has it too. */
#ifndef EXT_BASE_LOST_H
#define EXT_BASE_LOST_H

#include "ext/base/ext.h"

/* The text of the fault that ended the current context, or NULL. It belongs to the state, and lives until the
 * context ends. */
const char *lost_text(ModuleState *state);

/* Keeps this text for the current context, unless it has one. */
void lost_note(ModuleState *state, const char *text);

/* What to do about a lost context. */
const char *lost_advice(void);

/* Called when the context has ended: another one may get its handle. */
void lost_forget(ModuleState *state, CUcontext handle);

void lost_clear(ModuleState *state);

#endif
