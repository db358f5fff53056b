/* Messages between two servers at a takeover, and the sockets that travel with them. */
#include "tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/takeover/handover.h"

enum { AT_ONCE = 100, TIMES = 5 };

static unsigned open_descriptors(void) {
    unsigned n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir) != NULL) {
        n++;
    }
    closedir(dir);
    return n;
}

/* In several pieces, so that the list grows in place or elsewhere. */
TEST(test_many_are_handed) {
    unsigned before = open_descriptors(), bad = 0;
    struct handover_fds h = {0};
    for (unsigned t = 0; t < TIMES; t++) {
        int fds[AT_ONCE];
        for (unsigned i = 0; i < AT_ONCE; i++) {
            fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        }
        bad += !handover_fds_add(&h, fds, AT_ONCE) || h.room < h.count ||
               h.count != (t + 1) * AT_ONCE || h.fds[h.count - 1] != fds[AT_ONCE - 1];
    }
    is(bad, 0, "there is room for all that were handed over, in %d pieces", TIMES);
    handover_fds_close(&h);
    is(open_descriptors(), before, "those that nobody took are closed");
}

TEST(test_a_socket_that_is_kept_outlives_its_owner) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct handover_fds h = {0};
    snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "slate-test-%d", (int)getpid());
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool listens = bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 1) == 0;
    bool kept = handover_fds_add_dup(&h, fd);
    close(fd);
    ok(listens && kept && connect(client, (struct sockaddr *)&at, sizeof at) == 0, "a client that connects after its owner has closed it is not refused");
    close(client);
    handover_fds_close(&h);
}

/* Sends a message and two descriptors, with other first fields or another length. */
static void test_refused(const char *what, size_t bytes, uint32_t version, uint32_t fd_count, int error) {
    int ends[2], got_fds[HANDOVER_FDS_MOST];
    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
    struct handover_message m[2] = {{.magic = HANDOVER_MAGIC, .version = version,
                                     .kind = HANDOVER_HELLO, .fd_count = fd_count}};
    struct handover_message got;
    union {
        char           bytes[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    struct iovec  iov = {.iov_base = m, .iov_len = bytes};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof ends);
    memcpy(CMSG_DATA(c), ends, sizeof ends);
    unsigned before = open_descriptors();
    bool sent = sendmsg(ends[0], &message, 0) == (ssize_t)bytes;
    int result = handover_receive(ends[1], &got, got_fds);
    ok(sent && result == -1 && errno == error, "%s is no message", what);
    is(open_descriptors(), before, "and its descriptors are closed");
    close(ends[0]);
    close(ends[1]);
}

TEST(test_messages) {
    size_t whole = sizeof(struct handover_message);
    test_refused("half of one", whole / 2, HANDOVER_VERSION, 2, EBADMSG);
    test_refused("one and a half", whole + whole / 2, HANDOVER_VERSION, 2, EBADMSG);
    test_refused("another version's", whole, HANDOVER_VERSION + 1, 2, EPROTO);
    test_refused("a longer one of another version", whole + 8, HANDOVER_VERSION + 1, 2, EPROTO);
    test_refused("one that promises other descriptors", whole, HANDOVER_VERSION, 3, EBADMSG);
}

TEST(test_whole) {
    int ends[2], fds[HANDOVER_FDS_MOST], got_fds[HANDOVER_FDS_MOST], pid;
    struct handover_message m = {.socket_count = 7}, got;
    ok(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "there are sockets");
    ok(handover_is_ours(ends[0], &pid) && pid == (int)getpid(), "this process is its own user's");
    for (unsigned i = 0; i < HANDOVER_FDS_MOST; i++) {
        fds[i] = ends[0];
    }
    ok(handover_send(ends[0], &m, HANDOVER_SOCKETS, fds, HANDOVER_FDS_MOST) &&
           handover_receive(ends[1], &got, got_fds) == 1 && got.kind == HANDOVER_SOCKETS &&
           got.socket_count == 7 && got.fd_count == HANDOVER_FDS_MOST,
       "a message comes with as many descriptors as may go at once");
    for (unsigned i = 0; i < got.fd_count; i++) {
        close(got_fds[i]);
    }
    ok(handover_send(ends[1], &m, HANDOVER_READY, NULL, 0) && handover_refuse(ends[0], "why"),
       "one refuses what it has not read");
    close(ends[0]);
    ok(handover_receive(ends[1], &got, got_fds) == 1 && got.kind == HANDOVER_REFUSED &&
           strcmp(got.text, "why") == 0,
       "… and ends: its sentence is heard all the same");
    is(handover_receive(ends[1], &got, got_fds), 0, "the end differs from a message");
    close(ends[1]);
}

int main(void) {
    return tap_main();
}
