#include "draw/dress.h"

/* As curses numbers them. */
enum { BLACK, RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN, WHITE };

#define OWN {-1, -1}
#define PLAIN {0, OWN, OWN}
/* Of the first eight colours, light has only those that stand out on white: red, blue, magenta and
 * black, none of them bold, because terminals make bold ones lighter. Everybody can distinguish its
 * blue, brown and underlined red.
 * colour-blind: blue, orange and vermillion of Okabe and Ito, which everybody can distinguish.
 * No black is bold: of 8 colours that is grey. */
static const struct dress dresses[DRESS_COUNT][STYLE_COUNT] = {
    {[STYLE_PLAIN] = PLAIN,
     [STYLE_DIM] = {0, {WHITE, 246}, OWN},
     [STYLE_STRONG] = {DRESS_BOLD, OWN, OWN},
     [STYLE_TITLE] = {0, {WHITE, 255}, {BLUE, 24}},
     [STYLE_HEADER] = {0, {CYAN, 44}, OWN},
     [STYLE_KEYBAR] = {0, {BLACK, 16}, {CYAN, 44}},
     [STYLE_GRAPH] = {0, {CYAN, 38}, OWN},
     [STYLE_GOOD] = {0, {GREEN, 34}, OWN},
     [STYLE_WARN] = {DRESS_BOLD, {YELLOW, 220}, OWN},
     [STYLE_BAD] = {DRESS_BOLD, {RED, 203}, OWN},
     [STYLE_DIALOG] = PLAIN},
    {[STYLE_PLAIN] = PLAIN,
     [STYLE_DIM] = {0, {BLACK, 242}, OWN},
     [STYLE_STRONG] = {DRESS_BOLD, OWN, OWN},
     [STYLE_TITLE] = {0, {WHITE, 255}, {BLUE, 25}},
     [STYLE_HEADER] = {DRESS_UNDERLINE, {BLUE, 25}, OWN},
     [STYLE_KEYBAR] = {0, {WHITE, 255}, {BLUE, 25}},
     [STYLE_GRAPH] = {0, {BLUE, 26}, OWN},
     [STYLE_GOOD] = {0, {BLUE, 25}, OWN},
     [STYLE_WARN] = {0, {MAGENTA, 130}, OWN},
     [STYLE_BAD] = {DRESS_UNDERLINE, {RED, 160}, OWN},
     [STYLE_DIALOG] = PLAIN},
    {[STYLE_PLAIN] = PLAIN,
     [STYLE_DIM] = {0, {WHITE, 246}, OWN},
     [STYLE_STRONG] = {DRESS_BOLD, OWN, OWN},
     [STYLE_TITLE] = {0, {WHITE, 255}, {BLUE, 25}},
     [STYLE_HEADER] = {0, {CYAN, 74}, OWN},
     [STYLE_KEYBAR] = {0, {BLACK, 16}, {CYAN, 74}},
     [STYLE_GRAPH] = {0, {CYAN, 74}, OWN},
     [STYLE_GOOD] = {0, {CYAN, 32}, OWN},
     [STYLE_WARN] = {DRESS_BOLD, {YELLOW, 214}, OWN},
     [STYLE_BAD] = {DRESS_BOLD | DRESS_UNDERLINE, {MAGENTA, 166}, OWN},
     [STYLE_DIALOG] = PLAIN},
    {[STYLE_PLAIN] = {0, {WHITE, 231}, {BLACK, 16}},
     [STYLE_DIM] = {0, {WHITE, 252}, {BLACK, 16}},
     [STYLE_STRONG] = {DRESS_BOLD, {WHITE, 231}, {BLACK, 16}},
     [STYLE_TITLE] = {0, {BLACK, 16}, {WHITE, 231}},
     [STYLE_HEADER] = {DRESS_BOLD | DRESS_UNDERLINE, {WHITE, 231}, {BLACK, 16}},
     [STYLE_KEYBAR] = {0, {BLACK, 16}, {WHITE, 231}},
     [STYLE_GRAPH] = {0, {WHITE, 231}, {BLACK, 16}},
     [STYLE_GOOD] = {0, {WHITE, 231}, {BLACK, 16}},
     [STYLE_WARN] = {0, {BLACK, 16}, {YELLOW, 226}},
     [STYLE_BAD] = {DRESS_BOLD, {WHITE, 231}, {RED, 160}},
     [STYLE_DIALOG] = {0, {WHITE, 231}, {BLACK, 16}}},
};

const struct dress *dress_of(unsigned theme, bool is_on_white) {
    bool is_for_black = theme == DRESS_DEFAULT || theme == DRESS_COLOUR_BLIND;
    return dresses[is_on_white && is_for_black ? DRESS_LIGHT : theme];
}
