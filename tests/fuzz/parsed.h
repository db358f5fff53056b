/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The requests of a parsed stream, as text, so that two ways of arrival can be compared. */
#ifndef SLATE_FUZZ_PARSED_H
#define SLATE_FUZZ_PARSED_H
#include "must.h"

struct record {
    char  *text;
    size_t bytes, room;
    bool   closed; /* the parser hung up: how soon may depend on the part of a long line that it saw at once */
};

static void put(struct record *r, const void *bytes, size_t n) {
    if (r->bytes + n > r->room) {
        r->room = 2 * (r->bytes + n);
        r->text = realloc(r->text, r->room);
        if (r->text == NULL) {
            abort();
        }
    }
    if (n > 0) {
        memcpy(r->text + r->bytes, bytes, n);
    }
    r->bytes += n;
}

static void put_number(struct record *r, const char *name, uint64_t number) {
    char text[48];
    put(r, text, (size_t)snprintf(text, sizeof text, " %s=%llu", name, (unsigned long long)number));
}

/* Frees both. The text of a parser that hung up may be shorter. */
static void must_be_same(struct record *whole, struct record *pieces, size_t piece, unsigned room) {
    size_t shared = whole->bytes < pieces->bytes ? whole->bytes : pieces->bytes;
    if (memcmp(whole->text ? whole->text : "", pieces->text ? pieces->text : "", shared) != 0 ||
        (whole->bytes != pieces->bytes && !whole->closed && !pieces->closed)) {
        fprintf(stderr, "whole:%.*s\n\nin pieces of %zu, %u at once:%.*s\n", (int)whole->bytes, whole->text, piece, room,
                (int)pieces->bytes, pieces->text);
        abort();
    }
    free(whole->text);
    free(pieces->text);
}
#endif
