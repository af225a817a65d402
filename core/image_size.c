/* See image_size.h. */
#include "core/image_size.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "abi/cpu_device.h"
#include "abi/fat_binary.h"

typedef struct Buffer {
    const unsigned char *bytes;
    size_t size;
    char *why;
    size_t why_size;
} Buffer;

/* Whether the buffer has that many bytes from the offset on. */
static bool holds(const Buffer *buffer, uint64_t offset, uint64_t size)
{
    return offset <= buffer->size && size <= buffer->size - offset;
}

/* Copies bytes; false if the buffer ends before the last one. */
static bool read_at(const Buffer *buffer, uint64_t offset, void *to, size_t size)
{
    if (!holds(buffer, offset, size)) return false;
    memcpy(to, buffer->bytes + offset, size);
    return true;
}

/* Writes the message; returns false. */
static bool refuse_truncated(const Buffer *buffer, const char *what)
{
    snprintf(buffer->why, buffer->why_size,
             "%s in the buffer of %zu bytes is truncated, or its sizes are wrong", what, buffer->size);
    return false;
}

/* ---- Fat binaries ---- */

static bool fat_is_whole(const Buffer *buffer)
{
    static const char what[] = "the fat binary";
    FatHeader header;
    FatEntry entry;
    if (!read_at(buffer, 0, &header, sizeof header) || header.header_size < sizeof header
        || !holds(buffer, header.header_size, header.size))
        return refuse_truncated(buffer, what);
    uint64_t at = header.header_size, end = at + header.size;
    while (end - at >= sizeof entry) {
        if (!read_at(buffer, at, &entry, sizeof entry) || entry.header_size < sizeof entry
            || entry.header_size > end - at || entry.size > end - at - entry.header_size)
            return refuse_truncated(buffer, what);
        at += entry.header_size + entry.size;
    }
    return true;
}

static bool refuse_wrapper(const Buffer *buffer)
{
    snprintf(buffer->why, buffer->why_size,
             "the buffer holds the address of a fat binary: give the fat binary itself");
    return false;
}

/* ---- ELF files ---- */

/* The number of sections. If it does not fit into the header it is the size of section 0. False if that is
 * beyond the buffer. */
static bool count_sections(const Buffer *buffer, const Elf64_Ehdr *header, uint64_t *count)
{
    Elf64_Shdr first;
    *count = header->e_shnum;
    if (*count || !header->e_shoff) return true;
    if (!read_at(buffer, header->e_shoff, &first, sizeof first)) return false;
    *count = first.sh_size;
    return true;
}

static bool sections_are_whole(const Buffer *buffer, const Elf64_Ehdr *header)
{
    Elf64_Shdr section;
    uint64_t count;
    if (!count_sections(buffer, header, &count)) return false;
    if (count && header->e_shentsize != sizeof section) return false;
    if (count > buffer->size / sizeof section || !holds(buffer, header->e_shoff, count * sizeof section))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        if (!read_at(buffer, header->e_shoff + i * sizeof section, &section, sizeof section)) return false;
        if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL
            && !holds(buffer, section.sh_offset, section.sh_size))
            return false;
    }
    return true;
}

static bool segments_are_whole(const Buffer *buffer, const Elf64_Ehdr *header)
{
    Elf64_Phdr segment;
    uint64_t count = header->e_phnum;
    if (count && header->e_phentsize != sizeof segment) return false;
    if (!holds(buffer, header->e_phoff, count * sizeof segment)) return false;
    for (uint64_t i = 0; i < count; i++) {
        if (!read_at(buffer, header->e_phoff + i * sizeof segment, &segment, sizeof segment)
            || !holds(buffer, segment.p_offset, segment.p_filesz))
            return false;
    }
    return true;
}

static bool elf_is_whole(const Buffer *buffer)
{
    Elf64_Ehdr header;
    bool whole = read_at(buffer, 0, &header, sizeof header) && header.e_ident[EI_CLASS] == ELFCLASS64
                 && sections_are_whole(buffer, &header) && segments_are_whole(buffer, &header);
    return whole || refuse_truncated(buffer, "the ELF file");
}

/* ---- Linked images of the CPU device ---- */

static bool link_is_whole(const Buffer *buffer)
{
    uint64_t size;
    bool whole = read_at(buffer, CPU_LINK_MAGIC_BYTES, &size, sizeof size) && size <= buffer->size;
    return whole || refuse_truncated(buffer, "the linked image");
}

bool image_is_whole(const void *image, size_t size, char *why, size_t why_size)
{
    const Buffer buffer = {image, size, why, why_size};
    uint32_t magic;
    if (!read_at(&buffer, 0, &magic, sizeof magic)) return true;
    if (magic == FAT_WRAPPER_MAGIC) return refuse_wrapper(&buffer);
    if (magic == FAT_MAGIC) return fat_is_whole(&buffer);
    if (memcmp(image, ELFMAG, SELFMAG) == 0) return elf_is_whole(&buffer);
    if (memcmp(image, CPU_LINK_MAGIC, sizeof magic) == 0) return link_is_whole(&buffer);
    return true;
}
