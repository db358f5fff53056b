/* Where in time the screen is: live, or at a sample of the past.
 *
 * The moment that is looked at is a model like the live one, fed from the tape with the samples
 * that lead up to it, so views need not know that it is past. Going one sample on costs one sample;
 * any other step feeds a new model: at most TIMELINE_MOST samples. One thread. */
#ifndef CONSOLE_APP_TIMELINE_H
#define CONSOLE_APP_TIMELINE_H
#include "facts/model.h"
#include "facts/tape.h"

enum { TIMELINE_LEAST = 110, TIMELINE_MOST = 400 };

struct timeline {
    bool is_past; /* the screen stands at index; else it follows the newest sample */
    bool plays;   /* moves on by itself, at the pace at which the samples were taken */
    uint64_t index;
    int64_t wall_ms;  /* of the sample at index */
    uint64_t due_ms;  /* when it plays: time of the next step */
    struct model *moment;
    uint64_t moment_index;
    unsigned depth; /* samples before it that the moment has room for */
    bool was_live; /* it stood still where it was live, at held_index */
    uint64_t held_index;
};

/* Back to live; forgets the moment. */
void timeline_go_live(struct timeline *timeline);
/* Stands still at the newest sample; does nothing while the tape is empty. */
void timeline_hold(struct timeline *timeline, struct tape *tape);
/* Moves by samples, or to a time of day; stands still first when it was live, and stays within the
 * tape. */
void timeline_step(struct timeline *timeline, struct tape *tape, int64_t samples);
void timeline_seek(struct timeline *timeline, struct tape *tape, int64_t wall_ms);
/* To so many seconds behind the first sample. */
void timeline_seek_from_start(struct timeline *timeline, struct tape *tape, double seconds);
/* To the next (1) or previous (-1) event; false when there is none. */
bool timeline_to_event(struct timeline *timeline, struct tape *tape, const struct model *live,
                       int direction);
/* Plays on when that is due. True when it moved. */
bool timeline_tick(struct timeline *timeline, struct tape *tape, uint64_t now_ms);
uint64_t timeline_due_ms(const struct timeline *timeline);

/* The model to show, with room for graphs of `width` samples; the live one when there is no past or
 * no memory. Valid until the next call. */
const struct model *timeline_model(struct timeline *timeline, struct tape *tape,
                                   const struct model *live, int width);
#endif
