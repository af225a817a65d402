/* Whether a buffer contains a complete image. The driver's calls that load a module take no length: they
 * trust the sizes that the image declares, and would read past the end of the buffer if the image is
 * truncated or declares wrong sizes. */
#ifndef CORE_IMAGE_SIZE_H
#define CORE_IMAGE_SIZE_H

#include <stdbool.h>
#include <stddef.h>

/* True for fat binaries, ELF files and linked images of the CPU device whose declared sizes fit into the
 * buffer, and for images that declare no size. Otherwise `why` says what is wrong. */
bool image_is_whole(const void *image, size_t size, char *why, size_t why_size);

#endif
