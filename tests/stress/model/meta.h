/* The flags of meta replies. */
#ifndef MODEL_META_H
#define MODEL_META_H
#include "request.h"

/* The marks behind the requested flags. */
struct meta_marks {
    bool won, lost, stale;
};

/* Every requested flag comes back, in order; `shown` are those that this code of reply has. A key comes as sent, or encoded when the item
 * was stored so. */
bool meta_hear_flags(const struct request *, struct entry *, struct world *, const char *line, const char *shown, bool trust_cas,
                     uint64_t *size, double *ttl, bool *ttl_never, uint32_t *flags, struct meta_marks *);
bool meta_shows(const struct request *, char letter);
void meta_check_ttl(const struct request *, struct entry *, struct world *, double ttl, bool never);
#endif
