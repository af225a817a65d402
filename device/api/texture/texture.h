/* Texture and surface objects. */
#ifndef DEVICE_API_TEXTURE_TEXTURE_H
#define DEVICE_API_TEXTURE_TEXTURE_H

#include "api/copy/array.h"
#include "exec/texture/texture.h"

/* GridLaunch.find_texture: a copy of the texture of a handle that a kernel has; false if it is not valid. */
bool texture_find(uint64_t handle, bool surface, Texture *out);

/* Fills in memory, shape and format of the texture from a resource. After an error the log says what is
 * wrong. */
CUresult texture_bind(Texture *texture, const CUDA_RESOURCE_DESC *resource);
/* Makes the texture read its rows as elements of another format; its width becomes that in such elements. */
CUresult texture_read_as(Texture *texture, CUarray_format format, unsigned channels);
/* Fills in how the texture is sampled. */
CUresult texture_set_sampling(Texture *texture, const CUDA_TEXTURE_DESC *description, bool mipmapped);

#endif
