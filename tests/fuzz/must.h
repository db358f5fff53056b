/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A fuzzer's claims: a false one is printed and ends the program. */
#ifndef SLATE_FUZZ_MUST_H
#define SLATE_FUZZ_MUST_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

__attribute__((unused))
static void must(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

/* A reason, if given, is set, and has an end. */
__attribute__((unused))
static void must_say(const char *why, size_t room) {
    size_t n = strnlen(why, room);
    must(n > 0 && n < room, "a refusal says why, and ends");
}
#endif
