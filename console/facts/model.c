#include "facts/model.h"

#include "facts/history.h"
#include "facts/words.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_WINDOW_MS = 100000 };

/* GENERAL_pid, which is no counter, ends the list of sources. */
const struct metric_row metric_rows[METRIC_COUNT] = {
    [METRIC_OPS] = {"ops/s", "ops", UNIT_PER_SECOND,
                    "gets, sets, touches, deletes and counter changes a second",
                    {GENERAL_cmd_get, GENERAL_cmd_set, GENERAL_cmd_touch, GENERAL_delete_hits,
                     GENERAL_delete_misses, GENERAL_incr_hits, GENERAL_incr_misses,
                     GENERAL_decr_hits, GENERAL_decr_misses}},
    [METRIC_GETS] = {"gets/s", "gets", UNIT_PER_SECOND, "keys requested a second",
                     {GENERAL_cmd_get}},
    [METRIC_SETS] = {"sets/s", "sets", UNIT_PER_SECOND, "store commands a second",
                     {GENERAL_cmd_set}},
    [METRIC_HITS] = {"hits/s", "hits", UNIT_PER_SECOND, "keys found a second", {GENERAL_get_hits}},
    [METRIC_HIT_RATIO] = {"hit %", "hit_ratio", UNIT_RATIO,
                          "share of the requested keys that were found, in the interval", {0}},
    [METRIC_EVICTIONS] = {"evictions/s", "evictions", UNIT_PER_SECOND,
                          "live items thrown out for memory a second", {GENERAL_evictions}},
    [METRIC_EVICTED_UNREAD] = {"evicted unread/s", "evicted_unread", UNIT_PER_SECOND,
                               "evicted items that were never read",
                               {GENERAL_evicted_unfetched}},
    [METRIC_EXPIRED_UNREAD] = {"expired unread/s", "expired_unread", UNIT_PER_SECOND,
                               "expired items that were never read",
                               {GENERAL_expired_unfetched}},
    [METRIC_LOST_BY_MOVES] = {"lost by moves/s", "lost_by_moves", UNIT_PER_SECOND,
                              "live items dropped by page moves, not counted as evictions",
                              {GENERAL_slab_reassign_evictions_nomem,
                               GENERAL_slab_reassign_busy_deletes}},
    /* the judge computes these two */
    [METRIC_NO_MEMORY] = {"out of memory/s", "out_of_memory", UNIT_PER_SECOND,
                          "sets refused for want of memory", {0}},
    [METRIC_REFUSED] = {"refused conns/s", "refused_connections", UNIT_PER_SECOND,
                        "connections refused or made to wait at the limit", {0}},
    [METRIC_BYTES_IN] = {"received", "received_bytes", UNIT_BYTES_PER_SECOND,
                         "bytes from clients a second", {GENERAL_bytes_read}},
    [METRIC_BYTES_OUT] = {"sent", "sent_bytes", UNIT_BYTES_PER_SECOND,
                          "bytes to clients a second", {GENERAL_bytes_written}},
    [METRIC_CPU] = {"server cpu %", "server_cpu", UNIT_RATIO,
                    "processor time of the server; 100 is one core",
                    {GENERAL_rusage_user, GENERAL_rusage_system}},
    [METRIC_REPLY_MS] = {"stats reply ms", "reply_ms", UNIT_MS,
                         "time of one refresh, from request to last reply", {0}},
    [METRIC_CONNECTIONS] = {"connections", "connections", UNIT_COUNT, "open connections", {0}},
    [METRIC_PAGES_MOVED] = {"page moves/s", "page_moves", UNIT_PER_SECOND,
                            "pages that changed class a second", {GENERAL_slabs_moved}},
};

/* CLASS_COUNT: not a rate. */
static const enum class_stat class_sources[CLASS_METRIC_COUNT] = {
    [CLASS_METRIC_HITS] = CLASS_get_hits,         [CLASS_METRIC_SETS] = CLASS_cmd_set,
    [CLASS_METRIC_EVICTIONS] = CLASS_evicted,     [CLASS_METRIC_UNREAD] = CLASS_evicted_unfetched,
    [CLASS_METRIC_NO_MEMORY] = CLASS_outofmemory, [CLASS_METRIC_PAGES] = CLASS_COUNT,
};

