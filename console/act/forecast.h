/* What a change is likely to bring, what may come of it, and what undo gives back, in the sentences
 * of lua/slate/judge/prediction.lua. One thread. */
#ifndef CONSOLE_ACT_FORECAST_H
#define CONSOLE_ACT_FORECAST_H
#include "act/action.h"
#include "brain/ask.h"

/* Sentences labelled "WARNING", "automove", "expects", "may lose" and "undo", as far as there is
 * something to say; returns how many. */
unsigned forecast_ask(const struct action *action, const struct model *model,
                      struct sentence out[SENTENCES_MOST]);

/* The one with a label; "" without. */
const char *forecast_of(const struct sentence *sentences, unsigned count, const char *label);

/* Adds what it reads for this action. */
void forecast_wants(const struct action *action, struct wants *wants);

/* Adds an order of chunk sizes ("factor 1.25") whose outlook is shown,
 * while there is room for one. */
void outlook_wants(const char *order, struct wants *wants);
#endif
