/* Texture and surface references: variables of modules (.texref, .surfref) that the host binds. */
#ifndef DEVICE_API_TEXTURE_REFERENCE_H
#define DEVICE_API_TEXTURE_REFERENCE_H

#include "api/texture/texture.h"

/* A CUtexref, or a CUsurfref. A change holds for the launches after it. */
typedef struct TexRef {
    Object object;
    bool bound;
    CUDA_RESOURCE_DESC resource; /* where it is bound; names the array, but does not hold it */
    CUDA_TEXTURE_DESC sampling;
    CUarray_format format; /* what elements are read as */
    unsigned channels;
} TexRef;

/* A new reference in the registry, held by the caller. */
CUresult reference_register(Context *context, bool surface, TexRef **out);
/* What each of the references is bound to now. */
void references_bind(TexRef *const *references, unsigned count, TextureBinding *out);

/* CUDA_ERROR_INVALID_VALUE: the texture reference is bound to nothing. */
CUresult reference_check_bound(CUtexref handle);

#endif
