#include "app/past.h"

#include "facts/words.h"

#include <stdio.h>
#include <string.h>

static void past_mark_moment(struct app *app, uint64_t now_ms) {
    struct frame frame = app_make_frame(app, now_ms);
    const struct snapshot *now = model_now(frame.model);
    if (now == NULL) {
        app_report(app, "there are no figures to mark yet", now_ms);
        return;
    }
    app->mark.is_set = true;
    app->mark.wall = frame.moment;
    snapshot_copy(&app->mark.snapshot, now);
    snprintf(app->mark.server, sizeof app->mark.server, "%s", model_server(frame.model));
    app_report(app, "marked: d shows what changes from here on", now_ms);
}

/* "slatetop-cache7-11211-20261121-140231.jsonl", in the folder that slatetop was started in. */
static void past_name_recording(const struct session *session, time_t wall, char out[200]) {
    char day[40];
    struct tm local;
    strftime(day, sizeof day, "%Y%m%d-%H%M%S", localtime_r(&wall, &local));
    snprintf(out, 200, "slatetop-%.100s-%s.jsonl", session->address.text, day);
    for (char *at = out; *at != '\0'; at++) {
        *at = strchr("/:[]", *at) != NULL ? '-' : *at;
    }
}

/* Starts or ends a recording. A recording may fill a disk, so its start needs the same key once
 * more while the question is on the screen. */
static void past_toggle_recording(struct app *app, uint64_t now_ms) {
    char path[200], why[NOTE_BYTES], text[NOTE_BYTES];
    struct session *session = app->open;
    time_t wall = app_wall(app);
    if (session == NULL || app->replay != NULL) {
        app_report(app, "there is no server to record", now_ms);
        return;
    }
    if (session->record.fd < 0 && now_ms >= app->record_until_ms) {
        app->record_until_ms = now_ms + MESSAGE_MS;
        app_report(app, "record to a file in this folder, at most some 4 MB an hour? R again: yes",
                   now_ms);
        return;
    }
    app->record_until_ms = 0;
    if (session->record.fd >= 0) {
        recording_end(&session->record);
        snprintf(text, sizeof text, "recording ended: %.150s", session->record_name);
    } else {
        past_name_recording(session, wall, path);
        bool begins = session_record(session, path, why, sizeof why);
        words_printf(text, sizeof text, begins ? "recording to %.150s; R ends it" : "%s",
                     begins ? path : why);
    }
    model_note(session->model, EVENT_YOU, wall, "%s", text);
    app_report(app, text, now_ms);
}

static void past_toggle_pause(struct app *app, uint64_t now_ms) {
    struct timeline *timeline = &app->timeline;
    if (app->replay != NULL) {
        timeline->plays = !timeline->plays;
        timeline->due_ms = now_ms;
    } else if (timeline->is_past) {
        timeline_go_live(timeline);
    } else {
        timeline_hold(timeline, app->open->tape);
    }
}

bool past_command(struct app *app, enum command command, uint64_t now_ms) {
    struct timeline *timeline = &app->timeline;
    struct tape *tape = app->open != NULL ? app->open->tape : NULL;
    bool needs_tape = command >= COMMAND_PAUSE && command <= COMMAND_LIVE;
    if (needs_tape && (tape == NULL || tape_first(tape) == tape_end(tape))) {
        app_report(app, "there is no past yet", now_ms);
        return true;
    }
    switch (command) {
    case COMMAND_PAUSE:
        past_toggle_pause(app, now_ms);
        return true;
    case COMMAND_TIME_BACK:
        timeline_step(timeline, tape, -1);
        return true;
    case COMMAND_TIME_ON:
        timeline_step(timeline, tape, 1);
        return true;
    case COMMAND_MINUTE_BACK:
        timeline_hold(timeline, tape);
        timeline_seek(timeline, tape, timeline->wall_ms - 60000);
        return true;
    case COMMAND_MINUTE_ON:
        timeline_hold(timeline, tape);
        timeline_seek(timeline, tape, timeline->wall_ms + 60000);
        return true;
    case COMMAND_EVENT_BEFORE:
    case COMMAND_EVENT_AFTER:
        if (!timeline_to_event(timeline, tape, app_live_model(app),
                               command == COMMAND_EVENT_BEFORE ? -1 : 1)) {
            app_report(app, "there is no event there", now_ms);
        }
        return true;
    case COMMAND_LIVE:
        if (app->replay != NULL) {
            timeline_seek(timeline, tape, INT64_MAX);
        } else {
            timeline_go_live(timeline);
        }
        return true;
    case COMMAND_MARK_MOMENT:
        past_mark_moment(app, now_ms);
        return true;
    case COMMAND_RECORD:
        past_toggle_recording(app, now_ms);
        return true;
    default:
        return false;
    }
}

void past_seek_once_loaded(struct app *app) {
    if (app->seeks && app->replay->recording == NULL) {
        timeline_seek_from_start(&app->timeline, app->replay->tape, app->options->at_s);
        app->seeks = false;
        app->is_dirty = true;
    }
}
