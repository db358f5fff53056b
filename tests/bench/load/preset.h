/* Published production workloads, each a list of options that are applied before the user's own,
 * so that any of them can still be changed. The manual names their sources. */
#ifndef LOAD_PRESET_H
#define LOAD_PRESET_H
#include <stdbool.h>
#include <stddef.h>

struct options;

/* False with one sentence in `why` when there is no such name. */
bool preset_apply(struct options *o, const char *name, char *why, size_t why_bytes);
#endif
