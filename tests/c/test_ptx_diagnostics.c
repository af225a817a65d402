/* Messages: each error says what is wrong, with line, column, the source line and a caret below it. */
#include <stdlib.h>

#include "check.h"
#include "ptx/ptx.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"
#define BODY HEAD ".entry k()\n{\n.reg .b32 r<9>; .reg .f32 f<9>; .reg .pred p<3>; .reg .b64 q<3>;\n"

/* The message of a text that must not parse. */
static const char *message(const char *text)
{
    static char copy[4096];
    PtxLog log = {0};
    PtxOptions options = {.name = "test.ptx"};
    PtxModule *module = ptx_parse(text, strlen(text), &options, &log);
    snprintf(copy, sizeof copy, "%s", module ? "no error" : ptx_log_text(&log));
    CHECK(module != NULL || (log.errors == 1 && log.status != PTX_OK && log.line > 0));
    ptx_module_free(module);
    ptx_log_free(&log);
    return copy;
}

/* The message of a kernel with the line, which is line 7 of the text. */
static const char *body(const char *line)
{
    char text[2048];
    snprintf(text, sizeof text, BODY "%s\n}\n", line);
    return message(text);
}

#define AT(column) "test.ptx:7:" column ": error: "

static void test_instructions(void)
{
    CHECK_TEXT(body("ad.f32 f1, f2, f3;"),
               AT("1") "unknown instruction 'ad.f32'\n    ad.f32 f1, f2, f3;\n    ^\n");
    CHECK_TEXT(body("add.frob.f32 f1, f2, f3;"),
               AT("4") "unknown modifier '.frob' of 'add'\n    add.frob.f32 f1, f2, f3;\n       ^\n");
    CHECK_TEXT(
        body("add.f32.approx f1, f2, f3;"),
        AT("8") "'.approx' is not a modifier of 'add'\n    add.f32.approx f1, f2, f3;\n           ^\n");
    CHECK_TEXT(body("\tadd.ftz.s32 r1, r2, r3;"), AT("2") "'add.ftz.s32' is not an instruction: a modifier "
                                                          "or type is missing, or they do not go together\n"
                                                          "    \tadd.ftz.s32 r1, r2, r3;\n    \t^\n");
    CHECK_TEXT(body("add.f32 f1, f2;"),
               AT("1") "'add.f32' takes 3 operands, found 2\n    add.f32 f1, f2;\n    ^\n");
    CHECK_TEXT(body("add.f32 f1, f2, r<3>;"),
               AT("17") "'r' is not declared\n    add.f32 f1, f2, r<3>;\n                    ^\n");
    CHECK_TEXT(body("add.s32 r1, f2, r3;"),
               AT("13") "operand 2 of 'add.s32': expected a value of type .s32, found f2 of type .f32\n"
                        "    add.s32 r1, f2, r3;\n                ^\n");
    CHECK_TEXT(body("add.f32 f1, f2, 3;"),
               AT("17") "operand 3 of 'add.f32': expected a value of type .f32, found an integer constant\n"
                        "    add.f32 f1, f2, 3;\n                    ^\n");
    CHECK_TEXT(
        body("ld.global.f32 f1, q1;"),
        AT("19") "operand 2 of 'ld.global.f32': expected an address in brackets, found q1 of type .b64\n"
                 "    ld.global.f32 f1, q1;\n                      ^\n");
    CHECK_TEXT(
        body("and.pred p1, p2, !% ;p3;"),
        AT("19") "expected a register, found '%'\n    and.pred p1, p2, !% ;p3;\n                      ^\n");
    CHECK_TEXT(body("@r1 ret;"), AT("2") "'r1' is not a predicate\n    @r1 ret;\n     ^\n");
    CHECK_TEXT(body("mov.b32 r1, r2"), "test.ptx:8:1: error: expected ',' or ';', found '}'\n    }\n    ^\n");
    CHECK_TEXT(body("bra out;"),
               AT("5") "label 'out' is not in scope in this function\n    bra out;\n        ^\n");
    CHECK_TEXT(body("mov.b32 r1, r9;"),
               AT("13") "'r9' is not declared\n    mov.b32 r1, r9;\n                ^\n");
}

static void test_declarations(void)
{
    CHECK_TEXT(body(".reg .b32 r3;"),
               AT("11") "'r3' is already declared on line 6\n    .reg .b32 r3;\n              ^\n");
    CHECK_TEXT(
        message(HEAD ".global .u32 x;\n.global .u32 x;"),
        "test.ptx:5:14: error: 'x' is already defined on line 4\n    .global .u32 x;\n                 ^\n");
    CHECK_TEXT(message(HEAD ".global .u32 x[2] = {1, 2, 3};"),
               "test.ptx:4:28: error: more values than 'x' has elements\n    .global .u32 x[2] = {1, 2, 3};\n"
               "                               ^\n");
    CHECK_TEXT(message(HEAD ".entry k("),
               "test.ptx:4:10: error: expected '.param', found the end of the text\n"
               "    .entry k(\n             ^\n");
    CHECK_TEXT(message(HEAD ".entry k() {\nret;"),
               "test.ptx:5:5: error: expected a statement, found the end of the text\n    ret;\n        ^\n");
    CHECK_TEXT(
        message(HEAD ".global .align 3 .u32 x;"),
        "test.ptx:4:16: error: an alignment must be a power of two\n    .global .align 3 .u32 x;\n         "
        "          ^\n");
    CHECK_TEXT(message(HEAD ".frob"),
               "test.ptx:4:1: error: expected a directive, a function or a variable, found '.frob'\n"
               "    .frob\n    ^\n");
}

