/* Named loads: YCSB's core workloads and published production workloads, each a list of options
 * that are applied before the user's own, so that any of them can still be changed. */
#ifndef LOAD_PRESET_H
#define LOAD_PRESET_H
#include <stdbool.h>
#include <stdio.h>

struct options;

/* False with one sentence in `why` when there is no such name. */
bool preset_apply(struct options *o, const char *name, char *why, size_t why_bytes);
bool workload_apply(struct options *o, const char *name, char *why, size_t why_bytes);

/* Every preset and workload with the options it stands for and its source. */
void presets_print(FILE *out);
#endif
