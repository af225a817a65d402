/* A test in C: CHECK(condition) lines, counted; check_done() is what main returns.
 *
 * A failed check prints its place and its condition, CHECK_EQUAL and CHECK_TEXT both values. A test goes on
 * after a failure. */
#ifndef TESTS_C_CHECK_H
#define TESTS_C_CHECK_H

#include <stdio.h>
#include <string.h>

static _Atomic int check_count, check_failures; /* atomic: threads of a test check as well */

#define CHECK(condition) check_one(!!(condition), #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(a, b) check_equal((long long)(a), (long long)(b), #a " == " #b, __FILE__, __LINE__)
#define CHECK_TEXT(a, b) check_text((a), (b), __FILE__, __LINE__)
/* Calls a function that checks; its name is printed. */
#define CHECK_GROUP(function) (printf("%s\n", #function), function())

static inline void check_one(int good, const char *what, const char *file, int line)
{
    check_count++;
    if (good) return;
    check_failures++;
    printf("%s:%d: failed: %s\n", file, line, what);
}

static inline void check_equal(long long a, long long b, const char *what, const char *file, int line)
{
    check_one(a == b, what, file, line);
    if (a != b) printf("    %lld against %lld\n", a, b);
}

static inline void check_text(const char *a, const char *b, const char *file, int line)
{
    int same = a && b && strcmp(a, b) == 0;
    check_one(same, "texts are the same", file, line);
    if (!same) printf("--- got\n%s\n--- expected\n%s\n", a ? a : "(null)", b ? b : "(null)");
}

/* The exit code of the test: not 0 if a check failed, or if there was none. */
static inline int check_done(void)
{
    printf("%d checks, %d failed\n", check_count, check_failures);
    return check_failures != 0 || check_count == 0;
}

#endif
