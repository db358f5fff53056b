/* Answers that walk all items: the crawler's dumps and `stats cachedump`. They are sent in pieces,
 * so that neither memory nor the wait of other connections grows with the cache. */
#ifndef SLATE_SERVER_COMMANDS_DUMP_H
#define SLATE_SERVER_COMMANDS_DUMP_H
#include "server/commands/command.h"

enum dump_kind {
    DUMP_META,  /* key=… exp=… lines, END */
    DUMP_MG,    /* mg key, EN */
    DUMP_CACHE, /* ITEM key [n b; t s], END; at most DUMP_CACHE_BYTES */
};
#define DUMP_CACHE_BYTES (2u << 20)

/* Starts a dump of the items of these classes; `limit` items at most, 0: all. */
void dump_start(struct command_context *, enum dump_kind, const struct class_set *classes,
                uint32_t limit);
#endif
