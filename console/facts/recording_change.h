/* What changed between two snapshots of a recording, as a short text, and the second made of the
 * first and the text: lines of the schema "slate/change/1". lua/slate/facts/record_change.lua has
 * the same, and says how the text is made. One thread. */
#ifndef CONSOLE_FACTS_RECORDING_CHANGE_H
#define CONSOLE_FACTS_RECORDING_CHANGE_H
#include <jansson.h>

#define RECORDING_CHANGE_SCHEMA "slate/change/1"
/* A whole snapshot is written at least once in so many lines:
 * what a damaged line costs is bounded. */
enum { RECORDING_WHOLE_EVERY = 300 };

/* The changes as text that the caller frees; NULL when the snapshot has to be written whole, or
 * memory is out. Numbers of `after` that are not whole become millionths, as a reader will have
 * them. */
char *recording_change_between(const json_t *before, json_t *after);

/* The snapshot after a line of changes, which the caller releases;
 * NULL when the line does not fit. */
json_t *recording_change_apply(const json_t *before, const json_t *line);
#endif
