#include "app/server_names.h"

#include "app/settings_file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

struct search {
    const char *word;
    char *out; /* the word itself until its name is found */
    bool is_found;
};

/* A name begins with a letter or digit and has neither the colon nor the slash of an address. */
static bool is_name(const char *word) {
    return isalnum((unsigned char)word[0]) && word[strspn(word, NAME_CHARACTERS)] == '\0';
}

static bool take(void *taker, const char *name, const char *value, char *why, size_t why_bytes) {
    struct search *search = taker;
    if (!is_name(name) || value[0] == '\0') {
        snprintf(why, why_bytes,
                 "a server is 'name = address', its name of letters, digits, '_', '-' and '.'");
        return false;
    }
    if (strcmp(name, search->word) != 0) {
        return true;
    }
    if (search->is_found) {
        snprintf(why, why_bytes, "%.40s is named twice", name);
        return false;
    }
    search->is_found = true;
    snprintf(search->out, SERVER_NAMES_MOST_BYTES, "%s", value);
    return true;
}

static bool usual_path(char *out, size_t out_bytes) {
    const char *named = getenv("SLATE_SERVERS"), *folder = getenv("XDG_CONFIG_HOME"),
               *home = getenv("HOME");
    int n = -1;
    if (named != NULL && named[0] != '\0') {
        n = snprintf(out, out_bytes, "%s", named);
    } else if (folder != NULL && folder[0] == '/') { /* the specification wants others ignored */
        n = snprintf(out, out_bytes, "%s/slate/servers", folder);
    } else if (home != NULL && home[0] == '/') {
        n = snprintf(out, out_bytes, "%s/.config/slate/servers", home);
    }
    return n > 0 && (size_t)n < out_bytes;
}

bool server_names_resolve(const char *word, char out[SERVER_NAMES_MOST_BYTES], char *why,
                          size_t why_bytes) {
    char path[4096];
    struct search search = {.word = word, .out = out};
    snprintf(out, SERVER_NAMES_MOST_BYTES, "%s", word);
    return !is_name(word) || !usual_path(path, sizeof path) ||
           settings_file_read(path, false, take, &search, why, why_bytes);
}
