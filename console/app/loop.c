#include "app/loop.h"

#include "app/changes.h"
#include "app/key_actions.h"
#include "app/past.h"
#include "brain/brain.h"
#include "brain/health.h"
#include "brain/lua_outside.h"
#include "facts/poll_clock.h"
#include "facts/words.h"
#include "views/review/marked.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void loop_draw(struct app *app, uint64_t now_ms) {
    int width, height;
    term_size(&width, &height);
    if (app->cells == NULL || app->cells->width != width || app->cells->height != height) {
        cells_destroy(&app->cells);
        app->cells = cells_create(width, height, term_is_ascii());
    }
    if (app->cells == NULL) {
        app->ui.review.is_seen = false;
        return; /* out of memory: the old picture stays, the loop goes on */
    }
    /* While the past is shown, the rows stay if each server has one. */
    bool is_late = !app->timeline.is_past || app->row_count != app->fleet.count;
    bool shows_servers = view_current(&app->ui) == &fleet_view || app->ui.palette.is_open;
    if (shows_servers && is_late) {
        app->row_count = fleet_rows(&app->fleet, now_ms, app->rows);
    }
    key_follow_row(app, false);
    struct frame frame = app_make_frame(app, now_ms);
    screen_draw(&frame, &app->ui, app->cells);
    term_show(app->cells);
    app->is_dirty = false;
    app->draw_ms = UINT64_MAX;
}

/* ---- signals, servers, waiting ---- */

static void loop_handle_signals(struct app *app) {
    for (int number; (number = term_signal()) != 0;) {
        if (number == SIGWINCH) {
            term_resize();
            app->is_dirty = true;
        } else {
            app->is_done = true;
            app->exit_code = EXIT_INTERRUPTED;
        }
    }
}

/* Steps one server. One that is marked in the fleet also gets the inquiries about settings. */
static void loop_step_session(struct app *app, struct session *session, bool is_marked,
                              uint64_t now_ms) {
    int64_t wall_ms = app->wall_ms;
    struct reply reply;
    session->acting.audit_path = app->audit_path;
    session_step(session, now_ms);
    while (session_take(session, &reply, now_ms, wall_ms)) {
        /* ignored: only acting sends other lines */
    }
    bool is_open = session == app->open;
    struct wants wants = {.inquiries = 0};
    if (is_open && !app->timeline.is_past) { /* a paused screen keeps its answers */
        screen_wants(&app->ui, &wants);
        health_wants(session->model, now_ms, &wants);
    }
    wants.inquiries |= is_marked ? MARKED_WANTS : 0;
    session_want(session, &wants, now_ms);
    session_end(session, now_ms, wall_ms);
    bool is_shown = is_open || view_current(&app->ui) == &fleet_view;
    if (session->has_news && is_shown) {
        /* A single server's news are drawn at once. Several answer together, so their news wait. */
        uint64_t due_ms = app->fleet.count > 1 ? now_ms + GATHER_MS : now_ms;
        app->draw_ms = due_ms < app->draw_ms ? due_ms : app->draw_ms;
    }
    session->has_news = false;
}

/* Drops servers that left their lists. Rows and the cursor hold places, so both change. */
static void loop_drop_left(struct app *app) {
    for (int place; (place = fleet_drop_left(&app->fleet, app->open)) >= 0;) {
        unsigned cursor = app->ui.fleet.cursor; /* 1 + place */
        app->ui.fleet.cursor = cursor > (unsigned)place + 1    ? cursor - 1
                               : cursor == (unsigned)place + 1 ? 0
                                                               : cursor;
        bool *marked = app->ui.fleet.marked;
        memmove(&marked[place], &marked[place + 1], SERVER_LIMIT - 1 - (size_t)place);
        marked[SERVER_LIMIT - 1] = false;
        app->row_count = 0;
        app->is_dirty = true;
    }
}

