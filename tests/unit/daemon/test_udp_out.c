/* Datagrams that are sent together arrive one by one, each whole, also where a message cannot be cut. */
#include <arpa/inet.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "net/udp/udp_out.h"
#include "tap.h"

enum { PAYLOAD_BYTES = 1392 };

static struct udp_out out;
static char           payload[PAYLOAD_BYTES];

static int open_socket(struct sockaddr_in *at) {
    socklen_t bytes = sizeof *at;
    struct timeval patience = {.tv_sec = 60};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(fd, (struct sockaddr *)at, sizeof *at) != 0 || getsockname(fd, (struct sockaddr *)at, &bytes) != 0) {
        printf("Bail out! no socket\n");
        exit(1);
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return fd;
}

static void put(const struct sockaddr_in *to, size_t n, uint16_t id, bool cuts) {
    udp_frame_write(udp_out_put(&out, (const struct sockaddr *)to, sizeof *to, payload, n, cuts), id, 0, 1);
}

/* Whether the next datagram has this id and n bytes of payload. */
static bool comes(int fd, uint16_t id, size_t n) {
    unsigned char got[2000];
    uint16_t      its = 0;
    ssize_t       bytes = recv(fd, got, sizeof got, 0);
    return bytes == (ssize_t)(UDP_FRAME_BYTES + n) && udp_frame_read(got, (size_t)bytes, &its) && its == id &&
           memcmp(got + UDP_FRAME_BYTES, payload, n) == 0;
}

static bool nothing_comes(int fd) {
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT) < 0;
}

/* Sizes in runs, so that messages end for a shorter one, a longer one and another address. */
static void test_runs(bool cuts) {
    const size_t       sizes[] = {50, 50, 50, 20, 20, 21, 21, 1392, 1392, 1, 1, 50};
    const size_t       count = sizeof sizes / sizeof *sizes;
    struct sockaddr_in from_at, a_at, b_at;
    int                from = open_socket(&from_at), a = open_socket(&a_at), b = open_socket(&b_at);
    for (uint16_t i = 0; i < count; i++) {
        put(&a_at, sizes[i], i, cuts);
    }
    put(&b_at, 50, 77, cuts);
    is(out.messages, cuts ? 7 : count + 1, "%s", cuts ? "a run of one size, and one shorter, is a message" : "each is a message");
    is(udp_out_flush(&out, from), 0, "all are sent");
    bool whole = true;
    for (uint16_t i = 0; i < count; i++) {
        whole = comes(a, i, sizes[i]) && whole;
    }
    ok(whole && nothing_comes(a), "each arrives by itself, whole and in order");
    ok(comes(b, 77, 50) && nothing_comes(b), "another address gets its own");
    close(from);
    close(a);
    close(b);
}

static void test_most(bool cuts) {
    struct sockaddr_in from_at, to_at;
    int                from = open_socket(&from_at), to = open_socket(&to_at);
    uint16_t           n = 0;
    for (; !udp_out_full(&out); n++) {
        put(&to_at, PAYLOAD_BYTES, n, cuts);
    }
    is(n, UDP_OUT_MOST, "so many have room");
    is(udp_out_flush(&out, from), 0, "all are sent, though no message holds them");
    bool whole = true;
    for (uint16_t i = 0; i < n; i++) {
        whole = comes(to, i, PAYLOAD_BYTES) && whole;
    }
    ok(whole, "and arrive");
    close(from);
    close(to);
}

/* Port 0 cannot be sent to. */
static void test_lost(bool cuts) {
    struct sockaddr_in from_at, to_at, nowhere = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int                from = open_socket(&from_at), to = open_socket(&to_at);
    put(&to_at, 9, 1, cuts);
    put(&nowhere, 9, 2, cuts);
    put(&nowhere, 9, 3, cuts);
    put(&to_at, 9, 4, cuts);
    is(udp_out_flush(&out, from), 2, "those that cannot be sent are lost and counted");
    ok(comes(to, 1, 9) && comes(to, 4, 9) && nothing_comes(to), "and no other is");
    close(from);
    close(to);
}

/* Without checksums the kernel refuses to cut. */
static void test_uncut(void) {
    struct sockaddr_in from_at, to_at;
    int                from = open_socket(&from_at), to = open_socket(&to_at), on = 1;
    setsockopt(from, SOL_SOCKET, SO_NO_CHECK, &on, sizeof on);
    put(&to_at, 9, 1, true);
    put(&to_at, 9, 2, true);
    put(&to_at, 8, 3, true);
    is(out.messages, 1, "one message");
    is(udp_out_flush(&out, from), 0, "that the kernel does not cut is sent all the same");
    ok(comes(to, 1, 9) && comes(to, 2, 9) && comes(to, 3, 8) && nothing_comes(to), "by the datagram");
    close(from);
    close(to);
}

int main(void) {
    struct sockaddr_in at;
    int  fd = open_socket(&at);
    bool cuts = udp_out_cuts(fd);
    close(fd);
    memset(payload, 'x', sizeof payload);
    for (int i = 0; i < (cuts ? 2 : 1); i++) {
        test_runs(i > 0);
        test_most(i > 0);
        test_lost(i > 0);
    }
    if (cuts) {
        test_uncut();
    } else {
        tap_skip("this kernel cuts no messages");
    }
    return tap_done();
}
