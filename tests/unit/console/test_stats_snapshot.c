#include "facts/stats_snapshot.h"
#include "fixture.h"
#include "tap.h"

#include <math.h>

static struct snapshot snapshot;

static void parse(enum stats_group group, const char *text) {
    snapshot_parse(&snapshot, group, text, strlen(text));
}

TEST(test_a_fresh_snapshot_knows_nothing) {
    snapshot_init(&snapshot);
    is(snapshot.general[GENERAL_cmd_get], STAT_ABSENT, "a stat that was not sent is absent, not zero");
    is(snapshot_class(&snapshot, 4)->value[CLASS_total_pages], STAT_ABSENT, "so is a class stat");
    ok(!snapshot_class(&snapshot, 4)->present, "and a class that was not named is not there");
}

/* 32 servers have hundreds of snapshots, and of the 256 classes that a server may have most have some forty. */
TEST(test_classes_that_are_not_there_take_no_memory) {
    static struct snapshot copy;
    const unsigned char *bytes = (const unsigned char *)&copy;
    fixture_load("memcached-1.6.45-first.txt", 1, &snapshot);
    memset(&copy, 0xaa, sizeof copy);
    snapshot_copy(&copy, &snapshot);
    size_t touched = sizeof copy;
    while (touched > 0 && bytes[touched - 1] == 0xaa) {
        touched--;
    }
    ok(snapshot.class_end < 64 && touched < 12000, "%u classes are copied with %zu bytes of %zu",
       (unsigned)snapshot.class_end, touched, sizeof copy);
    bool is_same = true;
    for (unsigned id = 0; id < CLASS_LIMIT; id++) {
        is_same = is_same && memcmp(snapshot_class(&copy, id), snapshot_class(&snapshot, id), sizeof(struct class_stats)) == 0;
    }
    ok(is_same && snapshot_class(&copy, 4)->present, "and all are the same in the copy");
    is(snapshot_class(&copy, 200)->value[CLASS_age], STAT_ABSENT, "one that is not there is absent, whatever memory holds");
    snapshot_init(&copy);
    is(snapshot_class(&copy, 4)->value[CLASS_age], STAT_ABSENT, "as is one that was there before");
    snapshot_add_class(&copy, 5)->present = true;
    ok(!snapshot_class(&copy, 4)->present && snapshot_class(&copy, 4)->value[CLASS_age] == STAT_ABSENT,
       "also below one that is there");
}

TEST(test_new_and_old_layouts_are_understood) {
    fixture_load("memcached-1.6.18-second.txt", 1, &snapshot);
    is_str(snapshot.version, "1.6.18", "1.6.18: version");
    is(snapshot.classes[12].value[CLASS_total_pages], 1, "1.6.18: pages from stats slabs");
    is(snapshot.classes[12].value[CLASS_evicted], 145915, "1.6.18: evictions from stats items");
    ok(snapshot.classes[12].value[CLASS_mem_requested] != STAT_ABSENT, "1.6.18: mem_requested from stats items");
    is(snapshot.setting[SETTING_slab_automove], 0, "1.6.18: a setting");
    is(snapshot.setting[SETTING_slab_reassign], 1, "1.6.18: yes is 1");
    ok(!snapshot.is_slated, "1.6.18: ERROR to stats slated means memcached");
    fixture_load("memcached-1.4.25-second.txt", 1, &snapshot);
    is(snapshot.classes[4].value[CLASS_mem_requested], 304500 * 180, "1.4.25: mem_requested from stats slabs");
    is(snapshot_free_chunks(&snapshot.classes[4]), 39543, "1.4.25: the unused end of a page counts as free chunks");
    is(snapshot.general[GENERAL_slabs_moved], STAT_ABSENT, "1.4.25: figures that it lacks are absent");
    is(snapshot.classes[4].value[CLASS_number_hot], STAT_ABSENT, "1.4.25: no segments");
    fixture_load("memcached-1.6.45-second.txt", 1, &snapshot);
    is_str(snapshot.version, "1.6.45", "1.6.45: version");
    is(snapshot.classes[4].value[CLASS_total_pages], 64, "1.6.45: pages");
}

