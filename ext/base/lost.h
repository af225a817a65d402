/* Contexts that a kernel's fault has ended. The driver answers every later call with the same number,
 * whatever asks: what was said of the fault first is remembered, and said again. */
#ifndef EXT_BASE_LOST_H
#define EXT_BASE_LOST_H

#include "ext/base/ext.h"

/* What was said of the fault that ended the current context, or NULL. The state's, until the context ends. */
const char *lost_text(ModuleState *state);

/* This is being said of it: the first text stays. */
void lost_note(ModuleState *state, const char *text);

/* What to do about a lost context. */
const char *lost_advice(void);

/* It has ended: another context may get its handle. */
void lost_forget(ModuleState *state, CUcontext handle);

void lost_clear(ModuleState *state);

#endif
