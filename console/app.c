#include "app.h"

#include "health.h"
#include "poller.h"
#include "term.h"
#include "views/view.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGE_MS = 8000, ALARM_AFTER_MS = 5000, TICK_MS = 1000, TAG_JOB = TAG_OTHER };

struct app {
    const struct options *options;
    struct model *model;
    struct client *client;
    struct poller poller;
    struct job job;
    struct ui ui;
    struct cells *cells;
    struct action last; /* what undo takes back: the inverse of the last change that succeeded */
    bool has_last;
    bool is_alarmed;           /* the events say that a class starves */
    uint64_t alarm_differs_ms; /* since when the figures say otherwise; 0: they agree */
    uint64_t automove_before;  /* of the automove action under way */
    char message[NOTE_BYTES];
    uint64_t message_until_ms;
    bool is_dirty, is_done;
    int exit_code;
};

uint64_t clock_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void show_message(struct app *app, const char *text, uint64_t now_ms) {
    snprintf(app->message, sizeof app->message, "%s", text);
    app->message_until_ms = now_ms + MESSAGE_MS;
    app->is_dirty = true;
}

static struct frame make_frame(const struct app *app, uint64_t now_ms) {
    return (struct frame){
        .model = app->model,
        .job = &app->job,
        .now_ms = now_ms,
        .interval_ms = app->options->interval_ms,
        .retry_ms = client_state(app->client) == CLIENT_DOWN ? client_retry_ms(app->client) : 0,
        .wall = time(NULL),
        .read_only = app->options->read_only,
        .message = app->message};
}

static void draw(struct app *app, uint64_t now_ms) {
    int width, height;
    term_size(&width, &height);
    if (app->cells == NULL || app->cells->width != width || app->cells->height != height) {
        cells_destroy(&app->cells);
        app->cells = cells_create(width, height, term_is_ascii());
    }
    if (app->cells == NULL) {
        return; /* out of memory: the old picture stays, the loop goes on */
    }
    struct frame frame = make_frame(app, now_ms);
    screen_draw(&frame, &app->ui, app->cells);
    term_show(app->cells);
    app->is_dirty = false;
}

/* ---- the one way in which a change is sent ---- */

static void send_reviewed(struct app *app, uint64_t now_ms) {
    char why[NOTE_BYTES], title[NOTE_BYTES / 2];
    const struct snapshot *now = model_now(app->model);
    if (app->options->read_only) {
        show_message(app, "read-only: nothing was sent", now_ms);
        return;
    }
    if (app->job.state == JOB_RUNNING) {
        show_message(app, "one change at a time: the last one is still under way", now_ms);
        return;
    }
    if (model_link(app->model) != LINK_UP) {
        show_message(app, "no connection: nothing was sent", now_ms);
        return;
    }
    if (!action_check(&app->ui.review.action, now, why, sizeof why)) {
        show_message(app, why, now_ms);
        return;
    }
    app->automove_before = now->setting[SETTING_slab_automove];
    action_title(&app->ui.review.action, title, sizeof title);
    model_note(app->model, EVENT_YOU, time(NULL), "%s", title);
    job_start(&app->job, &app->ui.review.action, now, now_ms);
    app->ui.review.is_open = false;
    app->ui.classes.source = -1;
}

/* A move goes back the way it came, as far as it came; a setting gets its old value. */
static void remember_undo(struct app *app) {
    const struct job *job = &app->job;
    if (job->action.kind == ACTION_AUTOMOVE) {
        app->has_last = job->succeeded && app->automove_before < AUTOMOVE_MODES;
        app->last =
            (struct action){.kind = ACTION_AUTOMOVE, .automove = (unsigned)app->automove_before};
        return;
    }
    app->has_last = job->moved > 0 && job->action.to != POOL_CLASS;
    app->last = (struct action){.kind = ACTION_MOVE_PAGES,
                                .from = job->action.to,
                                .to = job->action.from,
                                .pages = job->moved};
}

