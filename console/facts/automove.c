#include "facts/automove.h"

#include "facts/stats.h"

#include <string.h>

static const char *const automove_names[AUTOMOVE_MODES] = {
    "off",
    "by age, gently",
    "at every eviction",
    "at need, any page",
    "at need, the page longest not accessed",
    "at need, the page longest in its class",
    "to where most hits are promised",
};
static const char *const stock_words[AUTOMOVE_STOCK_MODES] = {"0", "1", "2"};

const char *automove_mode_name(unsigned mode) {
    return mode < AUTOMOVE_MODES ? automove_names[mode] : "a mode of its own";
}

const char *automove_mode_word(unsigned mode) {
    return mode < AUTOMOVE_STOCK_MODES ? stock_words[mode] : mode < AUTOMOVE_MODES ? automove_words[mode] : "?";
}

unsigned automove_mode_of(const char *word) {
    unsigned mode = 0;
    while (mode < AUTOMOVE_MODES && strcmp(word, automove_words[mode]) != 0 &&
           strcmp(word, automove_mode_word(mode)) != 0) {
        mode++;
    }
    return mode;
}
