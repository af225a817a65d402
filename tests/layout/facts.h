/* Lists of named numbers, and the program that compares two of them. A source file includes this after the
 * definitions, and fills the list LIST. It is built twice and linked into one program: with CHECK_REAL the
 * list has the numbers of NVIDIA's headers, without it those of our definitions, and there is main(). */
#ifndef TESTS_LAYOUT_FACTS_H
#define TESTS_LAYOUT_FACTS_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct Fact {
    const char *name; /* NULL: the end of the list */
    long long value;
} Fact;

extern const Fact real_facts[], our_facts[];

#define SIZE(type) {"sizeof " #type, sizeof(type)},
#define FIELD(type, field) {#type "." #field, offsetof(type, field)},

#ifdef CHECK_REAL
#define LIST real_facts
#else
#define LIST our_facts

int main(void)
{
    int wrong = 0, count = 0;
    for (; our_facts[count].name; count++) {
        const Fact *ours = &our_facts[count], *real = &real_facts[count];
        if (strcmp(ours->name, real->name) != 0 || ours->value != real->value) {
            printf("%s: ours %lld, real %lld\n", ours->name, ours->value, real->value);
            wrong++;
        }
    }
    printf("%d facts compared, %d wrong\n", count, wrong);
    return wrong != 0;
}
#endif

#endif
