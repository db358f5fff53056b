/* Settings: what may be sent to which version, how, and how it goes back. */
#include "act/action.h"
#include "fixture.h"
#include "tap.h"

static struct snapshot now;
static struct answers answers;
static char why[NOTE_BYTES];

static void load(const char *version) {
    fixture_load("memcached-1.6.45-second.txt", 1, &now);
    fixture_answers("memcached-1.6.45-second.txt", &answers);
    snprintf(now.version, sizeof now.version, "%s", version);
}

static bool allowed(const char *name, const char *value) {
    struct action action = action_set(name, value);
    return action_check(&action, &now, &answers, why, sizeof why);
}

/* 1.6.34 to 1.6.44 crash on a window of 0 or a huge one; older ones answer an error. */
static void test_no_version_gets_what_it_crashes_on(void) {
    static const char *const versions[] = {"1.4.25", "1.5.22", "1.6.18", "1.6.34", "1.6.41", "1.6.44", "1.6.45", "", "x"};
    static const char *const wrong[] = {"0", "2", "-1", "1801", "4294967295", "99999999999999999999", "nan", "inf",
                                        "1e3", "", "10 ", "10\r\nflush_all", "0x20", "10.5"};
    for (size_t v = 0; v < sizeof versions / sizeof *versions; v++) {
        load(versions[v]);
        unsigned sent = 0;
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            sent += allowed("slab_automove_window", wrong[i]);
        }
        is(sent, 0, "memcached '%s' gets no window outside 3 to 1800", versions[v]);
        bool knows_it = strcmp(versions[v], "1.6.34") >= 0 && versions[v][0] == '1' && versions[v][2] == '6';
        is(allowed("slab_automove_window", "7"), knows_it, "and a sound one if it has the command: %s", knows_it ? "" : why);
    }
}

static void test_values_have_limits_and_rules(void) {
    static const struct {
        const char *name, *value;
        bool is_right;
    } cases[] = {
        {"slab_automove", "2", true},         {"slab_automove", "3", false},         {"slab_automove", "utility", false},
        {"slab_automove_ratio", "0.5", true}, {"slab_automove_ratio", "1.5", false}, {"slab_automove_ratio", "0", false},
        {"lru_tune", "10 30 0.2 2", true},    {"lru_tune", "50 31 0.2 2", false},    {"lru_tune", "10 30 0 2", false},
        {"lru_tune", "10 30", false},         {"maxbytes", "8", true},               {"maxbytes", "7", false},
        {"maxbytes", "1000000000", true},     {"maxbytes", "1000000001", false},
        {"temporary_ttl", "off", false},       {"temporary_ttl", "30", true},         {"temporary_ttl", "x", false},
        {"lru_segmented", "flat", true},      {"lru_segmented", "round", false},     {"verbosity", "1", true},
        {"verbosity", "9", false},            {"policy", "sieve", false},            {"geometry", "auto", false},
        {"class_policy", "sieve 4", false},   {"no_such_setting", "1", false},
    };
    load("1.6.45");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool is_allowed = allowed(cases[i].name, cases[i].value);
        is(is_allowed, cases[i].is_right, "%s = %s: %s", cases[i].name, cases[i].value, is_allowed ? "sent" : why);
    }
}

