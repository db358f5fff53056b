/* The operator's own rules and columns (slate-rules(7)): one file in Lua, read at the start and
 * asked about every server. The file runs in the sandbox of slate.judge.rules: it reaches no file
 * and no socket, and its time is bounded. One thread. */
#ifndef CONSOLE_BRAIN_OWN_RULES_H
#define CONSOLE_BRAIN_OWN_RULES_H
#include <stdbool.h>

/* MOST_COLUMNS and TITLE_BYTES of rules.lua; a value that is cut ends in a "…" of three bytes */
enum { OWN_COLUMNS_MOST = 8, OWN_TITLE_BYTES = 13, OWN_CELL_BYTES = 15 };

/* Reads the file, where there is one; what is wrong with it is among the findings on each server.
 * Call it before a server is looked at, and the other at the end. */
void own_rules_open(void);
void own_rules_close(void);

bool own_rules_are_open(void);

/* The columns of the file; their titles are valid until it is closed. A value takes as many columns
 * of the screen as the width says, or fewer. */
unsigned own_rules_columns(void);
const char *own_rules_title(unsigned column);
int own_rules_width(unsigned column);
#endif