static void loop_step_world(struct app *app, uint64_t now_ms) {
    if (app->replay != NULL) {
        loop_step_session(app, app->replay, false, now_ms);
    } else if (fleet_step_lists(&app->fleet, now_ms)) {
        app->is_dirty = true;
        app->open = app->open == NULL ? app->fleet.list[0] : app->open;
    }
    loop_drop_left(app);
    for (unsigned i = 0; i < app->fleet.count; i++) {
        loop_step_session(app, app->fleet.list[i], app->ui.fleet.marked[i], now_ms);
    }
    change_show_outcomes(app, now_ms);
    if (app->open != NULL && timeline_tick(&app->timeline, app->open->tape, now_ms)) {
        app->is_dirty = true;
    }
}

static uint64_t loop_earlier(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Sleeps until a key, a signal, a server or a deadline; returns the time then. */
static uint64_t loop_wait(struct app *app, uint64_t now_ms) {
    struct pollfd polled[2 + FLEET_POLL_LIMIT] = {
        {.fd = STDIN_FILENO, .events = POLLIN},
        {.fd = term_signal_fd(), .events = POLLIN},
    };
    unsigned count = 2 + fleet_polled(&app->fleet, polled + 2);
    uint64_t due_ms = now_ms + TICK_MS - now_ms % TICK_MS; /* the clock in the title */
    due_ms = loop_earlier(due_ms, app->replay != NULL ? session_due_ms(app->replay) : UINT64_MAX);
    due_ms = loop_earlier(due_ms, fleet_due_ms(&app->fleet));
    due_ms = loop_earlier(due_ms, timeline_due_ms(&app->timeline));
    due_ms = loop_earlier(due_ms, app->draw_ms);
    now_ms = clock_wait(polled, count, due_ms);
    app->wall_ms = clock_wall_ms();
    return now_ms;
}

static void loop_take_turns(struct app *app) {
    time_t shown_wall = 0;
    uint64_t now_ms = clock_ms();
    app->wall_ms = clock_wall_ms();
    while (!app->is_done) {
        if (app->message[0] != '\0' && now_ms >= app->message_until_ms) {
            app->message[0] = '\0';
            app->is_dirty = true;
        }
        if (app->is_dirty || now_ms >= app->draw_ms || app_wall(app) != shown_wall) {
            shown_wall = app_wall(app);
            loop_draw(app, now_ms);
        }
        now_ms = loop_wait(app, now_ms);
        if (term_is_gone()) {
            return;
        }
        loop_handle_signals(app);
        for (uint32_t key; (key = term_key()) != KEY_NONE && !app->is_done;) {
            bool may_send = app->ui.review.is_open && (key == 'S' || key == KEY_POINTER);
            if (may_send && app->is_dirty) {
                loop_draw(app, now_ms); /* the screen shows what is sent, even to a fast key */
            }
            if (key == KEY_POINTER) {
                key_handle_pointer(app, now_ms);
            } else {
                key_handle(app, key, now_ms);
            }
        }
        loop_step_world(app, now_ms);
        past_seek_once_loaded(app);
    }
}

/* ---- choices of the last run ---- */

/* Shows a text until a key comes: at the start the operator may not look yet. */
static void loop_show_until_key(struct app *app, const char *text) {
    app_report(app, text, 0);
    app->message_until_ms = UINT64_MAX;
}

/* Takes the choices of the last run. If the file has a mistake, the screen says so, and none is
 * taken. */
static void loop_load_remembered(struct app *app) {
    char path[REMEMBERED_PATH_BYTES], why[NOTE_BYTES], text[NOTE_BYTES];
    unsigned theme = 0;
    if (!app->options->no_state && remembered_path(path) &&
        !remembered_load(path, &app->ui, &theme, why, sizeof why)) {
        /* without the folder of the path, which may be as wide as the screen */
        size_t folder_bytes = (size_t)(strrchr(path, '/') + 1 - path);
        bool names_it = strncmp(why, path, folder_bytes) == 0;
        words_printf(text, sizeof text, "%.170s: starting with the defaults",
                     why + (names_it ? folder_bytes : 0));
        loop_show_until_key(app, text);
    }
    if (app->options->unread[0] != '\0') {
        loop_show_until_key(app, app->options->unread);
    }
    app->theme = app->options->has_theme ? app->options->theme : theme;
    remembered_write(&app->ui, app->theme, app->remembered);
}

/* Saves the choices if they changed. A console without changes leaves no file, and does not undo
 * another console's choices. */
static void loop_save_remembered(const struct app *app) {
    char path[REMEMBERED_PATH_BYTES], text[REMEMBERED_BYTES], why[NOTE_BYTES];
    remembered_write(&app->ui, app->theme, text);
    if (!app->options->no_state && strcmp(text, app->remembered) != 0 && remembered_path(path) &&
        !remembered_save(path, text, why, sizeof why)) {
        fprintf(stderr, "slatetop: %s\n", why);
    }
}

/* Takes all steps that may fail before the first screen; false after a line on stderr. */
static bool loop_open_all(struct app *app) {
    const struct options *options = app->options;
    char why[NOTE_BYTES];
    if (options->audit_log != NULL) {
        snprintf(app->audit_path, sizeof app->audit_path, "%s", options->audit_log);
    } else if (!lua_outside_place("audit", app->audit_path, sizeof app->audit_path)) {
        app->audit_path[0] = '\0';
    }
    fleet_init(&app->fleet, options->interval_ms, options->server_count, &options->access);
    class_table_init(&app->ui.classes);
    bool has_room = true;
    if (options->replay != NULL) {
        app->replay = app->open = session_replay(options->replay, why, sizeof why);
        if (app->replay == NULL) {
            fprintf(stderr, "slatetop: %s\n", why);
            app->exit_code = EXIT_USAGE;
            return false;
        }
        timeline_step(&app->timeline, app->open->tape, 0);
        app->timeline.plays = !options->has_at;
    }
    for (unsigned i = 0; i < options->server_count; i++) {
        has_room = has_room && fleet_add(&app->fleet, &options->servers[i]);
    }
    app->open = app->fleet.count > 0 ? app->fleet.list[0] : app->open;
    if (app->open == NULL) {
        app->nobody = brain_model("");
        has_room = has_room && app->nobody != NULL;
    }
    if (!has_room) {
        fprintf(stderr, "slatetop: out of memory, or too many lists of servers\n");
        app->exit_code = EXIT_INTERNAL;
        return false;
    }
    if (options->record != NULL && !session_record(app->open, options->record, why, sizeof why)) {
        fprintf(stderr, "slatetop: %s\n", why);
        app->exit_code = EXIT_OUTPUT;
        return false;
    }
    /* Over ssh the terminal's own selection is worth more than slatetop's mouse. */
    app->has_mouse = options->mouse == MOUSE_ON ||
                     (options->mouse == MOUSE_AUTO && getenv("SSH_CONNECTION") == NULL);
    loop_load_remembered(app);
    if (!term_open(&(struct term_options){.ascii = options->ascii,
                                          .mono = options->mono,
                                          .mouse = app->has_mouse,
                                          .theme = app->theme},
                   why, sizeof why)) {
        fprintf(stderr, "slatetop: %s\n", why);
        app->exit_code = EXIT_USAGE;
        return false;
    }
    bool is_fleet = options->server_count > 1 || app->fleet.list_count > 0;
    for (unsigned i = 0; is_fleet && view_list[i] != NULL; i++) {
        app->ui.view = view_list[i] == &fleet_view ? i : app->ui.view;
    }
    return true;
}

int loop_run(const struct options *options) {
    struct app *app = calloc(1, sizeof *app);
    if (app == NULL) {
        fprintf(stderr, "slatetop: out of memory\n");
        return EXIT_INTERNAL;
    }
    app->options = options;
    app->is_dirty = true;
    app->draw_ms = UINT64_MAX;
    app->seeks = options->has_at;
    if (loop_open_all(app)) {
        loop_take_turns(app);
        term_close();
        loop_save_remembered(app);
        change_leave_servers(app);
    }
    int exit_code = app->exit_code;
    cells_destroy(&app->cells);
    timeline_go_live(&app->timeline);
    session_destroy(&app->replay);
    fleet_fini(&app->fleet);
    model_destroy(&app->nobody);
    free(app);
    return exit_code;
}
