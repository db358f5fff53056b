/* Loads a server's replies from fixtures/ into a snapshot; see fixtures/README.md for the format.
 */
#ifndef CONSOLE_TEST_FIXTURE_H
#define CONSOLE_TEST_FIXTURE_H
#include "brain/brain.h"
#include "tap.h"

#include "facts/model.h"
#include "facts/stats_snapshot.h"

/* The text of a fixture; the caller frees it. An unreadable fixture ends the test. */
static char *fixture_text(const char *name, size_t *bytes) {
    char path[512];
    const char *slash = strrchr(__FILE__, '/');
    int n =
        snprintf(path, sizeof path, "%.*s/fixtures/%s", (int)(slash - __FILE__), __FILE__, name);
    FILE *file = n < (int)sizeof path ? fopen(path, "r") : NULL;
    if (file == NULL) {
        printf("Bail out! cannot open %s: run from the top of the tree\n", path);
        exit(1);
    }
    char *text = calloc(1, (1 << 20) + 1);
    *bytes = text != NULL ? fread(text, 1, 1 << 20, file) : 0;
    fclose(file);
    return text;
}

static enum stats_group fixture_group(const char *heading) {
    static const char *const names[GROUP_COUNT] = {"stats", "stats items", "stats slabs",
                                                   "stats settings", "stats slated",
                                                   "stats proxybe"};
    int group = 0;
    while (group < GROUP_COUNT && strcmp(names[group], heading) != 0) {
        group++;
    }
    return (enum stats_group)group;
}

__attribute__((unused)) static void fixture_load(const char *name, uint64_t at_ms, struct snapshot *snapshot) {
    size_t bytes;
    char *text = fixture_text(name, &bytes);
    snapshot_init(snapshot);
    snapshot->at_ms = at_ms;
    snapshot->reply_ms = 0.4;
    for (char *at = text, *end = text + bytes; at < end;) {
        char heading[40] = "";
        sscanf(at, "### %39[^\n]", heading);
        char *body = memchr(at, '\n', (size_t)(end - at));
        char *next = body != NULL ? strstr(body, "\n### ") : NULL;
        char *stop = next != NULL ? next + 1 : end;
        enum stats_group group = fixture_group(heading);
        if (group < GROUP_COUNT) {
            snapshot_parse(snapshot, group, body + 1, (size_t)(stop - body - 1));
        }
        at = stop;
    }
    free(text);
}

/* The reply to "stats settings" in a server's fixture, as text. */
__attribute__((unused)) static void fixture_answers(const char *name, struct answers *answers) {
    size_t bytes;
    char *text = fixture_text(name, &bytes);
    const char *body = strstr(text, "### stats settings\n");
    const char *end = body != NULL ? strstr(body + 4, "\n### ") : NULL;
    if (body != NULL) {
        body += strlen("### stats settings\n");
        inquiry_take(answers, INQUIRY_SETTINGS, body, end != NULL ? (size_t)(end - body) : strlen(body), true, 1);
    }
    free(text);
}

/* A model that has seen both refreshes of a server, two seconds apart, the second at 12,000 ms. */
__attribute__((unused)) static struct model *fixture_model(const char *server) {
    static struct snapshot snapshot;
    char name[100];
    struct model *model = brain_model("cache7:11211");
    model_set_link(model, LINK_UP, "", 1000);
    snprintf(name, sizeof name, "%s-first.txt", server);
    fixture_load(name, 10000, &snapshot);
    model_add(model, &snapshot, 1000);
    snprintf(name, sizeof name, "%s-second.txt", server);
    fixture_load(name, 12000, &snapshot);
    model_add(model, &snapshot, 1002);
    struct answers answers = {0};
    fixture_answers(name, &answers);
    const char *settings = inquiry_text(&answers, INQUIRY_SETTINGS);
    if (settings != NULL) {
        details_take(model_open_details(model), INQUIRY_SETTINGS, 0, settings, strlen(settings), true, 12000);
    }
    inquiry_fini(&answers);
    return model;
}

/* The server goes on as between the last two refreshes, which were of the same connection. */
__attribute__((unused)) static void fixture_go_on(struct model *model, int refreshes) {
    static struct snapshot before, next;
    for (int round = 0; round < refreshes; round++) {
        before = *model_before(model);
        next = *model_now(model);
        next.at_ms += model_now(model)->at_ms - before.at_ms;
        for (int i = 0; i < GENERAL_COUNT; i++) {
            bool has_grown = next.general[i] != STAT_ABSENT && next.general[i] > before.general[i];
            next.general[i] += has_grown ? next.general[i] - before.general[i] : 0;
        }
        for (unsigned i = 0; i < next.class_end * CLASS_COUNT; i++) {
            uint64_t was = snapshot_class(&before, i / CLASS_COUNT)->value[i % CLASS_COUNT];
            uint64_t *is = &next.classes[i / CLASS_COUNT].value[i % CLASS_COUNT];
            *is += *is != STAT_ABSENT && *is > was ? *is - was : 0;
        }
        model_add(model, &next, 1002);
    }
}

