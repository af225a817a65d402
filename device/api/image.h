/* Images of modules: PTX text, fat binaries that hold PTX, and what cuLinkComplete makes of several PTX
 * texts. */
#ifndef DEVICE_API_IMAGE_H
#define DEVICE_API_IMAGE_H

#include <stddef.h>

#include "abi/cuda_abi.h"
#include "ptx/ptx.h"

typedef struct ImagePart {
    const char *text;       /* PTX, in the image's memory */
    size_t length;
    const char *name;       /* for messages; NULL: it has none */
} ImagePart;

enum { IMAGE_MAX_PARTS = 256 };

typedef struct Image {
    ImagePart parts[IMAGE_MAX_PARTS];
    unsigned count;
    bool as_written;        /* LowerHost.as_written */
} Image;

/* Finds the PTX in an image of at most `limit` bytes (SIZE_MAX: not known; then the image's own sizes and its
 * final NUL are believed). On failure the log says what the image is and what to do. */
CUresult image_open(const void *data, size_t limit, int capability, Image *image, PtxLog *log);
/* Parts joined to one image, to be given to free. NULL without memory. */
void *image_join(const ImagePart *parts, unsigned count, size_t *size);
/* A whole file with a final NUL, to be given to free; CUDA_ERROR_FILE_NOT_FOUND or CUDA_ERROR_OUT_OF_MEMORY.
 */
CUresult image_read_file(const char *path, char **data, size_t *size);

#endif