static void finish_job(struct app *app, uint64_t now_ms) {
    model_note(app->model, app->job.succeeded ? EVENT_YOU : EVENT_ALARM, time(NULL), "%s",
               app->job.outcome);
    show_message(app, app->job.outcome, now_ms);
    remember_undo(app);
    app->job.state = JOB_NONE;
    poller_hurry(&app->poller, now_ms);
}

static void step_job(struct app *app, uint64_t now_ms) {
    bool is_stats;
    const char *line = job_next_line(&app->job, &is_stats, now_ms);
    if (line != NULL) {
        if (!client_send(app->client, line, is_stats ? REPLY_STATS : REPLY_LINE, TAG_JOB, now_ms)) {
            job_abandon(&app->job, "the connection is gone");
        }
        client_flush(app->client, now_ms);
    }
    if (app->job.state == JOB_DONE) {
        finish_job(app, now_ms);
    }
}

/* ---- keys ---- */

static void obey(struct app *app, const struct intent *intent, uint64_t now_ms) {
    switch (intent->kind) {
    case INTENT_NONE:
        break;
    case INTENT_REVIEW:
        review_open(&app->ui.review, &intent->action);
        break;
    case INTENT_SAY:
        show_message(app, intent->text, now_ms);
        break;
    }
}

static void key_in_filter(struct app *app, uint32_t key, uint64_t now_ms) {
    struct class_table_ui *table = &app->ui.classes;
    size_t length = strlen(table->typed);
    char why[NOTE_BYTES];
    switch (key_command(key, SCOPE_FILTER)) {
    case COMMAND_ACCEPT:
        if (class_filter_check(table->typed, why, sizeof why)) {
            memcpy(table->filter, table->typed, sizeof table->filter);
        } else {
            show_message(app, why, now_ms);
        }
        table->edits_filter = false;
        break;
    case COMMAND_CANCEL:
        table->edits_filter = false;
        break;
    case COMMAND_BACK:
        table->typed[length > 0 ? length - 1 : 0] = '\0';
        break;
    default:
        if (key >= ' ' && key <= '~' && length + 1 < sizeof table->typed) {
            table->typed[length] = (char)key;
            table->typed[length + 1] = '\0';
        }
        break;
    }
}

static void key_in_review(struct app *app, uint32_t key, uint64_t now_ms) {
    struct review *review = &app->ui.review;
    if (key >= '0' && key <= '9') {
        review_digit(review, key - '0');
        return;
    }
    enum command command = key_command(key, SCOPE_REVIEW);
    if (command == COMMAND_SEND) {
        send_reviewed(app, now_ms);
    } else if (command == COMMAND_CANCEL) {
        review->is_open = false;
    } else {
        review_command(review, model_now(app->model), command);
    }
}

static void key_in_help(struct app *app, uint32_t key) {
    enum { SCREEN = 15 };
    unsigned *top = &app->ui.help_top;
    switch (key_command(key, SCOPE_HELP)) {
    case COMMAND_UP:
        *top -= *top > 0;
        break;
    case COMMAND_DOWN:
        *top += 1;
        break;
    case COMMAND_PAGE_UP:
        *top -= *top > SCREEN ? SCREEN : *top;
        break;
    case COMMAND_PAGE_DOWN:
        *top += SCREEN;
        break;
    case COMMAND_TOP:
        *top = 0;
        break;
    case COMMAND_BOTTOM:
        *top = 1000; /* drawing brings it back to the last line */
        break;
    case COMMAND_CANCEL:
        app->ui.help_is_open = false;
        break;
    default:
        break;
    }
}

static unsigned view_count(void) {
    unsigned count = 0;
    while (view_list[count] != NULL) {
        count++;
    }
    return count;
}

