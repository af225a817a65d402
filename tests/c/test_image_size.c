/* Which buffers hold a complete image. Every buffer is allocated with its exact size, so that
 * AddressSanitizer finds reads past its end. */
#include "check.h"

#include <stdlib.h>

#include "core/image_size.c"

/* What image_is_whole() returns; checks that a reason is given exactly if it is false. */
static bool is_whole(const void *image, size_t size)
{
    char why[160] = "";
    void *exact = malloc(size + 1);
    memcpy(exact, image, size);
    bool whole = image_is_whole(exact, size, why, sizeof why);
    CHECK(whole == !*why);
    free(exact);
    return whole;
}

/* The image is complete, and each of its truncations is not. */
static void check_truncations(const void *image, size_t size)
{
    CHECK(is_whole(image, size));
    for (size_t less = sizeof(uint32_t); less < size; less++) CHECK(!is_whole(image, less));
}

/* Sets each byte to several values: whatever sizes the image declares then, nothing outside the buffer is
 * read. */
static void corrupt_each_byte(void *image, size_t size)
{
    unsigned char *bytes = image;
    for (size_t at = 0; at < size; at++) {
        unsigned char before = bytes[at];
        for (int value = 0; value < 256; value += 51) {
            bytes[at] = (unsigned char)value;
            is_whole(image, size);
        }
        bytes[at] = before;
    }
}

static void test_fat_binary(void)
{
    struct {
        FatHeader header;
        FatEntry first;
        char payload[8];
        FatEntry second;
        char other[16];
    } fat = {
        {FAT_MAGIC, 1, sizeof(FatHeader), 0},
        {.kind = 1, .version = 0x101, .header_size = sizeof(FatEntry), .size = sizeof fat.payload},
        "ptx",
        {.kind = 2, .version = 0x101, .header_size = sizeof(FatEntry), .size = sizeof fat.other},
        "code",
    };
    fat.header.size = sizeof fat - sizeof fat.header;
    check_truncations(&fat, sizeof fat);
    corrupt_each_byte(&fat, sizeof fat);
    fat.second.size = UINT64_MAX - 8;
    CHECK(!is_whole(&fat, sizeof fat));
    fat.second.size = sizeof fat.other;
    fat.first.header_size = 0;
    CHECK(!is_whole(&fat, sizeof fat));
}

/* A wrapper only points to an image elsewhere, so it is never complete. */
static void test_wrapper(void)
{
    uint32_t wrapper[6] = {FAT_WRAPPER_MAGIC, 1};
    CHECK(!is_whole(wrapper, sizeof wrapper));
}

static void test_elf(void)
{
    struct {
        Elf64_Ehdr header;
        Elf64_Shdr sections[3];
        Elf64_Phdr segment;
        char text[8];
    } elf = {
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
                   .e_shnum = 3,
                   .e_phnum = 1,
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_shoff = offsetof(__typeof__(elf), sections),
                   .e_phoff = offsetof(__typeof__(elf), segment)},
        .sections = {{.sh_type = SHT_NULL},
                     {.sh_type = SHT_NOBITS, .sh_offset = sizeof elf, .sh_size = 1 << 20},
                     {.sh_type = SHT_PROGBITS, .sh_offset = offsetof(__typeof__(elf), text), .sh_size = 8}},
        .segment = {.p_offset = offsetof(__typeof__(elf), text), .p_filesz = 8, .p_memsz = 1 << 20},
    };
    check_truncations(&elf, sizeof elf);
    corrupt_each_byte(&elf, sizeof elf);
    elf.header.e_shnum = 0; /* then the size of section 0 is the number of sections */
    elf.sections[0].sh_size = 3;
    CHECK(is_whole(&elf, sizeof elf));
    elf.sections[0].sh_size = UINT64_MAX / sizeof(Elf64_Shdr);
    CHECK(!is_whole(&elf, sizeof elf));
    elf.header.e_ident[EI_CLASS] = ELFCLASS32;
    CHECK(!is_whole(&elf, sizeof elf));
}

static void test_linked_image(void)
{
    struct {
        char magic[CPU_LINK_MAGIC_BYTES];
        uint64_t size;
        char rest[8];
    } image = {CPU_LINK_MAGIC, sizeof image, "ptx"};
    check_truncations(&image, sizeof image);
}

/* Images that declare no size are complete in any buffer. */
static void test_images_without_a_size(void)
{
    static const char *const texts[] = {"", "p", ".version 8.0\n", "!<arch>\n", "\x7f"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) CHECK(is_whole(texts[i], strlen(texts[i])));
}

int main(void)
{
    test_fat_binary();
    test_wrapper();
    test_elf();
    test_linked_image();
    test_images_without_a_size();
    return check_done();
}
