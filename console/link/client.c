#include "link/client.h"

#include "link/words.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OUT_LIMIT = 8192, READ_BYTES = 65536, CREDENTIALS_BYTES = 300 };

struct request {
    enum reply_form form;
    int tag;
};

struct client {
    struct address address;
    const struct access *access;
    /* NULL: a connection without TLS, or the handshake has not begun */
    struct tls *tls;
    /* the handshake waits until the socket is writable, else readable */
    bool wants_write;
    bool awaits_login;                   /* the next reply is to the credentials */
    bool is_stream;                      /* the server sends lines unasked */
    bool has_spoken;                     /* the server has sent bytes since the connect */
    enum client_state state;
    int fd;
    struct lookup lookup;
    struct endpoints endpoints;
    int endpoint; /* index of the endpoint that is tried */
    uint64_t deadline_ms;
    uint64_t backoff_ms;
    unsigned generation;
    char note[200];

    struct request requests[REQUEST_LIMIT]; /* a ring: first..first+pending */
    unsigned first, pending;

    char out[OUT_LIMIT];
    size_t out_bytes;

    char *in; /* in_start..in_bytes: not yet returned; in_scan: lines before this are already
                 scanned */
    size_t in_capacity, in_start, in_scan, in_bytes;
};

static void client_hang_up(struct client *client) {
    tls_destroy(&client->tls);
    if (client->fd >= 0) {
        close(client->fd);
        client->fd = -1;
    }
}

__attribute__((format(printf, 3, 4))) static void
client_go_down(struct client *client, uint64_t now_ms, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    words_vprintf(client->note, sizeof client->note, format, ap);
    va_end(ap);
    words_make_plain(client->note); /* it may quote words of a server */
    client_hang_up(client);
    lookup_cancel(&client->lookup);
    client->first = client->pending = 0;
    client->out_bytes = client->in_start = client->in_scan = client->in_bytes = 0;
    client->state = CLIENT_DOWN;
    client->deadline_ms = now_ms + client->backoff_ms;
    client->backoff_ms =
        client->backoff_ms * 2 < BACKOFF_MOST_MS ? client->backoff_ms * 2 : BACKOFF_MOST_MS;
}

/* memcached's way to log in over the text protocol: a set of any key with user and password. */
static void client_send_credentials(struct client *client, uint64_t now_ms) {
    const char *credentials = client->access->credentials;
    client->awaits_login = credentials != NULL && credentials[0] != '\0';
    if (client->awaits_login) {
        char line[CREDENTIALS_BYTES + 60];
        snprintf(line, sizeof line, "set slatetop 0 0 %zu\r\n%.*s", strlen(credentials),
                 CREDENTIALS_BYTES, credentials);
        client_send(client, line, REPLY_LINE, 0, now_ms);
    }
}

static void client_come_up(struct client *client, uint64_t now_ms) {
    client->state = CLIENT_UP;
    client->generation++;
    client->deadline_ms = UINT64_MAX;
    client->is_stream = false;
    client->has_spoken = false;
    int on = 1;
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on,
               sizeof on); /* fails on UNIX sockets, and need not succeed */
    client_send_credentials(client, now_ms);
}

/* Begins or continues the handshake of TLS. */
static void client_shake_hands(struct client *client, uint64_t now_ms) {
    char why[160] = "out of memory";
    if (client->tls == NULL && client->access->tls != NULL) {
        client->tls = tls_create(client->access->tls, client->fd, client->address.host, why,
                                 sizeof why);
    }
    enum tls_result result = client->tls != NULL ? tls_shake(client->tls) : TLS_FAILED;
    client->wants_write = result == TLS_WANTS_WRITE;
    if (result == TLS_DONE) {
        client_come_up(client, now_ms);
    } else if (result == TLS_FAILED) {
        client_go_down(client, now_ms, "no TLS with %s: %s", client->address.text,
                       client->tls != NULL ? tls_note(client->tls) : why);
    }
}

/* Begins TLS or the login, after the socket has connected. */
static void client_greet_server(struct client *client, uint64_t now_ms) {
    if (client->address.is_tls) {
        client->state = CLIENT_CONNECTING;
        client->deadline_ms = now_ms + CONNECT_MS;
        client_shake_hands(client, now_ms);
    } else {
        client_come_up(client, now_ms);
    }
}

