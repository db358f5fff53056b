/* Compares a reply about a key with the owner's knowledge: a difference is counted as a violation and ends the entry's use; new facts are
 * learnt. For the owner's thread. */
#ifndef MODEL_KNOWN_H
#define MODEL_KNOWN_H
#include "request.h"

/* A violation; `reply` NULL: no more to print. */
void known_wrong(struct world *, enum wrong, const struct request *, struct entry *, const char *how, const char *reply);
/* The key is there: may it be? */
bool known_alive(const struct request *, struct entry *, struct world *, const char *reply);
/* The key is missing: an eviction, unless there is another reason. */
void known_gone(const struct request *, struct entry *, struct world *);

void known_give_cas(struct entry *, uint64_t given); /* 0: the server chose one */
void known_learn_cas(const struct request *, struct entry *, struct world *, uint64_t cas);
bool known_cas_matches(const struct request *, const struct entry *);
void known_check_value(const struct request *, struct entry *, struct world *, const char *bytes, size_t n);

/* The entry after an executed request. */
void known_touched(const struct request *, struct entry *);
void known_stored(struct entry *, const struct request *, struct world *, bool joined);
void known_vivified(struct entry *, const struct request *, struct world *); /* N made the missing key */
#endif
