#include "act/acting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_words[] = {"change", "undo", "redo", "trial reverted"};

void acting_init(struct acting *acting) {
    memset(acting, 0, sizeof *acting);
    acting->audit_path = "";
}

void acting_fini(struct acting *acting) {
    undo_list_fini(&acting->undo);
    undo_list_fini(&acting->redo);
}

/* ---- what can be taken back ---- */

static bool is_among(const struct undo_entry *entry, long id) {
    bool is_in = false;
    for (unsigned i = 0; i < entry->record_count; i++) {
        is_in = is_in || entry->records[i].id == id;
    }
    return is_in;
}

/* A change from here whose records others have taken back is one no more. */
bool acting_last_change(struct acting *acting, const struct model *model, struct undo_entry *out, char *why,
                        size_t why_bytes) {
    struct audit_entry last = {0};
    bool is_on_record = audit_last_undone(acting->audit_path, model_server(model), &last);
    const struct undo_entry *top;
    while ((top = undo_top(&acting->undo)) != NULL) {
        long newest = top->record_count > 0 ? top->records[top->record_count - 1].id : 0;
        if (newest == 0 || (is_on_record && is_among(top, last.id))) {
            *out = *top;
            return true;
        }
        if (is_on_record && last.id > newest) {
            break;
        }
        undo_remove(&acting->undo, top->id);
    }
    if (!is_on_record) {
        snprintf(why, why_bytes, "nothing to undo: no change to this server is on record that was not taken back");
        return false;
    }
    return undo_of_record(&last, model, out, why, why_bytes);
}

/* What was done, last first, goes to the list of those that can be taken back, or done again. */
static unsigned remember(struct undo_list *list, const struct undo_entry *done, const char *title) {
    static struct undo_entry entry; /* 10 kB: too large for a stack frame */
    if (done->back.count == 0) {
        return 0;
    }
    entry = *done;
    snprintf(entry.title, sizeof entry.title, "%s", title);
    for (unsigned i = 0; i < done->back.count; i++) {
        entry.back.steps[i] = done->back.steps[done->back.count - 1 - i];
    }
    return undo_push(list, &entry);
}

/* ---- what came of it ---- */

static void put_verdict_on_record(struct acting *acting, struct model *model, time_t wall) {
    const struct verdict *verdict = &acting->verdict;
    const struct outcome *outcome = &verdict->outcome;
    struct audit_outcome entry = {.of = verdict->record, .time_s = (double)wall, .words = outcome->words,
                                  .hit_ratio_before = outcome->hit_ratio_before,
                                  .hit_ratio_after = outcome->hit_ratio_after,
                                  .evictions_before_per_s = outcome->evictions_before_per_s,
                                  .evictions_after_per_s = outcome->evictions_after_per_s,
                                  .items_lost = outcome->items_lost};
    char why[NOTE_BYTES];
    snprintf(entry.server, sizeof entry.server, "%s", model_server(model));
    model_note(model, EVENT_YOU, wall, "%.110s: %s", verdict->title, outcome->words);
    if (verdict->record != 0 && !audit_append_outcome(acting->audit_path, &entry, why, sizeof why)) {
        model_note(model, EVENT_ALARM, wall, "what came of the change is not on record: %.150s", why);
    }
}

/* Another change, or the end of the minute: what is known by now stays. */
static void end_verdict(struct acting *acting, struct model *model, time_t wall) {
    if (acting->verdict.is_on && acting->verdict.outcome.words[0] != '\0') {
        put_verdict_on_record(acting, model, wall);
    }
    acting->verdict.is_on = false;
}

/* What was done, in few words: the figures behind them are what counts. */
static void done_words(const struct acting *acting, char *out, size_t out_bytes) {
    const struct job *job = &acting->job;
    if (acting->plan.count != 1) {
        snprintf(out, out_bytes, "%s", acting->title);
    } else if (job->action.kind == ACTION_MOVE_PAGES) {
        snprintf(out, out_bytes, "moved %u page%s %u→%u", job->moved, job->moved == 1 ? "" : "s", job->action.from,
                 job->action.to);
    } else {
        snprintf(out, out_bytes, "%s", job->outcome);
    }
}

static void begin_verdict(struct acting *acting, uint64_t now_ms) {
    const struct undo_entry *done = &acting->done;
    acting->verdict = (struct verdict){.is_on = true, .began_ms = acting->began_ms, .ended_ms = now_ms};
    acting->verdict.record = done->record_count > 0 ? done->records[done->record_count - 1].id : 0;
    done_words(acting, acting->verdict.title, sizeof acting->verdict.title);
}

