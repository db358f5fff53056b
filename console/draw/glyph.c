#include "draw/glyph.h"

#include <stddef.h>

uint32_t glyph_next(const char **text) {
    const unsigned char *at = (const unsigned char *)*text;
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    unsigned tail = at[0] >= 0xf0 ? 3 : at[0] >= 0xe0 ? 2 : at[0] >= 0xc0 ? 1 : 0;
    uint32_t glyph = tail == 0 ? at[0] : at[0] & (0x3fu >> tail);
    if (tail == 0 && at[0] >= 0x80) {
        *text += 1;
        return '?';
    }
    for (unsigned i = 1; i <= tail; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            *text += 1;
            return '?';
        }
        glyph = glyph << 6 | (at[i] & 0x3f);
    }
    *text += tail + 1;
    return glyph >= least[tail] ? glyph : '?';
}

/* In order. Narrow: Latin, Greek, Cyrillic, Armenian, Georgian, arrows and blocks. Wide: the
 * scripts of East Asia, and pictures (Unicode, EastAsianWidth.txt). */
static const struct {
    uint32_t first, last;
    int width;
} shown[] = {
    {0x20, 0x7e, 1},       {0xa1, 0xac, 1},       {0xae, 0x2ff, 1},      {0x370, 0x482, 1},
    {0x48a, 0x52f, 1},     {0x531, 0x556, 1},     {0x561, 0x587, 1},     {0x10d0, 0x10fa, 1},
    {0x1100, 0x115f, 2},   {0x1e00, 0x1ffe, 1},   {0x2010, 0x2027, 1},   {0x2190, 0x22ff, 1},
    {0x2500, 0x25ff, 1},   {0x3001, 0x3029, 2},   {0x3030, 0x303e, 2},   {0x3041, 0x3096, 2},
    {0x309b, 0x30ff, 2},   {0x3105, 0x312f, 2},   {0x3131, 0x318e, 2},   {0x3400, 0x4dbf, 2},
    {0x4e00, 0x9fff, 2},   {0xa000, 0xa48c, 2},   {0xac00, 0xd7a3, 2},   {0xf900, 0xfa6d, 2},
    {0xff01, 0xff60, 2},   {0xffe0, 0xffe6, 2},   {0x1f300, 0x1f320, 2}, {0x1f32d, 0x1f335, 2},
    {0x1f337, 0x1f37c, 2}, {0x1f37e, 0x1f393, 2}, {0x1f3a0, 0x1f3ca, 2}, {0x1f3e0, 0x1f3f0, 2},
    {0x1f400, 0x1f43e, 2}, {0x1f442, 0x1f4fc, 2}, {0x1f4ff, 0x1f53d, 2}, {0x1f5fb, 0x1f64f, 2},
    {0x1f680, 0x1f6c5, 2}, {0x1f90c, 0x1f93a, 2}, {0x1f947, 0x1f9ff, 2}, {0x20000, 0x2fffd, 2},
};

int glyph_width(uint32_t glyph) {
    for (size_t i = 0; i < sizeof shown / sizeof *shown && glyph >= shown[i].first; i++) {
        if (glyph <= shown[i].last) {
            return shown[i].width;
        }
    }
    return 0;
}
