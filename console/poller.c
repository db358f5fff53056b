#include "poller.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const commands[GROUP_COUNT] = {
    [GROUP_GENERAL] = "stats",       [GROUP_ITEMS] = "stats items",
    [GROUP_SLABS] = "stats slabs",   [GROUP_SETTINGS] = "stats settings",
    [GROUP_SLATED] = "stats slated",
};

/* NULL: it has a request of its own making, or none. */
static const char *const detail_commands[DETAIL_COUNT] = {
    [DETAIL_MOVES] = "stats moves",         [DETAIL_AUTOMOVE] = "stats automove",
    [DETAIL_POLICIES] = "stats policies",   [DETAIL_EVICTIONS] = "stats evictions",
    [DETAIL_SIZEHIST] = "stats sizehist",   [DETAIL_STOCK_SIZES] = "stats sizes",
    [DETAIL_GEOMETRY] = "stats geometry",   [DETAIL_CURVE] = "stats curve",
    [DETAIL_WHATIF] = "stats whatif",       [DETAIL_HOTKEYS] = "stats hotkeys 64",
};

/* The cost of a refresh is often below a millisecond, finer than the loop's clock. */
static double fine_clock_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

void poller_init(struct poller *poller, uint64_t interval_ms) {
    memset(poller, 0, sizeof *poller);
    poller->interval_ms = interval_ms;
    snapshot_init(&poller->draft);
    snapshot_init(&poller->latest);
}

/* What is wanted, known by this kind of server, and not asked for yet. */
static unsigned missing_inquiries(const struct poller *poller) {
    unsigned missing = poller->has_answered ? poller->wants & ~poller->asked : 0;
    for (unsigned i = 0; i < INQUIRY_COUNT; i++) {
        if (inquiry_rows[i].slated_only && !poller->latest.is_slated) {
            missing &= ~(1u << i);
        }
    }
    return missing;
}

static void ask_inquiries(struct poller *poller, struct client *client, uint64_t now_ms) {
    unsigned missing = missing_inquiries(poller);
    for (unsigned i = 0; i < INQUIRY_COUNT; i++) {
        if (missing & 1u << i) {
            client_send(client, inquiry_rows[i].command, REPLY_STATS, TAG_INQUIRY + (int)i, now_ms);
        }
    }
    poller->asked |= missing;
}

/* Of classes with pages, the next ones in turn. */
static void ask_curves(struct poller *poller, struct client *client, uint64_t now_ms) {
    unsigned asked = 0, id = poller->curve_class;
    for (unsigned looked = 0; looked < CLASS_LIMIT && asked < CURVES_A_REFRESH; looked++) {
        char line[32];
        id = (id + 1) % CLASS_LIMIT;
        uint64_t pages = poller->latest.classes[id].value[CLASS_total_pages];
        if (pages == STAT_ABSENT || pages == 0) {
            continue;
        }
        snprintf(line, sizeof line, "stats curve %u", id);
        client_send(client, line, REPLY_STATS, TAG_CLASS_CURVE + (int)id, now_ms);
        asked++;
    }
    poller->curve_class = id;
}

static void ask_details(struct poller *poller, struct client *client, uint64_t now_ms) {
    if (poller->refreshes == 0 || poller->details == NULL) {
        return; /* what kind of server it is will be known after the first refresh */
    }
    for (int group = 0; group < DETAIL_COUNT; group++) {
        const char *why_not;
        char line[40];
        if (!(poller->wanted & DETAIL_BIT(group)) ||
            !detail_is_offered((enum detail_group)group, &poller->latest, &why_not)) {
            continue;
        }
        if (group == DETAIL_CLASS_CURVES) {
            ask_curves(poller, client, now_ms);
        } else if (group == DETAIL_PAGES) {
            snprintf(line, sizeof line, "stats pages %u %d", poller->details->pages.next,
                     PAGES_A_PART);
            client_send(client, line, REPLY_STATS, TAG_DETAIL + group, now_ms);
        } else if (detail_commands[group] != NULL) {
            client_send(client, detail_commands[group], REPLY_STATS, TAG_DETAIL + group, now_ms);
        }
    }
}

