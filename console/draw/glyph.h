/* Glyphs of UTF-8 text, and the columns that they take in every terminal. */
#ifndef CONSOLE_DRAW_GLYPH_H
#define CONSOLE_DRAW_GLYPH_H
#include <stdint.h>

/* The next glyph of a text that is not at its end; '?' for a broken sequence, of which one byte is
 * taken. */
uint32_t glyph_next(const char **text);
/* 1 or 2; 0: terminals differ, or it joins its neighbours, or writing goes from right to left.
 * Those are not worth a broken layout. */
int glyph_width(uint32_t glyph);
#endif