static void follow_verdict(struct acting *acting, struct model *model, uint64_t now_ms, time_t wall) {
    struct verdict *verdict = &acting->verdict;
    const struct snapshot *now = model_now(model);
    if (!verdict->is_on || now == NULL) {
        return;
    }
    if (now->at_ms != verdict->seen_ms) {
        verdict->seen_ms = now->at_ms;
        struct outcome outcome;
        if (brain_outcome(brain_of(model), verdict->began_ms, verdict->ended_ms, &outcome)) {
            verdict->outcome = outcome;
        }
    }
    if (now_ms - verdict->ended_ms >= OUTCOME_LASTS_MS) {
        end_verdict(acting, model, wall);
    }
}

/* ---- beginning ---- */

static bool refuse(char *why, size_t why_bytes, const char *text) {
    snprintf(why, why_bytes, "%s", text);
    return false;
}

/* Going back to what was read here before, what is as it should be already is no mistake. */
static bool check_plan(const struct plan *plan, const struct model *model, bool is_back, char *why,
                       size_t why_bytes) {
    for (unsigned i = 0; i < plan->count; i++) {
        bool is_set = plan->steps[i].kind == ACTION_SET;
        if (!(is_back && is_set) &&
            !action_check(&plan->steps[i], model_now(model), model_answers(model), why, why_bytes)) {
            return false;
        }
    }
    return plan->count > 0 || refuse(why, why_bytes, "nothing to send");
}

bool acting_begin(struct acting *acting, enum acting_kind kind, const struct plan *plan,
                  const struct undo_entry *taken, const struct trial_terms *terms, struct model *model,
                  uint64_t now_ms, time_t wall, char *why, size_t why_bytes) {
    if (acting->is_running) {
        return refuse(why, why_bytes, "one change at a time: the last one is still under way");
    }
    if (model_link(model) != LINK_UP) {
        return refuse(why, why_bytes, "no connection: nothing was sent");
    }
    if (terms->minutes > 0 && acting->trial.is_on) {
        return refuse(why, why_bytes, "one trial at a time: keep (K) or undo (u) the one that runs");
    }
    bool was_read_here = taken != NULL && taken->id != 0; /* else it was typed, or stands in a file */
    if (!check_plan(plan, model, was_read_here, why, why_bytes)) {
        return false;
    }
    end_verdict(acting, model, wall);
    acting->is_running = acting->is_fresh = true;
    acting->began_ms = now_ms;
    acting->kind = kind;
    acting->plan = *plan;
    acting->at = 0;
    acting->done = (struct undo_entry){0};
    acting->undone = taken != NULL ? *taken : (struct undo_entry){0};
    plan_title(plan, acting->title, sizeof acting->title);
    trial_prepare(&acting->wanted_trial, terms, model, acting->title);
    model_note(model, EVENT_YOU, wall, "%s%s%s", kind == ACTING_CHANGE ? "" : kind_words[kind],
               kind == ACTING_CHANGE ? "" : ": ", acting->title);
    job_start(&acting->job, &plan->steps[0], model_now(model), model_answers(model), now_ms);
    if (acting->undone.must_be[0] != '\0') {
        job_expect(&acting->job, acting->undone.records[0].name, acting->undone.must_be);
    }
    return true;
}

/* ---- going on ---- */

void acting_take_reply(struct acting *acting, const char *text, size_t text_bytes, uint64_t now_ms) {
    job_take_reply(&acting->job, text, text_bytes, now_ms);
}

static void write_entry(struct acting *acting, struct model *model, time_t wall, struct audit_entry *entry) {
    char why[NOTE_BYTES];
    struct undo_entry *done = &acting->done;
    bool takes_back = acting->kind == ACTING_UNDO || acting->kind == ACTING_TRIAL_END;
    entry->time_s = (double)wall;
    entry->undoes = takes_back ? undo_record_of(&acting->undone, entry) : 0;
    snprintf(entry->server, sizeof entry->server, "%s", model_server(model));
    if (!audit_append(acting->audit_path, entry, why, sizeof why)) {
        model_note(model, EVENT_ALARM, wall, "the change is made, but not on record: %s", why);
    } else if (done->record_count < RECORDS_MOST) {
        struct recorded *recorded = &done->records[done->record_count++];
        *recorded = (struct recorded){.id = entry->id, .from = entry->from, .to = entry->to};
        snprintf(recorded->name, sizeof recorded->name, "%s", entry->name);
    }
}

