/* The vocabulary as data: the .def tables expanded once. */
#include "ptx/tree.h"

const PtxTypeInfo ptx_types[PTX_TYPE_COUNT] = {
    [PTX_TYPE_NONE] = {"", 0, PTX_BITS, PTX_KIND_NONE},
#define TYPE(name, bits, class, kind) [PTX_##name] = {#name, bits, PTX_##class, PTX_KIND_##kind},
#include "ptx/types.def"
};

const char *const ptx_space_names[PTX_SPACE_COUNT] = {
    [PTX_SPACE_NONE] = "generic",
#define SPACE(name, spelling) [PTX_SPACE_##name] = spelling,
#include "ptx/spaces.def"
};

const PtxModifierInfo ptx_modifiers[PTX_MOD_COUNT] = {
    [PTX_MOD_NONE] = {"", PTX_GROUP_FLAG},
#define MODIFIER(name, spelling, group) [PTX_MOD_##name] = {spelling, PTX_GROUP_##group},
#include "ptx/modifiers.def"
};

const char *const ptx_opcode_names[PTX_OP_COUNT] = {
    [PTX_OP_NONE] = "",
#define OPCODE(name, section) [PTX_OP_##name] = #name,
#define FORM(modifiers, operands)
#include "ptx/instructions.def"
};

const PtxSpecialInfo ptx_specials[PTX_SPECIAL_COUNT] = {
    [PTX_SPECIAL_NONE] = {"", PTX_TYPE_NONE, 0, false},
#define SPECIAL(name, type, components) [PTX_SPECIAL_##name] = {#name, PTX_##type, components, false},
#define NUMBERED(name, type, count) [PTX_SPECIAL_##name] = {#name, PTX_##type, count, true},
#include "ptx/special.def"
};

const char *ptx_file_name(const PtxModule *module, uint32_t number)
{
    for (uint32_t i = 0; i < module->file_count; i++)
        if (module->files[i].number == number) return module->files[i].name;
    return "";
}
