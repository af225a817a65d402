/* Texture and surface references: variables of modules (.texref, .surfref) that the host binds. */
#ifndef DEVICE_API_TEXTURE_REFERENCE_H
#define DEVICE_API_TEXTURE_REFERENCE_H

#include "api/texture/texture.h"

/* A CUtexref or a CUsurfref. Changes affect later launches only. */
typedef struct TexRef {
    Object object;
    bool bound;
    CUDA_RESOURCE_DESC
    resource; /* what it is bound to; an array is named by its handle, without a reference */
    CUDA_TEXTURE_DESC sampling;
    CUarray_format format; /* elements are read in this format, with these channels */
    unsigned channels;
} TexRef;

/* A new texture or surface reference, published; *out has the caller's reference, after an error of the
 * publication as well. */
CUresult reference_register(Context *context, bool surface, TexRef **out);
/* Fills in `count` bindings: what each of the references is bound to now. */
void references_bind(TexRef *const *references, unsigned count, TextureBinding *out);

/* An error if the handle is not of a live texture reference (CUDA_ERROR_INVALID_HANDLE), or if it is bound to
 * nothing (CUDA_ERROR_INVALID_VALUE). */
CUresult reference_check_bound(CUtexref handle);

#endif
