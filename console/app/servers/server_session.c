#include "app/servers/server_session.h"

#include "brain/brain.h"
#include "brain/format.h"
#include "facts/poll_clock.h"
#include "facts/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPLAY_TAPE_BYTES = 256 << 20, REPLAY_TAPE_SAMPLES = 10000000 };

/* A snapshot of a recording: up to 44 kB are too much for a stack frame. */
static struct snapshot read_last;

static struct session *session_make(const char *name, unsigned samples, size_t tape_bytes) {
    struct session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        return NULL;
    }
    session->record.fd = -1;
    acting_init(&session->acting);
    session->model = brain_model(name);
    session->tape = tape_create(samples, tape_bytes);
    if (session->model == NULL || session->tape == NULL) {
        session_destroy(&session);
    }
    return session;
}

struct session *session_create(const struct address *address, const struct access *access,
                               uint64_t interval_ms, size_t tape_bytes) {
    struct session *session = session_make(address->text, TAPE_HOUR_SAMPLES, tape_bytes);
    if (session == NULL) {
        return NULL;
    }
    session->address = *address;
    session->client = client_create(address, access);
    if (session->client == NULL) {
        session_destroy(&session);
        return NULL;
    }
    poller_init(&session->poller, interval_ms);
    model_expect_interval(session->model, interval_ms);
    return session;
}

/* Reads the first snapshot here: only with it is known whether there is anything to show. */
struct session *session_replay(const char *path, char *why, size_t why_bytes) {
    struct recording *recording = recording_open(path, why, why_bytes);
    if (recording == NULL) {
        return NULL;
    }
    char problem[NOTE_BYTES] = "it is empty";
    int64_t wall_ms;
    unsigned bad_lines = 0;
    enum recording_result result;
    while ((result = recording_next(recording, &read_last, &wall_ms, problem, sizeof problem)) ==
           RECORDING_BAD_LINE) {
        bad_lines++;
    }
    struct session *session = NULL;
    if (result == RECORDING_END) {
        words_printf(why, why_bytes, "%.100s is not a recording: %s", path, problem);
    } else {
        session = session_make(recording_server(recording), REPLAY_TAPE_SAMPLES, REPLAY_TAPE_BYTES);
    }
    if (session == NULL) {
        if (result != RECORDING_END) {
            snprintf(why, why_bytes, "out of memory");
        }
        recording_close(&recording);
        return NULL;
    }
    session->is_replay = true;
    model_expect_samples(session->model, 1); /* the screen shows moments, by their own models */
    session->recording = recording;
    session->bad_lines = bad_lines;
    model_set_link(session->model, LINK_UP, "", (time_t)(wall_ms / 1000));
    model_add(session->model, &read_last, (time_t)(wall_ms / 1000));
    tape_add(session->tape, &read_last, wall_ms);
    return session;
}

void session_destroy(struct session **session) {
    if (*session != NULL) {
        recording_end(&(*session)->record);
        acting_fini(&(*session)->acting);
        recording_close(&(*session)->recording);
        client_destroy(&(*session)->client);
        watch_stop(&(*session)->watch);
        model_destroy(&(*session)->model);
        tape_destroy(&(*session)->tape);
        recording_fini(&(*session)->raw);
        free(*session);
        *session = NULL;
    }
}

static enum link_state session_link_state(const struct session *session) {
    switch (client_state(session->client)) {
    case CLIENT_UP:
        if (session->poller.refusal[0] != '\0') {
            return LINK_DOWN;
        }
        if (session->poller.has_answered &&
            session->poller.generation == client_generation(session->client)) {
            return LINK_UP;
        }
        break;
    case CLIENT_DOWN:
        return client_note(session->client)[0] != '\0' ? LINK_DOWN : LINK_CONNECTING;
    case CLIENT_LOOKUP:
    case CLIENT_CONNECTING:
        break;
    }
    /* During further tries, and until the server has answered, the reason of the last failure stays
     * on the screen. */
    return model_link(session->model) == LINK_DOWN ? LINK_DOWN : LINK_CONNECTING;
}

static void session_follow_link(struct session *session, time_t wall) {
    enum link_state state = session_link_state(session);
    bool is_refused =
        client_state(session->client) == CLIENT_UP && session->poller.refusal[0] != '\0';
    char note[NOTE_BYTES];
    words_printf(note, sizeof note, is_refused ? "the server refuses to answer: %s" : "%s",
                 is_refused ? session->poller.refusal : client_note(session->client));
    if (state != model_link(session->model) || strcmp(note, model_link_note(session->model)) != 0) {
        model_set_link(session->model, state, note, wall);
        session->has_news = true;
    }
}

