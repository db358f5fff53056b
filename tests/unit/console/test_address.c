#include "link/address.h"
#include "tap.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/un.h>

static struct address address_of(const char *host, const char *port) {
    struct address address = {.is_path = port == NULL};
    snprintf(address.host, sizeof address.host, "%s", host);
    snprintf(address.port, sizeof address.port, "%s", port != NULL ? port : "");
    return address;
}

TEST(test_numbers_need_no_lookup) {
    struct endpoints found;
    struct address address = address_of("127.0.0.1", "80");
    ok(address_is_numeric(&address, &found) && found.count == 1, "IPv4");
    is(found.list[0].socket_address.ss_family, AF_INET, "its family");
    address = address_of("::1", "80");
    ok(address_is_numeric(&address, &found) && found.list[0].socket_address.ss_family == AF_INET6, "IPv6");
    address = address_of("/tmp/x", NULL);
    ok(address_is_numeric(&address, &found) && found.list[0].socket_address.ss_family == AF_UNIX, "a path");
    address = address_of("localhost", "80");
    ok(!address_is_numeric(&address, &found), "a name is looked up elsewhere");
}

TEST(test_a_name_is_looked_up_by_a_child) {
    struct lookup lookup;
    struct endpoints found;
    struct address address = address_of("localhost", "80");
    ok(lookup_begin_address(&lookup, &address), "begun");
    struct pollfd polled = {.fd = lookup.pipe_fd, .events = POLLIN};
    is(poll(&polled, 1, 10000), 1, "the answer makes the pipe readable");
    lookup_end(&lookup, &found);
    ok(found.count >= 1, "localhost has an address");
    is(lookup.pipe_fd, -1, "and the lookup is over");
    lookup_cancel(&lookup);
    ok(lookup_begin_address(&lookup, &address), "begun again");
    lookup_cancel(&lookup);
    is(lookup.pipe_fd, -1, "a lookup can be given up at once");
}

int main(void) { return tap_main(); }