static void key_in_view(struct app *app, uint32_t key, uint64_t now_ms) {
    const struct view *view = view_list[app->ui.view];
    struct frame frame = make_frame(app, now_ms);
    enum command command = key_command(key, view->scope);
    struct intent intent = {0};
    switch (command) {
    case COMMAND_QUIT:
        app->is_done = true;
        break;
    case COMMAND_HELP:
        app->ui.help_is_open = true;
        app->ui.help_top = 0;
        break;
    case COMMAND_NEXT_VIEW:
        app->ui.view = (app->ui.view + 1) % view_count();
        break;
    case COMMAND_PREVIOUS_VIEW:
        app->ui.view = (app->ui.view + view_count() - 1) % view_count();
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
    case COMMAND_UNDO:
        intent = say("nothing to undo: no change was made from here");
        if (app->has_last) {
            intent = (struct intent){.kind = INTENT_REVIEW, .action = app->last};
        }
        break;
    default:
        for (unsigned i = 0; view_list[i] != NULL; i++) {
            if (command != COMMAND_NONE && view_list[i]->open == command) {
                app->ui.view = i;
                return;
            }
        }
        intent = view->command(&frame, &app->ui, command);
        break;
    }
    obey(app, &intent, now_ms);
}

static void handle_key(struct app *app, uint32_t key, uint64_t now_ms) {
    app->message[0] = '\0';
    app->is_dirty = true;
    if (app->ui.review.is_open) {
        key_in_review(app, key, now_ms);
    } else if (app->ui.classes.edits_filter) {
        key_in_filter(app, key, now_ms);
    } else if (app->ui.help_is_open) {
        key_in_help(app, key);
    } else {
        key_in_view(app, key, now_ms);
    }
}

/* ---- the world ---- */

