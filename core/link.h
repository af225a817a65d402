/* The driver calls for linking, each made on the one thread that link states belong to (one_thread.h). */
#ifndef CORE_LINK_H
#define CORE_LINK_H

#include "core/driver_table.h"

/* Arguments and results of the calls. */
typedef struct LinkStep {
    CUlinkState handle;     /* result of create, argument of the others */
    unsigned count;         /* create: the number of options */
    CUjit_option *options;
    void **values;
    unsigned type;          /* add: CUjitInputType */
    const char *bytes;      /* add_bytes: the input; add_path: the path of a file */
    const char *name;       /* add_bytes: for messages */
    size_t size;            /* add_bytes: of the input; complete: of the image */
    void *image;            /* result of complete, valid until destroy */
} LinkStep;

typedef CUresult (*LinkFn)(CUcontext context, LinkStep *step);
IN_CALL CUresult link_create(CUcontext context, LinkStep *step);
IN_CALL CUresult link_add_bytes(CUcontext context, LinkStep *step);
IN_CALL CUresult link_add_path(CUcontext context, LinkStep *step);
IN_CALL CUresult link_complete(CUcontext context, LinkStep *step);
IN_CALL CUresult link_destroy(CUcontext context, LinkStep *step);

#endif
