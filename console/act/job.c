#include "act/job.h"

#include "facts/automove.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 3, 4))) static void finish(struct job *job, bool succeeded,
                                                         const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    vsnprintf(job->outcome, sizeof job->outcome, format, ap);
    va_end(ap);
    job->state = JOB_DONE;
    job->succeeded = succeeded;
    job->wait = WAIT_NOTHING;
}

static void pause_then(struct job *job, bool probe, uint64_t pause_ms, uint64_t now_ms) {
    job->wait = WAIT_TIME;
    job->next_is_probe = probe;
    job->due_ms = now_ms + pause_ms;
}

static const char *plural(unsigned n) {
    return n == 1 ? "" : "s";
}

static bool is_move(const struct job *job) {
    return job->action.kind == ACTION_MOVE_PAGES;
}

/* A running sentence, and the end of every final one: what the page counts say. */
static void describe_moved(const struct job *job, char *out, size_t out_bytes) {
    char to[24] = "the pool";
    if (job->action.to != POOL_CLASS) {
        snprintf(to, sizeof to, "class %u", job->action.to);
    }
    snprintf(out, out_bytes, "%u of %u page%s moved, class %u to %s", job->moved, job->action.pages,
             plural(job->action.pages), job->action.from, to);
}

static void give_up(struct job *job, const char *why) {
    char moved[100];
    if (is_move(job)) {
        describe_moved(job, moved, sizeof moved);
        finish(job, false, "%s; %s", moved, why);
    } else {
        finish(job, false, "%s %s; %s", setting_label(job->action.name),
               job->line > 0 ? "may be changed" : "unchanged", why);
    }
}

void job_start(struct job *job, const struct action *action, const struct snapshot *now,
               const struct answers *answers, uint64_t now_ms) {
    *job = (struct job){.state = JOB_RUNNING,
                        .action = *action,
                        .is_slated = now->is_slated,
                        .begun_ms = now_ms,
                        .progress_ms = now_ms};
    if (is_move(job)) {
        unsigned times;
        action_line(action, now, 0, job->command, &times);
        job->counts_pages_at_once = times == 1;
        describe_moved(job, job->outcome, sizeof job->outcome);
    } else {
        setting_class_policies(answer_text(answers, INQUIRY_POLICIES), job->classes);
        snprintf(job->outcome, sizeof job->outcome, "setting %s", setting_label(action->name));
    }
    pause_then(job, true, 0, now_ms); /* what is there is read first */
}

void job_expect(struct job *job, const char *recorded_name, const char *text) {
    snprintf(job->must_be_name, sizeof job->must_be_name, "%s", recorded_name);
    snprintf(job->must_be, sizeof job->must_be, "%s", text);
}

const char *job_next_line(struct job *job, bool *is_stats, uint64_t now_ms) {
    if (job->state != JOB_RUNNING || job->wait != WAIT_TIME || now_ms < job->due_ms) {
        return NULL;
    }
    *is_stats = job->next_is_probe;
    job->wait = job->next_is_probe ? WAIT_PROBE : WAIT_REPLY;
    if (job->next_is_probe) {
        return is_move(job) ? "stats slabs" : setting_probe(job->is_slated, job->action.name);
    }
    if (!is_move(job)) {
        setting_line(job->is_slated, job->action.name, job->action.value, job->line, job->command);
        job->line++;
    }
    return job->command;
}

static bool reply_is(const char *text, size_t text_bytes, const char *word) {
    return text_bytes >= strlen(word) && memcmp(text, word, strlen(word)) == 0;
}

static void probe_first(struct job *job, uint64_t now_ms) {
    job->pause_ms = JOB_PROBE_FIRST_MS;
    pause_then(job, true, job->pause_ms, now_ms);
}

static void take_ok(struct job *job, uint64_t now_ms) {
    char line[SETTING_LINE_BYTES];
    if (!is_move(job)) {
        /* From here on something may have changed, whatever comes. */
        job->has_inverse = true;
        if (setting_line(job->is_slated, job->action.name, job->action.value, job->line, line)) {
            pause_then(job, false, 0, now_ms);
            return;
        }
    }
    probe_first(job, now_ms);
}

static void take_refusal(struct job *job, const char *text, size_t text_bytes) {
    enum { WORDS = 150 };
    char words[WORDS + 30];
    size_t n = 0;
    while (n < text_bytes && n < WORDS && text[n] >= ' ' && text[n] <= '~') {
        n++;
    }
    snprintf(words, sizeof words, "the server refused: %.*s", (int)n, text);
    if (job->line == 1) {
        job->line = 0; /* the only line so far was refused, so nothing has changed */
    }
    give_up(job, words);
}

