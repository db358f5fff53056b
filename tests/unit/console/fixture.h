/* Loads a server's replies from fixtures/ into a snapshot; see fixtures/README.md for the format.
 */
#ifndef CONSOLE_TEST_FIXTURE_H
#define CONSOLE_TEST_FIXTURE_H
#include "tap.h"

#include "model.h"
#include "stats.h"

/* The text of a fixture; the caller frees it. Ends the test when it can't be read: nothing could be
 * claimed. */
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
                                                   "stats settings", "stats slated"};
    int group = 0;
    while (group < GROUP_COUNT && strcmp(names[group], heading) != 0) {
        group++;
    }
    return (enum stats_group)group;
}

__attribute__((unused)) static void fixture_load(const char *name, uint64_t at_ms,
                                                 struct snapshot *snapshot) {
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
        snapshot_parse(snapshot, fixture_group(heading), body + 1, (size_t)(stop - body - 1));
        at = stop;
    }
    free(text);
}

/* A model that has seen both refreshes of a server, two seconds apart, the second at 12,000 ms. */
__attribute__((unused)) static struct model *fixture_model(const char *server) {
    static struct snapshot snapshot;
    char name[100];
    struct model *model = model_create("cache7:11211");
    model_set_link(model, LINK_UP, "", 1000);
    snprintf(name, sizeof name, "%s-first.txt", server);
    fixture_load(name, 10000, &snapshot);
    model_add(model, &snapshot, 1000);
    snprintf(name, sizeof name, "%s-second.txt", server);
    fixture_load(name, 12000, &snapshot);
    model_add(model, &snapshot, 1002);
    return model;
}
#endif
