/* See param_counts.h. */
#include "core/param_counts.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Adds a kernel; if out of memory it stays unknown. */
static void add(ParamCounts *counts, const char *name, size_t length, int params)
{
    ParamCount *count = malloc(sizeof *count + length + 1);
    if (!count) return;
    count->next = counts->first;
    count->params = params;
    memcpy(count->name, name, length);
    count->name[length] = '\0';
    counts->first = count;
}

/* ---- Cubins ---- */

typedef struct CubinImage {
    const unsigned char *bytes;
    size_t size;
} CubinImage;

static bool read_bytes(CubinImage image, uint64_t offset, void *to, size_t size)
{
    if (offset > image.size || size > image.size - offset) return false;
    memcpy(to, image.bytes + offset, size);
    return true;
}

/* The name of a section, inside the image; NULL if it has none that is terminated. */
static const char *section_name(CubinImage image, const Elf64_Shdr *names, uint32_t at, size_t *length)
{
    if (names->sh_offset > image.size || at >= image.size - names->sh_offset) return NULL;
    const char *name = (const char *)image.bytes + names->sh_offset + at;
    size_t max = image.size - names->sh_offset - at;
    *length = strnlen(name, max);
    return *length < max ? name : NULL;
}

/* A section .nv.info.KERNEL is a list of attributes. Each has a byte for its format, one for its number, and
 * a value of two bytes; for format INFO_SIZED this is the length of a value that follows. */
enum { INFO_SIZED = 4 };
/* There is one attribute for each parameter, with one of these numbers. */
enum { INFO_PARAM = 0x17, INFO_PARAM_WIDE = 0x45 };

/* How many parameters the section describes; -1 if the list of attributes does not end where the section
 * does. */
static int count_params(CubinImage image, const Elf64_Shdr *section)
{
    int params = 0;
    uint64_t at = 0;
    while (at < section->sh_size) {
        unsigned char head[4];
        if (!read_bytes(image, section->sh_offset + at, head, sizeof head)) return -1;
        params += head[1] == INFO_PARAM || head[1] == INFO_PARAM_WIDE;
        at += sizeof head + (head[0] == INFO_SIZED ? head[2] + 256u * head[3] : 0);
    }
    return at == section->sh_size ? params : -1;
}

static void read_cubin(ParamCounts *counts, CubinImage image)
{
    static const char prefix[] = ".nv.info.";
    const size_t prefix_length = sizeof prefix - 1;
    Elf64_Ehdr header;
    Elf64_Shdr names, section;
    size_t length;
    if (!read_bytes(image, 0, &header, sizeof header) || header.e_shentsize != sizeof section
        || header.e_shoff > image.size
        || !read_bytes(image, header.e_shoff + (uint64_t)header.e_shstrndx * sizeof names, &names,
                       sizeof names))
        return;
    for (unsigned i = 0; i < header.e_shnum; i++) {
        if (!read_bytes(image, header.e_shoff + (uint64_t)i * sizeof section, &section, sizeof section))
            return;
        const char *name = section_name(image, &names, section.sh_name, &length);
        if (!name || length <= prefix_length || memcmp(name, prefix, prefix_length) != 0) continue;
        int params = count_params(image, &section);
        if (params >= 0) add(counts, name + prefix_length, length - prefix_length, params);
    }
}

/* ---- PTX ---- */

typedef struct PtxText {
    const char *at, *end;
} PtxText;

/* Whether the text begins with the word. */
static bool begins(const PtxText *text, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(text->end - text->at) >= length && memcmp(text->at, word, length) == 0;
}

/* Skips the text up to and including the word; all of it if the word does not occur. */
static void skip_past(PtxText *text, const char *word)
{
    while (text->at < text->end && !begins(text, word)) text->at++;
    text->at += begins(text, word) ? strlen(word) : 0;
}

static bool is_of_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$'
           || c == '%' || c == '.';
}

/* The next token, skipping white space, comments and strings; empty at the end. */
static PtxText next_token(PtxText *text)
{
    while (text->at < text->end) {
        if (begins(text, "//"))
            skip_past(text, "\n");
        else if (begins(text, "/*"))
            text->at += 2, skip_past(text, "*/");
        else if (*text->at == '"')
            text->at++, skip_past(text, "\"");
        else if (*text->at == ' ' || (*text->at >= '\t' && *text->at <= '\r'))
            text->at++;
        else
            break;
    }
    PtxText token = {text->at, text->at};
    while (text->at < text->end && is_of_word(*text->at)) text->at++;
    if (text->at == token.at && text->at < text->end) text->at++;
    token.end = text->at;
    return token;
}

static bool is(PtxText token, const char *word)
{
    return (size_t)(token.end - token.at) == strlen(word) && begins(&token, word);
}

/* Reads what follows ".entry": the name, then parameters in parentheses, or none. */
static void read_entry(ParamCounts *counts, PtxText *text)
{
    PtxText name = next_token(text), token = next_token(text);
    int params = 0;
    if (is(token, "("))
        while (token.at < token.end && !is(token, ")")) {
            token = next_token(text);
            params += is(token, ".param");
        }
    if (name.at < name.end && token.at < token.end)
        add(counts, name.at, (size_t)(name.end - name.at), params);
}

/* Whether the version is one in which parameters are declared in the body, where they are not counted. */
static bool has_parameters_inside(PtxText version)
{
    static const char *const versions[] = {"1.0", "1.1", "1.2", "1.3"};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (is(version, versions[i])) return true;
    return false;
}

static void read_ptx(ParamCounts *counts, PtxText text)
{
    for (PtxText token = next_token(&text); token.at < token.end; token = next_token(&text)) {
        if (is(token, ".version") && has_parameters_inside(next_token(&text))) return;
        if (is(token, ".entry")) read_entry(counts, &text);
    }
}

/* ---- Any image ---- */

ParamCounts param_counts_read(const void *image, size_t size)
{
    static const unsigned char fat_magic[] = {0x50, 0xED, 0x55, 0xBA};
    ParamCounts counts = {NULL};
    if (size < SELFMAG || memcmp(image, fat_magic, sizeof fat_magic) == 0) return counts;
    if (memcmp(image, ELFMAG, SELFMAG) == 0)
        read_cubin(&counts, (CubinImage){image, size});
    else
        read_ptx(&counts, (PtxText){image, (const char *)image + strnlen(image, size)});
    return counts;
}

void param_counts_free(ParamCounts *counts)
{
    while (counts->first) {
        ParamCount *next = counts->first->next;
        free(counts->first);
        counts->first = next;
    }
}

int param_counts_find(const ParamCounts *counts, const char *name)
{
    for (const ParamCount *count = counts->first; count; count = count->next)
        if (strcmp(count->name, name) == 0) return count->params;
    return -1;
}
