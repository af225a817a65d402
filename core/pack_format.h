/* Format strings of packed values, as in Python's struct module in native mode, with F and D for complex
 * numbers, and E for bfloat16.
 *
 * A format is a list of runs: a code, a count, and the offset of the first value. Alignment is that of C;
 * there is no padding after the last value.
 */
#ifndef CORE_PACK_FORMAT_H
#define CORE_PACK_FORMAT_H

#include <stddef.h>
#include <stdint.h>

typedef enum PackKind {
    PACK_PAD,
    PACK_BOOL,
    PACK_CHAR,
    PACK_SIGNED,
    PACK_UNSIGNED,
    PACK_POINTER,
    PACK_HALF,
    PACK_BFLOAT16,
    PACK_FLOAT,
    PACK_COMPLEX,
    PACK_BYTES,  /* the count is the length of one value */
    PACK_PASCAL, /* the same, and the first byte of the value is its length */
} PackKind;

typedef struct PackCode {
    char code;
    uint8_t kind, size, alignment;
} PackCode;

typedef struct PackRun {
    const PackCode *code;
    size_t count;       /* values, or bytes of the one value of s and p */
    size_t offset;      /* of the first value */
} PackRun;

typedef struct PackFormat {
    PackRun *runs;      /* owned */
    size_t run_count;
    size_t value_count; /* Python values that it takes */
    size_t size;        /* bytes */
} PackFormat;

/* The row for this code, or NULL. */
const PackCode *pack_code(char code);

typedef enum PackStatus {
    PACK_OK,
    PACK_BAD_CODE,  /* an unknown character */
    PACK_NO_CODE,   /* a count without a code after it */
    PACK_TOO_LARGE, /* a count, or the size */
    PACK_BAD_ORDER, /* a character for byte order, which is allowed only as '@' at the beginning */
    PACK_NO_MEMORY
} PackStatus;

/* Reads `length` characters. On failure the format is empty and *where is the index of the wrong
 * character. */
PackStatus pack_format_parse(PackFormat *format, const char *text, size_t length, size_t *where);
void pack_format_free(PackFormat *format);

/* Bytes of one value of this run. */
static inline size_t pack_run_step(const PackRun *run)
{
    return run->code->kind >= PACK_BYTES ? run->count : run->code->size;
}

/* Python values that this run takes. */
static inline size_t pack_run_values(const PackRun *run)
{
    return run->code->kind == PACK_PAD ? 0 : run->code->kind >= PACK_BYTES ? 1 : run->count;
}

#endif
