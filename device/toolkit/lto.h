/* LTO-IR becomes PTX: by NVIDIA's nvJitLink, where the program has one or the system. It needs no GPU for
 * that. */
#ifndef DEVICE_TOOLKIT_LTO_H
#define DEVICE_TOOLKIT_LTO_H

#include <stdbool.h>

#include "toolkit/nvjitlink.h"

/* Zero-initialize, set the options, then free with lto_free(). */
typedef struct Lto {
    char **options;         /* owned: those of nvJitLinkCreate and -ptx */
    uint32_t count;
    nvJitLinkHandle handle; /* of NVIDIA's library; NULL while there is no input */
    char *ptx;              /* owned; NULL before lto_complete() */
    size_t ptx_size;        /* with the NUL */
    char *log;              /* owned: why a call failed; NULL: nothing to say */
} Lto;

/* Copies the options. False if out of memory. */
bool lto_set_options(Lto *lto, uint32_t count, const char *const *options);
/* The codes are those of NVIDIA's library; NVJITLINK_ERROR_UNRECOGNIZED_INPUT if there is none. */
nvJitLinkResult lto_add(Lto *lto, const void *data, size_t size, const char *name);
/* Makes the PTX of all inputs. */
nvJitLinkResult lto_complete(Lto *lto);
void lto_free(Lto *lto);

#endif
