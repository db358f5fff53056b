/* The operator's own rules and columns (slate-rules(7)): one file in Lua, read at the start and run
 * for every server. It runs in the sandbox of slate.judge.rules: without access to files and
 * sockets, for a bounded time. One thread. */
#ifndef CONSOLE_BRAIN_OWN_RULES_H
#define CONSOLE_BRAIN_OWN_RULES_H
#include <stdbool.h>

/* MOST_COLUMNS and TITLE_BYTES of rules.lua; a value that is cut ends in a "…" of three bytes */
enum { OWN_COLUMNS_MOST = 8, OWN_TITLE_BYTES = 13, OWN_CELL_BYTES = 15 };

/* Reads the file, if there is one; its mistakes are among the findings on each server. Call open
 * before the first snapshot, and close at the end. */
void own_rules_open(void);
void own_rules_close(void);

bool own_rules_are_open(void);

/* The count of the file's columns; titles are valid until own_rules_close. A value takes at most
 * `width` columns of the screen. */
unsigned own_rules_columns(void);
const char *own_rules_title(unsigned column);
int own_rules_width(unsigned column);
#endif
