/* What a change is likely to bring, by figures of the server itself: slated's miniature caches and
 * its curve. Nothing is guessed where the server has no figure. Pure functions. One thread. */
#ifndef CONSOLE_ACT_FORECAST_H
#define CONSOLE_ACT_FORECAST_H
#include "act/action.h"

/* A sentence with the figures and how sure they are; "" when the server has none for this change. */
void forecast_words(const struct action *action, const struct model *model, char *out,
                    size_t out_bytes);

/* Adds what it reads for this action. */
void forecast_wants(const struct action *action, struct wants *wants);

/* Adds an order of chunk sizes ("factor 1.25") whose outlook is shown, while there is room for one. */
void outlook_wants(const char *order, struct wants *wants);
#endif
