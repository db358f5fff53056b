/* The notes after the fields of a review: the figures of a class, the present value of a setting,
 * the effect of a bound. Functions of the frame. */
#ifndef CONSOLE_VIEWS_REVIEW_REVIEW_NOTES_H
#define CONSOLE_VIEWS_REVIEW_REVIEW_NOTES_H
#include "views/view.h"

enum field {
    FIELD_FROM,
    FIELD_TO,
    FIELD_PAGES,
    FIELD_VALUE,
    FIELD_MINUTES,
    FIELD_EVICTIONS,
    FIELD_HITS
};

/* number: the field's number; the value of FIELD_VALUE is in the review's plan. */
void review_note(const struct frame *frame, const struct ui *ui, enum field field, unsigned number,
                 char *out, size_t out_bytes);
#endif