static void ask(struct poller *poller, struct client *client, uint64_t now_ms) {
    snapshot_init(&poller->draft);
    if (poller->refreshes > 0) {
        snapshot_inherit(&poller->draft, &poller->latest);
    }
    bool wanted[GROUP_COUNT] = {
        [GROUP_GENERAL] = true,
        [GROUP_ITEMS] = true,
        [GROUP_SLABS] = true,
        [GROUP_SETTINGS] = poller->refreshes % SETTINGS_EVERY == 0,
        [GROUP_SLATED] = poller->refreshes == 0,
    };
    ask_details(poller, client, now_ms);
    for (int group = 0; group < GROUP_COUNT; group++) {
        if (wanted[group] && client_send(client, commands[group], REPLY_STATS, group, now_ms)) {
            poller->last = (enum stats_group)group;
        }
    }
    if (poller->refreshes % INQUIRY_EVERY == 0) {
        poller->asked = 0;
    }
    ask_inquiries(poller, client, now_ms);
    client_flush(client, now_ms);
    poller->is_waiting = true;
    poller->asked_ms = fine_clock_ms();
    poller->refreshes++;
    poller->next_ms = now_ms + poller->interval_ms;
}

void poller_step(struct poller *poller, struct client *client, uint64_t now_ms) {
    if (client_state(client) != CLIENT_UP) {
        poller->is_waiting = false;
        return;
    }
    if (poller->generation != client_generation(client)) {
        poller->generation = client_generation(client);
        poller->is_waiting = false;
        poller->has_answered = false;
        poller->refreshes = 0;
        poller->asked = 0;
        poller->next_ms = now_ms;
        if (poller->details != NULL) {
            details_forget(poller->details);
        }
    }
    if (!poller->is_waiting && now_ms >= poller->next_ms) {
        ask(poller, client, now_ms);
    } else if (missing_inquiries(poller) != 0) {
        ask_inquiries(poller, client, now_ms);
        client_flush(client, now_ms);
    }
}

static void remember_refusal(struct poller *poller, const struct reply *reply) {
    size_t n = reply->text_bytes < sizeof poller->refusal - 1 ? reply->text_bytes
                                                              : sizeof poller->refusal - 1;
    memcpy(poller->refusal, reply->text, n);
    poller->refusal[n] = '\0';
    poller->refusal[strcspn(poller->refusal, "\r\n")] = '\0';
}

static void take_detail(struct poller *poller, const struct reply *reply, uint64_t now_ms) {
    bool is_curve = reply->tag >= TAG_CLASS_CURVE;
    int group = is_curve ? DETAIL_CLASS_CURVES : reply->tag - TAG_DETAIL;
    if (poller->details != NULL) {
        details_take(poller->details, (enum detail_group)group,
                     is_curve ? (unsigned)(reply->tag - TAG_CLASS_CURVE) : 0, reply->text,
                     reply->text_bytes, reply->is_stats, now_ms);
    }
}

void poller_want(struct poller *poller, unsigned wanted, struct details *details, uint64_t now_ms) {
    if (wanted & ~poller->wanted) {
        poller->next_ms = now_ms;
    }
    poller->wanted = wanted;
    poller->details = details != NULL ? details : poller->details;
}

bool poller_take(struct poller *poller, const struct reply *reply, uint64_t now_ms) {
    if (reply->tag >= TAG_DETAIL) {
        take_detail(poller, reply, now_ms);
        return false;
    }
    enum stats_group group = (enum stats_group)reply->tag;
    if (reply->is_stats) {
        if (poller->details != NULL && (poller->wanted & DETAIL_BIT(DETAIL_CLASS))) {
            details_take_class(poller->details, group, reply->text, reply->text_bytes, now_ms);
        }
        snapshot_parse(&poller->draft, group, reply->text, reply->text_bytes);
    }
    if (group == GROUP_GENERAL) {
        poller->draft.at_ms = now_ms;
        poller->refusal[0] = '\0';
        if (!reply->is_stats) {
            remember_refusal(poller, reply);
        }
    }
    if (group != poller->last || !poller->is_waiting) {
        return false;
    }
    poller->is_waiting = false;
    if (poller->refusal[0] != '\0') {
        return false;
    }
    poller->draft.reply_ms = fine_clock_ms() - poller->asked_ms;
    poller->latest = poller->draft;
    poller->has_answered = true;
    return true;
}

void poller_hurry(struct poller *poller, uint64_t now_ms) {
    poller->next_ms = now_ms;
    poller->asked = 0;
    if (poller->refreshes > 0) {
        poller->refreshes =
            SETTINGS_EVERY; /* not 0: what kind of server it is can't have changed */
    }
}

uint64_t poller_due_ms(const struct poller *poller, const struct client *client) {
    return client_state(client) == CLIENT_UP && !poller->is_waiting ? poller->next_ms : UINT64_MAX;
}
