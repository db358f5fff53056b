/* Contrast by WCAG 2: every style with a colour of its own has at least 4.5:1. */
#include "draw/dress.h"
#include "tap.h"

#include <math.h>

/* The first 16 colours as xterm has them. */
static const unsigned xterm[16] = {0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd,
                                   0x00cdcd, 0xe5e5e5, 0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00,
                                   0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff};

static unsigned rgb_of(int colour) {
    static const unsigned steps[6] = {0, 95, 135, 175, 215, 255};
    if (colour < 16) {
        return xterm[colour];
    }
    if (colour >= 232) {
        return (8 + 10 * (unsigned)(colour - 232)) * 0x010101;
    }
    colour -= 16;
    return steps[colour / 36] << 16 | steps[colour / 6 % 6] << 8 | steps[colour % 6];
}

static double luminance(unsigned rgb) {
    static const double weights[3] = {0.0722, 0.7152, 0.2126};
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double part = (rgb >> 8 * i & 255) / 255.0;
        sum += weights[i] * (part <= 0.03928 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4));
    }
    return sum;
}

static double contrast(unsigned one, unsigned other) {
    double a = luminance(one), b = luminance(other);
    return (fmax(a, b) + 0.05) / (fmin(a, b) + 0.05);
}

/* Of 8 colours, xterm shows a bold one lighter. */
static double contrast_of(const struct dress *dress, bool is_rich, unsigned ground) {
    int foreground = is_rich ? dress->foreground.of_256 : dress->foreground.of_8;
    int background = is_rich ? dress->background.of_256 : dress->background.of_8;
    if (foreground < 0) {
        return INFINITY; /* the terminal's own, which its owner chose */
    }
    foreground += !is_rich && dress->attributes & DRESS_BOLD ? 8 : 0;
    return contrast(rgb_of(foreground), background < 0 ? ground : rgb_of(background));
}

static void check_theme(unsigned theme, bool is_on_white) {
    unsigned ground = is_on_white ? 0xffffff : 0;
    for (int style = 0; style < STYLE_COUNT; style++) {
        for (int is_rich = 0; is_rich < 2; is_rich++) {
            double found = contrast_of(&dress_of(theme, is_on_white)[style], is_rich, ground);
            ok(found >= 4.5, "%s, style %d, of %d colours: %.1f:1", cells_themes[theme], style,
               is_rich ? 256 : 8, found);
        }
    }
}

TEST(test_every_theme_stands_out_on_black_but_light) {
    for (unsigned theme = 0; theme < DRESS_COUNT; theme++) {
        if (theme != DRESS_LIGHT) {
            check_theme(theme, false);
        }
    }
}

TEST(test_every_theme_stands_out_on_white) {
    for (unsigned theme = 0; theme < DRESS_COUNT; theme++) {
        check_theme(theme, true);
    }
}

TEST(test_black_on_white_is_21) {
    ok(fabs(contrast(0, 0xffffff) - 21) < 0.01, "as WCAG defines it");
}

int main(void) {
    return tap_main();
}
