/* See link.h. */
#include "core/link.h"

#include "core/one_thread.h"

/* Defines link_NAME(), which makes the call on the one thread. */
#define STEP(name, call) \
    IN_CALL static CUresult name(void *data) \
    { \
        LinkStep *step = data; \
        return driver.call; \
    } \
    IN_CALL CUresult link_##name(CUcontext context, LinkStep *step) \
    { \
        return one_thread_run(context, name, step); \
    }
STEP(create, cuLinkCreate(step->count, step->options, step->values, &step->handle))
STEP(add_bytes,
     cuLinkAddData(step->handle, step->type, (void *)step->bytes, step->size, step->name, 0, NULL, NULL))
STEP(add_path, cuLinkAddFile(step->handle, step->type, step->bytes, 0, NULL, NULL))
STEP(complete, cuLinkComplete(step->handle, &step->image, &step->size))
STEP(destroy, cuLinkDestroy(step->handle))
