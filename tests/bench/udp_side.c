/* The two ends of `make bench-udp` beside the servers: a client that sends in batches, and the least server.
 *
 *   udp_side ask PORT SECONDS     gets of 32 bytes, WINDOW datagrams a call; prints the numbers of answered and of lost ones
 *   udp_side joined PORT SECONDS  the same, but the datagrams of a call are one message, which the kernel cuts (UDP_SEGMENT),
 *                                 and replies may come joined (UDP_GRO)
 *   udp_side floor                prints its port and answers every datagram with one as long as a hit's, until killed
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { WINDOW = 32, FRAME_BYTES = 8, DATAGRAM_MAX = 4096, KEYS = 1000, REQUEST_BYTES = FRAME_BYTES + 12,
       REPLY_BYTES = FRAME_BYTES + 58, WAIT_MS = 200 };

static double udp_now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void udp_fail(const char *what) {
    fprintf(stderr, "udp_side: %s: %s\n", what, strerror(errno));
    exit(1);
}

static struct mmsghdr messages[WINDOW];
static struct iovec pieces[WINDOW];
static struct sockaddr_in names[WINDOW];
static char bytes[WINDOW][DATAGRAM_MAX];

static char controls[WINDOW][CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));

/* Messages may come joined, with the sender's address if requested. */
static void udp_prepare_to_receive(int with_names) {
    for (int i = 0; i < WINDOW; i++) {
        pieces[i] = (struct iovec){bytes[i], DATAGRAM_MAX};
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &pieces[i], .msg_iovlen = 1};
        if (with_names) {
            messages[i].msg_hdr.msg_name = &names[i];
            messages[i].msg_hdr.msg_namelen = sizeof names[i];
        }
        messages[i].msg_hdr.msg_control = controls[i];
        messages[i].msg_hdr.msg_controllen = sizeof controls[i];
    }
}

static void udp_prepare_to_send(unsigned n, size_t each) {
    for (unsigned i = 0; i < n; i++) {
        messages[i].msg_hdr.msg_control = NULL;
        messages[i].msg_hdr.msg_controllen = 0;
        pieces[i].iov_len = each;
    }
}

/* Has the kernel deliver datagrams joined. */
static void udp_receive_joined(int fd) {
    int on = 1;
    setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
}

static int udp_open_socket(int port, int is_server) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval wait = {.tv_usec = WAIT_MS * 1000};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || (is_server ? bind : connect)(fd, (struct sockaddr *)&at, sizeof at) != 0) {
        udp_fail("cannot open its socket");
    }
    if (!is_server) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    }
    return fd;
}

/* Sends the first n of `messages` as one, of datagrams of one size. */
static int udp_send_joined(int fd, unsigned n, void *name, socklen_t name_bytes) {
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(uint16_t))] = {0};
    struct msghdr all = {.msg_name = name, .msg_namelen = name_bytes, .msg_iov = pieces, .msg_iovlen = n,
                         .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&all);
    uint16_t each = (uint16_t)pieces[0].iov_len;
    c->cmsg_level = IPPROTO_UDP;
    c->cmsg_type = UDP_SEGMENT;
    c->cmsg_len = CMSG_LEN(sizeof each);
    memcpy(CMSG_DATA(c), &each, sizeof each);
    return sendmsg(fd, &all, 0) < 0 ? -1 : (int)n;
}

/* Datagrams in received message i: more than one if the kernel has joined them. */
static unsigned udp_datagrams(int i) {
    struct cmsghdr *c = CMSG_FIRSTHDR(&messages[i].msg_hdr);
    int each = 0;
    if (c && c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
        memcpy(&each, CMSG_DATA(c), sizeof each);
    }
    return each > 0 ? (messages[i].msg_len + (unsigned)each - 1) / (unsigned)each : 1;
}

static void udp_request(int port, double seconds, int joined) {
    int fd = udp_open_socket(port, 0);
    if (joined) {
        udp_receive_joined(fd);
    }
    unsigned long answered = 0, lost = 0, key = 0;
    for (double end_s = udp_now_s() + seconds; udp_now_s() < end_s;) {
        udp_prepare_to_receive(0);
        for (int i = 0; i < WINDOW; i++) {
            memcpy(bytes[i], "\0\1\0\0\0\1\0\0", FRAME_BYTES);
            sprintf(bytes[i] + FRAME_BYTES, "get key%03lu\r\n", key++ % KEYS);
        }
        udp_prepare_to_send(WINDOW, REQUEST_BYTES);
        if ((joined ? udp_send_joined(fd, WINDOW, NULL, 0) : sendmmsg(fd, messages, WINDOW, 0)) != WINDOW) {
            udp_fail("cannot send");
        }
        udp_prepare_to_receive(0);
        for (unsigned got = 0; got < WINDOW;) {
            int n = recvmmsg(fd, messages, WINDOW - got, MSG_WAITFORONE, NULL);
            if (n <= 0) {
                lost += WINDOW - got;
                break;
            }
            for (int i = 0; i < n; i++) {
                if (messages[i].msg_len != udp_datagrams(i) * REPLY_BYTES) {
                    fprintf(stderr, "udp_side: a reply of %u bytes\n", messages[i].msg_len);
                    exit(1);
                }
                got += udp_datagrams(i);
                answered += udp_datagrams(i);
            }
        }
    }
    printf("%lu %lu\n", answered, lost);
}

/* One message for all datagrams, which the kernel cuts; or, without that, as many messages as datagrams. */
static void udp_answer(int fd, unsigned n) {
    static int cuts = -1;
    int none = 0;
    if (cuts < 0) {
        cuts = setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &none, sizeof none) == 0;
    }
    if (!cuts || udp_send_joined(fd, n, &names[0], sizeof names[0]) < 0) {
        sendmmsg(fd, messages, n, 0);
    }
}

static void udp_serve(void) {
    int fd = udp_open_socket(0, 1);
    udp_receive_joined(fd);
    struct sockaddr_in at;
    socklen_t at_bytes = sizeof at;
    getsockname(fd, (struct sockaddr *)&at, &at_bytes);
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    for (;;) {
        udp_prepare_to_receive(1);
        int n = recvmmsg(fd, messages, WINDOW, MSG_WAITFORONE, NULL);
        unsigned count = 0;
        for (int i = 0; i < n; i++) {
            count += udp_datagrams(i);
        }
        count = count < WINDOW ? count : WINDOW;
        udp_prepare_to_send(count, REPLY_BYTES);
        if (count > 0) {
            udp_answer(fd, count);
        }
    }
}

int main(int argc, char **argv) {
    if (argc == 4 && (strcmp(argv[1], "ask") == 0 || strcmp(argv[1], "joined") == 0)) {
        udp_request(atoi(argv[2]), atof(argv[3]), argv[1][0] == 'j');
    } else if (argc == 2 && strcmp(argv[1], "floor") == 0) {
        udp_serve();
    } else {
        fprintf(stderr, "usage: udp_side ask|joined PORT SECONDS | udp_side floor\n");
        return 64;
    }
    return 0;
}
