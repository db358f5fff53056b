#include "app/terminal.h"

#include <stdio.h>

void toggle_mouse(struct app *app, uint64_t now_ms) {
    app->has_mouse = !app->has_mouse;
    term_set_mouse(app->has_mouse);
    show_message(app, app->has_mouse ? "mouse on: Shift selects text, M releases it"
                                     : "mouse off: the terminal has it",
                 now_ms);
}

void set_theme(struct app *app, unsigned theme, uint64_t now_ms) {
    char text[NOTE_BYTES];
    app->theme = theme;
    snprintf(text, sizeof text,
             term_set_theme(app->theme) ? "theme: %s"
                                        : "no colours here: mono is the only theme%.0s",
             theme_names[app->theme]);
    show_message(app, text, now_ms);
}

void next_theme(struct app *app, uint64_t now_ms) {
    set_theme(app, (app->theme + 1) % THEME_COUNT, now_ms);
}