/* Tries endpoints from client->endpoint on, until one is connected or connecting. */
static void client_try_connect(struct client *client, uint64_t now_ms) {
    int error = 0;
    for (; client->endpoint < client->endpoints.count; client->endpoint++) {
        const struct endpoint *endpoint = &client->endpoints.list[client->endpoint];
        client->fd = socket(endpoint->socket_address.ss_family,
                            SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (client->fd < 0) {
            error = errno;
            continue;
        }
        if (connect(client->fd, (const struct sockaddr *)&endpoint->socket_address,
                    endpoint->bytes) == 0) {
            client_greet_server(client, now_ms);
            return;
        }
        if (errno == EINPROGRESS) {
            client->state = CLIENT_CONNECTING;
            client->deadline_ms = now_ms + CONNECT_MS;
            return;
        }
        error = errno;
        close(client->fd);
        client->fd = -1;
    }
    client_go_down(client, now_ms, "cannot connect: %s (%s)",
                   error != 0 ? strerror(error) : "no address", client->address.text);
}

static void client_begin_connect(struct client *client, uint64_t now_ms) {
    client->endpoint = 0;
    if (address_is_numeric(&client->address, &client->endpoints)) {
        client_try_connect(client, now_ms);
    } else if (lookup_begin_address(&client->lookup, &client->address)) {
        client->state = CLIENT_LOOKUP;
        client->deadline_ms = now_ms + LOOKUP_MS;
    } else {
        client_go_down(client, now_ms, "cannot start a name lookup: %s", strerror(errno));
    }
}

static bool client_polled(int fd, short events) {
    struct pollfd polled = {.fd = fd, .events = events};
    return poll(&polled, 1, 0) > 0;
}

static void client_step_lookup(struct client *client, uint64_t now_ms) {
    if (client_polled(client->lookup.pipe_fd, POLLIN)) {
        lookup_end(&client->lookup, &client->endpoints);
        if (client->endpoints.count == 0) {
            client_go_down(client, now_ms, "cannot find %s: %s", client->address.host,
                           client->endpoints.why);
        } else {
            client_try_connect(client, now_ms);
        }
    } else if (now_ms >= client->deadline_ms) {
        client_go_down(client, now_ms, "cannot find %s: no answer from the name server in %d s",
                       client->address.host, LOOKUP_MS / 1000);
    }
}

static void client_step_connecting(struct client *client, uint64_t now_ms) {
    if (client->tls != NULL && client_polled(client->fd, client->wants_write ? POLLOUT : POLLIN)) {
        client_shake_hands(client, now_ms);
    } else if (client->tls == NULL && client_polled(client->fd, POLLOUT)) {
        int error = 0;
        socklen_t error_bytes = sizeof error;
        getsockopt(client->fd, SOL_SOCKET, SO_ERROR, &error, &error_bytes);
        if (error == 0) {
            client_greet_server(client, now_ms);
            return;
        }
        client_hang_up(client);
        if (++client->endpoint < client->endpoints.count) {
            client_try_connect(client, now_ms);
        } else {
            client_go_down(client, now_ms, "cannot connect: %s (%s)", strerror(error),
                           client->address.text);
        }
    } else if (now_ms >= client->deadline_ms) {
        client_go_down(client, now_ms, "cannot connect: no answer%s in %d s (%s)",
                       client->tls != NULL ? " to TLS" : "", CONNECT_MS / 1000,
                       client->address.text);
    }
}

/* Moves unread bytes to the front and makes room for one read; false when the reply is too large or
 * memory is out. */
static bool client_make_room(struct client *client) {
    if (client->in_start > 0) {
        memmove(client->in, client->in + client->in_start, client->in_bytes - client->in_start);
        client->in_bytes -= client->in_start;
        client->in_scan -= client->in_start;
        client->in_start = 0;
    }
    if (client->in_bytes > REPLY_LIMIT) {
        return false;
    }
    if (client->in_capacity < client->in_bytes + READ_BYTES) {
        size_t wanted = client->in_bytes + READ_BYTES;
        char *larger = realloc(client->in, wanted);
        if (larger == NULL) {
            return false;
        }
        client->in = larger;
        client->in_capacity = wanted;
    }
    return true;
}

/* Reads once a step, so that keys do not wait while a server sends without end. */
static void client_read_some(struct client *client, uint64_t now_ms) {
    if (!client_make_room(client)) {
        client_go_down(client, now_ms, "%s sent a reply of more than %d KiB", client->address.text,
                       REPLY_LIMIT / 1024);
        return;
    }
    char *to = client->in + client->in_bytes;
    ssize_t got = client->tls != NULL ? tls_read(client->tls, to, READ_BYTES)
                                      : recv(client->fd, to, READ_BYTES, 0);
    if (got > 0) {
        client->has_spoken = true;
        client->in_bytes += (size_t)got;
        client->deadline_ms = now_ms + SILENCE_MS;
    } else if (got == 0 || (errno == ECONNRESET && !client->has_spoken)) {
        /* a server that closes without reading the request resets the connection */
        bool is_odd = !client->has_spoken && client->tls == NULL;
        client_go_down(
            client, now_ms, "%s closed the connection%s", client->address.text,
            is_odd ? " before it answered: does it want tls://, or the binary protocol alone?"
                   : "");
    } else if (errno != EAGAIN && errno != EINTR) {
        client_go_down(client, now_ms, "connection to %s broke: %s", client->address.text,
                       client->tls != NULL ? tls_note(client->tls) : strerror(errno));
    }
}

struct client *client_create(const struct address *address, const struct access *access) {
    struct client *client = calloc(1, sizeof *client);
    if (client == NULL) {
        return NULL;
    }
    client->address = *address;
    client->access = access;
    client->fd = -1;
    client->lookup = LOOKUP_NONE;
    client->state = CLIENT_DOWN;
    client->backoff_ms = BACKOFF_FIRST_MS;
    return client;
}

void client_destroy(struct client **client) {
    if (*client != NULL) {
        client_hang_up(*client);
        lookup_cancel(&(*client)->lookup);
        free((*client)->in);
        free(*client);
        *client = NULL;
    }
}

int client_fd(const struct client *client) {
    return client->state == CLIENT_LOOKUP ? client->lookup.pipe_fd : client->fd;
}

short client_events(const struct client *client) {
    if (client->state == CLIENT_CONNECTING) {
        return client->tls == NULL || client->wants_write ? POLLOUT : POLLIN;
    }
    return (short)(client->state == CLIENT_UP && client->out_bytes > 0 ? POLLIN | POLLOUT : POLLIN);
}

uint64_t client_due_ms(const struct client *client) {
    bool is_quiet = client->pending == 0 || client->is_stream;
    return client->state == CLIENT_UP && is_quiet ? UINT64_MAX : client->deadline_ms;
}

void client_step(struct client *client, uint64_t now_ms) {
    switch (client->state) {
    case CLIENT_DOWN:
        if (now_ms >= client->deadline_ms) {
            client_begin_connect(client, now_ms);
        }
        break;
    case CLIENT_LOOKUP:
        client_step_lookup(client, now_ms);
        break;
    case CLIENT_CONNECTING:
        client_step_connecting(client, now_ms);
        break;
    case CLIENT_UP:
        client_flush(client, now_ms);
        if (client->state == CLIENT_UP && client_polled(client->fd, POLLIN)) {
            client_read_some(client, now_ms);
        }
        if (client->state == CLIENT_UP && client->pending > 0 && !client->is_stream &&
            now_ms >= client->deadline_ms) {
            client_go_down(client, now_ms, "%s does not answer", client->address.text);
        }
        break;
    }
}

bool client_send(struct client *client, const char *line, enum reply_form form, int tag,
                 uint64_t now_ms) {
    size_t bytes = strlen(line);
    if (client->state != CLIENT_UP || client->pending == REQUEST_LIMIT ||
        client->out_bytes + bytes + 2 > OUT_LIMIT) {
        return false;
    }
    if (client->pending == 0) {
        client->deadline_ms = now_ms + SILENCE_MS;
    }
    memcpy(client->out + client->out_bytes, line, bytes);
    memcpy(client->out + client->out_bytes + bytes, "\r\n", 2);
    client->out_bytes += bytes + 2;
    client->requests[(client->first + client->pending++) % REQUEST_LIMIT] =
        (struct request){form, tag};
    return true;
}

void client_flush(struct client *client, uint64_t now_ms) {
    if (client->state != CLIENT_UP || client->out_bytes == 0) {
        return;
    }
    ssize_t sent = client->tls != NULL ? tls_write(client->tls, client->out, client->out_bytes)
                                       : send(client->fd, client->out, client->out_bytes,
                                              MSG_NOSIGNAL);
    if (sent > 0) {
        client->out_bytes -= (size_t)sent;
        memmove(client->out, client->out + sent, client->out_bytes);
    } else if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        /* The server's last line before it closed, such as "too many open connections", says more
         * than EPIPE. */
        int error = errno;
        client->out_bytes = 0;
        if (!client_polled(client->fd, POLLIN)) {
            client_go_down(client, now_ms, "connection to %s broke: %s", client->address.text,
                           strerror(error));
        }
    }
}

