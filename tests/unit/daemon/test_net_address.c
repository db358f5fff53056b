/* Listen lists and addresses as statistics show them. */
#include "tap.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "net/listen/address.h"

static void test_one(const char *entry, const char *host, int port) {
    struct address a;
    char error[256];
    const char *rest = entry;
    int got = address_next(&rest, 11211, &a, error, sizeof error);
    ok(got == 1 && strcmp(a.host, host) == 0 && a.port == port, "'%s' is host '%s' port %d", entry, host, port);
    is(address_next(&rest, 11211, &a, error, sizeof error), 0, "'%s' is one entry", entry);
}

static void test_bad(const char *entry, const char *why) {
    struct address a;
    char error[256] = "";
    const char *rest = entry;
    int got = address_next(&rest, 11211, &a, error, sizeof error);
    ok(got == -1 && strncmp(error, why, strlen(why)) == 0, "'%s' is refused: %s", entry, error);
}

TEST(test_list) {
    const char *rest = "127.0.0.1, ::1,,*:5,[::1]:7";
    struct address a;
    char error[256];
    unsigned n = 0;
    int ports[8] = {0};
    while (n < 8 && address_next(&rest, 9, &a, error, sizeof error) == 1) {
        ports[n++] = a.port;
    }
    is(n, 4, "a list has its entries; empty ones are skipped");
    ok(ports[0] == 9 && ports[1] == 9 && ports[2] == 5 && ports[3] == 7, "entries without a port get the default");
}

TEST(test_show) {
    char text[128];
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(5)};
    inet_pton(AF_INET, "1.2.3.4", &in.sin_addr);
    address_show((struct sockaddr *)&in, "", text, sizeof text);
    is_str(text, "tcp:1.2.3.4:5", "an IPv4 address");
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(11211), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    address_show((struct sockaddr *)&in6, "", text, sizeof text);
    is_str(text, "tcp6:[::1]:11211", "an IPv6 address");
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    address_show((struct sockaddr *)&un, "/tmp/s", text, sizeof text);
    is_str(text, "unix:/tmp/s", "a UNIX socket");
}

TEST(test_local) {
    static const struct {
        const char *address;
        bool        local;
    } v4[] = {{"127.0.0.1", true}, {"127.255.255.254", true}, {"0.0.0.0", false}, {"128.0.0.1", false}, {"10.0.0.1", false}},
      v6[] = {{"::1", true}, {"::ffff:127.0.0.1", true}, {"::", false}, {"::2", false}, {"::ffff:10.0.0.1", false}, {"fe80::1", false}};
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    for (size_t i = 0; i < sizeof v4 / sizeof *v4; i++) {
        inet_pton(AF_INET, v4[i].address, &in.sin_addr);
        is(address_is_local((struct sockaddr *)&in), v4[i].local, "whether others reach %s", v4[i].address);
    }
    for (size_t i = 0; i < sizeof v6 / sizeof *v6; i++) {
        inet_pton(AF_INET6, v6[i].address, &in6.sin6_addr);
        is(address_is_local((struct sockaddr *)&in6), v6[i].local, "whether others reach %s", v6[i].address);
    }
    ok(address_is_local((struct sockaddr *)&un), "nobody else reaches a UNIX socket");
}

int main(void) {
    test_one("127.0.0.1", "127.0.0.1", 11211);
    test_one("example:80", "example", 80);
    test_one("::1", "::1", 11211);
    test_one("[::1]", "::1", 11211);
    test_one("[fe80::1]:8080", "fe80::1", 8080);
    test_one("*", "", 11211);
    test_one("*:65535", "", 65535);
    test_bad("host:0", "a port must be");
    test_bad("host:65536", "a port must be");
    test_bad("host:", "a port must be");
    test_bad("host:12x", "a port must be");
    test_bad("[::1", "an address in brackets");
    test_bad("[::1]x", "an address in brackets");
    test_bad(":80", "a listen address needs");
    test_bad("[]:80", "a listen address needs");
    tap_run_tests();
    return tap_done();
}
