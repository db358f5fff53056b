/* The client against a server that this test plays, on a UNIX socket in a folder of its own. */
#include "link/client.h"
#include "tap.h"

#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

static char folder[] = "/tmp/slatetop-test-XXXXXX";
static char path[100];
static int listener = -1, peer = -1;
static uint64_t clock_at = 1000;
static const struct access open_door;

TEST(listen_here) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    unlink(path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 4) != 0) {
        printf("Bail out! cannot listen on %s\n", path);
        exit(1);
    }
}

static struct address address_of(const char *socket_path) {
    struct address address = {.is_path = true};
    snprintf(address.text, sizeof address.text, "%s", socket_path);
    snprintf(address.host, sizeof address.host, "%s", socket_path);
    return address;
}

static struct client *connect_here(void) {
    struct address address = address_of(path);
    struct client *client = client_create(&address, &open_door);
    client_step(client, clock_at);
    peer = accept(listener, NULL, NULL);
    return client;
}

static void serve(const char *text) {
    ssize_t written = write(peer, text, strlen(text));
    if (written != (ssize_t)strlen(text)) {
        printf("# short write\n");
    }
}

/* A client that has requested statistics. */
static struct client *asking(void) {
    struct client *client = connect_here();
    client_send(client, "stats", REPLY_STATS, 1, clock_at);
    client_flush(client, clock_at);
    return client;
}

static bool is_down_for(const struct client *client, const char *why) {
    return ok(client_state(client) == CLIENT_DOWN && strstr(client_note(client), why) != NULL, "down: %s", client_note(client));
}

static void hang_up(struct client **client) {
    close(peer);
    client_destroy(client);
}

TEST(test_replies_come_whole_and_in_order) {
    static const char text[] = "STAT a 1\r\nEND\r\nERROR\r\nOK\r\nSTAT b 2\nEND\n";
    struct client *client = connect_here();
    client_send(client, "a", REPLY_STATS, 1, clock_at);
    client_send(client, "b", REPLY_STATS, 2, clock_at);
    client_send(client, "c", REPLY_LINE, 3, clock_at);
    client_send(client, "d", REPLY_STATS, 4, clock_at);
    client_flush(client, clock_at);
    int taken = 0;
    struct reply reply;
    for (const char *at = text; *at != '\0'; at++) { /* byte by byte: every cut is a possible one */
        serve((char[]){*at, '\0'});
        client_step(client, clock_at);
        while (client_take_reply(client, &reply, clock_at)) {
            is(reply.tag, ++taken, "reply %d is whole", taken);
            is(reply.is_stats, taken == 1 || taken == 4, "and of the right kind");
        }
    }
    is(taken, 4, "no reply is lost");
    ok(!client_take_reply(client, &reply, clock_at), "and none is made up");
    hang_up(&client);
}

TEST(test_a_refused_connection_is_tried_again_later_and_later) {
    struct address address;
    address = address_of("/nonexistent/x.sock");
    struct client *client = client_create(&address, &open_door);
    uint64_t last = 0, wait = 0;
    for (int i = 0; i < 12; i++) {
        clock_at = client_due_ms(client) > clock_at ? client_due_ms(client) : clock_at;
        client_step(client, clock_at);
        wait = client_retry_ms(client) - clock_at;
        ok(client_state(client) == CLIENT_DOWN && wait >= last, "wait %d is not shorter (%lu ms)", i, (unsigned long)wait);
        last = wait;
    }
    is(wait, BACKOFF_MOST_MS, "and not longer than the limit");
    ok(strstr(client_note(client), "No such file") != NULL, "the reason is kept: %s", client_note(client));
    client_destroy(&client);
}

TEST(test_a_server_that_dies_is_noticed_and_found_again) {
    struct client *client = connect_here();
    unsigned generation = client_generation(client);
    close(peer);
    client_step(client, clock_at);
    is_down_for(client, "closed");
    ok(!client_send(client, "stats", REPLY_STATS, 1, clock_at), "nothing can be sent meanwhile");
    clock_at = client_due_ms(client);
    client_step(client, clock_at);
    peer = accept(listener, NULL, NULL);
    ok(client_state(client) == CLIENT_UP && client_generation(client) == generation + 1, "found again");
    hang_up(&client);
}