/* True if a state has changed for ALARM_AFTER_MS: figures at a bound come and go before. */
static bool session_alarm_turns(struct alarm *alarm, bool is_so, uint64_t now_ms) {
    if (is_so == alarm->is_raised) {
        alarm->differs_ms = 0;
        return false;
    }
    if (alarm->differs_ms == 0) {
        alarm->differs_ms = now_ms;
    }
    if (now_ms - alarm->differs_ms < ALARM_AFTER_MS) {
        return false;
    }
    *alarm = (struct alarm){.is_raised = is_so};
    return true;
}

/* Notes events for the beginning and end of states that the overview shows only while they last. */
static void session_note_alarms(struct session *session, uint64_t now_ms, time_t wall) {
    const struct brain *brain = brain_of(session->model);
    const struct held *held = &brain_said(brain)->held;
    for (unsigned id = 1; id < CLASS_LIMIT; id++) {
        bool starves = brain_class(brain, id)->state == CLASS_STARVING;
        if (session_alarm_turns(&session->starvation[id], starves, now_ms)) {
            model_note(session->model, EVENT_ALARM, wall,
                       starves ? "class %u starves" : "class %u starves no more", id);
        }
    }
    if (session_alarm_turns(&session->overrun, held->is_much, now_ms)) {
        char bytes[FORMAT_BYTES], limit[FORMAT_BYTES];
        format_bytes(bytes, held->bytes);
        format_bytes(limit, held->limit_bytes);
        model_note(session->model, EVENT_ALARM, wall,
                   held->is_much ? "%s of memory held, the limit is %s"
                                 : "memory is within its limit again: %s of %s",
                   bytes, limit);
    }
}

/* ---- recording and replaying ---- */

bool session_record(struct session *session, const char *path, char *why, size_t why_bytes) {
    recording_end(&session->record);
    bool is_open = recording_append_to(&session->record, path, why, why_bytes);
    session->stores_raw = session->stores_raw || is_open;
    snprintf(session->record_name, sizeof session->record_name, "%s", path);
    return is_open;
}

static struct raw_about session_about_line(const struct session *session, int64_t wall_ms) {
    const struct snapshot *now = model_now(session->model);
    return (struct raw_about){.server = session->address.text,
                              .own_version = now != NULL && now->is_slated ? now->own_version : "",
                              .wall_ms = wall_ms};
}

char *session_line(const struct session *session, int64_t wall_ms) {
    struct raw_about about = session_about_line(session, wall_ms);
    return recording_complete_line(&session->raw, &about);
}

static void session_write_line(struct session *session, int64_t wall_ms) {
    char why[NOTE_BYTES];
    struct raw_about about = session_about_line(session, wall_ms);
    if (!recording_write(&session->record, &session->raw, &about, why, sizeof why)) {
        model_note(session->model, EVENT_ALARM, (time_t)(wall_ms / 1000), "%s", why);
        recording_end(&session->record);
    }
}

static void session_load_some(struct session *session) {
    uint64_t until_ms = clock_ms() + LOAD_MS;
    while (session->recording != NULL && clock_ms() < until_ms) {
        char why[NOTE_BYTES];
        int64_t wall_ms;
        time_t wall = 0;
        switch (recording_next(session->recording, &read_last, &wall_ms, why, sizeof why)) {
        case RECORDING_SAMPLE:
            wall = (time_t)(wall_ms / 1000);
            model_add(session->model, &read_last, wall);
            session_note_alarms(session, read_last.at_ms, wall);
            tape_add(session->tape, &read_last, wall_ms);
            break;
        case RECORDING_BAD_LINE:
            session->bad_lines++;
            model_note(session->model, EVENT_ALARM, 0, "recording: %.150s", why);
            break;
        case RECORDING_END:
            recording_close(&session->recording);
            break;
        }
    }
    session->has_news = true;
}

/* ---- replies, the poller and the stream ---- */

void session_step(struct session *session, uint64_t now_ms) {
    if (session->client != NULL) {
        client_step(session->client, now_ms);
    } else if (session->recording != NULL) {
        session_load_some(session);
    }
    session->has_news = watch_step(&session->watch, now_ms) || session->has_news;
}

