/* Requests the stats of one server at a steady interval and makes snapshots of the answers.
 *
 * A refresh is one write with every command pipelined, so it costs one round trip; "stats settings"
 * is sent only every SETTINGS_EVERY refreshes, "stats slated" once a connection. Inquiries
 * (inquiry.h) are sent with every refresh, before it: when the snapshot is complete, their answers
 * are there. A new inquiry makes a refresh due at once. No new refresh starts while one is under
 * way, so a slow server gets fewer requests. One thread; times are monotonic milliseconds. */
#ifndef CONSOLE_LINK_POLLER_H
#define CONSOLE_LINK_POLLER_H
#include "facts/details/details.h"
#include "facts/latency.h"
#include "facts/stats_snapshot.h"
#include "link/client.h"

/* Tags of requests: a stats group's own number; then those of inquiries, of a class's curve, by
 * class id, and of predictions, by ticket. */
enum {
    SETTINGS_EVERY = 10,
    /* The first refreshes of a connection come fast, because a class is judged by three rates. */
    QUICK_REFRESHES = 3,
    QUICK_MS = 200,
    PROBE_EVERY_MS = 100,
    CURVES_A_REFRESH = 8,
    TAG_INQUIRY = GROUP_COUNT,
    TAG_CLASS_CURVE = TAG_INQUIRY + INQUIRY_COUNT,
    TAG_PREDICTION = TAG_CLASS_CURVE + CLASS_LIMIT,
    TAG_PROBE = TAG_PREDICTION + PREDICTION_TICKETS,
    TAG_ACTING, /* replies to changes */
    TAG_OTHER   /* tags from here on are not the session's */
};

struct poller {
    uint64_t interval_ms;
    uint64_t next_ms;      /* when the next refresh is due */
    double requested_ms;       /* when the refresh under way was sent */
    unsigned generation;   /* the connection of `incoming` */
    unsigned refreshes;    /* refreshes on this connection */
    enum stats_group last; /* the reply that completes the refresh under way */
    bool is_waiting;
    bool has_answered;      /* the server has answered on this connection */
    char refusal[120];      /* the server's words when it refused "stats"; empty otherwise */
    unsigned wanted;        /* INQUIRY_BITs of the screen */
    /* the model's; the poller stores answers there; NULL: no inquiries are sent */
    struct details *details;
    unsigned curve_class;   /* the last class whose curve was requested */
    bool wants_probes, has_probe; /* has_probe: a probe is under way */
    uint64_t probe_ms;            /* when the next probe is due */
    double probe_sent_ms;
    struct latency_log probes; /* on this and earlier connections */
    struct snapshot incoming;  /* incomplete */
    struct snapshot latest;    /* complete */
};

void poller_init(struct poller *poller, uint64_t interval_ms);

/* Starts a refresh when one is due and the connection is up. Call after client_step. */
void poller_step(struct poller *poller, struct client *client, uint64_t now_ms);

/* Takes one reply to a refresh, whose tag is below TAG_INQUIRY. True when the reply completed a
 * snapshot, which is then poller->latest. */
bool poller_take(struct poller *poller, const struct reply *reply, uint64_t now_ms);

/* Takes the reply to a probe, whose tag is TAG_PROBE. */
void poller_take_probe(struct poller *poller);

/* True if the samples by which a class is judged have come, or are about to. */
bool poller_is_steady(const struct poller *poller);

/* Sets the inquiries that go with refreshes, as far as the server knows them. A new inquiry is sent
 * at once, unless it is unhurried. details NULL: no inquiries. If probes are wanted, a short
 * command measures a round trip every PROBE_EVERY_MS between refreshes. */
void poller_want(struct poller *poller, const struct wants *wants, struct details *details,
                 uint64_t now_ms);

/* Makes the next refresh due at once, settings included: after a change of the server. */
void poller_hurry(struct poller *poller, uint64_t now_ms);

/* When to call poller_step next. */
uint64_t poller_due_ms(const struct poller *poller, const struct client *client);
#endif