static bool client_line_begins(const char *line, size_t bytes, const char *prefix) {
    return bytes >= strlen(prefix) && memcmp(line, prefix, strlen(prefix)) == 0;
}

/* The role of one line in the reply under way. */
enum line_kind { LINE_GOES_ON, LINE_ENDS_STATS, LINE_IS_REPLY, LINE_IS_GARBAGE };

static enum line_kind client_judge_line(enum reply_form form, bool is_first, const char *line,
                                        size_t bytes) {
    if (form != REPLY_STATS) {
        return LINE_IS_REPLY;
    }
    if (client_line_begins(line, bytes, "STAT ")) {
        return LINE_GOES_ON;
    }
    if (bytes == 3 && memcmp(line, "END", 3) == 0) {
        return LINE_ENDS_STATS;
    }
    bool is_answer = client_line_begins(line, bytes, "ERROR") ||
                     client_line_begins(line, bytes, "CLIENT_ERROR") ||
                     client_line_begins(line, bytes, "SERVER_ERROR");
    return is_first && is_answer ? LINE_IS_REPLY : LINE_IS_GARBAGE;
}

/* Takes the reply to the credentials. False when the server refused them: the connection ends. */
static bool client_logs_in(struct client *client, const char *line, size_t bytes, uint64_t now_ms) {
    if (client_line_begins(line, bytes, "STORED")) {
        return true;
    }
    bool is_wrong = client_line_begins(line, bytes, "CLIENT_ERROR authentication failure");
    client_go_down(client, now_ms, "login refused: %s%.*s (%s)",
                   is_wrong ? "wrong user or password in the file of -P" : "",
                   is_wrong ? 0 : (int)(bytes < 60 ? bytes : 60), line, client->address.text);
    return false;
}

