#include "link/poller.h"

#include "facts/poll_clock.h"

#include <stdio.h>
#include <string.h>

static const char *const commands[GROUP_COUNT] = {
    [GROUP_GENERAL] = "stats",       [GROUP_ITEMS] = "stats items",
    [GROUP_SLABS] = "stats slabs",   [GROUP_SETTINGS] = "stats settings",
    [GROUP_SLATED] = "stats slated", [GROUP_PROXY_BACKENDS] = "stats proxybe",
};

/* Round trips are measured from the moment of sending: many are shorter than a turn of the loop. */
static double poller_clock_ms(void) {
    return (double)clock_us() / 1e3;
}

void poller_init(struct poller *poller, uint64_t interval_ms) {
    memset(poller, 0, offsetof(struct poller, incoming));
    poller->interval_ms = interval_ms;
    snapshot_init(&poller->incoming);
    snapshot_init(&poller->latest);
}

static void poller_send_curve(struct client *client, unsigned id, uint64_t now_ms) {
    char line[32];
    snprintf(line, sizeof line, "stats curve %u", id);
    client_send(client, line, REPLY_STATS, TAG_CLASS_CURVE + (int)id, now_ms);
}

/* Requests urgent curves first, then those of the next classes with pages, in turn. */
static void poller_send_curves(struct poller *poller, struct client *client, uint64_t now_ms) {
    unsigned requested = 0, id = poller->curve_class;
    const unsigned *first = poller->details->curves_first;
    for (int i = 0; i < 2; i++) {
        if (first[i] > 0 && first[i] < CLASS_LIMIT) {
            poller_send_curve(client, first[i], now_ms);
        }
    }
    for (unsigned tried = 0; tried < CLASS_LIMIT && requested < CURVES_A_REFRESH; tried++) {
        id = (id + 1) % CLASS_LIMIT;
        uint64_t pages = snapshot_class(&poller->latest, id)->value[CLASS_total_pages];
        if (pages == STAT_ABSENT || pages == 0) {
            continue;
        }
        poller_send_curve(client, id, now_ms);
        requested++;
    }
    poller->curve_class = id;
}

static void poller_send_inquiries(struct poller *poller, struct client *client, uint64_t now_ms) {
    if (poller->refreshes == 0 || poller->details == NULL) {
        return; /* the first refresh shows which kind of server this is */
    }
    for (int inquiry = 0; inquiry < INQUIRY_COUNT; inquiry++) {
        const char *why_not, *command = inquiry_rows[inquiry].command;
        char line[PREDICTION_ORDER_BYTES + 24];
        const struct prediction *next;
        if (!(poller->wanted & 1u << inquiry) ||
            !inquiry_is_offered((enum inquiry)inquiry, &poller->latest, &why_not)) {
            continue;
        }
        if (inquiry == INQUIRY_CLASS_CURVES) {
            poller_send_curves(poller, client, now_ms);
        } else if (inquiry == INQUIRY_PREDICTIONS) {
            /* answers come as lines, so each has a ticket */
            while ((next = prediction_next(&poller->details->predictions, now_ms, line)) != NULL) {
                client_send(client, line, REPLY_LINE, TAG_PREDICTION + (int)next->ticket, now_ms);
            }
        } else if (inquiry == INQUIRY_PAGES) {
            snprintf(line, sizeof line, "stats pages %u %d", poller->details->pages.next,
                     PAGES_A_PART);
            client_send(client, line, REPLY_STATS, TAG_INQUIRY + inquiry, now_ms);
        } else if (command[0] != '\0') {
            client_send(client, command, REPLY_STATS, TAG_INQUIRY + inquiry, now_ms);
        }
    }
}

static void poller_send_refresh(struct poller *poller, struct client *client, uint64_t now_ms) {
    snapshot_init(&poller->incoming);
    if (poller->refreshes > 0) {
        snapshot_inherit(&poller->incoming, &poller->latest);
    }
    bool wanted[GROUP_COUNT] = {
        [GROUP_GENERAL] = true,
        [GROUP_ITEMS] = true,
        [GROUP_SLABS] = true,
        [GROUP_SETTINGS] = poller->refreshes == 0 || (poller->wanted & INQUIRY_BIT(SETTINGS)) ||
                           (poller->refreshes >= QUICK_REFRESHES &&
                            (poller->refreshes - QUICK_REFRESHES) % SETTINGS_EVERY == 0),
        [GROUP_SLATED] = poller->refreshes == 0,
        [GROUP_PROXY_BACKENDS] = poller->refreshes > 0 && snapshot_is_proxy(&poller->latest),
    };
    poller_send_inquiries(poller, client, now_ms);
    for (int group = 0; group < GROUP_COUNT; group++) {
        if (wanted[group] && client_send(client, commands[group], REPLY_STATS, group, now_ms)) {
            poller->last = (enum stats_group)group;
        }
    }
    client_flush(client, now_ms);
    poller->is_waiting = true;
    poller->requested_ms = poller_clock_ms();
    poller->refreshes++;
    bool is_quick = poller->refreshes <= QUICK_REFRESHES && poller->interval_ms > QUICK_MS;
    poller->next_ms = now_ms + (is_quick ? QUICK_MS : poller->interval_ms);
}

