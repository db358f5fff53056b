/* Settings in the views. tests/spec/lua_settings_spec.lua has the table itself. */
#include "act/setting.h"
#include "fixture.h"
#include "tap.h"

static struct snapshot now;
static struct answers answers;

static void load(const char *version) {
    fixture_load("memcached-1.6.45-second.txt", 1, &now);
    fixture_answers("memcached-1.6.45-second.txt", &answers);
    snprintf(now.version, sizeof now.version, "%s", version);
}

TEST(test_rows_have_the_servers_facts) {
    struct tunable row;
    char value[SETTING_VALUE_BYTES];
    load("1.6.45");
    is(settings_list(&now, &answers, 0, (struct tunable[SETTINGS_MOST]){0}) > 15, true, "the list has them all");
    ok(settings_find(&now, &answers, "slab_automove", 0, &row) && row.form == FORM_CHOICE, "the row");
    settings_find(&now, &answers, "slab_automove_ratio", 0, &row);
    ok(row.form == FORM_NUMBER && row.least == 0.01 && row.most == 1 && strcmp(row.now, "0.80") == 0, "a number: %s", row.now);
    setting_step(&row, "1", 1, value);
    is_str(value, "1.00", "not above the most");
    setting_step(&row, value, -1, value);
    is_str(value, "0.95", "in place, too");
    settings_find(&now, &answers, "geometry", 0, &row);
    ok(row.form == FORM_TEXT && strstr(row.refusal, "needs slated") != NULL, "%s", row.refusal);
    ok(!settings_find(&now, &answers, "no_such", 0, &row), "an unknown name is not found");
    load("1.6.18");
    settings_find(&now, &answers, "slab_automove_window", 0, &row);
    is_str(row.refusal, "needs memcached 1.6.34 or later", "an old version says so");
}

TEST(test_slated_reports_the_limits) {
    static const char config[] = "STAT maxbytes:value 67108864\r\nSTAT maxbytes:min 8388608\r\nSTAT maxbytes:max 268435456\r\n"
                                 "STAT maxbytes:source start\r\nSTAT policy:choices lru|sieve|s3auto\r\n";
    struct tunable row;
    load("0.1.0");
    now.is_slated = true;
    inquiry_take(&answers, INQUIRY_CONFIG, config, sizeof config - 1, true, 1);
    settings_find(&now, &answers, "maxbytes", 0, &row);
    ok(row.least == 8 && row.most == 256, "memory goes from 8 to 256 MiB, not to %.0f", row.most);
    is_str(row.source, "start", "and where it comes from");
    settings_find(&now, &answers, "class_policy", 7, &row);
    is_str(row.label, "policy of class 7", "the class is named");
    is_str(row.choices, "lru|sieve", "with the choices of the whole, except s3auto");
}

TEST(test_names_have_labels_and_terms) {
    is_str(setting_name_at(0), "slab_automove", "the first row");
    ok(setting_name_at(SETTINGS_MOST) == NULL, "and an end");
    is_str(setting_label("maxbytes"), "memory limit MiB", "a label");
    is_str(setting_term("maxbytes"), "memory.limit", "a term");
    is_str(setting_label("lru_tune"), "lru tune", "also of four at once");
    is_str(setting_label("new_one"), "new_one", "a setting without a row has the server's name");
}

int main(void) {
    tap_run_tests();
    inquiry_fini(&answers);
    return tap_done();
}