/* The status with limits on the version and target; 0: no limit. */
static PtxStatus status(const char *text, int version, int target)
{
    PtxLog log = {0};
    PtxOptions options = {.max_version = version, .max_target = target};
    PtxModule *module = ptx_parse(text, strlen(text), &options, &log);
    PtxStatus result = module ? PTX_OK : log.status;
    ptx_module_free(module);
    ptx_log_free(&log);
    return result;
}

static void test_limits(void)
{
    CHECK_EQUAL(status(".version 8.0\n.target sm_75", 80, 75), PTX_OK);
    CHECK_EQUAL(status(".version 8.1\n.target sm_75", 80, 75), PTX_UNSUPPORTED_VERSION);
    CHECK_EQUAL(status(".version 8.0\n.target sm_80", 80, 75), PTX_UNSUPPORTED_TARGET);
    CHECK_EQUAL(status(".version 1.4\n.target sm_13", 0, 0), PTX_OK);
    CHECK_EQUAL(status(".version 1.0\n.target sm_10", 0, 0), PTX_OK);
    CHECK_EQUAL(status(".version 0.9\n.target sm_10", 0, 0), PTX_UNSUPPORTED_VERSION);
    CHECK_EQUAL(status(".version 99.0\n.target sm_75", 0, 0), PTX_UNSUPPORTED_VERSION);
    CHECK_EQUAL(status(".version 9.0\n.target sm_120f", 0, 0), PTX_OK);
    CHECK_EQUAL(status(".version 8\n.target sm_75", 0, 0), PTX_INVALID);
    CHECK_EQUAL(status(".version 8.0\n.target gfx90a", 0, 0), PTX_INVALID);
    CHECK_EQUAL(status(".version 8.0\n.target debug", 0, 0), PTX_INVALID);
    CHECK_EQUAL(status(".target sm_75", 0, 0), PTX_INVALID);
    CHECK_EQUAL(status(".version 8.0\n.target sm_75\n.address_size 32", 0, 0), PTX_INVALID);
}

/* ptx_report() uses the same form; the log keeps all messages, and the place of the first. */
static void test_reports(void)
{
    const char *text = HEAD ".entry k()\n{\n\tret;\n}\n";
    PtxLog log = {0};
    PtxModule *module = ptx_parse(text, strlen(text), NULL, &log);
    CHECK(module && log.errors == 0);
    CHECK_TEXT(ptx_log_text(&log), "");
    ptx_report(module, &log, PTX_INVALID, 6, 2, "no %s here", "ret");
    CHECK_TEXT(ptx_log_text(&log), "ptx:6:2: error: no ret here\n    \tret;\n    \t^\n");
    ptx_report(module, &log, PTX_UNSUPPORTED_TARGET, 4, 1, "second");
    CHECK(log.errors == 2 && log.status == PTX_INVALID && log.line == 6 && log.column == 2);
    ptx_report(module, &log, PTX_INVALID, 400, 9, "a line that is not there");
    CHECK_EQUAL(log.errors, 3);
    ptx_log_append(&log, "%d", 7);
    CHECK(log.text[log.length - 1] == '7' && log.text[log.length] == 0);
    ptx_module_free(module);
    ptx_log_free(&log);
    CHECK_TEXT(ptx_log_text(&log), "");
}

/* The message for a line of any length and any bytes is short and has only printable characters. */
static void test_long_lines(void)
{
    static char text[20000];
    PtxLog log = {0};
    size_t head = strlen(HEAD);
    memcpy(text, HEAD, head);
    memset(text + head, ' ', sizeof text - head - 1);
    memcpy(text + 10000, "\x01\xff bad", 6);
    CHECK(ptx_parse(text, strlen(text), NULL, &log) == NULL);
    CHECK(log.line == 4 && log.column == 10001 - (int)head && log.length < 500);
    CHECK(strstr(ptx_log_text(&log), "byte 0x01 does not belong in PTX") != NULL);
    CHECK(strstr(ptx_log_text(&log), "?? bad") != NULL && strchr(ptx_log_text(&log), '\x01') == NULL);
    ptx_log_free(&log);
}

int main(void)
{
    CHECK_GROUP(test_instructions);
    CHECK_GROUP(test_declarations);
    CHECK_GROUP(test_limits);
    CHECK_GROUP(test_reports);
    CHECK_GROUP(test_long_lines);
    return check_done();
}
