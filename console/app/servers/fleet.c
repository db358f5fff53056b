#include "app/servers/fleet.h"

#include "app/servers/address_word.h"
#include "facts/words.h"

#include <stdio.h>
#include <string.h>

void fleet_init(struct fleet *fleet, uint64_t interval_ms, unsigned expected,
                const struct access *access) {
    *fleet = (struct fleet){.interval_ms = interval_ms,
                            .access = access,
                            .tape_bytes = TAPES_BYTES / (expected > 8 ? expected : 8)};
}

void fleet_fini(struct fleet *fleet) {
    for (unsigned i = 0; i < fleet->count; i++) {
        session_destroy(&fleet->list[i]);
    }
    for (unsigned i = 0; i < fleet->list_count; i++) {
        discovery_end(&fleet->lists[i].discovery);
    }
    *fleet = (struct fleet){0};
}

/* The index of a server; fleet->count when it is absent. */
static unsigned fleet_place_of(const struct fleet *fleet, const char *text) {
    unsigned i = 0;
    while (i < fleet->count && strcmp(fleet->list[i]->address.text, text) != 0) {
        i++;
    }
    return i;
}

static bool fleet_add_server(struct fleet *fleet, const struct address *address,
                             const struct server_list *list) {
    unsigned at = fleet_place_of(fleet, address->text);
    if (at < fleet->count) { /* named twice, watched once */
        struct origin *origin = &fleet->origins[at];
        if (list == NULL) {
            *origin = (struct origin){.list = NULL};
        } else if (origin->list == list || origin->has_left) {
            *origin = (struct origin){.list = list};
        }
        return true;
    }
    if (fleet->count == SERVER_LIMIT) {
        return false;
    }
    struct session *session =
        session_create(address, fleet->access, fleet->interval_ms, fleet->tape_bytes);
    if (session == NULL) {
        return false;
    }
    fleet->origins[fleet->count] = (struct origin){.list = list};
    fleet->list[fleet->count++] = session;
    return true;
}

bool fleet_add(struct fleet *fleet, const struct address *address) {
    if (address->list == NO_LIST) {
        return fleet_add_server(fleet, address, NULL);
    }
    if (fleet->list_count == LIST_LIMIT) {
        return false;
    }
    fleet->lists[fleet->list_count++] =
        (struct server_list){.address = *address, .discovery = DISCOVERY_NONE};
    return true;
}

/* ---- lists ---- */

static void fleet_note_fault(struct server_list *list, const char *what) {
    snprintf(list->note, sizeof list->note, "%s", what);
    words_make_plain(list->note); /* it may quote words of a file */
}

/* Adds a server of a list, by its address as text. */
static void fleet_add_found(struct fleet *fleet, struct server_list *list, const char *text) {
    char why[100], note[NOTE_BYTES];
    struct address address;
    bool is_right = address_parse(text, &address, why, sizeof why) &&
                    (!list->address.is_tls || address_make_tls(&address, why, sizeof why));
    if (!is_right) {
        words_printf(note, sizeof note, "%.80s: %s", list->address.text, why);
        fleet_note_fault(list, note);
        return;
    }
    if (list->address.is_tls &&
        list->address.list == LIST_OF_NAME) { /* certificates have the name, not the addresses */
        snprintf(address.tls_name, sizeof address.tls_name, "%s", list->address.host);
    }
    if (!fleet_add_server(fleet, &address, list)) {
        snprintf(note, sizeof note, "%.80s names more servers than the %d that can be watched",
                 list->address.text, SERVER_LIMIT);
        fleet_note_fault(list, note);
    }
}

static void fleet_take_answer(struct fleet *fleet, struct server_list *list, uint64_t now_ms) {
    char *next = list->discovery.text;
    list->note[0] = '\0';
    list->due_ms = now_ms + (list->address.list == LIST_OF_FILE ? FILE_AGAIN_MS : LIST_AGAIN_MS);
    if (next[0] == '!' || next[0] == '\0') {
        fleet_note_fault(list, next[0] == '!' ? next + 1
                                              : "the servers of a list could not be looked up");
        list->due_ms = now_ms + LIST_RETRY_MS;
        return;
    }
    for (unsigned i = 0; i < fleet->count; i++) {
        fleet->origins[i].has_left |= fleet->origins[i].list == list;
    }
    for (char *line; (line = strsep(&next, "\n")) != NULL;) {
        if (line[0] != '\0') {
            fleet_add_found(fleet, list, line);
        }
    }
}

