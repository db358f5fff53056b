#include "app/servers/address_word.h"
#include "tap.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/un.h>

static struct address address;
static char why[200];

static bool parse(const char *text) {
    return address_parse(text, &address, why, sizeof why);
}

TEST(test_the_forms_of_an_address) {
    static const struct {
        const char *text, *host, *port, *shown;
    } cases[] = {
        {"cache7", "cache7", "11211", "cache7:11211"},
        {"cache7:22122", "cache7", "22122", "cache7:22122"},
        {"[::1]:22122", "::1", "22122", "[::1]:22122"},
        {"[::1]", "::1", "11211", "[::1]:11211"},
        {"::1", "::1", "11211", "[::1]:11211"},
        {":22122", "127.0.0.1", "22122", "127.0.0.1:22122"},
        {"", "127.0.0.1", "11211", "127.0.0.1:11211"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ok(parse(cases[i].text), "'%s' is an address", cases[i].text);
        is_str(address.host, cases[i].host, "its host");
        is_str(address.port, cases[i].port, "its port");
        is_str(address.text, cases[i].shown, "how it is shown");
    }
    ok(parse("tls://cache7") && address.is_tls && strcmp(address.text, "tls://cache7:11211") == 0 &&
           strcmp(address.host, "cache7") == 0 && strcmp(address.tls_name, "cache7") == 0,
           "tls:// before a host speaks TLS with it");
    ok(parse("tls://dns:cache:1") && address.list == LIST_OF_NAME && address.is_tls, "and with each of a list");
    ok(parse("file:./fleet.txt") && address.list == LIST_OF_FILE && strcmp(address.host, "./fleet.txt") == 0, "file: is one, too");
    ok(parse("tls://file:/etc/fleet") && address.is_tls && strcmp(address_list_word(&address), "file:/etc/fleet") == 0,
       "and tls:// before it is not part of it");
    ok(!parse("tls:///run/x.sock"), "but not with a path: %s", why);
    ok(parse("/run/x.sock") && address.is_path, "a path is a UNIX socket");
    ok(parse("unix:x.sock") && address.is_path && strcmp(address.host, "x.sock") == 0, "so is the text after unix:");
    ok(parse("run/x.sock") && address.is_path && strcmp(address.host, "run/x.sock") == 0,
       "so is every word with a slash, in this folder");
}

TEST(test_wrong_addresses_are_refused) {
    char long_path[300], long_host[400], long_file[310];
    memset(long_path, 'a', sizeof long_path - 1);
    long_path[0] = '/';
    long_path[sizeof long_path - 1] = '\0';
    memset(long_host, 'a', sizeof long_host - 1);
    long_host[sizeof long_host - 1] = '\0';
    const char *wrong[] = {"x:0",  "x:65536", "x:abc",  "x:",      "x:1x",   "x:-1",
                           "x: 1", "[::1",    "[::1]x", long_path, long_host, "srv:", "srv:a b", "file:", long_file,
                           "run/", "http://cache7/x"};
    snprintf(long_file, sizeof long_file, "file:%s", long_path);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ok(!parse(wrong[i]), "'%.20s' is refused: %s", wrong[i], why);
    }
}

TEST(test_numbers_need_no_lookup) {
    struct endpoints found;
    parse("127.0.0.1:80");
    ok(address_is_numeric(&address, &found) && found.count == 1, "IPv4");
    is(found.list[0].socket_address.ss_family, AF_INET, "its family");
    parse("[::1]:80");
    ok(address_is_numeric(&address, &found) && found.list[0].socket_address.ss_family == AF_INET6, "IPv6");
    parse("/tmp/x");
    ok(address_is_numeric(&address, &found) && found.list[0].socket_address.ss_family == AF_UNIX, "a path");
    parse("localhost:80");
    ok(!address_is_numeric(&address, &found), "a name is looked up elsewhere");
}

TEST(test_a_name_is_looked_up_by_a_child) {
    struct lookup lookup;
    struct endpoints found;
    parse("localhost:80");
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
