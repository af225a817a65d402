/* Images of modules: PTX text, fat binaries that hold PTX, and what cuLinkComplete makes of several PTX
 * texts. */
#ifndef DEVICE_API_CODE_IMAGE_H
#define DEVICE_API_CODE_IMAGE_H

#include <stddef.h>

#include "abi/cuda_abi.h"
#include "ptx/ptx.h"

typedef struct ImagePart {
    const char *text;       /* PTX: in the data given to image_open(), or in Image.owned */
    size_t length;
    const char *name;       /* for messages; NULL: it has none */
} ImagePart;

enum { IMAGE_MAX_PARTS = 256 };

/* The options of a load or a link that concern code. */
typedef struct CodeOptions {
    bool as_written;        /* LowerHost.as_written */
    uint32_t max_registers; /* of a thread, for kernels that name no limit; 0: no limit */
} CodeOptions;

typedef struct Image {
    ImagePart parts[IMAGE_MAX_PARTS];
    unsigned count;
    bool linked;            /* made by cuLinkComplete: its options are those of the link */
    CodeOptions options;
    void *owned;            /* a text that was compressed, or NULL */
} Image;

/* Finds the PTX in an image of at most `limit` bytes. SIZE_MAX: the size is unknown, and the image's own
 * sizes and final NUL are trusted. After an error the log says what the image is and what to do. The caller
 * calls image_close() in any case, and keeps the data for as long as it uses the parts. */
CUresult image_open(const void *data, size_t limit, int capability, Image *image, PtxLog *log);
void image_close(Image *image);
/* The image as one block of *size bytes that image_open() can read. The caller frees it; NULL if out of
 * memory. */
void *image_join(const Image *image, size_t *size);
/* Reads a whole file; *data, with a final NUL, is to be freed by the caller. Errors:
 * CUDA_ERROR_FILE_NOT_FOUND, CUDA_ERROR_OUT_OF_MEMORY. */
CUresult image_read_file(const char *path, char **data, size_t *size);

#endif
