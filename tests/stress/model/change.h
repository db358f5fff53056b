/* Replies to requests that change a key, and what the model is after them. */
#ifndef MODEL_CHANGE_H
#define MODEL_CHANGE_H
#include "request.h"

/* False: the replies that follow can no longer be told apart. */
bool change_hear(const struct request *, struct world *, struct wire *, char *line);
/* Nothing was said: what q hides was the answer; noreply hides everything. */
void change_hear_silence(const struct request *, struct world *);
#endif