struct model {
    char server[NOTE_BYTES];
    enum link_state link;
    char link_note[NOTE_BYTES];
    bool was_up;
    bool has_now, has_before;
    struct snapshot now, before;
    double metric[METRIC_COUNT];
    double class_metric[CLASS_LIMIT][CLASS_METRIC_COUNT];
    uint64_t chunk_bytes[CLASS_LIMIT]; /* last known, even if the class has gone; 0: unknown */
    struct history history; /* METRIC_COUNT series, then CLASS_METRIC_COUNT for each class */
    struct event events[EVENT_LIMIT]; /* oldest first */
    unsigned event_count, page_event_count, events_total;
    struct details *details;
    const struct model *lent; /* the owner of the details to show; NULL: this model */
    struct judge *judge;
};

static unsigned model_series(unsigned class_id, enum class_metric metric) {
    return (unsigned)METRIC_COUNT + class_id * (unsigned)CLASS_METRIC_COUNT + (unsigned)metric;
}

/* Increase of a counter: NAN when either side is absent, RATE_RESET when it fell. */
static double model_rise(uint64_t before, uint64_t now) {
    if (before == STAT_ABSENT || now == STAT_ABSENT) {
        return NAN;
    }
    return now >= before ? (double)(now - before) : RATE_RESET;
}

static double model_summed_rise(const struct snapshot *before, const struct snapshot *now,
                                const enum general_stat *sources) {
    double sum = NAN;
    for (; *sources != GENERAL_pid; sources++) {
        double change = model_rise(before->general[*sources], now->general[*sources]);
        if (change < 0) {
            return RATE_RESET;
        }
        if (!isnan(change)) {
            sum = isnan(sum) ? change : sum + change;
        }
    }
    return sum;
}

static double model_rate(double change, double dt_s) {
    return change < 0 ? RATE_RESET : change / dt_s;
}

static void model_compute_rates(struct model *model, const struct snapshot *before,
                                const struct snapshot *now, double dt_s) {
    for (int i = 0; i < METRIC_COUNT; i++) {
        model->metric[i] = model_rate(model_summed_rise(before, now, metric_rows[i].sources), dt_s);
    }
    double lookups = model->metric[METRIC_GETS], hits = model->metric[METRIC_HITS];
    model->metric[METRIC_HIT_RATIO] = lookups > 0 && hits >= 0 ? fmin(hits / lookups, 1.0) : NAN;
    if (model->metric[METRIC_CPU] > 0) {
        model->metric[METRIC_CPU] /= 1e6;
    }
    for (unsigned id = 0; id < CLASS_LIMIT; id++) {
        for (int i = 0; i < CLASS_METRIC_COUNT; i++) {
            enum class_stat source = class_sources[i];
            if (source != CLASS_COUNT) {
                double change = model_rise(snapshot_class(before, id)->value[source],
                                           snapshot_class(now, id)->value[source]);
                model->class_metric[id][i] = model_rate(change, dt_s);
            }
        }
    }
}

static void model_forget_rates(struct model *model, double value) {
    for (int i = 0; i < METRIC_COUNT; i++) {
        model->metric[i] = value;
    }
    for (unsigned id = 0; id < CLASS_LIMIT; id++) {
        for (int i = 0; i < CLASS_METRIC_COUNT; i++) {
            model->class_metric[id][i] = value;
        }
    }
}

/* slated changes the chunk sizes of a live cache: an id may get another class, at once or after a
 * time without any. The past of the id's earlier class is dropped. */
