#include "server/config/saved_settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "mem/settings_blob.h"

enum { VALUE_BYTES = 1024 };

/* Appends a line. False: the line does not fit. */
static bool saved_settings_put_line(char *text, size_t *used, const struct setting *row,
                                    const struct settings *s) {
    char value[VALUE_BYTES];
    setting_format(s, row, value, sizeof value);
    int n = snprintf(text + *used, SETTINGS_BLOB_BYTES - *used, "%s %s\n", row->name, value);
    bool fits = n > 0 && (size_t)n < SETTINGS_BLOB_BYTES - *used;
    *used += fits ? (size_t)n : 0;
    return fits;
}

void saved_settings_write(struct cache *cache, const struct settings *start,
                          const struct settings *now) {
    char *text = malloc(SETTINGS_BLOB_BYTES);
    size_t used = 0;
    bool complete = text != NULL;
    for (const struct setting *row = setting_table;
         text != NULL && row < setting_table + SETTING_ROWS; row++) {
        if (setting_is_live(now, row) && !setting_same(start, now, row)) {
            complete = saved_settings_put_line(text, &used, row, now) && complete;
        }
    }
    if (!complete || !cache_save_settings(cache, text, used)) {
        log_warn("a setting that was changed will not outlive the process: there is no room for "
                 "it");
    }
    free(text);
}

static void saved_settings_take_line(struct settings *to, char *line) {
    char why[SETTING_WHY_BYTES], *value = strchr(line, ' ');
    size_t name_bytes = value != NULL ? (size_t)(value - line) : strlen(line);
    const struct setting *row = setting_find(line, name_bytes);
    if (value == NULL || row == NULL || !setting_is_live(to, row)) {
        log_warn("the memory file names a setting that this slated does not have: %.60s", line);
        return;
    }
    const struct setting live = setting_live(row, SIZE_MAX);
    if (!to->given[row - setting_table] && !setting_set(to, &live, value + 1, false, why)) {
        log_warn("the memory file's %s is left out: it %s", row->name, why);
    }
}

void saved_settings_read(char *text, struct settings *to) {
    for (char *remainder, *line = strtok_r(text, "\n", &remainder); line != NULL;
         line = strtok_r(NULL, "\n", &remainder)) {
        saved_settings_take_line(to, line);
    }
}
