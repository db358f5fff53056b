/* Lists of servers: the servers on them are watched, those that left them are not. */
#include "app/servers/address_word.h"
#include "app/servers/fleet.h"
#include "brain/brain.h"
#include "tap.h"

#include <unistd.h>

static char path[] = "/tmp/slate-fleet-XXXXXX";
static struct fleet fleet;
static struct access access_of;
static uint64_t now_ms = 1000;

static void write_file(const char *text) {
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

/* Lets a due look-up begin and end. */
static void look(void) {
    now_ms += LIST_RETRY_MS + 1;
    fleet_step_lists(&fleet, now_ms);
    struct pollfd polled = {.fd = fleet.lists[0].discovery.lookup.pipe_fd, .events = POLLIN};
    while (polled.fd >= 0 && fleet.lists[0].discovery.lookup.pipe_fd >= 0) {
        poll(&polled, 1, -1);
        fleet_step_lists(&fleet, now_ms);
    }
}

static const char *names(void) {
    static char text[500];
    text[0] = '\0';
    for (unsigned i = 0; i < fleet.count; i++) {
        strcat(strcat(text, i > 0 ? " " : ""), fleet.list[i]->address.text);
    }
    return text;
}

static void add(const char *format) {
    char text[100], why[100];
    struct address address;
    snprintf(text, sizeof text, format, path);
    ok(address_parse(text, &address, why, sizeof why) && fleet_add(&fleet, &address), "%s is taken", text);
}

static void begin(const char *list) {
    fleet_init(&fleet, 1000, 1, &access_of);
    add(list);
}

TEST(test_a_file_names_servers) {
    begin("file:%s");
    write_file("127.0.0.1:1 # the first\n- 127.0.0.1:2:1 two\n");
    look();
    is_str(names(), "127.0.0.1:1 127.0.0.1:2", "a server a line");
    is_str(fleet.lists[0].note, "", "nothing is wrong");
    write_file("127.0.0.1:1\n127.0.0.1:3\n");
    look();
    is_str(names(), "127.0.0.1:1 127.0.0.1:2 127.0.0.1:3", "a new one is watched");
    is(fleet_drop_left(&fleet, fleet.list[1]), -1, "the one that is open stays, though it has left");
    is(fleet_drop_left(&fleet, fleet.list[0]), 1, "one that has left goes");
    is(fleet_drop_left(&fleet, fleet.list[0]), -1, "and no other");
    is_str(names(), "127.0.0.1:1 127.0.0.1:3", "those behind it move up");
    fleet_fini(&fleet);
}

TEST(test_a_list_that_is_wrong_keeps_its_servers) {
    begin("file:%s");
    write_file("127.0.0.1:1\n127.0.0.1:2\n");
    look();
    write_file("127.0.0.1:1\nbananas:x\n");
    look();
    ok(strstr(fleet.lists[0].note, "line 2: 'bananas:x' is not a server") != NULL, "%s", fleet.lists[0].note);
    unlink(path);
    look();
    ok(strstr(fleet.lists[0].note, "cannot read ") != NULL && strstr(fleet.lists[0].note, "No such file") != NULL, "%s",
       fleet.lists[0].note);
    is(fleet_drop_left(&fleet, NULL), -1, "nobody goes for that");
    is_str(names(), "127.0.0.1:1 127.0.0.1:2", "all stay");
    write_file("127.0.0.1:2\n");
    look();
    is_str(fleet.lists[0].note, "", "once it is right again nothing is wrong");
    is(fleet_drop_left(&fleet, NULL), 0, "and a server that has left goes");
    fleet_fini(&fleet);
}

TEST(test_a_server_named_by_itself_stays) {
    begin("file:%s");
    add("127.0.0.1:1");
    write_file("127.0.0.1:1\n127.0.0.1:2\n");
    look();
    is_str(names(), "127.0.0.1:1 127.0.0.1:2", "named twice, watched once");
    write_file("127.0.0.1:2\n");
    look();
    is(fleet_drop_left(&fleet, NULL), -1, "it does not go when it leaves the list");
    fleet_fini(&fleet);
}

TEST(test_more_servers_than_can_be_watched_are_reported) {
    char text[20 * (SERVER_LIMIT + 2)] = "", line[20];
    for (int i = 1; i <= SERVER_LIMIT + 1; i++) {
        snprintf(line, sizeof line, "127.0.0.1:%d\n", i);
        strcat(text, line);
    }
    begin("file:%s");
    write_file(text);
    look();
    is(fleet.count, SERVER_LIMIT, "as many as there is room for");
    ok(strstr(fleet.lists[0].note, "more servers than the 128 that can be watched") != NULL, "%s", fleet.lists[0].note);
    fleet_fini(&fleet);
}

TEST(test_addresses_of_a_name_stay_while_they_answer) {
    begin("dns:127.0.0.1:7");
    now_ms += LIST_AGAIN_MS;
    look();
    is_str(names(), "127.0.0.1:7", "every address of a name is a server");
    fleet.origins[0].has_left = true;
    is(fleet_drop_left(&fleet, NULL), -1, "one that has left stays while nobody knows that it is down");
    model_set_link(fleet.list[0]->model, LINK_DOWN, "gone", 0);
    is(fleet_drop_left(&fleet, NULL), 0, "and goes once it is down");
    fleet_fini(&fleet);
}

int main(void) {
    struct model *nobody = brain_model(""); /* the state of Lua stays, as in slatetop */
    close(mkstemp(path));
    tap_run_tests();
    unlink(path);
    model_destroy(&nobody);
    return tap_done();
}