static void model_forget_other_classes(struct model *model, const struct snapshot *now) {
    for (unsigned id = 0; id < CLASS_LIMIT; id++) {
        uint64_t bytes = snapshot_class(now, id)->value[CLASS_chunk_size];
        uint64_t was = model->chunk_bytes[id];
        if (bytes == STAT_ABSENT) {
            continue;
        }
        model->chunk_bytes[id] = bytes;
        if (was == 0 || was == bytes) {
            continue;
        }
        for (int i = 0; i < CLASS_METRIC_COUNT; i++) {
            history_clear(&model->history, model_series(id, (enum class_metric)i));
            model->class_metric[id][i] = NAN;
        }
        if (model->details != NULL) {
            details_forget_class(model->details, id);
        }
    }
}

static void model_read_gauges(struct model *model, const struct snapshot *now) {
    model->metric[METRIC_REPLY_MS] = now->reply_ms;
    model->metric[METRIC_CONNECTIONS] = stat_number(now->general[GENERAL_curr_connections]);
    for (unsigned id = 0; id < CLASS_LIMIT; id++) {
        model->class_metric[id][CLASS_METRIC_PAGES] =
            stat_number(snapshot_class(now, id)->value[CLASS_total_pages]);
    }
}

static void model_record_value(struct history *history, unsigned series, double value) {
    if (!isnan(value) && value >= 0) {
        history_set(history, series, value);
    }
}

static void model_record_sample(struct model *model, uint64_t at_ms) {
    history_begin(&model->history, at_ms);
    for (int i = 0; i < METRIC_COUNT; i++) {
        model_record_value(&model->history, (unsigned)i, model->metric[i]);
    }
    for (unsigned id = 0; id < CLASS_LIMIT; id++) {
        for (int i = 0; i < CLASS_METRIC_COUNT; i++) {
            model_record_value(&model->history, model_series(id, (enum class_metric)i),
                               model->class_metric[id][i]);
        }
    }
}

/* "class 4: 120 → 118, class 12: 31 → 33" for the classes whose page count changed; empty when none
 * did. */
static void model_describe_pages(const struct snapshot *before, const struct snapshot *now,
                                 char *out, size_t out_bytes) {
    size_t used = 0;
    out[0] = '\0';
    for (unsigned id = 0; id < CLASS_LIMIT; id++) {
        uint64_t was = snapshot_class(before, id)->value[CLASS_total_pages],
                 is = snapshot_class(now, id)->value[CLASS_total_pages];
        was = was == STAT_ABSENT ? 0 : was;
        is = is == STAT_ABSENT ? 0 : is;
        if (was == is) {
            continue;
        }
        int n = snprintf(out + used, out_bytes - used, "%sclass %u: %lu → %lu",
                         used > 0 ? ", " : "", id, (unsigned long)was, (unsigned long)is);
        if (n < 0 || (size_t)n >= out_bytes - used) {
            snprintf(out + used, out_bytes - used, " …");
            return;
        }
        used += (size_t)n;
    }
}

static void model_note_changes(struct model *model, const struct snapshot *before,
                               const struct snapshot *now, time_t wall) {
    char changes[NOTE_BYTES - 20];
    model_describe_pages(before, now, changes, sizeof changes);
    if (changes[0] != '\0') {
        model_note(model, EVENT_PAGES, wall, "%s pages", changes);
    }
    if (strcmp(before->automove, now->automove) != 0 && before->automove[0] != '\0') {
        model_note(model, EVENT_SETTING, wall, "automove %s → %s", before->automove, now->automove);
    }
    uint64_t limit_was = before->general[GENERAL_limit_maxbytes],
             limit = now->general[GENERAL_limit_maxbytes];
    if (limit_was != limit && limit_was != STAT_ABSENT && limit != STAT_ABSENT) {
        model_note(model, EVENT_SETTING, wall, "memory limit %lu → %lu MiB",
                   (unsigned long)(limit_was >> 20), (unsigned long)(limit >> 20));
    }
}

