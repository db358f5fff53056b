/* The stats command. Statistics that memcached has carry memcached's names and order; slated's
 * own have other names.
 *
 * Every statistic is one row in a table of these files. The row generates the line of the answer
 * and the line of `stats describe`, and alone documents the statistic. To add a statistic, add a
 * row here, and the counter's name to the table in its room's header.
 *
 * Threading: the session's worker. A sum reads counters while other threads add to them, so the
 * values of one answer may be a few operations apart. */
#ifndef SLATE_SERVER_STATS_STATS_H
#define SLATE_SERVER_STATS_STATS_H
#include <stdio.h>

#include "server/commands/command.h"
#include "server/commands/command_words.h"

void stats_command(struct command_context *, const struct words *);

/* Every row of the tables as a line of tab-separated fields: table, name, kind, unit, help. */
void stats_describe_counters(FILE *);

/* Short kinds: each writes STAT lines without END. */
void stats_general(struct command_context *); /* stats_general.c */
void stats_slated(struct command_context *);   /* stats_slated.c */
void stats_memory(struct command_context *);   /* stats_memory.c */
void stats_policies(struct command_context *);
void stats_automove(struct command_context *); /* stats_automove.c */
void stats_config(struct command_context *);  /* stats_config.c */
void stats_geometry(struct command_context *); /* stats_geometry.c */

/* Kinds that are sent in pieces and write END themselves, and kinds that take words, which write
 * END or an error. */
void stats_conns(struct command_context *);   /* stats_conns.c */
void stats_items(struct command_context *);   /* stats_classes.c */
void stats_slabs(struct command_context *);
void stats_moves(struct command_context *);   /* stats_moves.c */
void stats_audit(struct command_context *);   /* stats_audit.c; an order */
void stats_curve(struct command_context *, const struct words *); /* stats_sample.c */
void stats_hotkeys(struct command_context *, const struct words *);
void stats_whatif(struct command_context *);
void stats_sizehist(struct command_context *); /* stats_sizes.c */
void stats_sizes_table(struct command_context *); /* stats_sizes.c */
void stats_evictions(struct command_context *); /* stats_evictions.c */
void stats_pages(struct command_context *, const struct words *); /* stats_pages.c */

/* A row of a table, for `stats describe`. A NULL name ends a table. */
struct counter_info {
    const char *name, *kind, *unit, *help;
};
extern const struct counter_info stats_general_info[], stats_items_info[], stats_slabs_info[],
    stats_slated_info[], stats_memory_info[], stats_moves_info[], stats_automove_info[],
    stats_geometry_info[], stats_whatif_info[], stats_curve_info[], stats_evictions_info[],
    stats_sizehist_info[], stats_pages_info[];

/* Rows X(name, kind, unit, type, value, "help") of the tables: kind is counter, gauge or text; type
 * is U64, TEXT, SECONDS (of a struct timeval) or RATIO (a double with two digits). */
#define STATS_INFO(name, kind, unit, type, value, help) {#name, #kind, #unit, help},
#define STATS_PUT(name, kind, unit, type, value, help) STATS_PUT_##type(#name, value)
#define STATS_PUT_U64(name, value) \
    text_out_printf(out, "STAT %s %" PRIu64 "\r\n", name, (uint64_t)(value));
#define STATS_PUT_TEXT(name, value) text_out_printf(out, "STAT %s %s\r\n", name, (value));
#define STATS_PUT_SECONDS(name, value) \
    text_out_printf(out, "STAT %s %ld.%06ld\r\n", name, (long)(value).tv_sec, \
                    (long)(value).tv_usec);
#define STATS_PUT_RATIO(name, value) \
    text_out_printf(out, "STAT %s %.2f\r\n", name, (double)(value));
#endif
