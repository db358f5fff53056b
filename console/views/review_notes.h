/* What stands behind the fields of a review: what a class has, what a setting is now, what a bound
 * does. Functions of the frame. */
#ifndef CONSOLE_VIEWS_REVIEW_NOTES_H
#define CONSOLE_VIEWS_REVIEW_NOTES_H
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

/* number: what the field has; of FIELD_VALUE the review's plan has it. */
void review_note(const struct frame *frame, const struct ui *ui, enum field field, unsigned number,
                 char *out, size_t out_bytes);
#endif