/* Takes the answer to an inquiry. */
static void session_take_answer(struct session *session, const struct reply *reply,
                                uint64_t now_ms) {
    struct details *details = model_open_details(session->model);
    bool is_curve = reply->tag >= TAG_CLASS_CURVE;
    if (details == NULL) {
        return;
    }
    if (reply->tag >= TAG_PREDICTION) {
        prediction_take(&details->predictions, (unsigned)(reply->tag - TAG_PREDICTION), reply->text,
                        reply->text_bytes, now_ms);
    } else {
        details_take(details,
                     is_curve ? INQUIRY_CLASS_CURVES : (enum inquiry)(reply->tag - TAG_INQUIRY),
                     is_curve ? (unsigned)(reply->tag - TAG_CLASS_CURVE) : 0, reply->text,
                     reply->text_bytes, reply->is_stats, now_ms);
    }
}

bool session_take(struct session *session, struct reply *reply, uint64_t now_ms, int64_t wall_ms) {
    while (session->client != NULL && client_take_reply(session->client, reply, now_ms)) {
        if (reply->tag >= TAG_OTHER) {
            session->has_news = true;
            return true;
        }
        if (reply->tag == TAG_ACTING) {
            acting_take_reply(&session->acting, session->model, reply->text, reply->text_bytes,
                              now_ms, (time_t)(wall_ms / 1000));
            session->has_news = true;
            continue;
        }
        if (reply->tag == TAG_PROBE) {
            poller_take_probe(&session->poller);
            continue;
        }
        if (reply->tag >= TAG_INQUIRY) {
            session_take_answer(session, reply, now_ms);
            session->has_news = true;
            continue;
        }
        if (session->stores_raw && reply->is_stats) {
            recording_take(&session->raw, (enum stats_group)reply->tag, reply->text,
                           reply->text_bytes);
        }
        if (poller_take(&session->poller, reply, now_ms)) {
            time_t wall = (time_t)(wall_ms / 1000);
            session_follow_link(session, wall); /* the server answers: the screen must say so */
            model_add(session->model, &session->poller.latest, wall);
            tape_add(session->tape, &session->poller.latest, wall_ms);
            session_note_alarms(session, now_ms, wall);
            if (session->record.fd >= 0 && poller_is_steady(&session->poller)) {
                session_write_line(session, wall_ms); /* a recording needs even intervals */
            }
            session->has_news = session->has_sample = true;
        }
    }
    return false;
}

void session_end(struct session *session, uint64_t now_ms, int64_t wall_ms) {
    if (session->client != NULL) {
        bool was_waiting = session->poller.is_waiting;
        poller_step(&session->poller, session->client, now_ms);
        if (!was_waiting && session->poller.is_waiting) {
            recording_forget(&session->raw); /* not every refresh brings settings */
        }
        session_follow_link(session, (time_t)(wall_ms / 1000));
        if (acting_step(&session->acting, session->client, TAG_ACTING, session->model, now_ms,
                        (time_t)(wall_ms / 1000))) {
            poller_hurry(&session->poller, now_ms);
            session->has_news = true;
        }
    }
}

uint64_t session_due_ms(const struct session *session) {
    if (session->client == NULL) {
        return session->recording != NULL ? 0 : UINT64_MAX;
    }
    uint64_t client_ms = client_due_ms(session->client);
    uint64_t poller_ms = poller_due_ms(&session->poller, session->client);
    uint64_t acting_ms = session->acting.due_ms;
    uint64_t watch_ms = watch_due_ms(&session->watch);
    uint64_t due_ms = client_ms < poller_ms ? client_ms : poller_ms;
    due_ms = due_ms < acting_ms ? due_ms : acting_ms;
    return due_ms < watch_ms ? due_ms : watch_ms;
}

uint64_t session_retry_ms(const struct session *session) {
    return session->client != NULL && client_state(session->client) == CLIENT_DOWN
               ? client_retry_ms(session->client)
               : 0;
}

void session_want(struct session *session, const struct wants *wants, uint64_t now_ms) {
    bool can_request = (wants->inquiries | wants->unhurried) != 0 && session->client != NULL;
    struct details *to = can_request ? model_open_details(session->model) : NULL;
    if (to != NULL) {
        details_focus(to, wants->class_id);
        prediction_want(&to->predictions, wants->orders, wants->order_count);
        memcpy(to->curves_first, wants->curves_first, sizeof to->curves_first);
    }
    poller_want(&session->poller, wants, to, now_ms);
}