bool client_take_reply(struct client *client, struct reply *reply, uint64_t now_ms) {
    while (client->state == CLIENT_UP && client->in_scan < client->in_bytes) {
        char *line = client->in + client->in_scan;
        char *newline = memchr(line, '\n', client->in_bytes - client->in_scan);
        if (newline == NULL) {
            return false;
        }
        size_t bytes = (size_t)(newline - line);
        bytes -= bytes > 0 && line[bytes - 1] == '\r';
        if (client->pending == 0) {
            client_go_down(client, now_ms, "%s sent an unexpected line: %.*s", client->address.text,
                           (int)(bytes < 60 ? bytes : 60), line);
            return false;
        }
        const struct request *request = &client->requests[client->first];
        enum line_kind kind =
            client_judge_line(request->form, client->in_scan == client->in_start, line, bytes);
        client->in_scan = (size_t)(newline - client->in) + 1;
        if (kind == LINE_GOES_ON) {
            continue;
        }
        if (kind == LINE_IS_GARBAGE) {
            client_go_down(client, now_ms,
                           "%s does not speak the memcached text protocol: it answered '%.*s'",
                           client->address.text, (int)(bytes < 60 ? bytes : 60), line);
            return false;
        }
        if (client->awaits_login && !client_logs_in(client, line, bytes, now_ms)) {
            return false;
        }
        if (client->awaits_login) {
            client->awaits_login = false;
            client->in_start = client->in_scan;
            client->first = (client->first + 1) % REQUEST_LIMIT;
            client->pending--;
            continue;
        }
        client->is_stream = request->form == REPLY_STREAM;
        *reply = (struct reply){.tag = request->tag,
                                .text = client->in + client->in_start,
                                .text_bytes = client->in_scan - client->in_start,
                                .is_stats = kind == LINE_ENDS_STATS};
        client->in_start = client->in_scan;
        if (!client->is_stream) {
            client->first = (client->first + 1) % REQUEST_LIMIT;
            client->pending--;
        }
        client->backoff_ms = BACKOFF_FIRST_MS;
        return true;
    }
    return false;
}

enum client_state client_state(const struct client *client) {
    return client->state;
}
unsigned client_generation(const struct client *client) {
    return client->generation;
}
const char *client_note(const struct client *client) {
    return client->note;
}
uint64_t client_retry_ms(const struct client *client) {
    return client->deadline_ms;
}

void client_hurry(struct client *client, uint64_t now_ms) {
    if (client->state == CLIENT_DOWN) {
        client->deadline_ms = now_ms;
    }
}