/* It does something else just now, such as a prediction for another console: the same line again. */
static void take_busy(struct job *job, const char *text, size_t text_bytes, uint64_t now_ms) {
    if (now_ms - job->progress_ms < JOB_PATIENCE_MS) {
        job->line -= !is_move(job);
        pause_then(job, false, JOB_BUSY_PAUSE_MS, now_ms);
    } else if (is_move(job)) {
        give_up(job, "the server's own page mover stayed busy: try again, or turn automove off");
    } else {
        take_refusal(job, text, text_bytes);
    }
}

static void take_command_reply(struct job *job, const char *text, size_t text_bytes,
                               uint64_t now_ms) {
    if (reply_is(text, text_bytes, "OK")) {
        take_ok(job, now_ms);
    } else if (reply_is(text, text_bytes, "BUSY")) {
        take_busy(job, text, text_bytes, now_ms);
    } else if (reply_is(text, text_bytes, "NOSPARE")) {
        give_up(job, "the source has no page to spare");
    } else {
        take_refusal(job, text, text_bytes);
    }
}

/* ---- pages ---- */

static uint64_t pages_in(const struct snapshot *probe, unsigned class_id) {
    uint64_t pages = probe->classes[class_id].value[CLASS_total_pages];
    return pages == STAT_ABSENT ? 0 : pages; /* a class without pages is not listed */
}

static unsigned pages_left(const struct job *job, const struct snapshot *probe) {
    uint64_t from = pages_in(probe, job->action.from);
    return (unsigned)(job->from_pages > from ? job->from_pages - from : 0);
}

/* What arrived counts: rescued items take pages from the pool, so the source may shrink by less than
 * it gave. */
static unsigned count_moved(const struct job *job, const struct snapshot *probe) {
    if (job->action.to == POOL_CLASS) {
        return pages_left(job, probe);
    }
    uint64_t to = pages_in(probe, job->action.to);
    return (unsigned)(to > job->to_pages ? to - job->to_pages : 0);
}

static void probe_again(struct job *job, const char *why_not, uint64_t now_ms) {
    if (now_ms - job->progress_ms >= JOB_PATIENCE_MS) {
        give_up(job, why_not);
        return;
    }
    job->pause_ms = job->pause_ms * 2 < JOB_PROBE_MOST_MS ? job->pause_ms * 2 : JOB_PROBE_MOST_MS;
    pause_then(job, true, job->pause_ms, now_ms);
}

static void note_moved(struct job *job, unsigned moved, uint64_t now_ms) {
    job->moved = moved;
    job->progress_ms = now_ms;
    job->pause_ms = JOB_PROBE_FIRST_MS;
    job->has_inverse = job->action.to != POOL_CLASS;
    job->inverse = action_move(job->action.to, job->action.from, moved);
    describe_moved(job, job->outcome, sizeof job->outcome);
}

static void take_pages_before(struct job *job, const struct snapshot *probe, uint64_t now_ms) {
    job->from_pages = pages_in(probe, job->action.from);
    job->to_pages = job->action.to == POOL_CLASS ? 0 : pages_in(probe, job->action.to);
    job->knows_before = true;
    if (job->from_pages < 2) {
        give_up(job, "the source has no page to spare any more");
    } else {
        pause_then(job, false, 0, now_ms);
    }
}

static void take_page_probe(struct job *job, const struct snapshot *probe, uint64_t now_ms) {
    unsigned moved = count_moved(job, probe);
    bool progressed = moved > job->moved;
    if (progressed) {
        note_moved(job, moved, now_ms);
    }
    if (job->moved >= job->action.pages) {
        char text[100];
        describe_moved(job, text, sizeof text);
        finish(job, true, "%s in %.1f s%s", text, (double)(now_ms - job->begun_ms) / 1000.0,
               pages_left(job, probe) < job->moved ? "; its items took new pages from the pool" : "");
    } else if (progressed && !job->counts_pages_at_once) {
        pause_then(job, false, 0, now_ms);
    } else {
        probe_again(job, "the server said OK, but no page has moved for 10 s", now_ms);
    }
}

/* ---- settings ---- */

static void describe_set(struct job *job) {
    const char *label = setting_label(job->action.name);
    unsigned mode = strcmp(job->action.name, "slab_automove") == 0 ? automove_mode_of(job->action.value)
                                                                   : AUTOMOVE_MODES;
    bool is_digit =
        mode < AUTOMOVE_MODES && strcmp(automove_mode_name(mode), job->action.value) != 0;
    if (is_digit) {
        finish(job, true, "%s is now %s (%s), was %s", label, job->action.value,
               automove_mode_name(mode), job->before);
    } else if (strcmp(job->action.name, "geometry") == 0) {
        finish(job, true, "%s: %s has begun; the tune view shows how far it is", label, job->action.value);
    } else if (strcmp(job->action.name, "class_policy") == 0) {
        const char *blank = strrchr(job->action.value, ' ');
        finish(job, true, "policy of class%s is now %.*s, was %.*s", blank != NULL ? blank : "",
               (int)strcspn(job->action.value, " "), job->action.value, (int)strcspn(job->before, " "), job->before);
    } else {
        finish(job, true, "%s is now %.70s, was %.70s", label, job->action.value, job->before);
    }
}

