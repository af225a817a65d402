/* Which buffers hold all of the image in them. Every buffer is as large as it says: ASan sees more. */
#include "check.h"

#include <stdlib.h>

#include "core/image_size.c"

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

static void check_parts(const void *image, size_t size)
{
    CHECK(is_whole(image, size));
    for (size_t less = sizeof(uint32_t); less < size; less++) CHECK(!is_whole(image, less));
}

/* Whatever one of its bytes says, nothing outside of the buffer is read. */
static void spoil(void *image, size_t size)
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
    check_parts(&fat, sizeof fat);
    spoil(&fat, sizeof fat);
    fat.second.size = UINT64_MAX - 8;
    CHECK(!is_whole(&fat, sizeof fat));
    fat.second.size = sizeof fat.other;
    fat.first.header_size = 0;
    CHECK(!is_whole(&fat, sizeof fat));
}

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
    check_parts(&elf, sizeof elf);
    spoil(&elf, sizeof elf);
    elf.header.e_shnum = 0; /* section 0 says it */
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
    check_parts(&image, sizeof image);
}

static void test_what_declares_no_size(void)
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
    test_what_declares_no_size();
    return check_done();
}
