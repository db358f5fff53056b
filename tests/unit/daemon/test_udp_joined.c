/* Datagrams that a client sends as one message, and that the kernel delivers joined (UDP_SEGMENT, UDP_GRO): each is one request, however
 * many there are. */
#include "tap.h"

#include <netinet/udp.h>

#include "net/udp/udp.h"
#include "net/udp/udp_frame.h"
#include "net_fixture.h"

enum { MANY = 60, KEY_BYTES = 6, REQUEST_BYTES = UDP_FRAME_BYTES + 4 + KEY_BYTES + 2, ROOM = 4096 };
_Static_assert((int)MANY > (int)UDP_BATCH, "more than a batch");

static int connect_udp(int port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct timeval     patience = {.tv_sec = TAP_HANG_MS / 1000};
    int                fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return connect(fd, (struct sockaddr *)&to, sizeof to) == 0 ? fd : -1;
}

/* Gets of key000 and on, each with its number as its id; number `spoilt` has a header of one part of two. */
static size_t write_gets(char *to, unsigned count, unsigned spoilt) {
    for (unsigned i = 0; i < count; i++) {
        char *at = to + (size_t)i * REQUEST_BYTES;
        udp_frame_write((unsigned char *)at, (uint16_t)i, 0, i == spoilt ? 2 : 1);
        snprintf(at + UDP_FRAME_BYTES, REQUEST_BYTES, "get key%03u\r", i);
        at[REQUEST_BYTES - 1] = '\n';
    }
    return (size_t)count * REQUEST_BYTES;
}

static bool send_joined(int fd, const char *bytes, size_t n) {
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(uint16_t))] = {0};
    struct iovec    iov = {(void *)(uintptr_t)bytes, n};
    struct msghdr   message = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    uint16_t        datagram_bytes = REQUEST_BYTES;
    c->cmsg_level = IPPROTO_UDP;
    c->cmsg_type = UDP_SEGMENT;
    c->cmsg_len = CMSG_LEN(sizeof datagram_bytes);
    memcpy(CMSG_DATA(c), &datagram_bytes, sizeof datagram_bytes);
    return sendmsg(fd, &message, 0) == (ssize_t)n;
}

/* Whether the next replies are those to gets of `count` keys except number `spoilt`, in any order. */
static bool all_answered(int fd, unsigned count, unsigned spoilt) {
    bool seen[MANY] = {false};
    for (unsigned i = 0; i < count - (spoilt < count); i++) {
        char     got[2000], want[64];
        uint16_t id = 0;
        ssize_t  n = recv(fd, got, sizeof got, 0);
        if (n <= UDP_FRAME_BYTES || !udp_frame_read((unsigned char *)got, (size_t)n, &id) || id >= count || seen[id] ||
            id == spoilt) {
            return false;
        }
        seen[id] = true;
        int bytes = snprintf(want, sizeof want, "VALUE key%03u 0 4\r\n%04u\r\nEND\r\n", id, id);
        if (n != UDP_FRAME_BYTES + bytes || memcmp(got + UDP_FRAME_BYTES, want, (size_t)bytes) != 0) {
            return false;
        }
    }
    return true;
}

int main(void) {
    struct host h;
    int         none = 0;
    static char bytes[ROOM];
    struct net_config cfg = host_begin(&h);
    cfg.worker_count = 1;
    cfg.udp_port = -1;
    host_start(&h, &cfg);
    FILE *ports = fopen(h.port_file, "r");
    int   port = 0;
    while (fgets(bytes, sizeof bytes, ports) != NULL && sscanf(bytes, "UDP INET: %d", &port) != 1) {
    }
    fclose(ports);
    int tcp = connect_tcp(h.port), fd = connect_udp(port);
    for (unsigned i = 0; i < MANY; i++) {
        int n = snprintf(bytes, sizeof bytes, "set key%03u 0 0 4\r\n%04u\r\n", i, i);
        say(tcp, bytes, (size_t)n);
        answers(tcp, "", "STORED\r\n");
    }
    if (setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &none, sizeof none) != 0) {
        tap_skip("this kernel does not cut messages");
    } else {
        const struct serve_counters *counters = h.rig.server.workers[0];
        size_t n = write_gets(bytes, MANY, MANY);
        ok(send_joined(fd, bytes, n) && all_answered(fd, MANY, MANY), "of %d datagrams in a message each is answered", MANY);
        ok(send_joined(fd, bytes, REQUEST_BYTES * 2) && all_answered(fd, 2, MANY), "and of two");
        is(counter_get(&counters->udp_datagrams), MANY + 2, "each is counted");
        n = write_gets(bytes, MANY, 5);
        ok(send_joined(fd, bytes, n) && all_answered(fd, MANY, 5), "one that is no request leaves the others alone");
        is(counter_get(&counters->udp_dropped), 1, "and is dropped");
        n = write_gets(bytes, MANY, MANY) - 3; /* the last line has no end */
        ok(send_joined(fd, bytes, n) && all_answered(fd, MANY - 1, MANY), "the last may be shorter");
        write_gets(bytes, 1, MANY);
        ok(send(fd, bytes, REQUEST_BYTES, 0) == REQUEST_BYTES && all_answered(fd, 1, MANY), "and nothing of it is left");
    }
    close(tcp);
    close(fd);
    host_end(&h);
    return tap_done();
}
