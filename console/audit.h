/* The operator's own log of every change sent from here: a file of JSON lines, each appended in one
 * write, so several consoles may share it. It does I/O; only acting calls it. One thread. */
#ifndef CONSOLE_AUDIT_H
#define CONSOLE_AUDIT_H
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

enum { AUDIT_PATH_BYTES = 512 };

/* One change that was sent. Texts may hold anything and are escaped; "" where nothing is known. */
struct audit_entry {
    time_t wall;
    const char *server, *software; /* "cache7:11211", "memcached 1.6.18" */
    const char *why;               /* change, undo, trial over */
    const char *what, *command;    /* the title; the line that was sent first */
    const char *before, *undo;     /* the value it had; the line that would set it back */
    const char *outcome;           /* the sentence of the screen */
    bool succeeded;
};

/* Where the log is without an option: $XDG_STATE_HOME/slate/audit.log, else
 * $HOME/.local/state/slate/audit.log; "" when neither is set. */
void audit_default_path(char out[AUDIT_PATH_BYTES]);

/* Appends one line; makes the file (mode 600) and its folders when they are missing. False: why says
 * in a sentence what went wrong, and nothing was written. */
bool audit_append(const char *path, const struct audit_entry *entry, char *why, size_t why_bytes);
#endif
