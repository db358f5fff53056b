#include "app/fleet.h"

#include <netdb.h>
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
        lookup_cancel(&fleet->lists[i].lookup);
    }
    *fleet = (struct fleet){0};
}

static bool has_server(const struct fleet *fleet, const char *text) {
    for (unsigned i = 0; i < fleet->count; i++) {
        if (strcmp(fleet->list[i]->address.text, text) == 0) {
            return true;
        }
    }
    return false;
}

bool fleet_add(struct fleet *fleet, const struct address *address) {
    if (address->is_list) {
        if (fleet->list_count == LIST_LIMIT) {
            return false;
        }
        fleet->lists[fleet->list_count++] =
            (struct server_list){.address = *address, .lookup = {.child = -1, .pipe_fd = -1}};
        return true;
    }
    if (has_server(fleet, address->text)) {
        return true; /* named twice, watched once */
    }
    if (fleet->count == SERVER_LIMIT) {
        return false;
    }
    struct session *session =
        session_create(address, fleet->access, fleet->interval_ms, fleet->tape_bytes);
    if (session == NULL) {
        return false;
    }
    fleet->list[fleet->count++] = session;
    return true;
}

static void add_endpoint(struct fleet *fleet, const struct server_list *list,
                         const struct endpoint *endpoint) {
    char host[64], text[80], why[100];
    struct address address;
    if (getnameinfo((const struct sockaddr *)&endpoint->socket_address, endpoint->bytes, host,
                    sizeof host, NULL, 0, NI_NUMERICHOST) != 0) {
        return;
    }
    snprintf(text, sizeof text, strchr(host, ':') != NULL ? "[%s]:%s" : "%s:%s", host,
             list->address.port);
    bool is_right = address_parse(text, &address, why, sizeof why) &&
                    (!list->address.is_tls || address_make_tls(&address, why, sizeof why));
    if (is_right) {
        snprintf(address.tls_name, sizeof address.tls_name, "%s", list->address.host);
        fleet_add(fleet, &address);
    }
}

static void complain(struct server_list *list, const char *what) {
    char note[sizeof list->note];
    snprintf(note, sizeof note, "cannot find %.60s: %.70s", list->address.host, what);
    memcpy(list->note, note, sizeof note);
}

static void take_answer(struct fleet *fleet, struct server_list *list, uint64_t now_ms) {
    static struct endpoints found; /* 17 kB */
    lookup_end(&list->lookup, &found);
    list->note[0] = '\0';
    list->due_ms = now_ms + LIST_AGAIN_MS;
    if (found.count == 0) {
        complain(list, found.why);
        list->due_ms = now_ms + LIST_RETRY_MS;
    }
    for (int i = 0; i < found.count; i++) {
        add_endpoint(fleet, list, &found.list[i]);
    }
}

static bool step_list(struct fleet *fleet, struct server_list *list, uint64_t now_ms) {
    struct pollfd polled = {.fd = list->lookup.pipe_fd, .events = POLLIN};
    if (list->lookup.pipe_fd >= 0 && poll(&polled, 1, 0) > 0) {
        take_answer(fleet, list, now_ms);
        return true;
    }
    if (now_ms < list->due_ms) {
        return false;
    }
    if (list->lookup.pipe_fd >= 0) {
        lookup_cancel(&list->lookup);
        complain(list, "no answer from the name server");
        list->due_ms = now_ms + LIST_RETRY_MS;
        return true;
    }
    list->due_ms = now_ms + LOOKUP_MS;
    if (!lookup_begin(&list->lookup, &list->address)) {
        snprintf(list->note, sizeof list->note, "cannot start a name lookup");
        return true;
    }
    return false;
}

bool fleet_step_lists(struct fleet *fleet, uint64_t now_ms) {
    bool has_news = false;
    for (unsigned i = 0; i < fleet->list_count; i++) {
        has_news = step_list(fleet, &fleet->lists[i], now_ms) || has_news;
    }
    return has_news;
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
        if (fleet->lists[i].lookup.pipe_fd >= 0) {
            polled[count++] =
                (struct pollfd){.fd = fleet->lists[i].lookup.pipe_fd, .events = POLLIN};
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
