/* Texture and surface objects. */
#ifndef DEVICE_API_TEXTURE_TEXTURE_H
#define DEVICE_API_TEXTURE_TEXTURE_H

#include "api/copy/array.h"
#include "exec/texture/texture.h"

/* For kernels: GridLaunch.find_texture. */
bool texture_find(uint64_t handle, bool surface, Texture *out);

/* Fills the texture from a resource; says in the log what is wrong with it. */
CUresult texture_bind(Texture *texture, const CUDA_RESOURCE_DESC *resource);
/* Reads the rows as elements of another format. */
CUresult texture_read_as(Texture *texture, CUarray_format format, unsigned channels);
CUresult texture_set_sampling(Texture *texture, const CUDA_TEXTURE_DESC *description, bool mipmapped);

#endif
