#include "app/options/startup_options.h"
#include "tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct options options;
static char why[300];

static bool parse(const char *a, const char *b, const char *c) {
    char *argv[] = {(char[]){"slatetop"}, (char *)(uintptr_t)a, (char *)(uintptr_t)b,
                    (char *)(uintptr_t)c, NULL};
    int argc = 1;
    while (argv[argc] != NULL) {
        argc++;
    }
    return options_parse(&options, argc, argv, why, sizeof why);
}

TEST(test_defaults) {
    ok(parse(NULL, NULL, NULL), "no options are fine");
    is_str(options.servers[0].text, "127.0.0.1:11211", "the usual server");
    is(options.interval_ms, 1000, "a second");
    is(options.snapshots, 1, "one snapshot");
}

TEST(test_options_are_taken) {
    ok(parse("-b", "-n", "3") && options.batch && options.snapshots == 3, "-b -n 3");
    ok(parse("--json", NULL, NULL) && options.json && options.batch, "--json means batch");
    ok(parse("-d", "0.5", NULL) && options.interval_ms == 500, "-d 0.5");
    ok(parse("--read-only", "cache7", NULL) && options.read_only, "--read-only");
    is_str(options.servers[0].text, "cache7:11211", "a bare name gets the usual port");
    ok(parse("a", "b:5", "dns:pool:6") && options.server_count == 3, "as many servers as one likes");
    is_str(options.servers[1].text, "b:5", "in their order");
    ok(options.servers[2].list == LIST_OF_NAME && options.servers[1].list == NO_LIST, "one of them a list");
    ok(parse("a,b:5", "[::1]:6,dns:pool:6", NULL) && options.server_count == 4, "also with commas between them");
    ok(parse("./a,b.sock", NULL, NULL) && options.server_count == 1, "but a path may hold one");
    ok(!parse("a,,b", NULL, NULL) && !parse(",", NULL, NULL), "an empty one is none");
    ok(parse("-s", "/run/cache.sock", NULL) && options.servers[0].is_path, "-s with a path");
}

TEST(test_wrong_use_is_one_clear_sentence) {
    ok(!parse("-d", "0", NULL), "no delay: %s", why);
    ok(!parse("-d", "1e9", NULL), "too long a delay: %s", why);
    ok(!parse("-d", "nan", NULL), "not a number: %s", why);
    ok(!parse("-n", "0", NULL), "no snapshot: %s", why);
    ok(!parse("-n", "3x", NULL), "a number with a tail: %s", why);
    ok(!parse("-n", NULL, NULL), "a missing argument: %s", why);
    ok(!parse("--bogus", NULL, NULL), "an unknown option: %s", why);
    ok(!parse("--replay=x", "a", NULL), "a recording and a server: %s", why);
    ok(!parse("--at=5", "a", NULL), "a place in no recording: %s", why);
    ok(!parse("--at=x", "--replay=y", NULL), "a place that is no number: %s", why);
    ok(!parse("--record=x", "a", "b"), "a recording of two servers: %s", why);
    ok(!parse("--record=x", "dns:a", NULL), "or of a list of them: %s", why);
    ok(!parse("dns::1", NULL, NULL), "a list without a name: %s", why);
    ok(!parse("--record=x", "file:a", NULL), "a recording of the servers of a file: %s", why);
}

static void refuses(const char *option, const char *value, const char *reason) {
    ok(!parse(option, value, NULL) && strstr(why, reason) != NULL, "%s", why);
}

static char rc_path[] = "/tmp/slatetop-rc-XXXXXX";

static bool parse_rc(const char *text, const char *server) {
    FILE *file = fopen(rc_path, "w");
    fputs(text, file);
    fclose(file);
    return parse("-c", rc_path, server);
}

