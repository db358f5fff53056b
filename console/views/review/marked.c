#include "views/review/marked.h"

#include "facts/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned marked_count(const struct ui *ui) {
    unsigned count = 0;
    for (unsigned i = 0; i < SERVER_LIMIT; i++) {
        count += ui->fleet.marked[i];
    }
    return count;
}

bool marked_takes(const struct plan *plan) {
    for (unsigned i = 0; i < plan->count; i++) {
        if (plan->steps[i].kind != ACTION_SET || strcmp(plan->steps[i].name, "class_policy") == 0) {
            return false;
        }
    }
    return plan->count > 0;
}

/* True for equal values: "0.5" is "0.50". */
static bool marked_is_same_value(const char *a, const char *b) {
    char *a_end, *b_end;
    double left = strtod(a, &a_end), right = strtod(b, &b_end);
    bool are_numbers = a_end != a && *a_end == '\0' && b_end != b && *b_end == '\0';
    return are_numbers ? left == right : strcmp(a, b) == 0;
}

enum marked_answer marked_answer_of(const struct model *model, const struct plan *plan, char *why,
                                    size_t why_bytes) {
    enum marked_answer answer = MARKED_HAS_IT;
    const char *why_not;
    if (model_now(model) == NULL || model_link(model) != LINK_UP) {
        snprintf(why, why_bytes, "no connection");
        return MARKED_REFUSES;
    }
    if (!snapshot_may_change(model_now(model))) {
        snprintf(why, why_bytes, "its role is %s, and changes need admin", model_now(model)->role);
        return MARKED_REFUSES;
    }
    if (inquiry_text(model_answers(model), INQUIRY_CONFIG) == NULL &&
        inquiry_is_offered(INQUIRY_CONFIG, model_now(model), &why_not)) {
        snprintf(why, why_bytes, "its settings have not arrived yet");
        return MARKED_REFUSES;
    }
    for (unsigned i = 0; i < plan->count; i++) {
        const struct action *step = &plan->steps[i];
        struct tunable row;
        if (settings_find(model_now(model), model_answers(model), step->name, 0, &row) &&
            marked_is_same_value(row.now, step->value)) {
            continue;
        }
        if (!action_check(step, model, why, why_bytes)) {
            return MARKED_REFUSES;
        }
        answer = MARKED_CHANGES;
    }
    return answer;
}

bool marked_check(const struct frame *frame, const struct ui *ui, const struct plan *plan,
                  unsigned *changed, unsigned *unchanged, char *why, size_t why_bytes) {
    *changed = *unchanged = 0;
    for (unsigned i = 0; i < frame->server_count; i++) {
        const struct fleet_row *row = &frame->servers[i];
        char reason[NOTE_BYTES];
        if (!ui->fleet.marked[row->server]) {
            continue;
        }
        switch (marked_answer_of(row->model, plan, reason, sizeof reason)) {
        case MARKED_CHANGES:
            ++*changed;
            break;
        case MARKED_HAS_IT:
            ++*unchanged;
            break;
        case MARKED_REFUSES:
            words_printf(why, why_bytes, "%.80s: %s", model_server(row->model), reason);
            return false;
        }
    }
    if (*changed == 0) {
        snprintf(why, why_bytes, "all marked servers have these values already");
    }
    return *changed > 0;
}

enum { VALUES_SHOWN = 3 };

void marked_now(const struct frame *frame, const struct ui *ui, const char *setting, char *out,
                size_t out_bytes) {
    char values[VALUES_SHOWN][SETTING_VALUE_BYTES];
    unsigned servers[VALUES_SHOWN] = {0}, count = 0;
    bool are_more = false;
    struct tunable row;
    for (unsigned i = 0; i < frame->server_count; i++) {
        const struct model *model = frame->servers[i].model;
        if (!ui->fleet.marked[frame->servers[i].server] || model_now(model) == NULL ||
            !settings_find(model_now(model), model_answers(model), setting, 0, &row) ||
            row.now[0] == '\0') {
            continue;
        }
        unsigned at = 0;
        while (at < count && strcmp(values[at], row.now) != 0) {
            at++;
        }
        if (at == VALUES_SHOWN) {
            are_more = true;
            continue;
        }
        if (at == count) {
            snprintf(values[count++], sizeof values[0], "%s", row.now);
        }
        servers[at]++;
    }
    size_t used = (size_t)snprintf(out, out_bytes, "%s", count == 0 ? "-" : "");
    for (unsigned at = 0; at < count && used < out_bytes; at++) {
        used += (size_t)snprintf(out + used, out_bytes - used,
                                 count == 1 ? "%s%.20s" : "%s%.20s on %u", at > 0 ? ", " : "",
                                 values[at], servers[at]);
    }
    if (are_more && used < out_bytes) {
        snprintf(out + used, out_bytes - used, ", others on more");
    }
}
