#include "serve/listen_list.h"

#include <stdio.h>
#include <string.h>

enum { TAG_BYTES_MAX = 8 };

static bool begins(const char *text, const char *end, const char *word) {
    size_t n = strlen(word);
    return (size_t)(end - text) >= n && memcmp(text, word, n) == 0;
}

/* Skips `open` NAME `close`; NULL: it is not there, or NAME is not of 1 to `most` bytes. */
static const char *skip_named(const char *at, const char *end, const char *open, const char *close, size_t most) {
    const char *name = at + strlen(open), *stop = name;
    while (stop < end && !begins(stop, end, close)) {
        stop++;
    }
    return stop < end && stop > name && (size_t)(stop - name) <= most ? stop + strlen(close) : NULL;
}

/* Skips one word before an address. Returns `at` when there is none, NULL and why when it is refused. */
static const char *skip_word(const char *at, const char *end, char *why) {
    const char *next = at;
    const char *refusal = NULL;
    if (begins(at, end, "tag[")) {
        next = skip_named(at, end, "tag[", "]:", TAG_BYTES_MAX);
        refusal = "-l: a tag has 1 to 8 characters";
    } else if (begins(at, end, "tag_")) {
        next = skip_named(at, end, "tag_", "_:", TAG_BYTES_MAX);
        refusal = "-l: a tag has 1 to 8 characters";
    } else if (begins(at, end, "proto[ascii]:") || begins(at, end, "proto[negotiating]:")) {
        next = skip_named(at, end, "proto[", "]:", sizeof "negotiating");
    } else if (begins(at, end, "proto[")) {
        next = NULL;
        refusal = "-l: a listener speaks proto[ascii] or proto[negotiating]; others are not built yet";
    } else if (begins(at, end, "notls:")) {
        next = at + strlen("notls:");
    } else if (begins(at, end, "btls:") || begins(at, end, "mtls:")) {
        next = NULL;
        refusal = "-l: TLS is not built yet";
    }
    if (!next) {
        snprintf(why, SETTING_WHY_BYTES, "%s", refusal);
    }
    return next;
}

bool listen_list_plain(const char *list, char plain[SETTING_LIST_BYTES], char *why) {
    size_t used = 0;
    for (const char *at = list;;) {
        const char *comma = strchr(at, ','), *end = comma ? comma : at + strlen(at);
        for (const char *next; (next = skip_word(at, end, why)) != at; at = next) {
            if (!next) {
                return false;
            }
        }
        memcpy(plain + used, at, (size_t)(end - at)); /* shorter than the list, which fits */
        used += (size_t)(end - at);
        if (!comma) {
            plain[used] = '\0';
            return true;
        }
        plain[used++] = ',';
        at = comma + 1;
    }
}
