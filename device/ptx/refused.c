/* Why the CPU device refuses an instruction that the front end knows. */
#include "ptx/parser.h"

#define WHY(name, text) static const char ptx_why_##name[] = text;
#include "ptx/refused.def"

static const struct {
    const char *words, *why;
    uint16_t opcode;
} ptx_refusals[] = {
#define REFUSED(opcode, words, why) {words, ptx_why_##why, PTX_OP_##opcode},
#include "ptx/refused.def"
};

const char *ptx_refusal(const PtxForm *form)
{
    for (size_t i = 0; i < sizeof ptx_refusals / sizeof *ptx_refusals; i++)
        if (ptx_refusals[i].opcode == form->opcode && ptx_has_words(form, ptx_refusals[i].words))
            return ptx_refusals[i].why;
    return NULL;
}
