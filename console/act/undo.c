#include "act/undo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void undo_list_fini(struct undo_list *list) {
    for (unsigned i = 0; i < list->count; i++) {
        free(list->of[i]);
    }
    list->count = 0;
}

unsigned undo_push(struct undo_list *list, const struct undo_entry *entry) {
    struct undo_entry *copy = malloc(sizeof *copy);
    if (copy == NULL) {
        return 0;
    }
    *copy = *entry;
    copy->id = ++list->next_id;
    if (list->count == UNDO_MOST) {
        undo_remove(list, list->of[0]->id);
    }
    list->of[list->count++] = copy;
    return copy->id;
}

const struct undo_entry *undo_top(const struct undo_list *list) {
    return list->count > 0 ? list->of[list->count - 1] : NULL;
}

const struct undo_entry *undo_find(const struct undo_list *list, unsigned id) {
    for (unsigned i = 0; i < list->count; i++) {
        if (list->of[i]->id == id) {
            return list->of[i];
        }
    }
    return NULL;
}

void undo_remove(struct undo_list *list, unsigned id) {
    for (unsigned i = 0; i < list->count; i++) {
        if (list->of[i]->id == id) {
            free(list->of[i]);
            list->count--;
            memmove(list->of + i, list->of + i + 1, (list->count - i) * sizeof *list->of);
            return;
        }
    }
}

long undo_record_of(const struct undo_entry *undone, const struct audit_entry *entry) {
    for (unsigned i = 0; i < undone->record_count; i++) {
        const struct recorded *recorded = &undone->records[i];
        bool is_same = entry->what == AUDIT_SET
                           ? strcmp(recorded->name, entry->name) == 0
                           : recorded->name[0] == '\0' && recorded->from == entry->to && recorded->to == entry->from;
        if (is_same) {
            return recorded->id;
        }
    }
    return 0;
}

/* ---- from the record ---- */

static bool plan_of_set(const struct audit_entry *entry, const struct model *model, struct undo_entry *out,
                        char *why, size_t why_bytes) {
    const struct answers *answers = model_answers(model);
    char name[SETTING_NAME_BYTES], value[SETTING_VALUE_BYTES];
    struct tunable row;
    setting_of_record(entry->name, entry->was, answer_text(answers, INQUIRY_SETTINGS), name, value);
    bool is_lru_tune = strcmp(name, "lru_tune") == 0;
    if (!settings_find(model_now(model), answers, is_lru_tune ? entry->name : name, 0, &row)) {
        snprintf(why, why_bytes, "change %ld on record, %.40s %.40s → %.40s, is beyond slatetop: slatectl undo takes it back",
                 entry->id, entry->name, entry->was, entry->is);
        return false;
    }
    out->back = plan_of(action_set(name, value));
    snprintf(out->must_be, sizeof out->must_be, "%s", entry->is);
    snprintf(out->title, sizeof out->title, "%.40s %.40s → %.40s, change %ld on record", entry->name, entry->was,
             entry->is, entry->id);
    return true;
}

bool undo_of_record(const struct audit_entry *entry, const struct model *model, struct undo_entry *out,
                    char *why, size_t why_bytes) {
    *out = (struct undo_entry){.record_count = 1};
    out->records[0] = (struct recorded){.id = entry->id, .from = entry->from, .to = entry->to};
    if (model_now(model) == NULL) {
        snprintf(why, why_bytes, "nothing is known about the server yet");
        return false;
    }
    if (entry->what == AUDIT_SET) {
        snprintf(out->records[0].name, sizeof out->records[0].name, "%s", entry->name);
        return plan_of_set(entry, model, out, why, why_bytes);
    }
    if (entry->from < 1 || entry->to < 1 || entry->pages == 0) {
        snprintf(why, why_bytes, "change %ld on record cannot be taken back: it moved pages %s", entry->id,
                 entry->from < 1 ? "that the server chose itself" : "to the pool");
        return false;
    }
    out->back = plan_of(action_move((unsigned)entry->to, (unsigned)entry->from, entry->pages));
    snprintf(out->title, sizeof out->title, "move %u page%s from class %d to class %d, change %ld on record",
             entry->pages, entry->pages == 1 ? "" : "s", entry->from, entry->to, entry->id);
    return true;
}