TEST(test_a_server_that_reads_nothing_and_resets_gets_the_same_hint) {
    struct client *client = asking();
    close(peer); /* our request is unread, so the connection is reset */
    client_step(client, clock_at);
    is_down_for(client, "before it answered: does it want tls://");
    client_destroy(&client);
}

TEST(test_a_silent_server_is_given_up) {
    struct client *client = connect_here();
    ok(client_due_ms(client) == UINT64_MAX, "nothing is due without a request");
    hang_up(&client);
    client = asking();
    clock_at += SILENCE_MS - 1;
    client_step(client, clock_at);
    is(client_state(client), CLIENT_UP, "it has its time");
    client_step(client, ++clock_at);
    is_down_for(client, "does not answer");
    hang_up(&client);
}

TEST(test_garbage_ends_the_connection_with_a_reason) {
    static const char *const garbage[] = {"HTTP/1.1 400 Bad Request\r\n", "STAT a 1\r\nnonsense\r\n", "\r\n", "\033[2J\r\n"};
    struct reply reply;
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        struct client *client = asking();
        serve(garbage[i]);
        client_step(client, clock_at);
        ok(!client_take_reply(client, &reply, clock_at), "no reply is made of it");
        ok(client_state(client) == CLIENT_DOWN && strchr(client_note(client), '\033') == NULL, "%s", client_note(client));
        hang_up(&client);
    }
    struct client *client = connect_here();
    serve("ERROR Too many open connections\r\n");
    client_step(client, clock_at);
    client_take_reply(client, &reply, clock_at);
    ok(strstr(client_note(client), "Too many open connections") != NULL, "a server's words without a request are shown");
    hang_up(&client);
}

TEST(test_an_endless_reply_is_cut_off) {
    static char chunk[32768];
    struct client *client = asking();
    struct reply reply;
    int sent = 0;
    memset(chunk, 'x', sizeof chunk - 1);
    for (; client_state(client) == CLIENT_UP && sent < 1000; sent++) {
        serve(chunk);
        client_step(client, clock_at);
        client_take_reply(client, &reply, clock_at);
    }
    ok(client_state(client) == CLIENT_DOWN && sent * 32 <= 2 * REPLY_LIMIT / 1024, "given up after %d KiB: %s", sent * 32, client_note(client));
    hang_up(&client);
}

/* With TLS no connection is up before the handshake, and a server without TLS is told apart from one that does not answer. */
TEST(test_tls_waits_for_its_handshake) {
    struct address address;
    const struct tls_files none = {0};
    struct access access = {.tls = tls_context_create(&none)};
    address = address_of(path);
    address.is_tls = true;
    for (int speaks = 0; speaks < 2; speaks++) {
        struct client *client = client_create(&address, &access);
        client_step(client, clock_at);
        peer = accept(listener, NULL, NULL);
        ok(client_state(client) == CLIENT_CONNECTING && client_events(client) == POLLIN, "it waits for the server's hello");
        ok(!client_send(client, "stats", REPLY_STATS, 1, clock_at), "and nothing is sent in the clear");
        if (speaks) {
            serve("ERROR\r\n");
        }
        client_step(client, speaks ? clock_at : clock_at + CONNECT_MS);
        ok(client_state(client) == CLIENT_DOWN &&
               strstr(client_note(client), speaks ? "no TLS with" : "no answer to TLS in 5 s") != NULL, "%s", client_note(client));
        hang_up(&client);
    }
    tls_context_destroy(&access.tls);
}

/* The files are read when the first server needs them. */
TEST(test_a_file_that_tls_cannot_use_is_the_reason) {
    struct address address;
    const struct tls_files missing = {.ca = "/nowhere/ca.pem"};
    struct access access = {.tls = tls_context_create(&missing)};
    address = address_of(path);
    address.is_tls = true;
    struct client *client = client_create(&address, &access);
    client_step(client, clock_at);
    peer = accept(listener, NULL, NULL);
    ok(client_state(client) == CLIENT_DOWN &&
           strstr(client_note(client), "cannot use the certificates in /nowhere/ca.pem: No such file") != NULL,
           "%s", client_note(client));
    hang_up(&client);
    tls_context_destroy(&access.tls);
}

int main(void) {
    if (mkdtemp(folder) == NULL) {
        printf("Bail out! cannot make %s\n", folder);
        return 1;
    }
    snprintf(path, sizeof path, "%s/server.sock", folder);
    tap_run_tests();
    close(listener);
    unlink(path);
    rmdir(folder);
    return tap_done();
}