TEST(test_the_file_of_settings) {
    close(mkstemp(rc_path));
    ok(parse_rc("# mine\n\n server = a \nserver=b:5\ndelay = 2\nread-only = yes\nmono = no\ntheme = light\nmouse = no\n", NULL),
       "settings are taken: %s", why);
    is(options.server_count, 2, "servers");
    is_str(options.servers[1].text, "b:5", "in their order");
    ok(options.interval_ms == 2000 && options.read_only && !options.mono && options.theme == 1 &&
           options.mouse == MOUSE_OFF, "and the rest");
    ok(parse_rc("server = a\ndelay = 2\n", "c") && options.server_count == 1, "the command line counts for more");
    is_str(options.servers[0].text, "c:11211", "its servers take the place of the file's");
    ok(!parse_rc("delay = 1\n\ncolour = red\n", NULL) && strstr(why, ":3: there is no setting 'colour'") != NULL, "%s", why);
    ok(!parse_rc("batch = yes\n", NULL), "a word that is no setting: %s", why);
    ok(!parse_rc("mono = perhaps\n", NULL) && strstr(why, ":1: ") != NULL, "%s", why);
    ok(!parse_rc("theme = pink\n", NULL), "%s", why);
    ok(!parse_rc("mouse = rat\n", NULL), "%s", why);
    ok(!parse_rc("delay\n", NULL), "%s", why);
    ok(!parse("-c", "/nowhere/rc", NULL), "a named file must exist: %s", why);
    refuses("-c", "/tmp", "cannot read /tmp: not a regular file");
    refuses("--password-file", "/nowhere/x", "/nowhere/x: No such file");
    refuses("--password-file", "/tmp", "/tmp: Is a directory");
    refuses("--password-file", "/dev/null", "/dev/null: it is empty");
    ok(parse_rc("joe:secret\n", NULL) == false, "a password is no setting");
    ok(parse_rc("joe:se:cret:read\n", NULL) == false && parse("--password-file", rc_path, NULL), "one with a role: %s", why);
    is_str(options.credentials, "joe se:cret", "… sends the password alone");
    ok(parse_rc("joe:read\n", NULL) == false && parse("--password-file", rc_path, NULL), "a role's name alone: %s", why);
    is_str(options.credentials, "joe read", "… is a password");
    ok(parse_rc("joe:secret\n", NULL) == false, "a password is no setting");
    ok(parse("--password-file", rc_path, NULL), "but a file of its own: %s", why);
    is_str(options.credentials, "joe secret", "as it is sent");
    unlink(rc_path);
}

TEST(test_the_usual_file_may_be_unreadable) {
    char home[] = "/tmp/slatetop-home-XXXXXX", folder[80], rc[100];
    ok(mkdtemp(home) != NULL, "a home");
    snprintf(folder, sizeof folder, "%s/slate", home);
    snprintf(rc, sizeof rc, "%s/slatetoprc", folder);
    mkdir(folder, 0700);
    mkdir(rc, 0700);
    setenv("XDG_CONFIG_HOME", home, 1);
    ok(parse("-b", NULL, NULL) && options.batch, "a folder in its place: the defaults hold: %s", why);
    ok(strstr(options.unread, "not a regular file: starting with the defaults") != NULL, "… %s", options.unread);
    rmdir(rc);
    ok(parse("-b", NULL, NULL) && options.unread[0] == '\0', "none is no trouble");
    fclose(fopen(rc, "w"));
    ok(parse("-b", NULL, NULL) && options.unread[0] == '\0', "nor is an empty one");
    FILE *file = fopen(rc, "w");
    fputs("theme = pink\n", file);
    fclose(file);
    ok(!parse("-b", NULL, NULL) && strstr(why, "slatetoprc:1: ") != NULL, "a wrong line is: %s", why);
    unlink(rc);
    rmdir(folder);
    rmdir(home);
    setenv("XDG_CONFIG_HOME", "/nowhere", 1);
}

int main(void) {
    setenv("XDG_CONFIG_HOME", "/nowhere", 1); /* not the settings of the user that runs the test */
    tap_run_tests();
    return tap_done();
}
