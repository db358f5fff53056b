/* Cells read as text. */
#ifndef CONSOLE_TEST_CELLS_ROW_H
#define CONSOLE_TEST_CELLS_ROW_H
#include "draw/cells.h"

/* Row y as UTF-8 without trailing blanks. */
__attribute__((unused)) static const char *cells_row(const struct cells *cells, int y, char *out, size_t out_bytes) {
    size_t used = 0, kept = 0;
    for (int x = 0; y < cells->height && x < cells->width && used + 4 <= out_bytes; x++) {
        uint32_t glyph = cells->grid[y * cells->width + x].glyph;
        if (glyph == CELL_REST) {
            continue;
        }
        if (glyph >= 0x10000) {
            out[used++] = (char)(0xf0 | glyph >> 18);
            out[used++] = (char)(0x80 | (glyph >> 12 & 0x3f));
            out[used++] = (char)(0x80 | (glyph >> 6 & 0x3f));
        } else if (glyph >= 0x800) {
            out[used++] = (char)(0xe0 | glyph >> 12);
            out[used++] = (char)(0x80 | (glyph >> 6 & 0x3f));
        } else if (glyph >= 0x80) {
            out[used++] = (char)(0xc0 | glyph >> 6);
        }
        out[used++] = (char)(glyph >= 0x80 ? 0x80 | (glyph & 0x3f) : glyph);
        kept = glyph == ' ' ? kept : used;
    }
    out[kept] = '\0';
    return out;
}
#endif
