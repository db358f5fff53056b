#include "app/options/remembered.h"

#include "act/audit.h"
#include "app/options/settings_file.h"
#include "brain/lua_outside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The choices of a file, until all of its lines are known to be sound. */
struct choices {
    struct ui *ui;
    unsigned theme;
};

bool remembered_path(char out[REMEMBERED_PATH_BYTES]) {
    return lua_outside_place("remembered", out, REMEMBERED_PATH_BYTES);
}

/* ---- writing ---- */

struct text {
    char *out;
    size_t used;
};

__attribute__((format(printf, 2, 3))) /* appends to the text */
static void remembered_put(struct text *text, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(text->out + text->used, REMEMBERED_BYTES - text->used, format, ap);
    va_end(ap);
    text->used += n > 0 && (size_t)n < REMEMBERED_BYTES - text->used ? (size_t)n : 0;
}

/* Writes the columns. "+" before a name: always shown; "-": never shown. */
static void remembered_put_columns(struct text *text, const struct class_table_ui *table) {
    remembered_put(text, "columns =");
    for (int i = 0; i < COLUMN_COUNT; i++) {
        enum column_choice choice = table->choice[table->order[i]];
        const char *sign = choice == COLUMN_ALWAYS ? "+" : choice == COLUMN_NEVER ? "-" : "";
        remembered_put(text, " %s%s", sign, class_columns[table->order[i]].name);
    }
    remembered_put(text, "\n");
}

void remembered_write(const struct ui *ui, unsigned theme, char out[REMEMBERED_BYTES]) {
    const struct class_table_ui *table = &ui->classes;
    struct text text = {.out = out};
    out[0] = '\0';
    remembered_put(&text, "# What slatetop was left with. Remove the file, or start with "
                          "--no-state, to begin with the defaults.\n");
    remembered_put(&text, "theme = %s\n", cells_themes[theme]);
    /* the operator's own columns may differ in the next run */
    if (table->sort < COLUMN_COUNT) {
        remembered_put(&text, "sort = %s %s\n", class_columns[table->sort].name,
                       table->is_ascending ? "up" : "down");
    }
    remembered_put_columns(&text, table);
    remembered_put(&text, "filter = %s\n", table->filter);
}

/* ---- reading ---- */

static bool remembered_take_theme(struct choices *choices, const char *value) {
    choices->theme = cells_theme_named(value);
    return choices->theme < THEME_COUNT;
}

/* "NAME up" or "NAME down". */
static bool remembered_take_sort(struct choices *choices, const char *value) {
    struct class_table_ui *table = &choices->ui->classes;
    size_t n = strcspn(value, " ");
    table->is_ascending = strcmp(value + n, " up") == 0;
    table->sort = class_column_named(value, n);
    return table->sort < COLUMN_COUNT && (table->is_ascending || strcmp(value + n, " down") == 0);
}

/* Takes each column once. Columns that the file lacks, of a later version, come last. */
static bool remembered_take_columns(struct choices *choices, const char *value) {
    struct class_table_ui *table = &choices->ui->classes;
    bool is_named[COLUMN_COUNT] = {false};
    unsigned count = 0;
    for (size_t n; value += strspn(value, " "), (n = strcspn(value, " ")) > 0; value += n) {
        bool has_sign = value[0] == '+' || value[0] == '-';
        unsigned column = class_column_named(value + has_sign, n - has_sign);
        if (column == COLUMN_COUNT || is_named[column]) {
            return false;
        }
        is_named[column] = true;
        table->order[count++] = (uint8_t)column;
        table->choice[column] = value[0] == '+'   ? COLUMN_ALWAYS
                                : value[0] == '-' ? COLUMN_NEVER
                                                  : COLUMN_AUTO;
    }
    for (unsigned column = 0; column < COLUMN_COUNT; column++) {
        if (!is_named[column]) {
            table->order[count++] = (uint8_t)column;
            table->choice[column] = COLUMN_AUTO;
        }
    }
    return true;
}

static bool remembered_take_filter(struct choices *choices, const char *value) {
    struct class_table_ui *table = &choices->ui->classes;
    char why[120];
    if (strlen(value) >= sizeof table->filter || !class_filter_check(value, why, sizeof why)) {
        return false;
    }
    snprintf(table->filter, sizeof table->filter, "%s", value);
    return true;
}

static const struct {
    const char *name;
    bool (*take)(struct choices *choices, const char *value);
} takers[] = {{"theme", remembered_take_theme},
              {"sort", remembered_take_sort},
              {"columns", remembered_take_columns},
              {"filter", remembered_take_filter}};

/* Takes a line; passes over the names of other versions. */
static bool remembered_take_line(void *taker, const char *name, const char *value, char *why,
                                 size_t why_bytes) {
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++) {
        if (strcmp(takers[i].name, name) == 0 && !takers[i].take(taker, value)) {
            snprintf(why, why_bytes, "%s can't be '%.40s'", name, value);
            return false;
        }
    }
    return true;
}

bool remembered_load(const char *path, struct ui *ui, unsigned *theme, char *why,
                     size_t why_bytes) {
    struct ui before = *ui;
    struct choices choices = {.ui = ui, .theme = *theme};
    if (settings_file_read(path, false, remembered_take_line, &choices, why, why_bytes) !=
        SETTINGS_TAKEN) {
        *ui = before;
        return false;
    }
    *theme = choices.theme;
    return true;
}

/* ---- the file ---- */

bool remembered_save(const char *path, const char *text, char *why, size_t why_bytes) {
    char part[REMEMBERED_PATH_BYTES + 16];
    snprintf(part, sizeof part, "%s.%ld.part", path, (long)getpid());
    audit_make_folders(path);
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ssize_t bytes = (ssize_t)strlen(text), written = fd >= 0 ? write(fd, text, (size_t)bytes) : -1;
    int error = written >= 0 && written < bytes ? ENOSPC : errno;
    bool is_closed = fd >= 0 && close(fd) == 0;
    if (written == bytes && is_closed && rename(part, path) == 0) {
        return true;
    }
    error = written == bytes ? errno : error;
    if (fd >= 0) {
        unlink(part);
    }
    snprintf(why, why_bytes, "cannot remember what you chose in %.100s: %s", path, strerror(error));
    return false;
}
