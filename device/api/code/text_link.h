/* PTX texts that are linked: each is checked against those before it, and all become one image. */
#ifndef DEVICE_API_CODE_TEXT_LINK_H
#define DEVICE_API_CODE_TEXT_LINK_H

#include "api/code/image.h"

typedef struct TextLink {
    PtxOptions limits;                 /* of each text, without a name */
    Image added;                       /* its parts are owned */
    PtxModule *trees[IMAGE_MAX_PARTS]; /* owned: one for each part, with which a new part must fit together */
    void *image; /* owned; what text_link_join() has made */
    size_t image_size;
} TextLink;

/* A link of no text yet; text_link_end() frees what it comes to own. */
void text_link_begin(TextLink *link, const PtxOptions *limits, const CodeOptions *code);
/* Adds PTX, alone, in a fat binary (the best for that compute capability) or in the image of another link.
 * The device runtime's library is accepted and not added, as it is built in. After an error the log says
 * why, and nothing was added. */
CUresult text_link_add(TextLink *link, const void *data, size_t size, const char *name, int capability,
                       PtxLog *log);
/* Makes link->image; nothing can be added from then on. Without a text it is that of an empty module, as with
 * NVIDIA's driver. The only error is that of memory. */
CUresult text_link_join(TextLink *link);
void text_link_end(TextLink *link);

#endif
