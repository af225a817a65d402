/* Operands of a row of instructions.def, read for one form: "d:0|p a:0 b:u32?" to rules for each operand. */
#include <stdlib.h>
#include <string.h>

#include "ptx/parser.h"

/* type = digit | "w" | "any" | a type's name
 *
 * A digit is the number of a type of the form; w is twice as wide as the form's first. Returns where it
 * ends. */
static const char *ptx_rule_type(const PtxForm *form, const char *at, PtxOperandRule *rule)
{
    size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789");
    PtxType first = (PtxType)form->types[0];
    if (length == 1 && *at >= '0' && *at <= '9')
        rule->type = form->types[*at - '0'];
    else if (length == 1 && *at == 'w')
        rule->type = (uint8_t)(first == PTX_u16   ? PTX_u32
                               : first == PTX_s16 ? PTX_s32
                               : first == PTX_u32 ? PTX_u64
                                                  : PTX_s64);
    else if (length == 3 && !memcmp(at, "any", 3))
        rule->type = PTX_TYPE_NONE;
    else
        rule->type = (uint8_t)ptx_word(at, length)->word;
    return at + length;
}

/* suffixes = suffix*, suffix = "~" | "%" | "*" | "+" | "_" | "|p" | "|P" | "?" | "<" number | "=" number */
static const char *ptx_rule_suffixes(const PtxForm *form, const char *at, PtxOperandRule *rule)
{
    for (;; at++) {
        switch (*at) {
        case '~': rule->relaxed = true; break;
        case '%': rule->vector = form->vector; break;
        case '*': rule->vector = 0; break;
        case '+': rule->braces = true; break;
        case '_': rule->sink = true; break;
        case '?': rule->optional = true; break;
        case '|':
            rule->pair = true;
            rule->pair_only = *++at == 'P';
            break;
        case '<':
        case '=': {
            char sign = *at, *end;
            uint32_t number = (uint32_t)strtoul(at + 1, &end, 10);
            if (sign == '<')
                rule->limit = number;
            else
                rule->exact = number;
            at = end - 1;
            break;
        }
        default: return at;
        }
    }
}

/* address = "[" letter "]" (":" (digit | space))? */
static const char *ptx_rule_address(const PtxForm *form, const char *at, PtxOperandRule *rule)
{
    rule->shape = at[1] == 't' ? PTX_SHAPE_TUPLE : PTX_SHAPE_ADDRESS;
    rule->space = form->spaces[0];
    at += strlen("[a]");
    if (*at != ':') return at;
    size_t length = strspn(++at, "abcdefghijklmnopqrstuvwxyz01");
    rule->space = length == 1 ? form->spaces[*at - '0'] : (uint8_t)ptx_word(at, length)->word;
    return at + length;
}

/* The shape that an operand's name stands for. */
static PtxShape ptx_rule_shape(const char *at, size_t length)
{
    static const struct {
        const char *name;
        PtxShape shape;
    } shapes[] = {
        {"mov", PTX_SHAPE_MOV},     {"dmov", PTX_SHAPE_MOV_DESTINATION}, {"label", PTX_SHAPE_LABEL},
        {"table", PTX_SHAPE_TABLE}, {"video", PTX_SHAPE_VIDEO},          {"call", PTX_SHAPE_CALL},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strlen(shapes[i].name) == length && !memcmp(shapes[i].name, at, length)) return shapes[i].shape;
    return *at == 'd' ? PTX_SHAPE_DESTINATION : PTX_SHAPE_SOURCE;
}

/* operand = ("[" name "]" | "{" name (":" type)? "}" | "#" name | "="? name (":" type)?) suffix* */
static const char *ptx_operand_rule(const PtxForm *form, const char *at, PtxOperandRule *rule)
{
    rule->vector = 1;
    rule->type = form->types[0];
    if (*at == '[') return ptx_rule_suffixes(form, ptx_rule_address(form, at, rule), rule);
    bool braces = *at == '{', immediate = *at == '#';
    rule->register_only = *at == '=';
    at += braces || immediate || rule->register_only;
    size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz");
    rule->shape = (uint8_t)(immediate ? PTX_SHAPE_IMMEDIATE : ptx_rule_shape(at, length));
    at += length;
    if (*at == ':') at = ptx_rule_type(form, at + 1, rule);
    if (braces) {
        rule->shape = PTX_SHAPE_VECTOR;
        at++;
    }
    return ptx_rule_suffixes(form, at, rule);
}

void ptx_signature(PtxParser *p, const PtxForm *form, const char *text, PtxSignature *signature)
{
    PtxOperandRule rules[PTX_MAX_OPERANDS] = {0};
    for (const char *at = text; *at && signature->count < PTX_MAX_OPERANDS; at += *at == ' ') {
        /* The operand of .L2::cache_hint, which is there only with it. */
        if (!strncmp(at, "policy", strlen("policy")) && !ptx_has(form, PTX_MOD_L2_cache_hint)) {
            at += strcspn(at, " ");
            continue;
        }
        PtxOperandRule *rule = &rules[signature->count++];
        at = ptx_operand_rule(form, at, rule);
        signature->required += !rule->optional;
    }
    signature->operands = ptx_new(p, signature->count * sizeof *rules);
    memcpy(signature->operands, rules, signature->count * sizeof *rules);
}
