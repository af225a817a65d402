/* Images of modules: PTX text, fat binaries that hold PTX, and what cuLinkComplete makes of several PTX
 * texts. */
#ifndef DEVICE_API_CODE_IMAGE_H
#define DEVICE_API_CODE_IMAGE_H

#include <stddef.h>

#include "abi/cuda_abi.h"
#include "ptx/ptx.h"

typedef struct ImagePart {
    const char *text;       /* PTX, in the memory of what was opened, or in Image.owned */
    size_t length;
    const char *name;       /* for messages; NULL: it has none */
} ImagePart;

enum { IMAGE_MAX_PARTS = 256 };

/* What the options of a load, or of a link, say about code. */
typedef struct CodeOptions {
    bool as_written;        /* LowerHost.as_written */
    uint32_t max_registers; /* of a thread, where the kernel does not say; 0: as many as there are */
} CodeOptions;

typedef struct Image {
    ImagePart parts[IMAGE_MAX_PARTS];
    unsigned count;
    bool linked;            /* made by cuLinkComplete: its options are those of the link */
    CodeOptions options;
    void *owned;            /* a text that was compressed, or NULL */
} Image;

/* Finds the PTX in an image of at most `limit` bytes (SIZE_MAX: not known; then the image's own sizes and its
 * final NUL are believed). On failure the log says what the image is and what to do. In any case the image is
 * to be closed. */
CUresult image_open(const void *data, size_t limit, int capability, Image *image, PtxLog *log);
void image_close(Image *image);
/* The image as one block of memory, to be freed by the caller; image_open is the inverse. NULL without
 * memory. */
void *image_join(const Image *image, size_t *size);
/* A whole file with a final NUL, to be given to free; CUDA_ERROR_FILE_NOT_FOUND or CUDA_ERROR_OUT_OF_MEMORY.
 */
CUresult image_read_file(const char *path, char **data, size_t *size);

#endif
