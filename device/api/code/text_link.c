/* PTX texts that are linked. */
#include "api/code/text_link.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/driver.h"
#include "api/code/module.h"
#include "api/code/runtime_library.h"

void text_link_begin(TextLink *link, const PtxOptions *limits, const CodeOptions *code)
{
    link->limits = *limits;
    link->added = (Image){.linked = true, .options = *code};
    link->image = NULL;
}

void text_link_end(TextLink *link)
{
    for (unsigned i = 0; i < link->added.count; i++) {
        free((void *)(uintptr_t)link->added.parts[i].text);
        ptx_module_free(link->trees[i]);
    }
    free(link->image);
}

/* A copy of the part, to be freed: text, NUL, name, NUL. NULL if out of memory. */
static char *copy_part(const ImagePart *part, const char *name)
{
    size_t name_size = strlen(name) + 1;
    char *copy = malloc(part->length + 1 + name_size);
    if (!copy) return NULL;
    memcpy(copy, part->text, part->length);
    copy[part->length] = '\0';
    memcpy(copy + part->length + 1, name, name_size);
    return copy;
}

/* Parses a copy of the part, checks it against those that were added before, and adds it. */
static CUresult add_part(TextLink *link, const ImagePart *part, const char *name, PtxLog *log)
{
    unsigned count = link->added.count;
    if (link->image || count == IMAGE_MAX_PARTS) return CUDA_ERROR_INVALID_VALUE;
    char *copy = copy_part(part, name ? name : "");
    if (!copy) return CUDA_ERROR_OUT_OF_MEMORY;
    PtxOptions options = link->limits;
    options.name = name ? copy + part->length + 1 : NULL;
    PtxModule *tree = link->trees[count] = ptx_parse(copy, part->length, &options, log);
    if (tree && ptx_link_fits(link->trees, count + 1, log)) {
        link->added.parts[link->added.count++] = (ImagePart){copy, part->length, copy + part->length + 1};
        return CUDA_SUCCESS;
    }
    link->trees[count] = NULL;
    ptx_module_free(tree);
    free(copy);
    return module_result(log);
}

CUresult text_link_add(TextLink *link, const void *data, size_t size, const char *name, int capability,
                       PtxLog *log)
{
    Image image;
    if (runtime_library_is(data, size)) return CUDA_SUCCESS;
    CUresult result = image_open(data, size, capability, &image, log);
    for (unsigned p = 0; !result && p < image.count; p++) {
        const char *own = image.linked ? image.parts[p].name : NULL;
        result = add_part(link, &image.parts[p], own ? own : name, log);
    }
    image_close(&image);
    return result;
}

/* A link without input gives an empty module, as with NVIDIA's driver. */
static const char no_code[] = ".version 6.0\n.target sm_50\n.address_size 64\n";
static const Image nothing = {.parts = {{no_code, sizeof no_code - 1, NULL}}, .count = 1, .linked = true};

CUresult text_link_join(TextLink *link)
{
    if (!link->image)
        link->image = image_join(link->added.count ? &link->added : &nothing, &link->image_size);
    return link->image ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
