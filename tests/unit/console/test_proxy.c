/* memcached as a proxy: no empty cache, in the fleet and in the overview. */
#include "screen.h"

#include <math.h>

static struct model *model;

static struct fleet_row row_of(void) {
    return fleet_row_of(model, 12400, 1000, 0);
}

static void test_what_it_tells_is_read(void) {
    static struct snapshot now;
    fixture_load("memcached-1.6.45-proxy-second.txt", 1, &now);
    ok(snapshot_is_proxy(&now) && !snapshot_has_cache(&now), "a proxy without items has no cache");
    is(now.general[GENERAL_proxy_links_bad], 2, "each of two threads has a bad link");
    is(now.general[GENERAL_proxy_backend_total], 4, "of four");
    now.general[GENERAL_curr_items] = 1;
    ok(snapshot_has_cache(&now), "with an item it is one, too");
    fixture_load("memcached-1.6.45-second.txt", 1, &now);
    ok(!snapshot_is_proxy(&now) && snapshot_has_cache(&now), "others are no proxies");
    is(now.general[GENERAL_proxy_links_bad], STAT_ABSENT, "and have no links");
    snapshot_parse(&now, GROUP_PROXY_BACKENDS, "END\r\n", 5);
    is(now.general[GENERAL_proxy_links_bad], 0, "where no backend is named none is bad");
}

static void test_values_on_flash_take_no_memory(void) {
    static struct snapshot now;
    fixture_load("memcached-1.6.45-extstore-second.txt", 1, &now);
    double bytes = stat_number(now.general[GENERAL_bytes]);
    ok(bytes > stat_number(now.general[GENERAL_limit_maxbytes]), "memcached counts them: %.0f", bytes);
    ok(snapshot_item_bytes(&now) < stat_number(now.general[GENERAL_limit_maxbytes]), "and they are taken off");
}

static void test_the_fleet_shows_it_as_one(void) {
    struct frame frame = frame_of(model);
    struct fleet_row row = row_of();
    char text[40];
    is_str(fleet_text(&row, FLEET_VERSION, text), "p1.6.45", "a p before the version");
    ok(isnan(row.value[FLEET_GETS]) && isnan(row.value[FLEET_HIT]) && isnan(row.value[FLEET_EVICTIONS]) && isnan(row.value[FLEET_FILL]) &&
           isnan(row.value[FLEET_AGE]) && isnan(row.value[FLEET_MEMORY]),
       "it has no figures of a cache");
    reset_ui(view_at(&fleet_view));
    draw(&frame, 80, 24, false);
    ok(shows("requests/s, 2 of 4 links to backends bad"), "its links are told");
    ok(shows("1 server, 1 up: - gets/s"), "what it is asked for does not count in the pool");
    draw(&frame, 160, 50, false);
    ok(shows("requests/s, 2 of 4 links to backends bad"), "in its row, too");
    is(clipped, 0, "nothing is cut");
}

static void test_the_overview_says_so(void) {
    struct frame frame = frame_of(model);
    reset_ui(view_at(&overview_view));
    draw(&frame, 80, 24, false);
    ok(shows("BAD ") && shows("links to backends bad"), "that links are bad comes first");
    ok(!shows("no evictions") && !shows("no hit ratio"), "nothing is said of a cache");
}

int main(void) {
    model = fixture_model("memcached-1.6.45-proxy");
    fixture_go_on(model, 1);
    test_what_it_tells_is_read();
    test_values_on_flash_take_no_memory();
    test_the_fleet_shows_it_as_one();
    test_the_overview_says_so();
    model_destroy(&model);
    return tap_done();
}
