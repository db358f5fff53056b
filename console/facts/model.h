/* The data about one server: the last two snapshots, rates between them, history, events, and the
 * state of the link. Only the model computes rates, from two snapshots and the monotonic time
 * between them.
 *
 * The model knows no view and no socket. Times are monotonic milliseconds handed in by the caller,
 * so tests need no waiting. Memory: about 0.4 MB, plus 0.5 MB per 40 classes of HISTORY_SAMPLES.
 * One thread. */
#ifndef CONSOLE_FACTS_MODEL_H
#define CONSOLE_FACTS_MODEL_H
#include "facts/details/details.h"
#include "facts/stats_snapshot.h"

#include <time.h>

/* The rate of a counter that went backwards; no other rate is negative. */
#define RATE_RESET (-1.0)

enum {
    HISTORY_SAMPLES = 416, /* for the widest graph, and for 100 s; the tape has the hour */
    HISTORY_MOST = 1024,   /* 100 s of the shortest interval */
    EVENT_LIMIT = 256,
    NOTE_BYTES = 200,
    NEWS_MOST = 4 /* of one snapshot */
};

/* Figures of the server as a whole. The table in model.c has their names, their meaning, and the
 * stats from which they come. */
enum metric {
    METRIC_OPS,
    METRIC_GETS,
    METRIC_SETS,
    METRIC_HITS,
    METRIC_HIT_RATIO,
    METRIC_EVICTIONS,
    METRIC_EVICTED_UNREAD,
    METRIC_EXPIRED_UNREAD,
    METRIC_LOST_BY_MOVES,
    METRIC_NO_MEMORY,
    METRIC_REFUSED,
    METRIC_BYTES_IN,
    METRIC_BYTES_OUT,
    METRIC_CPU,
    METRIC_REPLY_MS,
    METRIC_CONNECTIONS,
    METRIC_PAGES_MOVED,
    METRIC_COUNT
};

/* Figures of one class. */
enum class_metric {
    CLASS_METRIC_HITS,
    CLASS_METRIC_SETS,
    CLASS_METRIC_EVICTIONS,
    CLASS_METRIC_UNREAD,
    CLASS_METRIC_NO_MEMORY,
    CLASS_METRIC_PAGES,
    CLASS_METRIC_COUNT
};

enum unit { UNIT_PER_SECOND, UNIT_BYTES_PER_SECOND, UNIT_RATIO, UNIT_MS, UNIT_COUNT };

struct metric_row {
    const char *name; /* short name, for a table */
    const char *key;  /* name in JSON; rates a second, ratios 0..1 */
    enum unit unit;
    const char *meaning; /* one sentence for the operator */
    /* Counters whose increase a second makes the rate, up to a 0. Counters that a server lacks are
     * left out of the sum. */
    enum general_stat sources[10];
};

enum link_state { LINK_CONNECTING, LINK_UP, LINK_DOWN };

enum event_kind { EVENT_SERVER, EVENT_PAGES, EVENT_SETTING, EVENT_YOU, EVENT_ALARM };

struct event {
    time_t wall; /* time of day, for people */
    enum event_kind kind;
    char text[NOTE_BYTES];
};

struct model;

/* The judge of the model's snapshots: observe gets each snapshot after the rates are known, end is
 * called with the model's end. slatetop's judge is brain/brain.h; the files of facts do not know
 * it. */
struct judge {
    void (*observe)(struct judge *judge, const struct snapshot *now);
    void (*end)(struct judge *judge);
    /* as of the last snapshot; NAN if the server does not report it, or miscounts */
    double refused_stores_per_s, refused_connections_per_s;
    /* incidents found in the last snapshot, in sentences: the model makes events of them */
    unsigned news_count;
    char news[NEWS_MOST][NOTE_BYTES];
};

/* server is the name to show; copied. The model owns `taken` from now on, also when this returns
 * NULL: out of memory. */
struct model *model_create(const char *server, struct judge *taken);
void model_destroy(struct model **model);

/* Makes room for `samples` in place of HISTORY_SAMPLES; before the first snapshot. Without memory,
 * nothing changes. */
void model_expect_samples(struct model *model, unsigned samples);

/* Makes room for 100 s of samples at this interval; before the first snapshot. Without memory,
 * means over 100 s cover less. */
void model_expect_interval(struct model *model, uint64_t interval_ms);

/* Takes a complete snapshot; its at_ms must not go backwards. A restart or a reset of the counters
 * makes the rates of that one sample RATE_RESET and writes an event. A class with another chunk
 * size than the id's earlier class is a new class: it begins without a past. wall is the time of
 * day for events. */
void model_add(struct model *model, const struct snapshot *snapshot, time_t wall);

/* Sets the state of the link; a note says why it is down. Writes an event when a working link
 * breaks or comes back. */
void model_set_link(struct model *model, enum link_state state, const char *note, time_t wall);

void model_note(struct model *model, enum event_kind kind, time_t wall, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Makes the events those of another model, up to a time of day. */
void model_copy_events(struct model *model, const struct model *from, time_t until);

const char *model_server(const struct model *model);
enum link_state model_link(const struct model *model);
const char *model_link_note(const struct model *model);
/* Age of the newest snapshot in ms; UINT64_MAX before the first. */
uint64_t model_age_ms(const struct model *model, uint64_t now_ms);

/* The states of inquiries; never NULL. */
const struct answers *model_answers(const struct model *model);

/* The newest snapshot; NULL before the first. Valid until the next model_add. */
const struct snapshot *model_now(const struct model *model);

/* The previous snapshot; NULL before the second. Valid until the next model_add. */
const struct snapshot *model_before(const struct model *model);

/* Newest rate or gauge: NAN when unknown (no second sample, stat missing), RATE_RESET when a
 * counter went back. */
double model_metric(const struct model *model, enum metric metric);
double model_class_metric(const struct model *model, unsigned class_id, enum class_metric metric);

/* Mean over the samples of the last window_ms; NAN when there are none. Cost: O(samples in the
 * window). */
double model_mean(const struct model *model, enum metric metric, uint64_t window_ms);
double model_class_mean(const struct model *model, unsigned class_id, enum class_metric metric,
                        uint64_t window_ms);

/* The time that such a mean covers: window_ms, or less if the history is shorter. */
uint64_t model_covered_ms(const struct model *model, uint64_t window_ms);

/* The judge that was handed to model_create. */
const struct judge *model_judge(const struct model *model);

/* Change of a class's page count over the last window_ms, or since the first sample when that is
 * younger. */
double model_page_change(const struct model *model, unsigned class_id, uint64_t window_ms);

/* The newest samples, oldest first, at most limit; returns how many were written. */
int model_history(const struct model *model, enum metric metric, float *out, int limit);
int model_class_history(const struct model *model, unsigned class_id, enum class_metric metric,
                        float *out, int limit);

/* Answers for some views; NULL until model_open_details. The poller's owner fills them. */
const struct details *model_details(const struct model *model);
/* Makes model_details return another model's: those of the live model, which outlives this one, at
 * the moment at which a pause began. NULL: its own again. */
void model_lend_details(struct model *model, const struct model *from);
struct details *model_open_details(struct model *model); /* NULL when out of memory */

/* Events, newest first: index 0 is the newest; NULL past the end. EVENT_LIMIT are stored, and at
 * most half of them are page moves when there are others. */
const struct event *model_event(const struct model *model, unsigned index);
unsigned model_events_total(const struct model *model);

extern const struct metric_row metric_rows[METRIC_COUNT];
const char *model_event_kind_name(enum event_kind kind);
#endif
