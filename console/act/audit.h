/* The record of changes that slatectl and slatetop share: a file of JSON lines (slate/audit/1 of
 * slate-json(7)), only ever appended to, each line in one write. An entry is a change that was made, and
 * takes an earlier one back when it names that. Texts are as the server writes them, so that either
 * program can take back what the other did. It does I/O; only acting calls it. One thread. */
#ifndef CONSOLE_ACT_AUDIT_H
#define CONSOLE_ACT_AUDIT_H
#include <stdbool.h>
#include <stddef.h>

enum { AUDIT_PATH_BYTES = 512, AUDIT_NAME_BYTES = 40, AUDIT_TEXT_BYTES = 160, AUDIT_SERVER_BYTES = 200 };

enum audit_what { AUDIT_SET, AUDIT_MOVE };

struct audit_entry {
    long id; /* given by audit_append; ids ascend in the file */
    double time_s;
    char server[AUDIT_SERVER_BYTES]; /* "cache7:11211" */
    enum audit_what what;
    char name[AUDIT_NAME_BYTES], was[AUDIT_TEXT_BYTES], is[AUDIT_TEXT_BYTES]; /* AUDIT_SET */
    int from, to;   /* AUDIT_MOVE: class ids; 0 is the pool, from -1: the server chose */
    unsigned pages;
    long undoes; /* id of the change that this one took back; 0: none */
};

/* Where the record is without an option: $SLATE_AUDIT, else $XDG_STATE_HOME/slate/audit.log, else
 * $HOME/.local/state/slate/audit.log; "" when none is set. */
void audit_default_path(char out[AUDIT_PATH_BYTES]);

/* Gives the entry the next id and appends it; makes the file (mode 600) and its folders when they are
 * missing. False: why says in a sentence what went wrong, and nothing was written. */
bool audit_append(const char *path, struct audit_entry *entry, char *why, size_t why_bytes);

/* What came of a change, in words and figures: hits as shares, NAN where unknown. */
struct audit_outcome {
    long of; /* id of the change */
    double time_s;
    char server[AUDIT_SERVER_BYTES];
    const char *words;
    double hit_ratio_before, hit_ratio_after, evictions_before_per_s, evictions_after_per_s, items_lost;
};

/* Appends it as audit_append does. It has no id: it is no change, and cannot be taken back. */
bool audit_append_outcome(const char *path, const struct audit_outcome *outcome, char *why, size_t why_bytes);

/* The last change to a server that was not taken back, by whichever program; false when there is none
 * within the last AUDIT_TAIL_BYTES of the record. Lines that are no entries are skipped. */
enum { AUDIT_TAIL_BYTES = 1 << 18 };
bool audit_last_undone(const char *path, const char *server, struct audit_entry *out);
#endif
