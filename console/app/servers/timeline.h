/* The time that the screen shows: live, or a sample of the past.
 *
 * The moment shown is a model like the live one, fed from the tape with the samples before it, so
 * views need not know that it is past. A step of one sample on costs one sample. Any other step
 * feeds a new model: at most TIMELINE_MOST samples. One thread. */
#ifndef CONSOLE_APP_SERVERS_TIMELINE_H
#define CONSOLE_APP_SERVERS_TIMELINE_H
#include "facts/model.h"
#include "facts/tape.h"

enum { TIMELINE_LEAST = 110, TIMELINE_MOST = 400 };

struct timeline {
    bool is_past; /* the screen shows index; else the newest sample */
    bool plays;   /* steps by itself, at the pace of the samples */
    uint64_t index;
    int64_t wall_ms;  /* time of the sample at index */
    uint64_t due_ms;  /* time of the next step, if it plays */
    struct model *moment;
    uint64_t moment_index;
    unsigned depth; /* how many samples before moment_index the moment has room for */
    bool was_live; /* a pause began live, at held_index */
    uint64_t held_index;
};

/* Goes back to live; frees the moment. */
void timeline_go_live(struct timeline *timeline);
/* Pauses at the newest sample; does nothing while the tape is empty. */
void timeline_hold(struct timeline *timeline, struct tape *tape);
/* Moves by samples, or to a time of day; pauses first when live, and stays within the tape. */
void timeline_step(struct timeline *timeline, struct tape *tape, int64_t samples);
void timeline_seek(struct timeline *timeline, struct tape *tape, int64_t wall_ms);
/* Moves to this many seconds after the first sample. */
void timeline_seek_from_start(struct timeline *timeline, struct tape *tape, double seconds);
/* Moves to the next (1) or previous (-1) event; false when there is none. */
bool timeline_to_event(struct timeline *timeline, struct tape *tape, const struct model *live,
                       int direction);
/* Plays the next sample when it is due. True when it moved. */
bool timeline_tick(struct timeline *timeline, struct tape *tape, uint64_t now_ms);
uint64_t timeline_due_ms(const struct timeline *timeline);

/* The model to show, with room for graphs of `width` samples; the live one when there is no past or
 * no memory. Valid until the next call. */
const struct model *timeline_model(struct timeline *timeline, struct tape *tape,
                                   const struct model *live, int width);
#endif
