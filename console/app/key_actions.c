#include "app/key_actions.h"

#include "app/changes.h"
#include "app/past.h"
#include "brain/brain_query.h"
#include "views/overlay/palette.h"
#include "views/review/marked.h"

#include <stdio.h>
#include <string.h>

enum { WHEEL_ROWS = 3 };

/* Shows another server; each server has its own past. A pause goes on at the same time of day.
 * Choices made for the previous server are forgotten. */
static void keys_choose_server(struct app *app, unsigned server) {
    struct session *session = server < app->fleet.count ? app->fleet.list[server] : app->open;
    if (session == app->open) {
        return;
    }
    bool was_past = app->timeline.is_past;
    int64_t wall_ms = app->timeline.wall_ms;
    app->open = session;
    app->ui.classes.cursor = app->ui.classes.top = 0;
    app->ui.classes.source = -1;
    tune_forget(&app->ui);
    timeline_go_live(&app->timeline);
    if (was_past) {
        timeline_seek(&app->timeline, session->tape, wall_ms);
    }
}

void key_follow_row(struct app *app, bool is_held) {
    unsigned selected = fleet_selected(app->rows, app->row_count, &app->ui);
    if (view_current(&app->ui) == &fleet_view && selected > 0 && !app->ui.review.is_open) {
        keys_choose_server(app, selected - 1);
        app->ui.fleet.cursor = is_held ? selected : app->ui.fleet.cursor;
    }
}

static void keys_toggle_mouse(struct app *app, uint64_t now_ms) {
    app->has_mouse = !app->has_mouse;
    term_set_mouse(app->has_mouse);
    app_report(app, app->has_mouse ? "mouse on: Shift selects text, M releases it"
                                   : "mouse off: the terminal has it", now_ms);
}

static void keys_set_theme(struct app *app, unsigned theme, uint64_t now_ms) {
    char text[NOTE_BYTES];
    app->theme = theme;
    snprintf(text, sizeof text,
             term_set_theme(app->theme) ? "theme: %s"
                                        : "no colours here: mono is the only theme%.0s",
             cells_themes[app->theme]);
    app_report(app, text, now_ms);
}

static void keys_run_command(struct app *app, enum command command, uint64_t now_ms);

static void keys_apply_intent(struct app *app, const struct intent *intent, uint64_t now_ms) {
    switch (intent->kind) {
    case INTENT_NONE:
        break;
    case INTENT_REVIEW:
        if (app->timeline.is_past) {
            const char *past = "this is the past: . returns to live, where it can be changed";
            app_report(app, app->replay != NULL ? "a recording can't be changed" : past, now_ms);
            break;
        }
        review_open(&app->ui.review, &intent->plan, NULL);
        app->ui.review.is_for_marked = view_current(&app->ui) == &fleet_view &&
                                       marked_count(&app->ui) > 0 && marked_takes(&intent->plan);
        break;
    case INTENT_SAY:
        app_report(app, intent->text, now_ms);
        break;
    case INTENT_OPEN_SERVER:
        keys_choose_server(app, intent->server);
        app->ui.fleet.cursor = intent->server + 1;
        view_open(&app->ui, 0);
        timeline_go_live(&app->timeline);
        break;
    case INTENT_COMMAND:
        keys_run_command(app, intent->command, now_ms);
        break;
    case INTENT_THEME:
        keys_set_theme(app, intent->theme, now_ms);
        break;
    }
}

static void keys_open_help(struct ui *ui) {
    ui->help_is_open = true;
    ui->help_is_searched = false;
    ui->help_searched[0] = '\0';
    ui->help_top = 0;
}

static void key_in_review(struct app *app, enum command command, uint32_t key, uint64_t now_ms) {
    struct review *review = &app->ui.review;
    if ((key >= '0' && key <= '9') || key == '.') {
        review_type(review, (char)key);
    } else if (command == COMMAND_SEND) {
        change_send_reviewed(app, now_ms);
    } else if (command == COMMAND_HELP) {
        keys_open_help(&app->ui);
    } else if (command == COMMAND_CANCEL) {
        review->is_open = false;
    } else {
        review_command(review, app_live_model(app), command);
    }
}

