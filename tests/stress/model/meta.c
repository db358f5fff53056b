#include "meta.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "known.h"

/* One flag after the code of a meta reply; `*at` advances behind the flag. */
static bool next_flag(const char **at, char *letter, const char **token, size_t *token_bytes) {
    if (**at != ' ') {
        return false;
    }
    *letter = (*at)[1];
    *token = *letter != '\0' ? *at + 2 : *at + 1;
    *token_bytes = strcspn(*token, " ");
    *at = *token + *token_bytes;
    return *letter != '\0';
}

static bool opaque_is(const struct request *r, const char *token, size_t bytes) {
    char text[16];
    return (size_t)snprintf(text, sizeof text, "%u", r->opaque) == bytes && memcmp(text, token, bytes) == 0;
}

bool meta_hear_flags(const struct request *r, struct entry *e, struct world *w, const char *line, const char *shown, bool trust_cas,
                     uint64_t *size, double *ttl, bool *ttl_never, uint32_t *flags, struct meta_marks *marks) {
    const char *at = line, *token;
    size_t bytes;
    char letter;
    for (const char *s = r->show; *s != '\0'; s++) {
        if (strchr(shown, *s) == NULL) {
            continue;
        }
        if (!next_flag(&at, &letter, &token, &bytes) || letter != *s || (letter == 'O' && !opaque_is(r, token, bytes))) {
            return false;
        }
        uint64_t n = strtoull(token, NULL, 10);
        switch (letter) {
        case 'c':
            if (trust_cas && !e->broken) {
                known_learn_cas(r, e, w, n);
            }
            break;
        case 's': *size = n; break;
        case 'f': *flags = (uint32_t)n; break;
        case 't':
            *ttl_never = *token == '-';
            *ttl = (double)n;
            break;
        case 'k':
            if (strncmp(at, " b", 2) == 0) {
                at += 2;
            } else if (bytes != e->key_bytes || memcmp(token, e->key, bytes) != 0) {
                return false;
            }
            break;
        default: break;
        }
    }
    while (next_flag(&at, &letter, &token, &bytes)) {
        bool *mark = letter == 'W' ? &marks->won : letter == 'Z' ? &marks->lost : letter == 'X' ? &marks->stale : NULL;
        if (mark == NULL) {
            return false;
        }
        *mark = true;
    }
    return true;
}

bool meta_shows(const struct request *r, char letter) { return strchr(r->show, letter) != NULL; }

void meta_check_ttl(const struct request *r, struct entry *e, struct world *w, double ttl, bool never) {
    double now = now_s();
    if (never != e->life.never || (!never && (ttl < e->life.least_s - now - 1 || ttl > e->life.most_s - r->sent_s + 1))) {
        known_wrong(w, WRONG_FACT, r, e, "the time it has left", NULL);
    }
}