/* What was, in the server's words; and what is to be, until it is read. */
static void note_texts_before(struct job *job, const char *text) {
    const struct action *action = &job->action;
    for (unsigned i = 0; i < RECORDED_MOST; i++) {
        struct job_change *change = &job->changes[i];
        if (!setting_recorded(action->name, action->value, text, i, change->name, change->was)) {
            break;
        }
        snprintf(change->is, sizeof change->is, "%s", action->value);
        job->change_count++;
    }
}

static void note_texts_after(struct job *job, const char *text) {
    char name[SETTING_NAME_BYTES], is[SETTING_VALUE_BYTES];
    bool has_value = strcmp(job->action.name, "geometry") != 0;
    for (unsigned i = 0; has_value && i < job->change_count; i++) {
        if (setting_recorded(job->action.name, job->action.value, text, i, name, is)) {
            snprintf(job->changes[i].is, sizeof job->changes[i].is, "%s", is);
        }
    }
}

static bool is_as_expected(struct job *job) {
    for (unsigned i = 0; i < job->change_count; i++) {
        const struct job_change *change = &job->changes[i];
        if (strcmp(change->name, job->must_be_name) == 0 && !setting_same_text(change->name, job->must_be, change->was)) {
            finish(job, false, "%.40s is %.40s, not %.40s: somebody changed it since, and nothing was sent", change->name,
                   change->was, job->must_be);
            return false;
        }
    }
    return true;
}

/* What was: it makes the way back. Nothing is sent when it can't be read, or is what is wanted. */
static void take_before(struct job *job, const char *text, uint64_t now_ms) {
    const struct action *action = &job->action;
    char value[SETTING_VALUE_BYTES];
    setting_read(action->name, action->value, text, job->before);
    if (job->before[0] == '\0') {
        finish(job, false, "%s is not shown by this server, so it could not be undone: nothing was sent",
               setting_label(action->name));
        return;
    }
    bool is_geometry = strcmp(action->name, "geometry") == 0;
    if (!is_geometry && setting_shows(action->name, action->value, job->before, text) &&
        strchr(action->value, '=') == NULL) {
        finish(job, true, "%s is %.100s already", setting_label(action->name), action->value);
        return;
    }
    note_texts_before(job, text);
    if (!is_as_expected(job)) {
        return;
    }
    setting_inverse(action->name, action->value, job->before, value);
    if (strcmp(action->name, "policy") == 0 && job->classes[0] != '\0') {
        size_t used = strlen(value);
        snprintf(value + used, sizeof value - used, " %.80s", job->classes);
    }
    job->inverse = action_set(action->name, value);
    job->knows_before = true;
    pause_then(job, false, 0, now_ms);
}

static void take_after(struct job *job, const char *text, uint64_t now_ms) {
    if (setting_shows(job->action.name, job->action.value, job->before, text)) {
        note_texts_after(job, text);
        describe_set(job);
    } else {
        probe_again(job, "the server said OK, but still shows the old value", now_ms);
    }
}

static void take_setting_probe(struct job *job, const char *text, size_t text_bytes, uint64_t now_ms) {
    struct answers copy = {0}; /* terminated, which a reply is not */
    answers_take(&copy, INQUIRY_SETTINGS, text, text_bytes, true, now_ms);
    if (job->knows_before) {
        take_after(job, answer_text(&copy, INQUIRY_SETTINGS), now_ms);
    } else {
        take_before(job, answer_text(&copy, INQUIRY_SETTINGS), now_ms);
    }
    answers_fini(&copy);
}

void job_take_reply(struct job *job, const char *text, size_t text_bytes, uint64_t now_ms) {
    if (job->wait == WAIT_REPLY) {
        take_command_reply(job, text, text_bytes, now_ms);
    } else if (job->wait == WAIT_PROBE && is_move(job)) {
        static struct snapshot
            probe; /* 100 kB: too large for a stack frame, and needed by one caller at a time */
        snapshot_init(&probe);
        snapshot_parse(&probe, GROUP_SLABS, text, text_bytes);
        (job->knows_before ? take_page_probe : take_pages_before)(job, &probe, now_ms);
    } else if (job->wait == WAIT_PROBE) {
        take_setting_probe(job, text, text_bytes, now_ms);
    }
}

void job_abandon(struct job *job, const char *why) {
    if (job->state == JOB_RUNNING) {
        give_up(job, why);
    }
}

uint64_t job_due_ms(const struct job *job) {
    return job->state == JOB_RUNNING && job->wait == WAIT_TIME ? job->due_ms : UINT64_MAX;
}
