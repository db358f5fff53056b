/* What a change is likely to bring, by figures of the server itself: slated's miniature caches and
 * its curve. Nothing is guessed where the server has no figure. Pure functions. One thread. */
#ifndef CONSOLE_FORECAST_H
#define CONSOLE_FORECAST_H
#include "action.h"

/* A sentence with the figures and how sure they are; "" when the server has none for this change. */
void forecast_words(const struct action *action, const struct model *model, char *out,
                    size_t out_bytes);

/* The inquiries that it reads. */
#define FORECAST_WANTS (INQUIRY_BIT(WHATIF) | INQUIRY_BIT(CURVE) | INQUIRY_BIT(GEOMETRY))
#endif
