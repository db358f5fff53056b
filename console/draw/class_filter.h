/* A filter of classes: terms separated by spaces. A class passes when all terms hold. A term is a
 * column, one of < <= = >= > and a number ("ev>0"), or a class id alone. Pure. */
#ifndef CONSOLE_DRAW_CLASS_FILTER_H
#define CONSOLE_DRAW_CLASS_FILTER_H
#include "draw/class_columns.h"

enum { FILTER_BYTES = 80 };

/* True when the text is a filter ("ev>0 size>=1000", a class id, or nothing); else why has the
 * mistake. */
bool class_filter_check(const char *text, char *why, size_t why_bytes);

/* text has passed class_filter_check. An absent value passes no comparison. */
bool class_filter_passes(const char *text, const struct model *model, unsigned class_id,
                         uint64_t window_ms);
#endif
