/* The predicted effect of a change, its risks, and what undo restores: sentences of
 * lua/slate/judge/prediction.lua. One thread. */
#ifndef CONSOLE_ACT_FORECAST_H
#define CONSOLE_ACT_FORECAST_H
#include "act/action.h"
#include "brain/brain_query.h"

/* Sentences labelled "WARNING", "automove", "expects", "may lose" and "undo", those that apply;
 * returns how many. */
unsigned forecast_query(const struct action *action, const struct model *model,
                        struct sentence out[SENTENCES_MOST]);

/* The sentence with this label; "" if there is none. */
const char *forecast_of(const struct sentence *sentences, unsigned count, const char *label);

/* Adds the inquiries that the forecast of this action reads. */
void forecast_wants(const struct action *action, struct wants *wants);

/* Adds the prediction of an order of chunk sizes ("factor 1.25"), if there is room for one more. */
void forecast_wants_order(const char *order, struct wants *wants);
#endif
