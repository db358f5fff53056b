/* The second half of action.h: carrying an action out and finding out what came of it. */
#include "action.h"

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
    describe_moved(job, moved, sizeof moved);
    finish(job, false, "%s; %s", moved, why);
}

void job_start(struct job *job, const struct action *action, const struct snapshot *now,
               uint64_t now_ms) {
    *job = (struct job){
        .state = JOB_RUNNING, .action = *action, .begun_ms = now_ms, .progress_ms = now_ms};
    job->counts_pages_at_once = action_command(action, now, job->command, sizeof job->command) == 1;
    if (action->kind == ACTION_MOVE_PAGES) {
        job->from_pages = now->classes[action->from].value[CLASS_total_pages];
        job->to_pages =
            action->to == POOL_CLASS ? 0 : now->classes[action->to].value[CLASS_total_pages];
        describe_moved(job, job->outcome, sizeof job->outcome);
    }
    pause_then(job, false, 0, now_ms);
}

const char *job_next_line(struct job *job, bool *is_stats, uint64_t now_ms) {
    if (job->state != JOB_RUNNING || job->wait != WAIT_TIME || now_ms < job->due_ms) {
        return NULL;
    }
    *is_stats = job->next_is_probe;
    job->wait = job->next_is_probe ? WAIT_PROBE : WAIT_REPLY;
    if (!job->next_is_probe) {
        return job->command;
    }
    return job->action.kind == ACTION_AUTOMOVE ? "stats settings" : "stats slabs";
}

static bool reply_is(const char *text, size_t text_bytes, const char *word) {
    return text_bytes >= strlen(word) && memcmp(text, word, strlen(word)) == 0;
}

static void take_command_reply(struct job *job, const char *text, size_t text_bytes,
                               uint64_t now_ms) {
    if (reply_is(text, text_bytes, "OK")) {
        job->pause_ms = JOB_PROBE_FIRST_MS;
        pause_then(job, true, job->pause_ms, now_ms);
        return;
    }
    if (reply_is(text, text_bytes, "BUSY") && job->action.kind == ACTION_MOVE_PAGES) {
        if (now_ms - job->progress_ms >= JOB_PATIENCE_MS) {
            give_up(
                job,
                "the server's own page mover stayed busy: try again, or set automove to 0 first");
        } else {
            pause_then(job, false, JOB_BUSY_PAUSE_MS, now_ms);
        }
        return;
    }
    if (reply_is(text, text_bytes, "NOSPARE")) {
        give_up(job, "the source has no page to spare");
        return;
    }
    size_t n = 0;
    while (n < text_bytes && n < 80 && text[n] >= ' ' && text[n] <= '~') {
        n++;
    }
    char words[100];
    snprintf(words, sizeof words, "the server refused: %.*s", (int)n, text);
    if (job->action.kind == ACTION_MOVE_PAGES) {
        give_up(job, words);
    } else {
        finish(job, false, "automove unchanged; %s", words);
    }
}

static unsigned pages_left(const struct job *job, const struct snapshot *probe) {
    uint64_t from = probe->classes[job->action.from].value[CLASS_total_pages];
    from = from == STAT_ABSENT ? 0 : from;
    return (unsigned)(job->from_pages > from ? job->from_pages - from : 0);
}

/* Pages that reached the destination. What left the source says less: it takes new pages from the pool, if there are any, for
 * the items it rescued. */
static unsigned count_moved(const struct job *job, const struct snapshot *probe) {
    if (job->action.to == POOL_CLASS) {
        return pages_left(job, probe);
    }
    uint64_t to = probe->classes[job->action.to].value[CLASS_total_pages];
    return (unsigned)(to != STAT_ABSENT && to > job->to_pages ? to - job->to_pages : 0);
}

static void probe_again(struct job *job, const char *why_not, uint64_t now_ms) {
    if (now_ms - job->progress_ms >= JOB_PATIENCE_MS) {
        if (job->action.kind == ACTION_MOVE_PAGES) {
            give_up(job, why_not);
        } else {
            finish(job, false, "%s", why_not);
        }
        return;
    }
    job->pause_ms = job->pause_ms * 2 < JOB_PROBE_MOST_MS ? job->pause_ms * 2 : JOB_PROBE_MOST_MS;
    pause_then(job, true, job->pause_ms, now_ms);
}

static void take_page_probe(struct job *job, const struct snapshot *probe, uint64_t now_ms) {
    unsigned moved = count_moved(job, probe);
    bool progressed = moved > job->moved;
    if (progressed) {
        job->moved = moved;
        job->progress_ms = now_ms;
        job->pause_ms = JOB_PROBE_FIRST_MS;
        describe_moved(job, job->outcome, sizeof job->outcome);
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

static void take_setting_probe(struct job *job, const struct snapshot *probe, uint64_t now_ms) {
    if (probe->setting[SETTING_slab_automove] == job->action.automove) {
        finish(job, true, "automove is now %u (%s)", job->action.automove,
               automove_mode_name(job->action.automove));
    } else {
        probe_again(job, "the server said OK, but its settings still show the old automove",
                    now_ms);
    }
}

void job_take_reply(struct job *job, const char *text, size_t text_bytes, uint64_t now_ms) {
    if (job->wait == WAIT_REPLY) {
        take_command_reply(job, text, text_bytes, now_ms);
    } else if (job->wait == WAIT_PROBE) {
        static struct snapshot
            probe; /* 100 kB: too large for a stack frame, and needed by one caller at a time */
        snapshot_init(&probe);
        if (job->action.kind == ACTION_AUTOMOVE) {
            snapshot_parse(&probe, GROUP_SETTINGS, text, text_bytes);
            take_setting_probe(job, &probe, now_ms);
        } else {
            snapshot_parse(&probe, GROUP_SLABS, text, text_bytes);
            take_page_probe(job, &probe, now_ms);
        }
    }
}

void job_abandon(struct job *job, const char *why) {
    if (job->state != JOB_RUNNING) {
        return;
    }
    if (job->action.kind == ACTION_MOVE_PAGES) {
        give_up(job, why);
    } else {
        finish(job, false, "automove: outcome unknown; %s", why);
    }
}

uint64_t job_due_ms(const struct job *job) {
    return job->state == JOB_RUNNING && job->wait == WAIT_TIME ? job->due_ms : UINT64_MAX;
}
