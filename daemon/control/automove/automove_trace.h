/* A recording of the snapshots that policies in Lua saw: the setting automove_record. Each snapshot
 * is a line of JSON in the form that `slatectl record` writes and `slatectl policy run --recording`
 * reads (slate-json(7)). So the decisions can be repeated. Threading: the tuner's thread. Cost: a
 * write a second, some 300 bytes a class. */
#ifndef SLATE_CONTROL_AUTOMOVE_AUTOMOVE_TRACE_H
#define SLATE_CONTROL_AUTOMOVE_AUTOMOVE_TRACE_H
#include "control/snapshot.h"

struct automove_trace;
/* Opens the file for appending; creates a missing file. NULL and errno. */
struct automove_trace *automove_trace_open(const char *path);
/* Adds a line. A file that cannot be written is logged once, and closed. */
void          automove_trace_add(struct automove_trace *, const struct snapshot *);
void          automove_trace_close(struct automove_trace **);
#endif
