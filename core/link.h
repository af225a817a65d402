/* The steps of linking, each made on the one thread that link states belong to (one_thread.h). */
#ifndef CORE_LINK_H
#define CORE_LINK_H

#include "core/driver_table.h"

typedef struct LinkStep {
    CUlinkState handle;
    unsigned count;         /* of the options that it is made with */
    CUjit_option *options;
    void **values;
    unsigned type;          /* of the input */
    const char *bytes, *name; /* of a file: its path */
    size_t size;
    void *image;            /* the result, valid as long as the state */
} LinkStep;

typedef CUresult (*LinkFn)(CUcontext context, LinkStep *step);
IN_CALL CUresult link_create(CUcontext context, LinkStep *step);
IN_CALL CUresult link_add_bytes(CUcontext context, LinkStep *step);
IN_CALL CUresult link_add_path(CUcontext context, LinkStep *step);
IN_CALL CUresult link_complete(CUcontext context, LinkStep *step);
IN_CALL CUresult link_destroy(CUcontext context, LinkStep *step);

#endif