TEST(test_rusage_is_in_microseconds) {
    snapshot_init(&snapshot);
    parse(GROUP_GENERAL, "STAT rusage_user 12.034567\r\nSTAT rusage_system 3\r\n");
    is(snapshot.general[GENERAL_rusage_user], 12034567, "seconds and micros");
    is(snapshot.general[GENERAL_rusage_system], 3000000, "whole seconds");
}

TEST(test_nonsense_is_absent_and_harmless) {
    snapshot_init(&snapshot);
    parse(GROUP_GENERAL, "STAT cmd_get -5\r\nSTAT cmd_set abc\r\nSTAT pid\r\nSTAT uptime \r\nSTAT  \r\nSTAT\r\ngarbage\r\n"
          "STAT evictions 99999999999999999999999\r\nSTAT get_hits 12x\r\nSTAT bytes 7");
    is(snapshot.general[GENERAL_cmd_get], STAT_ABSENT, "a negative number is absent");
    is(snapshot.general[GENERAL_cmd_set], STAT_ABSENT, "a word is absent");
    is(snapshot.general[GENERAL_pid], STAT_ABSENT, "no value is absent");
    is(snapshot.general[GENERAL_evictions], STAT_ABSENT, "a number beyond 64 bits is absent");
    is(snapshot.general[GENERAL_get_hits], STAT_ABSENT, "a number with a tail is absent");
    is(snapshot.general[GENERAL_bytes], 7, "a last line without its end still counts");
    parse(GROUP_SLABS, "STAT 256:total_pages 3\r\nSTAT 999999999999999999999:total_pages 3\r\nSTAT :x 1\r\nSTAT 5: 1\r\n"
                       "STAT 255:total_pages 9\r\n");
    is(snapshot.classes[255].value[CLASS_total_pages], 9, "the last class id is kept");
    parse(GROUP_GENERAL, "STAT version 1.6\033[2Jevil\r\n");
    ok(strchr(snapshot.version, '\033') == NULL, "a version string can't carry an escape");
}

TEST(test_an_empty_class_has_no_tail_age) {
    snapshot_init(&snapshot);
    parse(GROUP_ITEMS, "STAT items:5:number 0\r\nSTAT items:5:age 0\r\n");
    is(snapshot_tail_age(&snapshot.classes[5]), STAT_ABSENT, "age 0 of an empty class would look like starvation");
    ok(isnan(snapshot_free_pages(&snapshot.classes[5])), "free pages are unknown without chunks a page");
}

TEST(test_slateds_automove_names_are_modes) {
    snapshot_init(&snapshot);
    parse(GROUP_SETTINGS, "STAT slab_automove eviction\r\n");
    is(snapshot.setting[SETTING_slab_automove], 2, "eviction is mode 2");
    parse(GROUP_SETTINGS, "STAT slab_automove utility\r\n");
    is(snapshot.setting[SETTING_slab_automove], 6, "utility, beyond memcached's, is mode 6");
    parse(GROUP_SETTINGS, "STAT slab_automove lua:mine\r\n");
    is(snapshot.setting[SETTING_slab_automove], STAT_ABSENT, "a mode that is not listed is absent");
    is_str(snapshot.automove, "lua:mine", "but its name is kept");
}

TEST(test_slated_is_named_by_its_own_version) {
    static struct snapshot later;
    snapshot_init(&snapshot);
    parse(GROUP_GENERAL, "STAT version 1.6.45\r\n");
    is_str(snapshot_software(&snapshot), "memcached", "a server without stats slated is memcached");
    is_str(snapshot_version(&snapshot), "1.6.45", "with the version of its stats");
    parse(GROUP_SLATED, "STAT slated_version 0.1.0\r\n");
    is_str(snapshot_software(&snapshot), "slated", "one with them is slated");
    is_str(snapshot_version(&snapshot), "0.1.0", "with its own version, not the one it is compatible with");
    snapshot_init(&later);
    snapshot_inherit(&later, &snapshot);
    is_str(snapshot_version(&later), "0.1.0", "a later refresh, which does not request it, knows it, too");
    parse(GROUP_SLATED, "STAT slated_version 0\033[2J\r\n");
    ok(strchr(snapshot_version(&snapshot), '\033') == NULL, "it can't carry an escape either");
}

int main(void) { return tap_main(); }
