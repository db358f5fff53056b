#include "views/review/review_notes.h"

#include "brain/format.h"
#include "views/review/marked.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void class_note(const struct snapshot *now, unsigned id, char *out, size_t out_bytes) {
    if (id == POOL_CLASS) {
        snprintf(out, out_bytes, "the global pool: free for any class");
        return;
    }
    if (id >= CLASS_LIMIT || !snapshot_class(now, id)->present) {
        snprintf(out, out_bytes, "no such class");
        return;
    }
    const struct class_stats *stats = snapshot_class(now, id);
    char size[FORMAT_BYTES], pages[FORMAT_BYTES], free_pages[FORMAT_BYTES], age[FORMAT_BYTES];
    snprintf(out, out_bytes, "%s B chunks, %s page%s, %s free, oldest item %s",
             format_exact(size, stats->value[CLASS_chunk_size]),
             format_count(pages, stat_number(stats->value[CLASS_total_pages])),
             stats->value[CLASS_total_pages] == 1 ? "" : "s",
             format_count(free_pages, floor(snapshot_free_pages(stats))),
             format_age(age, stat_number(snapshot_tail_age(stats))));
}

static void review_value_now(const struct action *action, const struct model *model, char *out,
                             size_t out_bytes) {
    struct tunable row;
    const char *blank = strrchr(action->value, ' ');
    unsigned class_id = 0;
    if (strcmp(action->name, "class_policy") == 0 && blank != NULL) {
        sscanf(blank, "%u", &class_id);
    }
    bool is_known =
        settings_find(model_now(model), model_answers(model), action->name, class_id, &row);
    snprintf(out, out_bytes, "%s", is_known && row.now[0] != '\0' ? row.now : "-");
}

static void value_note(const struct frame *frame, const struct ui *ui, char *out,
                       size_t out_bytes) {
    const struct action *action = &ui->review.plan.steps[0];
    char now[SETTING_VALUE_BYTES], words[SETTING_WORDS_BYTES];
    if (ui->review.is_for_marked) {
        marked_now(frame, ui, action->name, now, sizeof now);
    } else {
        review_value_now(action, frame->live, now, sizeof now);
    }
    setting_value_words(action->name, action->value, words);
    snprintf(out, out_bytes, "now %.60s%s%s", now, words[0] != '\0' ? "; then " : "", words);
}

static const char *review_hint_of(enum field field, unsigned number) {
    switch (field) {
    case FIELD_PAGES:
        return "type a number, or + and -";
    case FIELD_EVICTIONS:
        return "back at more lost items, unless hits rise; 0: never";
    case FIELD_HITS:
        return "goes back when the hit ratio falls by more; 0: never";
    default:
        return number == 0 ? "min; 0: it stays. 10 tries it for 10 minutes"
                           : "min, then it goes back unless kept with K";
    }
}

void review_note(const struct frame *frame, const struct ui *ui, enum field field, unsigned number,
                 char *out, size_t out_bytes) {
    if (field == FIELD_FROM || field == FIELD_TO) {
        class_note(model_now(frame->live), number, out, out_bytes);
    } else if (field == FIELD_VALUE) {
        value_note(frame, ui, out, out_bytes);
    } else {
        snprintf(out, out_bytes, "%s", review_hint_of(field, number));
    }
}
