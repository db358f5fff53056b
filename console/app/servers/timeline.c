#include "app/servers/timeline.h"

#include "brain/brain.h"

#include <stdlib.h>

static uint64_t timeline_last_index(const struct tape *tape) {
    return tape_end(tape) - 1;
}

static bool timeline_is_empty(const struct tape *tape) {
    return tape_first(tape) == tape_end(tape);
}

void timeline_go_live(struct timeline *timeline) {
    model_destroy(&timeline->moment);
    *timeline = (struct timeline){0};
}

/* Keeps the index within the tape and looks up its time. */
static void timeline_settle_index(struct timeline *timeline, struct tape *tape) {
    if (timeline->index < tape_first(tape)) {
        timeline->index = tape_first(tape);
    }
    tape_read(tape, timeline->index, NULL, &timeline->wall_ms);
}

void timeline_hold(struct timeline *timeline, struct tape *tape) {
    timeline->plays = false;
    if (!timeline->is_past && !timeline_is_empty(tape)) {
        timeline->is_past = timeline->was_live = true;
        timeline->index = timeline->held_index = timeline_last_index(tape);
        timeline_settle_index(timeline, tape);
    }
}

void timeline_step(struct timeline *timeline, struct tape *tape, int64_t samples) {
    timeline_hold(timeline, tape);
    if (!timeline->is_past) {
        return;
    }
    uint64_t first = tape_first(tape), last = timeline_last_index(tape);
    uint64_t back = samples < 0 ? (uint64_t)-samples : 0, on = samples > 0 ? (uint64_t)samples : 0;
    timeline->index = timeline->index < first + back ? first : timeline->index - back;
    timeline->index = last - timeline->index < on ? last : timeline->index + on;
    timeline_settle_index(timeline, tape);
}

void timeline_seek(struct timeline *timeline, struct tape *tape, int64_t wall_ms) {
    timeline_hold(timeline, tape);
    if (timeline->is_past) {
        timeline->index = tape_find(tape, wall_ms);
        timeline_settle_index(timeline, tape);
    }
}

void timeline_seek_from_start(struct timeline *timeline, struct tape *tape, double seconds) {
    timeline->index = 0;
    timeline_step(timeline, tape, 0);
    timeline_seek(timeline, tape, timeline->wall_ms + (int64_t)(seconds * 1000));
}

bool timeline_to_event(struct timeline *timeline, struct tape *tape, const struct model *live,
                       int direction) {
    timeline_hold(timeline, tape);
    time_t here = (time_t)(timeline->wall_ms / 1000);
    const struct event *found = NULL;
    const struct event *event;
    for (unsigned i = 0; (event = model_event(live, i)) != NULL; i++) { /* newest first */
        if (direction < 0 && event->wall < here) {
            found = event;
            break;
        }
        if (direction > 0 && event->wall > here) {
            found = event;
        }
    }
    if (found == NULL || !timeline->is_past) {
        return false;
    }
    /* An event belongs to the sample that showed it: the last one within its second. */
    timeline_seek(timeline, tape, (int64_t)found->wall * 1000 + 999);
    return true;
}

bool timeline_tick(struct timeline *timeline, struct tape *tape, uint64_t now_ms) {
    if (!timeline->plays || timeline_is_empty(tape) || now_ms < timeline->due_ms) {
        return false;
    }
    int64_t next_wall_ms;
    bool has_moved = false;
    while (timeline->index < timeline_last_index(tape) && now_ms >= timeline->due_ms) {
        timeline->index++;
        timeline_settle_index(timeline, tape);
        has_moved = true;
        if (!tape_read(tape, timeline->index + 1, NULL, &next_wall_ms)) {
            break;
        }
        int64_t pause_ms = next_wall_ms - timeline->wall_ms;
        timeline->due_ms += (uint64_t)(pause_ms > 5000 ? 5000 : pause_ms < 1 ? 1 : pause_ms);
    }
    if (now_ms >= timeline->due_ms) {
        timeline->due_ms = now_ms + 1000; /* at the tape's end, playing waits for more samples */
    }
    return has_moved;
}

uint64_t timeline_due_ms(const struct timeline *timeline) {
    return timeline->plays ? timeline->due_ms : UINT64_MAX;
}

static bool timeline_feed_sample(struct timeline *timeline, struct tape *tape, uint64_t index) {
    const struct snapshot *snapshot;
    int64_t wall_ms;
    if (!tape_read(tape, index, &snapshot, &wall_ms)) {
        return false;
    }
    model_add(timeline->moment, snapshot, (time_t)(wall_ms / 1000));
    timeline->moment_index = index;
    return true;
}

const struct model *timeline_model(struct timeline *timeline, struct tape *tape,
                                   const struct model *live, int width) {
    if (!timeline->is_past) {
        return live;
    }
    timeline_settle_index(timeline, tape);
    int samples = width < TIMELINE_LEAST ? TIMELINE_LEAST : width;
    unsigned depth = (unsigned)(samples < TIMELINE_MOST ? samples : TIMELINE_MOST);
    bool is_deep = timeline->moment != NULL && timeline->depth >= depth;
    bool is_there = is_deep && timeline->moment_index == timeline->index;
    bool is_next = is_deep && timeline->moment_index + 1 == timeline->index;
    if (!is_there && !is_next) {
        model_destroy(&timeline->moment);
        timeline->moment = brain_model(model_server(live));
        if (timeline->moment == NULL) {
            return live;
        }
        timeline->depth = depth;
        model_expect_samples(timeline->moment, depth + 1);
        uint64_t first = tape_first(tape);
        uint64_t from = timeline->index - first > depth ? timeline->index - depth : first;
        for (uint64_t i = from; i < timeline->index; i++) {
            timeline_feed_sample(timeline, tape, i);
        }
    }
    if (!is_there) {
        timeline_feed_sample(timeline, tape, timeline->index);
    }
    /* Answers to inquiries are not on the tape. They are known only for the sample at which the
     * live screen was paused. */
    bool is_held = timeline->was_live && timeline->index == timeline->held_index;
    model_lend_details(timeline->moment, is_held ? live : NULL);
    model_set_link(timeline->moment, LINK_UP, "", (time_t)(timeline->wall_ms / 1000));
    model_copy_events(timeline->moment, live, (time_t)(timeline->wall_ms / 1000));
    return timeline->moment;
}
