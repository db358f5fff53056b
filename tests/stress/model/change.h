/* Replies to requests that change a key, and the model after them. */
#ifndef MODEL_CHANGE_H
#define MODEL_CHANGE_H
#include "request.h"

/* False: the following replies can no longer be attributed. */
bool change_hear(const struct request *, struct world *, struct wire *, char *line);
/* No reply: the one that q hides was the reply; noreply hides all. */
void change_hear_silence(const struct request *, struct world *);
#endif