/* What was changed, in the words of the record: nothing, when the server is as it was. */
static void write_audit(struct acting *acting, struct model *model, time_t wall) {
    const struct job *job = &acting->job;
    if (job->action.kind == ACTION_MOVE_PAGES && job->moved > 0) {
        struct audit_entry entry = {.what = AUDIT_MOVE, .from = (int)job->action.from, .to = (int)job->action.to,
                                    .pages = job->moved};
        write_entry(acting, model, wall, &entry);
    }
    for (unsigned i = 0; job->has_inverse && i < job->change_count; i++) {
        const struct job_change *change = &job->changes[i];
        struct audit_entry entry = {.what = AUDIT_SET};
        if (strcmp(change->was, change->is) != 0) {
            snprintf(entry.name, sizeof entry.name, "%s", change->name);
            snprintf(entry.was, sizeof entry.was, "%s", change->was);
            snprintf(entry.is, sizeof entry.is, "%s", change->is);
            write_entry(acting, model, wall, &entry);
        }
    }
}

static void say(struct acting *acting, struct model *model, bool is_good, time_t wall, const char *text) {
    snprintf(acting->news, sizeof acting->news, "%.*s", NOTE_BYTES - 1, text);
    if (acting->plan.count > 1 || acting->kind == ACTING_TRIAL_END) {
        model_note(model, is_good ? EVENT_YOU : EVENT_ALARM, wall, "%s", text);
    }
}

static void end_plan(struct acting *acting, struct model *model, uint64_t now_ms, time_t wall) {
    const struct job *job = &acting->job;
    char text[2 * NOTE_BYTES];
    bool is_whole = job->succeeded && acting->at + 1 == acting->plan.count;
    acting->is_running = false;
    if (acting->plan.count == 1) {
        snprintf(text, sizeof text, "%s", job->outcome);
    } else if (is_whole) {
        snprintf(text, sizeof text, "all %u changes made; the last: %s", acting->plan.count, job->outcome);
    } else {
        snprintf(text, sizeof text, "stopped at change %u of %u: %s", acting->at + 1, acting->plan.count,
                 job->outcome);
    }
    bool is_change = acting->kind == ACTING_CHANGE || acting->kind == ACTING_REDO;
    if (is_change) {
        unsigned id = remember(&acting->undo, &acting->done, acting->title);
        if (acting->kind == ACTING_REDO) {
            undo_remove(&acting->redo, is_whole ? acting->undone.id : 0);
        } else {
            undo_list_fini(&acting->redo); /* what would be done again came before this */
        }
        if (is_whole && acting->wanted_trial.terms.minutes > 0 && id != 0) {
            acting->trial = acting->wanted_trial;
            acting->trial_entry = id;
            acting->trial_why[0] = '\0';
            trial_begin(&acting->trial, now_ms);
        }
    } else if (is_whole && acting->kind == ACTING_TRIAL_END) {
        char why[NOTE_BYTES];
        snprintf(why, sizeof why, "%s", acting->trial_why);
        undo_remove(&acting->undo, acting->trial_entry);
        acting->trial.is_on = false;
        snprintf(text, sizeof text, "trial reverted, %.100s: %.280s", why, job->outcome);
    } else if (is_whole) {
        unsigned id = acting->undone.id;
        acting->trial.is_on = acting->trial.is_on && id != acting->trial_entry;
        undo_remove(&acting->undo, id);
        remember(&acting->redo, &acting->done, acting->undone.title);
    }
    if (acting->done.back.count > 0) { /* something was changed */
        begin_verdict(acting, now_ms);
    }
    say(acting, model, is_whole, wall, text);
}

/* Ends the step under way; begins the next, or ends the plan. */
static void end_step(struct acting *acting, struct model *model, uint64_t now_ms, time_t wall) {
    struct job *job = &acting->job;
    char why[NOTE_BYTES];
    model_note(model, job->succeeded ? EVENT_YOU : EVENT_ALARM, wall, "%s", job->outcome);
    write_audit(acting, model, wall);
    if (job->has_inverse) {
        acting->done.back.steps[acting->done.back.count++] = job->inverse;
    }
    job->state = JOB_NONE;
    bool goes_on = job->succeeded && acting->at + 1 < acting->plan.count;
    if (goes_on) {
        const struct action *next = &acting->plan.steps[acting->at + 1];
        bool is_back = acting->kind == ACTING_UNDO || acting->kind == ACTING_TRIAL_END;
        if (is_back || action_check(next, model_now(model), model_answers(model), why, sizeof why)) {
            acting->at++;
            job_start(job, next, model_now(model), model_answers(model), now_ms);
            return;
        }
        job->succeeded = false;
        snprintf(job->outcome, sizeof job->outcome, "%s", why);
    }
    end_plan(acting, model, now_ms, wall);
}

