#include "serve/config/listen_list.h"

#include <stdio.h>
#include <string.h>

enum { TAG_BYTES_MAX = 8 };

static bool begins(const char *text, const char *end, const char *word) {
    size_t n = strlen(word);
    return (size_t)(end - text) >= n && memcmp(text, word, n) == 0;
}

static const char *refuse(char *why, const char *sentence) {
    snprintf(why, SETTING_WHY_BYTES, "%s", sentence);
    return NULL;
}

/* Skips `open` NAME `close`. NULL and why: `close` is not there, or NAME has not 1 to TAG_BYTES_MAX
 * bytes. */
static const char *skip_tag(const char *at, const char *end, const char *open, const char *close,
                            char *why) {
    const char *name = at + strlen(open), *stop = name;
    while (stop < end && !begins(stop, end, close)) {
        stop++;
    }
    bool is_named = stop < end && stop > name && stop - name <= TAG_BYTES_MAX;
    return is_named ? stop + strlen(close) : refuse(why, "-l: a tag has 1 to 8 characters");
}

/* Skips one word before an address. Returns `at` when there is none, NULL and why when it is
 * refused. */
static const char *skip_word(const char *at, const char *end, char *why) {
    static const char *const implied[] = {"proto[ascii]:", "proto[negotiating]:", "notls:"};
    for (size_t i = 0; i < sizeof implied / sizeof *implied; i++) {
        if (begins(at, end, implied[i])) {
            return at + strlen(implied[i]);
        }
    }
    if (begins(at, end, "tag[")) {
        return skip_tag(at, end, "tag[", "]:", why);
    }
    if (begins(at, end, "tag_")) {
        return skip_tag(at, end, "tag_", "_:", why);
    }
    if (begins(at, end, "proto[")) {
        return refuse(
            why,
            "-l: a listener speaks proto[ascii] or proto[negotiating]; others are not built yet");
    }
    if (begins(at, end, "btls:") || begins(at, end, "mtls:")) {
        return refuse(why, "-l: TLS is not built yet");
    }
    return at;
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
