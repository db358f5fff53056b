/* Every view at two sizes, compared with the reviewed file of the same name in screens/: text, and the styles of its cells below each line
 * that has any. A change of layout is a diff there: SCREENS=update writes the files anew. */
#include "screen.h"

#include <ctype.h>

/* By enum style; a capital letter is a cell of the row under the cursor. */
static const char letters[] = {'p', 'd', 's', 't', 'h', 'k', 'g', 'o', 'w', 'b', 'i'};

static size_t trimmed(const char *text, size_t length) {
    while (length > 0 && text[length - 1] == ' ') {
        length--;
    }
    return length;
}

/* The screen as saved. */
static char *kept_text(int width, int height) {
    struct cells *cells = cells_create(width, height, false);
    screen_draw(&frame, &ui, cells);
    size_t bytes = (size_t)height * (size_t)(5 * width + 8) + 1, used = 0;
    char *text = calloc(1, bytes);
    for (int y = 0; y < height; y++) {
        char styles[400];
        cells_row(cells, y, text + used, bytes - used);
        used += trimmed(text + used, strlen(text + used));
        text[used++] = '\n';
        for (int x = 0; x < width; x++) {
            uint8_t style = cells->grid[y * width + x].style;
            char letter = letters[style & ~CELL_SELECTED];
            styles[x] = style & CELL_SELECTED ? (char)toupper(letter) : letter == 'p' ? ' ' : letter;
        }
        size_t length = trimmed(styles, (size_t)width);
        if (length > 0) {
            used += (size_t)sprintf(text + used, "~%.*s\n", (int)length, styles);
        }
    }
    text[used] = '\0';
    cells_destroy(&cells);
    return text;
}

static void compare(const char *name, int width, int height) {
    char path[512];
    const char *slash = strrchr(__FILE__, '/');
    snprintf(path, sizeof path, "%.*s/screens/%s-%dx%d.txt", (int)(slash - __FILE__), __FILE__, name, width, height);
    for (char *at = strrchr(path, '/'); *at != '\0'; at++) {
        *at = *at == ' ' ? '-' : *at;
    }
    char *now = kept_text(width, height);
    const char *wish = getenv("SCREENS");
    if (wish != NULL && strcmp(wish, "update") == 0) {
        FILE *file = fopen(path, "w");
        ok(file != NULL && fputs(now, file) >= 0 && fclose(file) == 0, "%s is written", path);
        free(now);
        return;
    }
    char *kept = calloc(1, 1 << 18);
    FILE *file = fopen(path, "r");
    size_t bytes = file != NULL ? fread(kept, 1, (1 << 18) - 1, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    ok(bytes > 0 && strcmp(kept, now) == 0, "%s at %dx%d is as it was reviewed", name, width, height);
    if (bytes == 0 || strcmp(kept, now) != 0) {
        int line = 1;
        for (const char *a = kept, *b = now; *a != '\0' && *a == *b; a++, b++) {
            line += *a == '\n';
        }
        printf("# %s differs from line %d on; SCREENS=update writes it anew, to be reviewed\n", path, line);
    }
    free(kept);
    free(now);
}

int main(void) {
    static const int sizes[][2] = {{80, 24}, {160, 50}};
    setenv("TZ", "UTC", 1);
    look(fixture_model("memcached-1.6.18"), 20, 0);
    for (int size = 0; size < 2; size++) {
        int width = sizes[size][0], height = sizes[size][1];
        for (unsigned view = 0; view_list[view] != NULL; view++) {
            reset_ui(view);
            compare(view_list[view]->name, width, height);
        }
        reset_ui(0);
        ui.help_is_open = true;
        compare("help", width, height);
        reset_ui(0);
        struct plan plan = propose_move(&frame, 12, 4).plan;
        review_open(&ui.review, &plan, NULL);
        compare("review", width, height);
    }
    return fixture_main();
}
