#include "serve/config/environment.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/config/settings.h"

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* Cuts `text` into words in place. Returns how many, or -1 if a quote has no end. */
static int split(char *text, char **word) {
    int   count = 0;
    char *to = text;
    for (const char *at = text;;) {
        while (is_blank(*at)) {
            at++;
        }
        if (*at == '\0') {
            return count;
        }
        /* `to` never passes `at`: quotes are left out, and a blank becomes the end of its word */
        word[count++] = to;
        char quote = '\0';
        for (; *at != '\0' && (quote || !is_blank(*at)); at++) {
            if (quote ? *at == quote : *at == '\'' || *at == '"') {
                quote = quote ? '\0' : *at;
            } else {
                *to++ = *at;
            }
        }
        if (quote) {
            return -1;
        }
        bool last = *at == '\0';
        at += !last;
        *to++ = '\0';
        if (last) {
            return count;
        }
    }
}

/* Settings borrow from the words. Volatile, so that they stay reachable for the leak checker. */
static char **volatile own_words;

char **environment_arguments(const char *text, int *argc, char **argv, char *why) {
    size_t bytes = strlen(text) + 1, given = (size_t)*argc;
    /* a word has at least one byte, and a blank or the end behind it */
    char **word = malloc((given + bytes / 2 + 1) * sizeof *word + bytes);
    if (!word) {
        snprintf(why, SETTING_WHY_BYTES, ENVIRONMENT_OPTIONS ": out of memory");
        return NULL;
    }
    char *copy = (char *)(word + given + bytes / 2 + 1);
    memcpy(copy, text, bytes);
    word[0] = argv[0];
    int count = split(copy, word + 1);
    if (count < 0) {
        snprintf(why, SETTING_WHY_BYTES, ENVIRONMENT_OPTIONS " has a quote without an end");
        free(word);
        return NULL;
    }
    memcpy(word + 1 + count, argv + 1, (given - 1) * sizeof *argv);
    *argc = (int)given + count;
    word[*argc] = NULL;
    own_words = word;
    return word;
}