static void key_in_search(struct ui *ui, enum command command, uint32_t key) {
    if (command == COMMAND_ACCEPT || command == COMMAND_CANCEL) {
        ui->help_is_searched = false;
        ui->help_searched[command == COMMAND_CANCEL ? 0 : strlen(ui->help_searched)] = '\0';
    } else {
        key_type(ui->help_searched, sizeof ui->help_searched, command, key);
    }
    ui->help_top = 0;
}

static void key_in_help(struct ui *ui, enum command command) {
    enum { SCREEN = 15, ROWS_MOST = 1000 }; /* drawing limits it to the last line */
    ui->help_top = key_step(ui->help_top, key_move_rows(command, SCREEN), ROWS_MOST);
    ui->help_is_searched = command == COMMAND_FILTER;
    ui->help_is_open = command != COMMAND_CANCEL;
}

static unsigned keys_count_views(void) {
    unsigned count = 0;
    while (view_list[count] != NULL) {
        count++;
    }
    return count;
}

/* Refuses a stream that may crash the server: versions of memcached have such faults. */
static bool keys_begin_stream(const struct app *app, struct session *session, enum stream stream) {
    const struct proposed_change watch = {.name = "watch", .value = watch_stream_name(stream)};
    const struct question question = {
        .module = "slate.judge.attention", .function = "watch_automove", .change = &watch};
    struct sentence out[SENTENCES_MOST];
    if (stream != STREAM_NONE && brain_query(session->model, &question, out) > 0) {
        return watch_refuse(&session->watch, stream, out[0].text);
    }
    return watch_start(&session->watch, &session->address, &app->options->access, stream);
}

/* Switches to the next stream, and after the last to none; drops the previous stream's events. */
static void keys_next_stream(struct app *app, uint64_t now_ms) {
    struct session *session = app->open;
    if (session == NULL || app->replay != NULL) {
        app_report(app, "a recording has no streams", now_ms);
        return;
    }
    enum stream now = session->watch.log != NULL ? session->watch.log->stream : STREAM_NONE;
    enum stream next = (enum stream)((now + 1) % STREAM_COUNT);
    if (!keys_begin_stream(app, session, next)) {
        app_report(app, "out of memory: nothing is watched", now_ms);
    } else if (next == STREAM_NONE) {
        app_report(app, "nothing is watched", now_ms);
    }
}

/* Not for Esc, which operators press to close whatever is open, nor for codes without a key
 * name. */
static void keys_report_unknown(struct app *app, uint32_t key, uint64_t now_ms) {
    char name[KEY_NAME_BYTES], text[NOTE_BYTES];
    if (key == KEY_ESCAPE || key > KEY_FUNCTION_LAST) {
        return;
    }
    snprintf(text, sizeof text,
             "%s does nothing in %s: F1 lists the keys, : finds a command by its name",
             key_label(key, name), view_current(&app->ui)->name);
    app_report(app, text, now_ms);
}

