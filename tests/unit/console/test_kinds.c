/* Kinds of memcached: with storage on flash, and as a proxy, which is no empty cache. */
#include "act/action.h"
#include "brain/brain_query.h"
#include "screen.h"

#include <math.h>

#define FLASH "memcached-1.6.45-extstore"

static struct snapshot now;

static struct model *flash_model(void) {
    struct model *flash = fixture_model(FLASH);
    fixture_details(flash, FLASH "-second.txt", 0, 12000);
    return flash;
}

TEST(test_statistics_of_each_kind_are_read) {
    fixture_load(FLASH "-second.txt", 1, &now);
    ok(snapshot_has_extstore(&now) && now.general[GENERAL_extstore_limit_maxbytes] == 64 << 20, "there is storage, so large");
    is(now.general[GENERAL_extstore_memory_pressure], 3000, "30.00 %% in hundredths");
    is(now.setting[SETTING_ext_max_frag], 800, "max_frag in thousandths");
    double bytes = stat_number(now.general[GENERAL_bytes]), limit = stat_number(now.general[GENERAL_limit_maxbytes]);
    ok(bytes > limit && snapshot_item_bytes(&now) < limit, "values on flash, which memcached counts, are taken off: %.0f", bytes);
    fixture_load("memcached-1.6.45-proxy-second.txt", 1, &now);
    ok(snapshot_is_proxy(&now) && !snapshot_has_cache(&now), "a proxy without items has no cache");
    ok(now.general[GENERAL_proxy_links_bad] == 2 && now.general[GENERAL_proxy_backend_total] == 4, "each of two threads has a bad link, of four");
    now.general[GENERAL_curr_items] = 1;
    ok(snapshot_has_cache(&now), "with an item it is one, too");
    fixture_load("memcached-1.6.45-second.txt", 1, &now);
    ok(!snapshot_has_extstore(&now) && !snapshot_is_proxy(&now) && snapshot_has_cache(&now), "others are neither");
    is(now.general[GENERAL_proxy_links_bad], STAT_ABSENT, "and have no links");
    snapshot_parse(&now, GROUP_PROXY_BACKENDS, "END\r\n", 5);
    is(now.general[GENERAL_proxy_links_bad], 0, "where no backend is named none is bad");
}

/* tests/real/slatectl_extstore_spec.lua tests all accepted and refused values. */
TEST(test_settings_of_flash_are_checked_and_sent) {
    struct action none = action_set("ext_item_size", "0"), half = action_set("ext_drop_unread", "yes");
    char why[NOTE_BYTES], line[ACTION_LINE_BYTES] = "";
    unsigned times;
    look(flash_model(), 0, 3);
    ok(!action_check(&none, model, why, sizeof why), "ext_item_size 0: %s", why);
    ok(action_check(&half, model, why, sizeof why) && action_line(&half, model, 0, line, &times), "a switch: %s", why);
    is_str(line, "extstore drop_unread 1", "as memcached wants it");
    tune_view.command(&frame, &ui, COMMAND_BOTTOM);
    is_str(setting_name_at(ui.tune.cursor), "ext_max_sleep", "the last row of the settings is one of storage");
    draw(&frame, 80, 24, false);
    ok(shows(" flash item size     512") && shows(" flash max sleep us  1000000"), "with their meaning");
    look(fixture_model("memcached-1.6.45"), 0, 3);
    tune_forget(&ui);
    draw(&frame, 80, 50, false);
    ok(!shows("flash"), "without storage they are left out");
}

int main(void) { return fixture_main(); }
