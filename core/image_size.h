/* Whether a buffer holds all of the image in it. The driver's calls that load a module take no length: they
 * believe the sizes that the image declares, and read past the end of one that is cut off or lies.
 */
#ifndef CORE_IMAGE_SIZE_H
#define CORE_IMAGE_SIZE_H

#include <stdbool.h>
#include <stddef.h>

/* True for fat binaries, ELF files and linked images of the CPU device that lie within the buffer as they
 * declare, and for all that declares no size. Else `why` says what is wrong. */
bool image_is_whole(const void *image, size_t size, char *why, size_t room);

#endif