static void keys_run_command(struct app *app, enum command command, uint64_t now_ms) {
    const struct view *view = view_current(&app->ui);
    struct intent intent = {0};
    if (past_command(app, command, now_ms)) { /* the new moment's model is made when it is drawn */
        return;
    }
    struct frame frame = app_make_frame(app, now_ms);
    switch (command) {
    case COMMAND_QUIT:
        app->is_done = true;
        break;
    case COMMAND_HELP:
        keys_open_help(&app->ui);
        break;
    case COMMAND_PALETTE:
        palette_open(&app->ui);
        break;
    case COMMAND_WHY:
        app->ui.why = (struct why_ui){.is_open = true};
        break;
    case COMMAND_EXPLAIN:
        overlay_open_explain(&app->ui, view);
        break;
    case COMMAND_NEXT_VIEW:
        view_open(&app->ui, (app->ui.view + 1) % keys_count_views());
        break;
    case COMMAND_PREVIOUS_VIEW:
        view_open(&app->ui, (app->ui.view + keys_count_views() - 1) % keys_count_views());
        break;
    case COMMAND_MOUSE:
        keys_toggle_mouse(app, now_ms);
        break;
    case COMMAND_STREAMS:
        keys_next_stream(app, now_ms);
        break;
    case COMMAND_THEME:
        keys_set_theme(app, (app->theme + 1) % THEME_COUNT, now_ms);
        break;
    case COMMAND_REDRAW:
        term_redraw();
        break;
    case COMMAND_SUSPEND:
        term_suspend();
        break;
    case COMMAND_AUTOMOVE:
        intent = propose_automove(&frame);
        break;
    case COMMAND_ACCEPT_TRIAL:
        change_accept_trial(app, now_ms);
        break;
    case COMMAND_UNDO:
        change_propose_undo(app, now_ms);
        break;
    case COMMAND_REDO:
        change_propose_redo(app, now_ms);
        break;
    default:
        for (unsigned i = 0; view_list[i] != NULL; i++) {
            if (command != COMMAND_NONE && view_list[i]->open == command) {
                view_open(&app->ui, i);
                return;
            }
        }
        intent = view->command(&frame, &app->ui, command);
        break;
    }
    keys_apply_intent(app, &intent, now_ms);
}

void key_handle(struct app *app, uint32_t key, uint64_t now_ms) {
    struct ui *ui = &app->ui;
    app->message[0] = '\0';
    app->is_dirty = true;
    key_follow_row(app, true);
    enum scope scope = screen_scope(ui);
    enum command command = key_command(key, scope);
    struct frame frame;
    struct intent intent;
    switch (scope) {
    case SCOPE_HELP: /* also over a review, from which help opens */
        key_in_help(ui, command);
        break;
    case SCOPE_FILTER:
        if (ui->help_is_open) {
            key_in_search(ui, command, key);
        } else {
            class_table_edit(&ui->classes, command, key);
        }
        break;
    case SCOPE_PALETTE:
        frame = app_make_frame(app, now_ms);
        intent = palette_command(&frame, ui, command, key);
        keys_apply_intent(app, &intent, now_ms);
        break;
    case SCOPE_REVIEW:
        key_in_review(app, command, key, now_ms);
        break;
    case SCOPE_COLUMNS:
        overlay_columns_command(ui, command);
        break;
    case SCOPE_VALUE:
        frame = app_make_frame(app, now_ms);
        tune_edit(ui, &frame, command, key);
        break;
    case SCOPE_WHY:
        overlay_why_command(ui, command);
        break;
    case SCOPE_EXPLAIN:
        overlay_explain_command(ui, command);
        break;
    default: /* keys of a view */
        if (command == COMMAND_NONE) {
            keys_report_unknown(app, key, now_ms);
        } else {
            keys_run_command(app, command, now_ms);
        }
        break;
    }
}

void key_handle_pointer(struct app *app, uint64_t now_ms) {
    struct pointer pointer = term_pointer();
    if (pointer.act != POINTER_CLICK) {
        uint32_t key = pointer.act == POINTER_WHEEL_UP ? KEY_ARROW_UP : KEY_ARROW_DOWN;
        for (int i = 0; i < WHEEL_ROWS && !app->ui.review.is_open; i++) {
            key_handle(app, key, now_ms);
        }
        return;
    }
    const struct hotspot *hot =
        app->cells != NULL ? cells_hot_at(app->cells, pointer.y, pointer.x) : NULL;
    if (hot == NULL || app->ui.review.is_open) { /* a slip of the mouse sends nothing */
        return;
    }
    const struct view *view = view_current(&app->ui);
    switch (hot->kind) {
    case HOT_KEY:
        key_handle(app, hot->value, now_ms);
        break;
    case HOT_VIEW:
        view_open(&app->ui, hot->value);
        break;
    case HOT_SORT:
    case HOT_ROW:
        view_click(view, &app->ui, hot->kind, hot->value);
        key_follow_row(app, true);
        break;
    case HOT_NOTHING:
        break;
    }
    app->is_dirty = true;
}
