/* Refuses instructions that the module's .version or .target does not
 * have, as a GPU's driver does on every device. */
#include <string.h>

#include "ptx/parser.h"

typedef struct PtxVersionCheck {
    const char *words;
    uint16_t opcode; /* PTX_OP_NONE: any */
    uint16_t target;
    uint8_t version;
} PtxVersionCheck;

static const PtxVersionCheck ptx_version_checks[] = {
#define VERSION_CHECK(opcode, words, target, version) {words, PTX_OP_##opcode, target, version},
#define SPECIFIC_CHECK(opcode, target)
#include "ptx/version_checks.def"
};

/* Fails unless the module's target has the instructions of one architecture that the opcode is of. */
static void ptx_check_specific(PtxParser *p, const PtxForm *form, uint32_t line, uint32_t column)
{
    static const struct {
        uint16_t opcode, target; /* 0: any with a suffix */
    } rows[] = {
#define VERSION_CHECK(opcode, words, target, version)
#define SPECIFIC_CHECK(opcode, target) {PTX_OP_##opcode, target},
#include "ptx/version_checks.def"
    };
    const PtxModule *m = p->module;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].opcode != form->opcode) continue;
        if (!rows[i].target && !m->target_suffix)
            ptx_fail(p, line, column, "'%s' needs a .target with a suffix, as sm_90a, not sm_%d",
                     form->spelling, m->target);
        if (rows[i].target && (m->target != rows[i].target || m->target_suffix != 'a'))
            ptx_fail(p, line, column, "'%s' needs .target sm_%ua", form->spelling, (unsigned)rows[i].target);
    }
}

/* Whether a mnemonic has a word, or with "generic" no state space. */
static bool ptx_has_word(const PtxForm *form, const char *word, size_t length)
{
    if (length == strlen("generic") && !strncmp(word, "generic", length)) return !form->space_count;
    const char *at = strchr(form->spelling, '.');
    while (at && (strncmp(at + 1, word, length) != 0 || (at[1 + length] && at[1 + length] != '.')))
        at = strchr(at + 1, '.');
    return at != NULL;
}

bool ptx_has_words(const PtxForm *form, const char *words)
{
    while (*words) {
        size_t length = strcspn(words, " ");
        if (!ptx_has_word(form, words, length)) return false;
        words += length + (words[length] == ' ');
    }
    return true;
}

void ptx_check_versions(PtxParser *p, const PtxForm *form, uint32_t line, uint32_t column)
{
    const PtxModule *m = p->module;
    for (size_t i = 0; i < sizeof ptx_version_checks / sizeof *ptx_version_checks; i++) {
        const PtxVersionCheck *needed = &ptx_version_checks[i];
        if (needed->opcode != form->opcode && needed->opcode != PTX_OP_NONE) continue;
        if (m->target >= needed->target && m->version >= needed->version) continue;
        if (!ptx_has_words(form, needed->words)) continue;
        if (m->target < needed->target)
            ptx_fail(p, line, column, "'%s' needs .target sm_%u or higher, not sm_%d", form->spelling,
                     (unsigned)needed->target, m->target);
        ptx_fail(p, line, column, "'%s' needs .version %d.%d or higher, not %d.%d", form->spelling,
                 needed->version / 10, needed->version % 10, m->version / 10, m->version % 10);
    }
    ptx_check_specific(p, form, line, column);
}
