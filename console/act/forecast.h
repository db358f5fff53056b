/* The predicted effect of a change, its risks, and what undo restores: sentences of
 * lua/slate/judge/prediction.lua. One thread. */
#ifndef CONSOLE_ACT_FORECAST_H
#define CONSOLE_ACT_FORECAST_H
#include "act/action.h"
#include "brain/ask.h"

/* Sentences labelled "WARNING", "automove", "expects", "may lose" and "undo", those that apply;
 * returns how many. */
unsigned forecast_ask(const struct action *action, const struct model *model,
                      struct sentence out[SENTENCES_MOST]);

/* The sentence with this label; "" if there is none. */
const char *forecast_of(const struct sentence *sentences, unsigned count, const char *label);

/* Adds the inquiries that the forecast of this action reads. */
void forecast_wants(const struct action *action, struct wants *wants);

/* Adds the outlook of an order of chunk sizes ("factor 1.25"), if there is room for one more. */
void outlook_wants(const char *order, struct wants *wants);
#endif