static bool fleet_step_list(struct fleet *fleet, struct server_list *list, uint64_t now_ms) {
    char note[NOTE_BYTES];
    if (list->discovery.lookup.pipe_fd >= 0 && discovery_step(&list->discovery)) {
        fleet_take_answer(fleet, list, now_ms);
        discovery_end(&list->discovery);
        return true;
    }
    if (now_ms < list->due_ms) {
        return false;
    }
    if (list->discovery.lookup.pipe_fd >= 0) {
        discovery_end(&list->discovery);
        snprintf(note, sizeof note, "%.80s: no answer within %d s", list->address.text,
                 LIST_LOOKUP_MS / 1000);
        fleet_note_fault(list, note);
        list->due_ms = now_ms + LIST_RETRY_MS;
        return true;
    }
    list->due_ms = now_ms + LIST_LOOKUP_MS;
    if (!discovery_begin(&list->discovery, &list->address)) {
        fleet_note_fault(list, "cannot start the look-up of a list of servers");
        list->due_ms = now_ms + LIST_RETRY_MS;
        return true;
    }
    return false;
}

bool fleet_step_lists(struct fleet *fleet, uint64_t now_ms) {
    bool has_news = false;
    for (unsigned i = 0; i < fleet->list_count; i++) {
        has_news = fleet_step_list(fleet, &fleet->lists[i], now_ms) || has_news;
    }
    return has_news;
}

static bool fleet_may_drop(const struct session *session, const struct origin *origin) {
    bool is_changed = session->acting.is_running || session->acting.has_trial;
    bool is_down = model_link(session->model) == LINK_DOWN;
    return origin->has_left && !is_changed &&
           (is_down || origin->list->address.list == LIST_OF_FILE);
}

int fleet_drop_left(struct fleet *fleet, const struct session *shown) {
    for (unsigned i = 0; i < fleet->count; i++) {
        if (fleet->list[i] != shown && fleet_may_drop(fleet->list[i], &fleet->origins[i])) {
            size_t behind = --fleet->count - i;
            session_destroy(&fleet->list[i]);
            memmove(&fleet->list[i], &fleet->list[i + 1], behind * sizeof *fleet->list);
            memmove(&fleet->origins[i], &fleet->origins[i + 1], behind * sizeof *fleet->origins);
            return (int)i;
        }
    }
    return -1;
}

unsigned fleet_polled(const struct fleet *fleet, struct pollfd *polled) {
    unsigned count = 0;
    for (unsigned i = 0; i < fleet->count; i++) {
        const struct client *client = fleet->list[i]->client;
        if (client != NULL && client_fd(client) >= 0) {
            polled[count++] =
                (struct pollfd){.fd = client_fd(client), .events = client_events(client)};
        }
        const struct client *watcher = watch_polled(&fleet->list[i]->watch);
        if (watcher != NULL) {
            polled[count++] =
                (struct pollfd){.fd = client_fd(watcher), .events = client_events(watcher)};
        }
    }
    for (unsigned i = 0; i < fleet->list_count; i++) {
        if (fleet->lists[i].discovery.lookup.pipe_fd >= 0) {
            polled[count++] =
                (struct pollfd){.fd = fleet->lists[i].discovery.lookup.pipe_fd, .events = POLLIN};
        }
    }
    return count;
}

uint64_t fleet_due_ms(const struct fleet *fleet) {
    uint64_t due_ms = UINT64_MAX;
    for (unsigned i = 0; i < fleet->count; i++) {
        uint64_t one_ms = session_due_ms(fleet->list[i]);
        due_ms = one_ms < due_ms ? one_ms : due_ms;
    }
    for (unsigned i = 0; i < fleet->list_count; i++) {
        due_ms = fleet->lists[i].due_ms < due_ms ? fleet->lists[i].due_ms : due_ms;
    }
    return due_ms;
}

unsigned fleet_rows(const struct fleet *fleet, uint64_t now_ms, struct fleet_row *rows) {
    for (unsigned i = 0; i < fleet->count; i++) {
        rows[i] = fleet_row_of(fleet->list[i]->model, now_ms, fleet->interval_ms,
                               session_retry_ms(fleet->list[i]));
        rows[i].server = i;
    }
    fleet_compare(rows, fleet->count);
    return fleet->count;
}
