#include "app/app_state.h"

#include "facts/words.h"

#include <stdio.h>
#include <string.h>

time_t app_wall(const struct app *app) {
    return (time_t)(app->wall_ms / 1000);
}

void app_report(struct app *app, const char *text, uint64_t now_ms) {
    words_printf(app->message, sizeof app->message, "%s", text);
    app->message_until_ms = now_ms + MESSAGE_MS;
    app->is_dirty = true;
}

static const char *state_fleet_note(const struct app *app) {
    for (unsigned i = 0; i < app->fleet.list_count; i++) {
        if (app->fleet.lists[i].note[0] != '\0') {
            return app->fleet.lists[i].note;
        }
    }
    return "";
}

const char *app_locked_by(const struct app *app) {
    const struct model *live = app_live_model(app);
    const struct snapshot *now = live != NULL ? model_now(live) : NULL;
    if (app->options->read_only) {
        return "READ-ONLY";
    }
    bool is_for_marked = app->ui.review.is_open && app->ui.review.is_for_marked; /* checks each */
    if (now == NULL || is_for_marked || snapshot_may_change(now)) {
        return NULL;
    }
    return strcmp(now->role, "write") == 0 ? "ROLE write" : "ROLE read";
}

const struct model *app_live_model(const struct app *app) {
    return app->open != NULL ? app->open->model : app->nobody;
}

/* Seconds until the open server's trial is undone, rounded up. */
static unsigned state_trial_left_s(const struct app *app, uint64_t now_ms) {
    uint64_t end_ms = app->open != NULL ? app->open->acting.trial_end_ms : UINT64_MAX;
    return end_ms != UINT64_MAX && end_ms > now_ms ? (unsigned)((end_ms - now_ms + 999) / 1000) : 0;
}

struct frame app_make_frame(struct app *app, uint64_t now_ms) {
    const struct model *live = app_live_model(app), *shown = live;
    int width, height;
    term_size(&width, &height);
    if (app->open != NULL) {
        shown = timeline_model(&app->timeline, app->open->tape, live, width);
    }
    bool is_past = app->timeline.is_past;
    const struct snapshot *now = model_now(shown);
    time_t wall = app_wall(app);
    return (struct frame){.model = shown,
                          .live = live,
                          .under_way = app->under_way,
                          .audit_path = app->audit_path,
                          .now_ms = is_past && now != NULL ? now->at_ms : now_ms,
                          .interval_ms = app->options->interval_ms,
                          .retry_ms = app->open != NULL ? session_retry_ms(app->open) : 0,
                          .wall = wall,
                          .moment = is_past ? (time_t)(app->timeline.wall_ms / 1000) : wall,
                          .has_trial = app->open != NULL && app->open->acting.has_trial,
                          .trial_left_s = state_trial_left_s(app, now_ms),
                          .locked = app_locked_by(app),
                          .is_past = is_past,
                          .is_replay = app->replay != NULL,
                          .plays = app->timeline.plays,
                          .is_recorded = app->open != NULL && app->open->record.fd >= 0,
                          .loaded_share = app->replay != NULL && app->replay->recording != NULL
                                              ? recording_progress(app->replay->recording)
                                              : 1,
                          .mark = &app->mark,
                          .servers = app->rows,
                          .server_count = app->row_count,
                          .fleet_note = state_fleet_note(app),
                          .probes = app->open != NULL ? &app->open->poller.probes : NULL,
                          .watch = app->open != NULL ? app->open->watch.log : NULL,
                          .message = app->message};
}
