/* Images of modules: what kind an image is, and the PTX in it. */
#define _GNU_SOURCE
#include "api/code/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "abi/cpu_device.h"
#include "abi/fat_binary.h"
#include "api/code/decompress.h"

#define CURE \
    "the CPU device takes PTX: compile for a virtual architecture (nvcc -ptx, or " \
    "-gencode arch=compute_75,code=compute_75; NVRTC --gpu-architecture=compute_75)"

static const char link_magic[CPU_LINK_MAGIC_BYTES] = CPU_LINK_MAGIC;

/* The beginning of what image_join() makes. The texts follow: each with a NUL, and then its name (or "")
 * with a NUL. */
typedef struct LinkHeader {
    char magic[CPU_LINK_MAGIC_BYTES];
    uint64_t size;          /* of the whole image, with this header */
    uint64_t count;         /* of texts */
    CodeOptions options;
    bool linked;
    uint64_t lengths[];     /* of the texts, without NULs and names */
} LinkHeader;

static uint16_t read_u16(const unsigned char *bytes) { return (uint16_t)(bytes[0] | bytes[1] << 8); }

/* The error for an ELF file: it is machine code of some GPU, or no device code at all. */
static CUresult refuse_elf(const unsigned char *data, size_t limit, PtxLog *log)
{
    enum { ELF_HEADER = 64, CLASS_AT = 4, ELFCLASS64 = 2, MACHINE_AT = 18, EM_CUDA = 190 };
    bool cuda = limit >= ELF_HEADER && data[CLASS_AT] == ELFCLASS64 && read_u16(data + MACHINE_AT) == EM_CUDA;
    if (!cuda) {
        ptx_log_append(log, "the image is an ELF file, but not of CUDA device code (or truncated)\n");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    ptx_log_append(log, "the image is a cubin, machine code for a GPU; %s\n", CURE);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

/* The best entry of a fat binary: the PTX of the highest architecture that the device has. */
typedef struct FatChoice {
    const char *payload;    /* its PTX; NULL: there is none that the device can run */
    FatEntry entry;
    unsigned machine_codes; /* entries that are not PTX */
    unsigned newer;         /* entries of PTX for newer devices */
} FatChoice;

static void choose_if_better(const FatEntry *entry, const char *payload, int capability, FatChoice *choice)
{
    if (entry->kind != FAT_PTX)
        choice->machine_codes++;
    else if (entry->architecture > (unsigned)capability)
        choice->newer++;
    else if (!choice->payload || entry->architecture > choice->entry.architecture) {
        choice->payload = payload;
        choice->entry = *entry;
    }
}

/* Fills in the choice; false if sizes in the fat binary make no sense. */
static bool scan_fat(const char *data, size_t limit, int capability, FatChoice *choice)
{
    FatHeader header;
    FatEntry entry;
    if (limit < sizeof header) return false;
    memcpy(&header, data, sizeof header);
    if (header.header_size < sizeof header || header.header_size > limit) return false;
    if (header.size > limit - header.header_size) return false;
    const char *at = data + header.header_size;
    for (uint64_t left = header.size; left >= sizeof entry;) {
        memcpy(&entry, at, sizeof entry);
        if (entry.header_size < sizeof entry || entry.header_size > left) return false;
        if (entry.size > left - entry.header_size) return false;
        choose_if_better(&entry, at + entry.header_size, capability, choice);
        at += entry.header_size + entry.size;
        left -= entry.header_size + entry.size;
    }
    return true;
}

/* Writes to the log that the compressed PTX cannot be used; `why` continues the sentence. Returns the
 * error. */
static CUresult refuse_packing(PtxLog *log, CUresult error, const char *why)
{
    ptx_log_append(log, "the PTX in the fat binary is compressed%s\n", why);
    return error;
}

/* Decompresses the payload: its text, with a final NUL, becomes the image's part, in memory that the image
 * owns. */
static CUresult decompress_payload(const FatEntry *entry, const char *payload, Image *image, PtxLog *log)
{
    enum { MAX_TEXT = 1 << 30 };
    static const char damaged[] = ", and damaged or truncated";
    const uint8_t *packed = (const uint8_t *)payload;
    FatPacking packing = {0};
    if (entry->header_size >= sizeof *entry + sizeof packing)
        memcpy(&packing, payload - entry->header_size + sizeof *entry, sizeof packing);
    size_t size = packing.original_size, packed_size = entry->compressed_size;
    if (!(packing.flags & (FAT_LZ4 | FAT_ZSTD)))
        return refuse_packing(log, CUDA_ERROR_NO_BINARY_FOR_GPU,
                              " with an unknown method; nvcc --no-compress leaves it uncompressed");
    if (packed_size > entry->size || !size || size > MAX_TEXT)
        return refuse_packing(log, CUDA_ERROR_INVALID_IMAGE, damaged);
    uint8_t *text = malloc(size + 1);
    if (!text) return CUDA_ERROR_OUT_OF_MEMORY;
    ZstdResult result = packing.flags & FAT_ZSTD ? decompress_zstd(packed, packed_size, text, size)
                        : decompress_lz4(packed, packed_size, text, size) ? ZSTD_DONE
                                                                          : ZSTD_DAMAGED;
    text[size] = '\0';
    image->owned = text;
    image->parts[0] = (ImagePart){(const char *)text, strnlen((const char *)text, size), NULL};
    if (result == ZSTD_DONE) return CUDA_SUCCESS;
    image_close(image);
    if (result == ZSTD_DAMAGED) return refuse_packing(log, CUDA_ERROR_INVALID_IMAGE, damaged);
    return refuse_packing(log, CUDA_ERROR_NO_BINARY_FOR_GPU,
                          " with Zstandard, and the system has no libzstd.so.1: install it, or compile with "
                          "nvcc --compress-mode=speed (LZ4) or --no-compress");
}

static CUresult open_fat(const char *data, size_t limit, int capability, Image *image, PtxLog *log)
{
    FatChoice choice = {0};
    if (!scan_fat(data, limit, capability, &choice)) {
        ptx_log_append(log, "the image is a fat binary with invalid sizes (it may be truncated)\n");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    if (!choice.payload) {
        ptx_log_append(log,
                       "the fat binary holds no PTX for this device (%u machine codes, %u PTX for newer "
                       "devices); %s\n",
                       choice.machine_codes, choice.newer, CURE);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    image->count = 1;
    if (choice.entry.compressed_size) return decompress_payload(&choice.entry, choice.payload, image, log);
    image->parts[0] = (ImagePart){choice.payload, strnlen(choice.payload, choice.entry.size), NULL};
    return CUDA_SUCCESS;
}

void image_close(Image *image)
{
    free(image->owned);
    image->owned = NULL;
}

/* The parts of a linked image; false when its sizes make no sense. */
static bool scan_link(const char *data, size_t limit, Image *image)
{
    LinkHeader header;
    if (limit < sizeof header) return false;
    memcpy(&header, data, sizeof header);
    if (memcmp(header.magic, link_magic, sizeof link_magic)) return false;
    if (header.size > limit || !header.count || header.count > IMAGE_MAX_PARTS) return false;
    uint64_t at = sizeof header + header.count * sizeof *header.lengths;
    for (uint64_t i = 0; i < header.count; i++) {
        uint64_t length;
        if (at > header.size) return false;
        memcpy(&length, data + sizeof header + i * sizeof length, sizeof length);
        if (length >= header.size - at || data[at + length]) return false;
        const char *name = data + at + length + 1;
        uint64_t available = header.size - at - length - 1, name_length = strnlen(name, available);
        if (name_length == available) return false;
        image->parts[i] = (ImagePart){data + at, length, *name ? name : NULL};
        at += length + name_length + 2;
    }
    image->count = (unsigned)header.count;
    image->linked = header.linked;
    image->options = header.options;
    return true;
}

static CUresult open_link(const char *data, size_t limit, Image *image, PtxLog *log)
{
    if (scan_link(data, limit, image)) return CUDA_SUCCESS;
    ptx_log_append(log, "the image is a linked one with invalid sizes (it may be truncated)\n");
    return CUDA_ERROR_INVALID_IMAGE;
}

/* Whether the text contains ".version", as all PTX does, and its first characters are no control characters
 * except white space. */
static bool looks_like_ptx(const char *text, size_t length)
{
    enum { FIRST_CHARACTERS = 64 };
    for (size_t i = 0; i < length && i < FIRST_CHARACTERS; i++)
        if ((unsigned char)text[i] < ' ' && !strchr("\t\n\r\v\f", text[i])) return false;
    return length && memmem(text, length, ".version", 8) != NULL;
}

CUresult image_open(const void *data, size_t limit, int capability, Image *image, PtxLog *log)
{
    const char *bytes = data;
    uint32_t magic = 0;
    image->count = 0;
    image->linked = false;
    image->owned = NULL;
    image->options = (CodeOptions){0};
    size_t head = limit < 4 ? strnlen(bytes, limit) : strnlen(bytes, 4);
    if (head == 4) memcpy(&magic, bytes, 4);
    if (magic == FAT_WRAPPER_MAGIC
        && limit == SIZE_MAX) { /* has an address: valid in memory, not in a file */
        FatWrapper wrapper;
        memcpy(&wrapper, bytes, sizeof wrapper);
        if (!wrapper.data) return CUDA_ERROR_INVALID_IMAGE;
        return open_fat(wrapper.data, SIZE_MAX, capability, image, log);
    }
    if (magic == FAT_MAGIC) return open_fat(bytes, limit, capability, image, log);
    if (head == 4 && !memcmp(bytes, "\177ELF", 4)) return refuse_elf(data, limit, log);
    if (head == 4 && !memcmp(bytes, link_magic, 4)) return open_link(bytes, limit, image, log);
    size_t length = strnlen(bytes, limit);
    if (!looks_like_ptx(bytes, length)) {
        ptx_log_append(log, "the image is neither PTX nor a fat binary\n");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    image->parts[0] = (ImagePart){bytes, length, NULL};
    image->count = 1;
    return CUDA_SUCCESS;
}

/* The length of the name with its NUL; without a name that of "". */
static size_t name_size(const ImagePart *part) { return part->name ? strlen(part->name) + 1 : 1; }

void *image_join(const Image *image, size_t *size)
{
    const ImagePart *parts = image->parts;
    unsigned count = image->count;
    LinkHeader header = {.count = count, .options = image->options, .linked = image->linked};
    uint64_t at = sizeof header + count * sizeof *header.lengths;
    header.size = at;
    for (unsigned i = 0; i < count; i++) header.size += parts[i].length + name_size(&parts[i]) + 1;
    char *data = calloc(1, header.size);
    if (!data) return NULL;
    memcpy(header.magic, link_magic, sizeof link_magic);
    memcpy(data, &header, sizeof header);
    for (unsigned i = 0; i < count; i++) {
        uint64_t length = parts[i].length;
        memcpy(data + sizeof header + i * sizeof length, &length, sizeof length);
        memcpy(data + at, parts[i].text, length);
        memcpy(data + at + length + 1, parts[i].name ? parts[i].name : "", name_size(&parts[i]));
        at += length + 1 + name_size(&parts[i]);
    }
    *size = header.size;
    return data;
}

CUresult image_read_file(const char *path, char **data, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
    struct stat about;
    CUresult result = CUDA_ERROR_FILE_NOT_FOUND;
    if (fstat(fileno(file), &about) || S_ISDIR(about.st_mode)) goto end;
    long length = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    if (length < 0 || fseek(file, 0, SEEK_SET)) goto end;
    result = CUDA_ERROR_OUT_OF_MEMORY;
    bytes = malloc((size_t)length + 1);
    if (!bytes) goto end;
    *size = fread(bytes, 1, (size_t)length, file);
    bytes[*size] = '\0';
    result = ferror(file) ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_SUCCESS;
end:
    fclose(file);
    if (result != CUDA_SUCCESS) {
        free(bytes);
        bytes = NULL;
    }
    *data = bytes;
    return result;
}
