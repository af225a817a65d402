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

/* The target number whose sm_NNa alone has an opcode; 0: it is of no architecture alone. */
static int ptx_specific_target(unsigned opcode)
{
    static const struct {
        uint16_t opcode, target;
    } rows[] = {
#define VERSION_CHECK(opcode, words, target, version)
#define SPECIFIC_CHECK(opcode, target) {PTX_OP_##opcode, target},
#include "ptx/version_checks.def"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].opcode == opcode) return rows[i].target;
    return 0;
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
    int specific = ptx_specific_target(form->opcode);
    if (specific && (m->target != specific || m->target_suffix != 'a'))
        ptx_fail(p, line, column, "'%s' needs .target sm_%da", form->spelling, specific);
}