static void test_lines_are_memcacheds_own(void) {
    static const struct {
        const char *name, *value, *line, *second;
    } cases[] = {
        {"slab_automove_ratio", "0.6", "slabs automove ratio 0.6", NULL},
        {"lru_tune", "10 30 0.2 2.0", "lru tune 10 30 0.2 2.0", NULL},
        {"temporary_ttl", "off 61", "lru temp_ttl 61", "lru temp_ttl -1"},
        {"temporary_ttl", "off", "lru temp_ttl -1", NULL},
        {"maxbytes", "80", "cache_memlimit 80", NULL},
        {"lru_crawler", "yes", "lru_crawler enable", NULL},
        {"detail_enabled", "no", "stats detail off", NULL},
        {"policy", "s3fifo 5=sieve", "evict policy s3fifo", "evict policy sieve 5"},
        {"class_policy", "sieve 5", "evict policy sieve 5", NULL},
        {"geometry", "factor 1.08", "slabs geometry factor 1.08", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[SETTING_LINE_BYTES];
        ok(setting_line(true, cases[i].name, cases[i].value, 0, line) && strcmp(line, cases[i].line) == 0, "%s", line);
        bool has_second = setting_line(true, cases[i].name, cases[i].value, 1, line);
        ok(has_second == (cases[i].second != NULL) && (!has_second || strcmp(line, cases[i].second) == 0), "and %s",
           has_second ? line : "no other");
        ok(!setting_line(true, cases[i].name, cases[i].value, 2, line), "no third");
    }
}

static void test_an_answer_is_read_to_the_digits_it_shows(void) {
    const char *text = "STAT slab_automove_ratio 0.56\r\nSTAT temp_lru no\r\nSTAT temporary_ttl 61\r\nSTAT maxbytes 67108864\r\n"
                       "STAT slab_automove 1\r\nSTAT hot_lru_pct 20\r\nSTAT warm_lru_pct 40\r\nSTAT hot_max_factor 0.20\r\n"
                       "STAT warm_max_factor 2.00\r\n";
    char value[SETTING_VALUE_BYTES];
    ok(setting_shows("slab_automove_ratio", "0.555", "", text), "0.555 is shown as 0.56");
    ok(!setting_shows("slab_automove_ratio", "0.54", "", text), "0.54 is not");
    ok(setting_shows("slab_automove", "ratio", "", text), "a mode is the same by name and by number");
    ok(setting_shows("lru_tune", "20 40 0.2 2", "", text) && !setting_shows("lru_tune", "20 41 0.2 2", "", text), "all four");
    setting_read("temporary_ttl", "", text, value);
    is_str(value, "off 61", "the queue that is off keeps its seconds");
    setting_read("maxbytes", "", text, value);
    is_str(value, "64", "MiB");
    setting_read("lru_tune", "", "STAT hot_lru_pct 20\r\n", value);
    is_str(value, "", "what is not all there is not read");
    setting_read("class_policy", "sieve 5", "STAT s3fifo:active yes\r\nSTAT class:5:policy lru\r\n", value);
    is_str(value, "lru 5", "a class's own policy");
    setting_read("class_policy", "sieve 6", "STAT s3fifo:active yes\r\nSTAT class:5:policy lru\r\n", value);
    is_str(value, "s3fifo 6", "or the whole's");
    setting_inverse("geometry", "pause", "draining 3", value);
    is_str(value, "resume", "pause and resume undo each other");
}

static void test_steps_stay_within_the_limits(void) {
    struct tunable row;
    char value[SETTING_VALUE_BYTES];
    load("1.6.45");
    ok(settings_find(&now, &answers, "slab_automove", 0, &row), "the row");
    setting_step(&row, "2", 1, value);
    is_str(value, "0", "modes go round");
    settings_find(&now, &answers, "slab_automove_ratio", 0, &row);
    setting_step(&row, "1", 1, value);
    is_str(value, "1.00", "not above the most");
    setting_step(&row, "0.02", -1, value);
    is_str(value, "0.01", "nor below the least");
    is(settings_list(&now, &answers, 0, (struct tunable[SETTINGS_MOST]){0}) > 15, true, "the list has them all");
}

static void test_slated_tells_the_limits_and_what_can_change(void) {
    static const char config[] = "STAT maxbytes:value 67108864\r\nSTAT maxbytes:min 8388608\r\nSTAT maxbytes:max 268435456\r\n";
    struct tunable row;
    load("0.1.0");
    now.is_slated = true;
    settings_find(&now, &answers, "slab_automove", 0, &row);
    is_str(row.refusal, "", "with slabs nothing of theirs is refused");
    answers_take(&answers, INQUIRY_CONFIG, config, sizeof config - 1, true, 1);
    settings_find(&now, &answers, "maxbytes", 0, &row);
    ok(row.least == 8 && row.most == 256, "memory goes from 8 to 256 MiB, not to %.0f", row.most);
    ok(!allowed("maxbytes", "257") && allowed("maxbytes", "256"), "as is checked: %s", why);
    static const char heap[] = "STAT store heap\r\n", *const of_slabs[] = {"slab_automove", "slab_geometry_rate", "geometry"};
    snapshot_parse(&now, GROUP_SLATED, heap, sizeof heap - 1);
    for (size_t i = 0; i < sizeof of_slabs / sizeof *of_slabs; i++) {
        settings_find(&now, &answers, of_slabs[i], 0, &row);
        is_str(row.refusal, "needs --store=slab; this server has heap", "a heap has no %s", of_slabs[i]);
    }
}

static void test_a_change_is_about_what_differs(void) {
    is_str(setting_part("lru_tune", "20 40 0.20 2.00", "20 40 0.5 2.00"), "hot_max_factor", "the third of four");
    is_str(setting_part("lru_tune", "20 40 0.20 2.00", "200 40 0.20 2.00"), "hot_lru_pct", "the first");
    is_str(setting_part("lru_tune", "", "20 40 0.20 2.00"), "hot_lru_pct", "all of them");
    is_str(setting_part("policy", "lru", "sieve"), "policy", "itself");
}

int main(void) {
    test_no_version_gets_what_it_crashes_on();
    test_values_have_limits_and_rules();
    test_lines_are_memcacheds_own();
    test_an_answer_is_read_to_the_digits_it_shows();
    test_steps_stay_within_the_limits();
    test_slated_tells_the_limits_and_what_can_change();
    answers_fini(&answers);
    test_a_change_is_about_what_differs();
    return tap_done();
}
