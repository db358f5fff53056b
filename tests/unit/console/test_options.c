#include "options.h"
#include "tap.h"

static struct options options;
static char why[200];

static bool parse(const char *a, const char *b, const char *c) {
    char *argv[] = {(char[]){"slatetop"}, (char *)(uintptr_t)a, (char *)(uintptr_t)b,
                    (char *)(uintptr_t)c, NULL};
    int argc = 1;
    while (argv[argc] != NULL) {
        argc++;
    }
    return options_parse(&options, argc, argv, why, sizeof why);
}

static void test_defaults(void) {
    ok(parse(NULL, NULL, NULL), "no options are fine");
    is_str(options.address.text, "127.0.0.1:11211", "the usual server");
    is(options.interval_ms, 1000, "a second");
    is(options.snapshots, 1, "one snapshot");
}

static void test_options_are_taken(void) {
    ok(parse("-b", "-n", "3") && options.batch && options.snapshots == 3, "-b -n 3");
    ok(parse("--json", NULL, NULL) && options.json && options.batch, "--json means batch");
    ok(parse("-d", "0.5", NULL) && options.interval_ms == 500, "-d 0.5");
    ok(parse("--read-only", "cache7", NULL) && options.read_only, "--read-only");
    is_str(options.address.text, "cache7:11211", "a bare name gets the usual port");
    ok(parse("-s", "/run/cache.sock", NULL) && options.address.is_path, "-s with a path");
}

static void test_wrong_use_is_one_clear_sentence(void) {
    ok(!parse("-d", "0", NULL), "no delay: %s", why);
    ok(!parse("-d", "1e9", NULL), "too long a delay: %s", why);
    ok(!parse("-d", "nan", NULL), "not a number: %s", why);
    ok(!parse("-n", "0", NULL), "no snapshot: %s", why);
    ok(!parse("-n", "3x", NULL), "a number with a tail: %s", why);
    ok(!parse("-n", NULL, NULL), "a missing argument: %s", why);
    ok(!parse("--bogus", NULL, NULL), "an unknown option: %s", why);
    ok(!parse("a", "b", NULL), "two servers: %s", why);
    ok(!parse("-s", "a", "b"), "two servers, one named: %s", why);
}

int main(void) {
    test_defaults();
    test_options_are_taken();
    test_wrong_use_is_one_clear_sentence();
    return tap_done();
}