/* Forty busy classes: the changes of a second on a large server. */
__attribute__((unused)) static void fixture_busy_second(struct snapshot *one, unsigned *seed) {
    for (int i = 0; i < GENERAL_COUNT; i++) {
        one->general[i] += (unsigned)rand_r(seed) % 50000;
    }
    one->at_ms += 995 + (unsigned)rand_r(seed) % 10;
    one->reply_ms = (double)((unsigned)rand_r(seed) % 1000) / 1000;
    for (int id = 1; id <= 40; id++) {
        struct class_stats *stats = snapshot_add_class(one, (unsigned)id);
        stats->value[CLASS_get_hits] += (unsigned)rand_r(seed) % 3000;
        stats->value[CLASS_cmd_set] += (unsigned)rand_r(seed) % 1000;
        stats->value[CLASS_evicted] += (unsigned)rand_r(seed) % 500;
        stats->value[CLASS_evicted_unfetched] += (unsigned)rand_r(seed) % 100;
        stats->value[CLASS_age] = 600 + (unsigned)rand_r(seed) % 20;
        stats->value[CLASS_mem_requested] += (unsigned)rand_r(seed) % 9000;
        stats->value[CLASS_number_hot] += (unsigned)rand_r(seed) % 30;
        stats->value[CLASS_free_chunks] = (unsigned)rand_r(seed) % 200;
        if (stats->present) { /* as a server counts: chunks that are not free are used, the others are cold */
            stats->value[CLASS_used_chunks] =
                stats->value[CLASS_total_chunks] - stats->value[CLASS_free_chunks];
            stats->value[CLASS_number_cold] = stats->value[CLASS_number] -
                                              stats->value[CLASS_number_hot] -
                                              stats->value[CLASS_number_warm];
        }
    }
}

/* The model under test; each one replaces the previous one. */
__attribute__((unused)) static struct model *model;

__attribute__((unused)) static void look_at_model(struct model *next, int refreshes) {
    model_destroy(&model);
    model = next;
    if (refreshes > 0) {
        fixture_go_on(model, refreshes);
    }
}

__attribute__((unused)) static int fixture_main(void) {
    tap_run_tests();
    model_destroy(&model);
    return tap_done();
}

/* Data that only some views need, from the same file; class_id: the class with all its statistics. */
__attribute__((unused)) static void fixture_details(struct model *of, const char *name, unsigned class_id, uint64_t at_ms) {
    static const struct {
        const char *heading;
        enum inquiry group;
    } groups[] = {{"stats moves", INQUIRY_MOVES},         {"stats automove", INQUIRY_AUTOMOVE},
                  {"stats policies", INQUIRY_POLICIES},   {"stats evictions", INQUIRY_EVICTIONS},
                  {"stats pages 0 4096", INQUIRY_PAGES},  {"stats sizehist", INQUIRY_SIZEHIST},
                  {"stats geometry", INQUIRY_GEOMETRY},   {"stats curve", INQUIRY_CURVE},
                  {"stats config", INQUIRY_CONFIG},
                  {"stats whatif", INQUIRY_WHATIF},       {"stats hotkeys 64", INQUIRY_HOTKEYS}};
    struct details *details = model_open_details(of);
    size_t bytes;
    char *text = fixture_text(name, &bytes);
    details_focus(details, class_id);
    for (char *at = text, *end = text + bytes; at < end;) {
        char heading[40] = "";
        unsigned curve_class;
        sscanf(at, "### %39[^\n]", heading);
        char *body = strchr(at, '\n') + 1;
        char *next = strstr(body, "\n### ");
        char *stop = next != NULL ? next + 1 : end;
        size_t body_bytes = (size_t)(stop - body);
        if (fixture_group(heading) < GROUP_COUNT) {
            details_take_group(details, fixture_group(heading), body, body_bytes, true, at_ms);
        } else if (sscanf(heading, "stats curve %u", &curve_class) == 1) {
            details_take(details, INQUIRY_CLASS_CURVES, curve_class, body, body_bytes, true, at_ms);
        }
        for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
            if (strcmp(groups[i].heading, heading) == 0) {
                details_take(details, groups[i].group, 0, body, body_bytes, true, at_ms);
            }
        }
        at = stop;
    }
    free(text);
}
#endif