struct model *model_create(const char *server, struct judge *taken) {
    struct model *model = calloc(1, sizeof *model);
    if (model == NULL ||
        !history_init(&model->history, HISTORY_SAMPLES, model_series(CLASS_LIMIT, 0))) {
        taken->end(taken);
        free(model);
        return NULL;
    }
    model->judge = taken;
    snprintf(model->server, sizeof model->server, "%s", server);
    model->link = LINK_CONNECTING;
    model_forget_rates(model, NAN);
    return model;
}

void model_expect_samples(struct model *model, unsigned samples) {
    struct history other;
    if (history_init(&other, samples, model_series(CLASS_LIMIT, 0))) {
        history_fini(&model->history);
        model->history = other;
    }
}

void model_expect_interval(struct model *model, uint64_t interval_ms) {
    if (interval_ms * HISTORY_SAMPLES < LONGEST_WINDOW_MS + interval_ms) {
        model_expect_samples(model, HISTORY_MOST);
    }
}

void model_destroy(struct model **model) {
    if (*model != NULL) {
        history_fini(&(*model)->history);
        details_destroy(&(*model)->details);
        (*model)->judge->end((*model)->judge);
        free(*model);
        *model = NULL;
    }
}

void model_add(struct model *model, const struct snapshot *snapshot, time_t wall) {
    bool had = model->has_now;
    snapshot_copy(&model->before, &model->now);
    snapshot_copy(&model->now, snapshot);
    model->has_now = true;
    model->has_before = had;
    const struct snapshot *before = &model->before, *now = &model->now;
    double dt_s =
        had && now->at_ms > before->at_ms ? (double)(now->at_ms - before->at_ms) / 1000.0 : 0;
    bool is_restart = before->general[GENERAL_pid] != now->general[GENERAL_pid] ||
                      model_rise(before->general[GENERAL_uptime], now->general[GENERAL_uptime]) < 0;
    if (dt_s <= 0) {
        model_forget_rates(model, NAN);
    } else if (is_restart) {
        model_forget_rates(model, RATE_RESET);
        history_break(&model->history);
    } else {
        model_compute_rates(model, before, now, dt_s);
        if (model->metric[METRIC_OPS] < 0) {
            model_note(model, EVENT_SERVER, wall,
                       "the counters went back: someone sent \"stats reset\"");
        }
        model_note_changes(model, before, now, wall);
    }
    model_forget_other_classes(model, now);
    model_read_gauges(model, now);
    model->judge->observe(model->judge, now);
    for (unsigned i = 0; i < model->judge->news_count; i++) {
        model_note(model, EVENT_ALARM, wall, "%s", model->judge->news[i]);
    }
    if (model->metric[METRIC_NO_MEMORY] != RATE_RESET) {
        model->metric[METRIC_NO_MEMORY] = model->judge->refused_stores_per_s;
        model->metric[METRIC_REFUSED] = model->judge->refused_connections_per_s;
    }
    model_record_sample(model, now->at_ms);
}

const struct judge *model_judge(const struct model *model) {
    return model->judge;
}

void model_set_link(struct model *model, enum link_state state, const char *note, time_t wall) {
    if (state == LINK_DOWN && model->link == LINK_UP) {
        model_note(model, EVENT_SERVER, wall, "connection lost: %s", note);
    } else if (state == LINK_UP && model->link != LINK_UP && model->was_up) {
        model_note(model, EVENT_SERVER, wall, "connected again");
    }
    model->was_up = model->was_up || state == LINK_UP;
    model->link = state;
    words_printf(model->link_note, sizeof model->link_note, "%s", note);
}

/* Automove can move a page a second, which would push out within minutes the events of the
 * operator's changes: so page moves have at most half of the room. */
static void model_drop_event(struct model *model) {
    unsigned at = 0;
    while (model->page_event_count > EVENT_LIMIT / 2 && model->events[at].kind != EVENT_PAGES) {
        at++;
    }
    model->page_event_count -= model->events[at].kind == EVENT_PAGES;
    model->event_count--;
    memmove(&model->events[at], &model->events[at + 1],
            (model->event_count - at) * sizeof *model->events);
}

