#include "draw/theme.h"

#include <strings.h>

const char *const theme_names[THEME_COUNT] = {"default", "light", "colour-blind", "high-contrast",
                                              "mono"};

unsigned theme_named(const char *name) {
    unsigned theme = 0;
    while (theme < THEME_COUNT && strcasecmp(theme_names[theme], name) != 0) {
        theme++;
    }
    return theme;
}