/* True if a probe may start: with a refresh under way it would measure the refresh. */
static bool poller_may_probe(const struct poller *poller) {
    return poller->wants_probes && poller->has_answered && !poller->is_waiting &&
           !poller->has_probe;
}

bool poller_is_steady(const struct poller *poller) {
    return poller->refreshes > QUICK_REFRESHES;
}

void poller_step(struct poller *poller, struct client *client, uint64_t now_ms) {
    if (client_state(client) != CLIENT_UP) {
        poller->is_waiting = false;
        return;
    }
    if (poller->generation != client_generation(client)) {
        poller->generation = client_generation(client);
        poller->is_waiting = false;
        poller->has_answered = poller->has_probe = false;
        poller->refreshes = 0;
        poller->next_ms = now_ms;
        if (poller->details != NULL) {
            details_forget(poller->details);
        }
    }
    if (!poller->is_waiting && now_ms >= poller->next_ms) {
        poller_send_refresh(poller, client, now_ms);
    } else if (poller_may_probe(poller) && now_ms >= poller->probe_ms) {
        poller->has_probe = client_send(client, "version", REPLY_LINE, TAG_PROBE, now_ms);
        poller->probe_sent_ms = poller_clock_ms();
        poller->probe_ms = now_ms + PROBE_EVERY_MS;
        client_flush(client, now_ms);
    }
}

void poller_take_probe(struct poller *poller) {
    latency_add(&poller->probes, (poller_clock_ms() - poller->probe_sent_ms) * 1e3);
    poller->has_probe = false;
}

static void poller_take_refusal(struct poller *poller, const struct reply *reply) {
    static const char no_login[] = "CLIENT_ERROR unauthenticated";
    if (strncmp(reply->text, no_login, sizeof no_login - 1) == 0) {
        snprintf(poller->refusal, sizeof poller->refusal,
                 "it wants a login, -P FILE with user:password in the first line");
        return;
    }
    stat_line_printable(poller->refusal, sizeof poller->refusal, reply->text, reply->text_bytes);
}

void poller_want(struct poller *poller, const struct wants *wants, struct details *details,
                 uint64_t now_ms) {
    unsigned at_once = details != NULL ? wants->inquiries : 0;
    if (at_once & ~poller->wanted) {
        poller->next_ms = now_ms;
    }
    poller->wanted = details != NULL ? at_once | wants->unhurried : 0;
    poller->details = details != NULL ? details : poller->details;
    poller->wants_probes = wants->probes;
}

/* Takes the wanted parts of a refresh. The first settings are always taken, so that their view need
 * not wait when it opens. */
static void poller_take_details(struct poller *poller, enum stats_group group,
                                const struct reply *reply, uint64_t now_ms) {
    unsigned of_group = group == GROUP_SETTINGS ? INQUIRY_BIT(SETTINGS) : INQUIRY_BIT(CLASS);
    bool is_first = group == GROUP_SETTINGS && !detail_is_known(poller->details, INQUIRY_SETTINGS);
    if (poller->details != NULL && (is_first || (poller->wanted & of_group))) {
        details_take_group(poller->details, group, reply->text, reply->text_bytes, reply->is_stats,
                           now_ms);
    }
}

bool poller_take(struct poller *poller, const struct reply *reply, uint64_t now_ms) {
    enum stats_group group = (enum stats_group)reply->tag;
    poller_take_details(poller, group, reply, now_ms);
    if (reply->is_stats) {
        snapshot_parse(&poller->incoming, group, reply->text, reply->text_bytes);
    }
    if (group == GROUP_GENERAL) {
        poller->incoming.at_ms = now_ms;
        poller->refusal[0] = '\0';
        if (!reply->is_stats) {
            poller_take_refusal(poller, reply);
        }
    }
    if (group != poller->last || !poller->is_waiting) {
        return false;
    }
    poller->is_waiting = false;
    if (poller->refusal[0] != '\0') {
        return false;
    }
    poller->incoming.reply_ms = poller_clock_ms() - poller->requested_ms;
    snapshot_copy(&poller->latest, &poller->incoming);
    poller->has_answered = true;
    return true;
}

void poller_hurry(struct poller *poller, uint64_t now_ms) {
    poller->next_ms = now_ms;
    if (poller->refreshes > 0) {
        poller->refreshes =
            /* not 0: the kind of server can't have changed */
            QUICK_REFRESHES + SETTINGS_EVERY;
    }
}

uint64_t poller_due_ms(const struct poller *poller, const struct client *client) {
    if (client_state(client) != CLIENT_UP || poller->is_waiting) {
        return UINT64_MAX;
    }
    return poller_may_probe(poller) && poller->probe_ms < poller->next_ms ? poller->probe_ms
                                                                          : poller->next_ms;
}