static void handle_signals(struct app *app) {
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

static enum link_state link_of(const struct app *app) {
    switch (client_state(app->client)) {
    case CLIENT_UP:
        if (app->poller.refusal[0] != '\0') {
            return LINK_DOWN;
        }
        if (app->poller.has_answered && app->poller.generation == client_generation(app->client)) {
            return LINK_UP;
        }
        break;
    case CLIENT_DOWN:
        return client_note(app->client)[0] != '\0' ? LINK_DOWN : LINK_CONNECTING;
    case CLIENT_LOOKUP:
    case CLIENT_CONNECTING:
        break;
    }
    /* While it tries again, and until the server has answered, the reason of the last failure stays
     * on the screen. */
    return model_link(app->model) == LINK_DOWN ? LINK_DOWN : LINK_CONNECTING;
}

static void follow_link(struct app *app) {
    enum link_state state = link_of(app);
    bool is_refused = client_state(app->client) == CLIENT_UP && app->poller.refusal[0] != '\0';
    char note[NOTE_BYTES];
    snprintf(note, sizeof note, is_refused ? "the server refuses to answer: %.150s" : "%.190s",
             is_refused ? app->poller.refusal : client_note(app->client));
    if (state != model_link(app->model) || strcmp(note, model_link_note(app->model)) != 0) {
        model_set_link(app->model, state, note, time(NULL));
        app->is_dirty = true;
    }
}

/* Events for what begins and ends: what the overview says only while it lasts. */
static void note_starvation(struct app *app, uint64_t now_ms) {
    int worst = health_worst_class(app->model);
    bool starves = worst >= 0;
    if (starves == app->is_alarmed) {
        app->alarm_differs_ms = 0;
        return;
    }
    if (app->alarm_differs_ms == 0) {
        app->alarm_differs_ms = now_ms;
    }
    if (now_ms - app->alarm_differs_ms < ALARM_AFTER_MS) {
        return; /* on the edge it comes and goes; an event is for what stays */
    }
    if (starves) {
        model_note(app->model, EVENT_ALARM, time(NULL),
                   "class %d starves: it evicts while another class has room", worst);
    } else {
        model_note(app->model, EVENT_ALARM, time(NULL), "no class starves any more");
    }
    app->is_alarmed = starves;
    app->alarm_differs_ms = 0;
}

static void step_server(struct app *app, uint64_t now_ms) {
    unsigned generation = client_generation(app->client);
    struct reply reply;
    client_step(app->client, now_ms);
    while (client_take_reply(app->client, &reply, now_ms)) {
        if (reply.tag == TAG_JOB) {
            job_take_reply(&app->job, reply.text, reply.text_bytes, now_ms);
            app->is_dirty = true;
        } else if (poller_take(&app->poller, &reply, now_ms)) {
            model_add(app->model, &app->poller.latest, time(NULL));
            note_starvation(app, now_ms);
            app->is_dirty = true;
        }
    }
    bool is_same_connection =
        client_state(app->client) == CLIENT_UP && generation == client_generation(app->client);
    if (!is_same_connection) {
        job_abandon(&app->job, "the connection broke, so the rest is unknown");
    }
    poller_step(&app->poller, app->client, now_ms);
    step_job(app, now_ms);
    follow_link(app);
}

static uint64_t earlier(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Sleeps until a key, a signal, the server or a deadline. */
static void wait_for_something(const struct app *app, uint64_t now_ms) {
    struct pollfd polled[] = {
        {.fd = STDIN_FILENO, .events = POLLIN},
        {.fd = term_signal_fd(), .events = POLLIN},
        {.fd = client_fd(app->client), .events = client_events(app->client)},
    };
    uint64_t due_ms = now_ms + TICK_MS - now_ms % TICK_MS; /* the clock in the title */
    due_ms = earlier(due_ms, client_due_ms(app->client));
    due_ms = earlier(due_ms, poller_due_ms(&app->poller, app->client));
    due_ms = earlier(due_ms, job_due_ms(&app->job));
    int timeout_ms = due_ms > now_ms ? (int)(due_ms - now_ms) : 0;
    poll(polled, sizeof polled / sizeof *polled, timeout_ms);
}

/* True when the terminal is gone: reading it would report an end for ever. */
static bool terminal_is_gone(void) {
    struct pollfd polled = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&polled, 1, 0) > 0 && (polled.revents & (POLLHUP | POLLERR | POLLNVAL));
}

static void loop(struct app *app) {
    time_t shown_wall = 0;
    while (!app->is_done) {
        uint64_t now_ms = clock_ms();
        if (app->message[0] != '\0' && now_ms >= app->message_until_ms) {
            app->message[0] = '\0';
            app->is_dirty = true;
        }
        if (app->is_dirty || time(NULL) != shown_wall) {
            shown_wall = time(NULL);
            draw(app, now_ms);
        }
        wait_for_something(app, now_ms);
        if (terminal_is_gone()) {
            return;
        }
        handle_signals(app);
        now_ms = clock_ms();
        for (uint32_t key; (key = term_key()) != KEY_NONE && !app->is_done;) {
            handle_key(app, key, now_ms);
        }
        step_server(app, now_ms);
    }
}

int app_run(const struct options *options) {
    struct app app = {.options = options, .is_dirty = true};
    char why[NOTE_BYTES];
    app.model = model_create(options->address.text);
    app.client = client_create(&options->address);
    poller_init(&app.poller, options->interval_ms);
    class_table_init(&app.ui.classes);
    if (app.model == NULL || app.client == NULL) {
        fprintf(stderr, "slatetop: out of memory\n");
        app.exit_code = EXIT_INTERNAL;
    } else if (!term_open(&(struct term_options){.ascii = options->ascii, .mono = options->mono},
                          why, sizeof why)) {
        fprintf(stderr, "slatetop: %s\n", why);
        app.exit_code = EXIT_USAGE;
    } else {
        loop(&app);
        term_close();
        if (app.job.state == JOB_RUNNING) {
            job_abandon(&app.job, "slatetop was left before the rest was sent");
            fprintf(stderr, "slatetop: %s\n", app.job.outcome);
        }
    }
    cells_destroy(&app.cells);
    client_destroy(&app.client);
    model_destroy(&app.model);
    return app.exit_code;
}
