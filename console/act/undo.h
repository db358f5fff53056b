/* What can be taken back, and done again: the changes made from here, last first, with their ids in the
 * record of changes; and the last change on record that another program made.
 *
 * Plain data; the record itself is read by whoever asks. One thread. */
#ifndef CONSOLE_ACT_UNDO_H
#define CONSOLE_ACT_UNDO_H
#include "act/action.h"
#include "act/audit.h"

enum { UNDO_MOST = 16, RECORDS_MOST = PLAN_LIMIT * RECORDED_MOST };

/* What one entry of the record was about: which of several an undo takes back. */
struct recorded {
    long id;
    char name[AUDIT_NAME_BYTES]; /* "": a move */
    int from, to;
};

struct undo_entry {
    unsigned id;            /* 0: not from here */
    char title[NOTE_BYTES]; /* of the change */
    struct plan back;       /* last change first */
    unsigned record_count;
    struct recorded records[RECORDS_MOST];
    char must_be[AUDIT_TEXT_BYTES]; /* of a change of others: the server's text of what it set; else "" */
};

/* Oldest first, owned. All zero: empty. */
struct undo_list {
    unsigned count, next_id;
    struct undo_entry *of[UNDO_MOST];
};
void undo_list_fini(struct undo_list *list);

/* Puts a copy of the entry on top, under an id of its own, which is returned; 0 when there is no memory.
 * Of too many the oldest goes. */
unsigned undo_push(struct undo_list *list, const struct undo_entry *entry);
const struct undo_entry *undo_top(const struct undo_list *list);              /* NULL: empty */
const struct undo_entry *undo_find(const struct undo_list *list, unsigned id); /* NULL: not there */
void undo_remove(struct undo_list *list, unsigned id);

/* The id of the entry of the record that a new one takes back; 0 when it is none of these. */
long undo_record_of(const struct undo_entry *undone, const struct audit_entry *entry);

/* The way back of a change on record, whoever made it: a plan of one step. False: why says in a sentence
 * why not. */
bool undo_of_record(const struct audit_entry *entry, const struct model *model, struct undo_entry *out,
                    char *why, size_t why_bytes);
#endif
