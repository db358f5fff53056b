#include "app/changes.h"

#include "facts/poll_clock.h"
#include "facts/words.h"
#include "views/review/marked.h"

#include <stdio.h>
#include <string.h>

enum { LEAVE_STEP_MS = 20 };

/* Shows news; names the server if others are on the screen, too. */
static void change_show_news(struct app *app, const struct session *session, const char *news,
                             uint64_t now_ms) {
    char text[NOTE_BYTES];
    bool is_named = session != NULL && app->replay == NULL &&
                    (session != app->open || view_current(&app->ui) == &fleet_view);
    words_printf(text, sizeof text, "%.99s%s%s", is_named ? model_server(session->model) : "",
                 is_named ? ": " : "", news);
    app_report(app, text, now_ms);
}

/* Sends the change to each marked server that has other values. When one refuses now, those before
 * it are changed and the others are not. */
static void change_send_to_marked(struct app *app, uint64_t now_ms) {
    const struct review *review = &app->ui.review;
    char why[NOTE_BYTES], text[NOTE_BYTES];
    unsigned sent = 0, changed, unchanged;
    struct frame frame = app_make_frame(app, now_ms);
    if (!marked_check(&frame, &app->ui, &review->plan, &changed, &unchanged, why, sizeof why)) {
        app_report(app, why, now_ms); /* nothing has been sent */
        return;
    }
    for (unsigned i = 0; i < app->fleet.count; i++) {
        struct session *session = app->fleet.list[i];
        if (!app->ui.fleet.marked[i] ||
            marked_answer_of(session->model, &review->plan, why, sizeof why) == MARKED_HAS_IT) {
            continue;
        }
        if (!acting_begin(&session->acting, ACTING_CHANGE, &review->plan, &review->terms,
                          session->model, now_ms, app_wall(app), why, sizeof why)) {
            words_printf(text, sizeof text, "sent to %u of %u marked servers; %.60s: %s", sent,
                         changed, model_server(session->model), why);
            app_report(app, text, now_ms);
            break;
        }
        sent++;
    }
    if (sent == changed) {
        snprintf(text, sizeof text,
                 "sent to %u marked server%s: Events (8) of each shows the outcome", sent,
                 sent == 1 ? "" : "s");
        app_report(app, text, now_ms);
    }
    app->ui.review.is_open = false;
    tune_forget(&app->ui);
}

void change_send_reviewed(struct app *app, uint64_t now_ms) {
    char why[NOTE_BYTES];
    struct review *review = &app->ui.review;
    enum acting_kind kind = review->is_redo   ? ACTING_REDO
                            : review->is_undo ? ACTING_UNDO
                                              : ACTING_CHANGE;
    if (app->options->read_only) {
        app_report(app, "read-only: nothing was sent", now_ms);
    } else if (app_locked_by(app) != NULL) {
        words_printf(why, sizeof why, "%s, and changes need admin: nothing was sent",
                     app_locked_by(app));
        app_report(app, why, now_ms);
    } else if (app->open == NULL || app->replay != NULL) {
        app_report(app, "a recording can't be changed: nothing was sent", now_ms);
    } else if (!review->is_seen) {
        app_report(app, "this screen has no room for all that would be sent: nothing was sent",
                   now_ms);
    } else if (review->is_for_marked) {
        change_send_to_marked(app, now_ms);
    } else if (!acting_begin(&app->open->acting, kind, &review->plan, &review->terms,
                              app->open->model, now_ms, app_wall(app), why, sizeof why)) {
        app_report(app, why, now_ms);
    } else {
        review->is_open = false;
        app->ui.classes.source = -1;
        tune_forget(&app->ui);
    }
}

static void change_review_taken(struct app *app, bool is_redo, uint64_t now_ms) {
    if (app->timeline.is_past) {
        app_report(app, "this is the past: . returns to live, where it can be changed", now_ms);
        return;
    }
    review_open(&app->ui.review, &app->taken.plan, app->taken.title);
    app->ui.review.is_redo = is_redo;
}

void change_propose_undo(struct app *app, uint64_t now_ms) {
    char why[NOTE_BYTES];
    if (app->open == NULL || app->replay != NULL) {
        app_report(app, "a recording can't be changed", now_ms);
    } else if (!acting_propose(&app->open->acting, ACTING_UNDO, app->open->model, &app->taken, why,
                               sizeof why)) {
        change_show_news(app, app->open, why, now_ms);
    } else {
        change_review_taken(app, false, now_ms);
    }
}

void change_propose_redo(struct app *app, uint64_t now_ms) {
    char why[NOTE_BYTES] = "no change was undone from here that could be made again";
    if (app->open == NULL || !acting_propose(&app->open->acting, ACTING_REDO, app->open->model,
                                             &app->taken, why, sizeof why)) {
        change_show_news(app, app->open, why, now_ms);
    } else {
        change_review_taken(app, true, now_ms);
    }
}

void change_accept_trial(struct app *app, uint64_t now_ms) {
    if (app->open == NULL ||
        !acting_accept_trial(&app->open->acting, app->open->model, now_ms, app_wall(app))) {
        change_show_news(app, app->open, "no trial is under way", now_ms);
    }
}

void change_show_outcomes(struct app *app, uint64_t now_ms) {
    for (unsigned i = 0; i < app->fleet.count; i++) {
        struct session *session = app->fleet.list[i];
        char *news = session->acting.news;
        if (news[0] != '\0') {
            change_show_news(app, session, news, now_ms);
            news[0] = '\0';
        }
    }
    char words[NOTE_BYTES] = "";
    if (app->open != NULL) {
        acting_words(&app->open->acting, app->open->model, now_ms, words, sizeof words);
    }
    if (strcmp(words, app->under_way) != 0) {
        snprintf(app->under_way, sizeof app->under_way, "%s", words);
        app->is_dirty = true;
    }
}

void change_leave_servers(struct app *app) {
    uint64_t now_ms = clock_ms(), until_ms = now_ms + ACTING_LEAVE_MS;
    int64_t wall_ms = clock_wall_ms();
    for (unsigned i = 0; i < app->fleet.count; i++) {
        struct session *session = app->fleet.list[i];
        bool had_trial = session->acting.has_trial;
        struct reply reply;
        if (had_trial) {
            fprintf(stderr, "slatetop: %s: a trial is on and goes back now\n",
                    model_server(session->model));
        }
        while (acting_leave(&session->acting, session->model, now_ms, (time_t)(wall_ms / 1000)) &&
               now_ms < until_ms) {
            struct pollfd polled = {.fd = client_fd(session->client),
                                    .events = client_events(session->client)};
            now_ms = clock_wait(&polled, 1, now_ms + LEAVE_STEP_MS);
            wall_ms = clock_wall_ms();
            session_step(session, now_ms);
            while (session_take(session, &reply, now_ms, wall_ms)) {
                /* ignored: only acting sends commands now */
            }
            session_end(session, now_ms, wall_ms);
        }
        /* Tells the operator which changes are unfinished, and how to finish them by hand. */
        char lines[4 * NOTE_BYTES], *next = lines;
        acting_leftovers(&session->acting, session->model, lines, sizeof lines);
        for (char *line; (line = strsep(&next, "\n")) != NULL && line[0] != '\0';) {
            fprintf(stderr, "slatetop: %s: %s\n", model_server(session->model), line);
        }
        if (had_trial && !session->acting.has_trial) {
            fprintf(stderr, "slatetop: %s: %s\n", model_server(session->model),
                    session->acting.news);
        }
    }
}