static struct event *model_add_event(struct model *model, enum event_kind kind) {
    if (model->event_count == EVENT_LIMIT) {
        model_drop_event(model);
    }
    model->page_event_count += kind == EVENT_PAGES;
    model->events_total++;
    return &model->events[model->event_count++];
}

void model_note(struct model *model, enum event_kind kind, time_t wall, const char *format, ...) {
    struct event *event = model_add_event(model, kind);
    event->wall = wall;
    event->kind = kind;
    va_list ap;
    va_start(ap, format);
    words_vprintf(event->text, sizeof event->text, format, ap);
    va_end(ap);
}

const struct answers *model_answers(const struct model *model) {
    static const struct answers none = {0};
    const struct details *details = model_details(model);
    return details != NULL ? &details->answers : &none;
}

void model_copy_events(struct model *model, const struct model *from, time_t until) {
    model->event_count = model->page_event_count = model->events_total = 0;
    for (unsigned i = 0; i < from->event_count; i++) {
        const struct event *event = &from->events[i];
        if (event->wall <= until) {
            *model_add_event(model, event->kind) = *event;
        }
    }
}

const char *model_server(const struct model *model) {
    return model->server;
}
enum link_state model_link(const struct model *model) {
    return model->link;
}
const char *model_link_note(const struct model *model) {
    return model->link_note;
}

uint64_t model_age_ms(const struct model *model, uint64_t now_ms) {
    if (!model->has_now) {
        return UINT64_MAX;
    }
    return now_ms > model->now.at_ms ? now_ms - model->now.at_ms : 0;
}

const struct snapshot *model_now(const struct model *model) {
    return model->has_now ? &model->now : NULL;
}

const struct snapshot *model_before(const struct model *model) {
    return model->has_before ? &model->before : NULL;
}

double model_metric(const struct model *model, enum metric metric) {
    return model->metric[metric];
}

double model_class_metric(const struct model *model, unsigned class_id, enum class_metric metric) {
    return model->class_metric[class_id][metric];
}

double model_mean(const struct model *model, enum metric metric, uint64_t window_ms) {
    if (metric ==
        METRIC_HIT_RATIO) { /* a mean of ratios would give all seconds the same weight */
        double gets = history_mean(&model->history, METRIC_GETS, window_ms);
        double hits = history_mean(&model->history, METRIC_HITS, window_ms);
        return gets > 0 ? fmin(hits / gets, 1.0) : NAN;
    }
    return history_mean(&model->history, metric, window_ms);
}

uint64_t model_covered_ms(const struct model *model, uint64_t window_ms) {
    return history_covered_ms(&model->history, window_ms);
}

double model_class_mean(const struct model *model, unsigned class_id, enum class_metric metric,
                        uint64_t window_ms) {
    return history_mean(&model->history, model_series(class_id, metric), window_ms);
}

double model_page_change(const struct model *model, unsigned class_id, uint64_t window_ms) {
    return history_change(&model->history, model_series(class_id, CLASS_METRIC_PAGES), window_ms);
}

int model_history(const struct model *model, enum metric metric, float *out, int limit) {
    return history_copy(&model->history, metric, out, limit);
}

int model_class_history(const struct model *model, unsigned class_id, enum class_metric metric,
                        float *out, int limit) {
    return history_copy(&model->history, model_series(class_id, metric), out, limit);
}

const struct details *model_details(const struct model *model) {
    return model->lent != NULL ? model->lent->details : model->details;
}

void model_lend_details(struct model *model, const struct model *from) {
    model->lent = from;
}

struct details *model_open_details(struct model *model) {
    if (model->details == NULL) {
        model->details = details_create();
    }
    return model->details;
}

const struct event *model_event(const struct model *model, unsigned index) {
    return index < model->event_count ? &model->events[model->event_count - 1 - index] : NULL;
}

unsigned model_events_total(const struct model *model) {
    return model->events_total;
}

const char *model_event_kind_name(enum event_kind kind) {
    static const char *const names[] = {"server", "pages", "setting", "you", "alarm"};
    return names[kind];
}
