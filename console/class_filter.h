/* Which classes a filter lets through; the syntax and its check are in class_table.h. Pure. */
#ifndef CONSOLE_CLASS_FILTER_H
#define CONSOLE_CLASS_FILTER_H
#include "class_table.h"

/* text has passed class_filter_check. An absent value passes no comparison. */
bool class_filter_passes(const char *text, const struct model *model, unsigned class_id,
                         uint64_t window_ms);
#endif
