#include "brain/brain_query.h"
#include "brain/health.h"
#include "fixture.h"
#include "tap.h"

#include <math.h>

static struct health_line lines[HEALTH_LIMIT];
static struct snapshot snapshot;

/* The first line that contains the words, -1 when none does. */
static int find(int count, const char *words) {
    for (int i = 0; i < count; i++) {
        if (strstr(lines[i].text, words) != NULL) {
            return i;
        }
    }
    return -1;
}

TEST(test_hits_cover_all_seconds_seen) {
    look_at_model(fixture_model("memcached-1.4.25"), 2);
    int count = health_assess(model, 16100, 1000, lines), at = find(count, "hit ratio ");
    ok(at >= 0 && strstr(lines[at].text, "% over 6 s") != NULL, "after 6 s: %s", lines[at].text);
    fixture_go_on(model, 10);
    count = health_assess(model, 36100, 1000, lines);
    at = find(count, "hit ratio ");
    ok(at >= 0 && strstr(lines[at].text, "% over 10 s, ") != NULL && strstr(lines[at].text, "% over 26 s") != NULL,
           "after 26 s: %s", lines[at].text);
}

/* Every view causes the same requests, and so the same findings. */
TEST(test_facts_of_the_judgement_are_requested_now_and_then) {
    static const enum inquiry judged[] = {INQUIRY_MOVES, INQUIRY_MEMORY, INQUIRY_CURVE, INQUIRY_WHATIF};
    struct wants wants = {0};
    look_at_model(brain_model("x"), 0);
    health_wants(model, 1000, &wants);
    is(wants.unhurried, 0, "nothing before the server has named itself");
    look_at_model(fixture_model("slated-0.1"), 0);
    health_wants(model, 1000, &wants);
    is(wants.unhurried, INQUIRY_BIT(MOVES) | INQUIRY_BIT(MEMORY) | INQUIRY_BIT(CURVE) | INQUIRY_BIT(WHATIF), "then all of it");
    is(wants.inquiries, 0, "without a refresh of its own");
    struct details *details = model_open_details(model);
    for (size_t i = 0; i < sizeof judged / sizeof *judged; i++) {
        details_take(details, judged[i], 0, "STAT a 1\r\nEND\r\n", 15, true, 5000);
    }
    wants = (struct wants){0};
    health_wants(model, 14000, &wants);
    is(wants.unhurried, 0, "known data are not requested again at once");
    health_wants(model, 15000, &wants);
    ok(wants.unhurried & INQUIRY_BIT(CURVE), "but ten seconds later");
}

TEST(test_old_figures_are_called_old) {
    look_at_model(fixture_model("memcached-1.6.18"), 0);
    ok(!health_is_stale(model, 13000, 1000), "a second is fresh");
    ok(health_is_stale(model, 17000, 1000), "five are not");
    health_assess(model, 17000, 1000, lines);
    ok(lines[0].tone == TONE_BAD && strstr(lines[0].text, "5s old") != NULL, "said first: %s", lines[0].text);
    model_set_link(model, LINK_DOWN, "cannot connect: refused", 0);
    health_assess(model, 17000, 1000, lines);
    ok(strstr(lines[0].text, "figures are 5s old: cannot connect") != NULL, "with the reason: %s", lines[0].text);
}

TEST(test_without_figures_there_is_still_a_line) {
    look_at_model(brain_model("x"), 0);
    is(health_assess(model, 0, 1000, lines), 1, "one line");
    ok(strstr(lines[0].text, "connecting") != NULL, "it names the activity");
    model_set_link(model, LINK_DOWN, "cannot connect", 0);
    health_assess(model, 0, 1000, lines);
    is_str(lines[0].text, "cannot connect", "or why not");
}

TEST(test_losses_and_limits_are_reported) {
    look_at_model(fixture_model("memcached-1.6.18"), 0);
    fixture_load("memcached-1.6.18-second.txt", 14000, &snapshot);
    snapshot.classes[12].value[CLASS_outofmemory] += 40;
    snapshot.general[GENERAL_curr_connections] = 1000;
    snapshot.general[GENERAL_slab_reassign_busy_deletes] += 10;
    model_add(model, &snapshot, 0);
    int count = health_assess(model, 14100, 1000, lines);
    int no_memory = find(count, "class 12 refuses 20 stores a second");
    ok(no_memory >= 0 && lines[no_memory].tone == TONE_BAD && lines[no_memory].key == 'm', "refused sets are bad, and pages help");
    int connections = find(count, "1000 of 1024 connections are open");
    ok(connections >= 0 && lines[connections].tone == TONE_WARN, "nearly full connections are warned of");
    ok(find(count, "page moves lose 5 items a second") >= 0, "items that moves lose are named");
    for (int i = 1; i < count; i++) {
        ok(lines[i - 1].tone >= lines[i].tone, "line %d is not worse than the one above", i);
    }
}

TEST(test_findings_are_kept_until_there_is_news) {
    look_at_model(fixture_model("memcached-1.4.25"), 2); /* class 12 has one page and evicts 100 of its 700 items a second */
    unsigned count, again;
    const struct sentence *kept = brain_findings(model, &count);
    ok(count > 0 && brain_findings(model, &again) == kept && again == count, "requested twice, found once");
    is_str(kept[0].label, "starving", "each by the name of its check");
    const char *moves = "STAT mode off\r\nSTAT failed lua:mine: line 3\r\nEND\r\n";
    details_take(model_open_details(model), INQUIRY_MOVES, 0, moves, strlen(moves), true, 17000);
    kept = brain_findings(model, &count);
    bool is_found = false;
    for (unsigned i = 0; i < count; i++) {
        is_found = is_found || strcmp(kept[i].label, "automove_failed") == 0;
    }
    ok(is_found, "a reply is news, as a snapshot is");
}

int main(void) { return fixture_main(); }