/* A trial that is over begins its way back; when that can't be sent now, it is tried again. */
static void watch_trial(struct acting *acting, struct model *model, uint64_t now_ms, time_t wall) {
    char why[NOTE_BYTES];
    const struct trial_terms none = {0};
    if (!acting->trial.is_on || acting->is_running) {
        return;
    }
    if (acting->trial_why[0] == '\0' &&
        !trial_is_over(&acting->trial, model, now_ms, acting->trial_why, sizeof acting->trial_why)) {
        return;
    }
    const struct undo_entry *entry = undo_find(&acting->undo, acting->trial_entry);
    if (entry == NULL) {
        acting->trial.is_on = false; /* undone by hand */
        return;
    }
    struct plan back = entry->back;
    if (model_link(model) == LINK_UP &&
        !acting_begin(acting, ACTING_TRIAL_END, &back, entry, &none, model, now_ms, wall, why, sizeof why)) {
        acting->trial.is_on = false; /* refused: the operator must see to it */
        snprintf(acting->news, sizeof acting->news, "the trial cannot go back: %.150s", why);
        model_note(model, EVENT_ALARM, wall, "%s", acting->news);
    }
}

bool acting_step(struct acting *acting, struct client *client, int tag, struct model *model,
                 uint64_t now_ms, time_t wall) {
    watch_trial(acting, model, now_ms, wall);
    follow_verdict(acting, model, now_ms, wall);
    if (!acting->is_running) {
        return false;
    }
    if (acting->is_fresh) {
        acting->generation = client_generation(client);
        acting->is_fresh = false;
    }
    bool is_same = client_state(client) == CLIENT_UP && acting->generation == client_generation(client);
    if (!is_same) {
        job_abandon(&acting->job, "the connection broke, so the rest is unknown");
    }
    bool is_stats;
    const char *line = job_next_line(&acting->job, &is_stats, now_ms);
    if (line != NULL) {
        if (!client_send(client, line, is_stats ? REPLY_STATS : REPLY_LINE, tag, now_ms)) {
            job_abandon(&acting->job, "the connection is gone");
        }
        client_flush(client, now_ms);
    }
    bool is_done = acting->job.state == JOB_DONE;
    if (is_done) {
        end_step(acting, model, now_ms, wall);
    }
    return is_done;
}

uint64_t acting_due_ms(const struct acting *acting) {
    if (acting->is_running) {
        return job_due_ms(&acting->job);
    }
    /* One that waits for the server goes back as soon as that answers: nothing else is due. */
    return acting->trial_why[0] != '\0' ? UINT64_MAX : trial_due_ms(&acting->trial);
}

bool acting_keep(struct acting *acting, struct model *model, time_t wall) {
    bool was_on = acting->trial.is_on && acting->trial_why[0] == '\0';
    if (was_on) {
        acting->trial.is_on = false;
        model_note(model, EVENT_YOU, wall, "trial kept: %s", acting->trial.title);
        snprintf(acting->news, sizeof acting->news, "kept: %.180s", acting->trial.title);
    }
    return was_on;
}

bool acting_leave(struct acting *acting) {
    if (acting->is_running && (acting->kind == ACTING_CHANGE || acting->kind == ACTING_REDO)) {
        acting->plan.count = acting->at + 1; /* no further step */
        if (acting->wanted_trial.terms.minutes == 0) {
            return false; /* what is sent is sent; the rest is not */
        }
    }
    if (acting->trial.is_on && acting->trial_why[0] == '\0') {
        snprintf(acting->trial_why, sizeof acting->trial_why, "slatetop exited");
    }
    return acting->is_running || acting->trial.is_on;
}

void acting_words(const struct acting *acting, uint64_t now_ms, char *out, size_t out_bytes) {
    out[0] = '\0';
    if (acting->is_running && acting->plan.count > 1) {
        snprintf(out, out_bytes, "change %u of %u: %s", acting->at + 1, acting->plan.count, acting->job.outcome);
    } else if (acting->is_running) {
        snprintf(out, out_bytes, "%s", acting->job.outcome);
    } else if (acting->trial.is_on && acting->trial_why[0] != '\0') {
        snprintf(out, out_bytes, "trial over, %.100s: waiting for the server to go back", acting->trial_why);
    } else if (acting->trial.is_on) {
        trial_words(&acting->trial, now_ms, out, out_bytes);
    } else if (acting->verdict.is_on && acting->verdict.outcome.words[0] != '\0') {
        bool can_undo = undo_top(&acting->undo) != NULL;
        snprintf(out, out_bytes, "%.70s: %s%s", acting->verdict.title, acting->verdict.outcome.words,
                 can_undo ? "; u undoes" : "");
    }
}
