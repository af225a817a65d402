/* Texture and surface objects. */
#ifndef DEVICE_API_TEXTURE_TEXTURE_H
#define DEVICE_API_TEXTURE_TEXTURE_H

#include "api/copy/array.h"
#include "exec/texture/texture.h"

/* An object of either kind; its handle is its address. */
typedef struct TextureObject {
    Object object;
    Texture texture;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC description;
    CUDA_RESOURCE_VIEW_DESC view;
    bool has_view;
} TextureObject;

/* For kernels: GridLaunch.find_texture. */
bool texture_find(uint64_t handle, bool surface, Texture *out);

/* Fills the texture from a resource; says in the log what is wrong with it. */
CUresult texture_bind(Texture *texture, const CUDA_RESOURCE_DESC *resource);
/* Reads the rows as elements of another format. */
CUresult texture_read_as(Texture *texture, CUarray_format format, unsigned channels);
CUresult texture_set_sampling(Texture *texture, const CUDA_TEXTURE_DESC *description, bool mipmapped);
/* A live object of that kind, with a reference; CUDA_ERROR_INVALID_VALUE when there is none. */
CUresult texture_enter(unsigned long long handle, ObjectKind kind, TextureObject **out);
CUresult texture_resource(unsigned long long handle, ObjectKind kind, CUDA_RESOURCE_DESC *out);
CUresult texture_destroy(unsigned long long handle, ObjectKind kind);

#endif
