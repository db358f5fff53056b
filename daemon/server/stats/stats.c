#include "server/stats/stats.h"

#include <string.h>

#include "server/admin/admin.h"
#include "server/commands/dump.h"
#include "server/prefix_stats.h"

static void stats_reset(struct command_context *ctx) {
    server_reset_counters(ctx->server);
    admin_audit(ctx, "stats reset", "all counters");
    text_out_str(ctx->out, "RESET\r\n");
}

static bool stats_write_prefixes(struct command_context *ctx, uint32_t *next, void *state) {
    (void)state;
    while (*next < PREFIX_BUCKETS) {
        *next = prefix_stats_dump(ctx->server->prefixes, *next, ctx->out);
        if (command_piece_full(ctx)) {
            return true;
        }
    }
    return false;
}

static void stats_switch_detail(struct command_context *ctx, const struct words *w) {
    struct settings to = *server_settings_now(ctx->server);
    char why[SETTING_WHY_BYTES];
    /* "o" begins both words: memcached takes it for "on" */
    to.detail_enabled = word_begins(&w->word[2], "on");
    admin_change(ctx, &to, why);
    text_out_str(ctx->out, REPLY_OK);
}

static void stats_detail(struct command_context *ctx, const struct words *w) {
    const struct token *what = w->count > 2 ? &w->word[2] : NULL;
    if (!ctx->server->at_start.dump_enabled) {
        text_out_str(ctx->out, "CLIENT_ERROR stats detail not allowed\r\n");
    } else if (what && word_begins(what, "dump")) {
        command_answer_pieces(ctx, stats_write_prefixes, 0, NULL, 0);
    } else if (what && (word_begins(what, "on") || word_begins(what, "off"))) {
        command_order(ctx, w, stats_switch_detail);
    } else {
        text_out_str(ctx->out, "CLIENT_ERROR usage: stats detail on|off|dump\r\n");
    }
}

static void stats_settings(struct command_context *ctx) {
    struct settings now;
    char value[SETTING_LIST_BYTES];
    server_settings(ctx->server, &now);
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        if (row->stat) {
            setting_format_stat(&now, row, value, sizeof value);
            text_out_printf(ctx->out, "STAT %s %s\r\n", row->stat, value);
        }
    }
    text_out_str(ctx->out, "END\r\n");
}

static void stats_cachedump(struct command_context *ctx, const struct words *w) {
    uint32_t class_id, limit;
    if (!ctx->server->at_start.dump_enabled) {
        text_out_str(ctx->out, "CLIENT_ERROR stats cachedump not allowed\r\n");
    } else if (w->count < 4) {
        text_out_str(ctx->out, "CLIENT_ERROR bad command line\r\n");
    } else if (!word_u32(&w->word[2], &class_id) || !word_u32(&w->word[3], &limit)) {
        text_out_str(ctx->out, ANSWER_BAD_FORMAT);
    } else if (class_id > server_class_last(ctx->server)) {
        text_out_str(ctx->out, "CLIENT_ERROR Illegal slab id\r\n");
    } else {
        struct class_set one = class_set_one(class_id);
        dump_start(ctx, DUMP_CACHE, &one, limit);
    }
}

static void stats_sizes(struct command_context *ctx) {
    if (ctx->server->at_start.track_sizes) {
        stats_sizes_table(ctx);
    } else {
        text_out_str(ctx->out, "STAT sizes_status disabled\r\nEND\r\n");
    }
}

static const struct {
    const char                *name; /* as in `stats NAME` */
    const struct counter_info *rows;
} stats_tables[] = {
    {"general", stats_general_info},   {"items", stats_items_info},
    {"slabs", stats_slabs_info},       {"slated", stats_slated_info},
    {"moves", stats_moves_info},       {"automove", stats_automove_info},
    {"geometry", stats_geometry_info}, {"whatif", stats_whatif_info},
    {"curve", stats_curve_info},       {"evictions", stats_evictions_info},
    {"sizehist", stats_sizehist_info}, {"pages", stats_pages_info},
    {"memory", stats_memory_info},
};

/* The table in which the next piece of the answer begins. */
struct stats_description_place {
    size_t table;
};

static bool stats_write_descriptions(struct command_context *ctx, uint32_t *next, void *state) {
    struct stats_description_place *at = state;
    for (; at->table < sizeof stats_tables / sizeof *stats_tables; at->table++, *next = 0) {
        for (const struct counter_info *row = &stats_tables[at->table].rows[*next]; row->name;
             row++) {
            text_out_printf(ctx->out, "STAT %s:%s %s %s %s\r\n", stats_tables[at->table].name,
                            row->name, row->kind, row->unit, row->help);
            ++*next;
            if (command_piece_full(ctx)) {
                return true;
            }
        }
    }
    return false;
}

static void stats_describe(struct command_context *ctx) {
    struct stats_description_place start = {0};
    command_answer_pieces(ctx, stats_write_descriptions, 0, &start, sizeof start);
}

void stats_describe_counters(FILE *to) {
    for (size_t i = 0; i < sizeof stats_tables / sizeof *stats_tables; i++) {
        for (const struct counter_info *row = stats_tables[i].rows; row->name; row++) {
            fprintf(to, "%s\t%s\t%s\t%s\t%s\n", stats_tables[i].name, row->name, row->kind,
                    row->unit, row->help);
        }
    }
}

static void stats_nothing(struct command_context *ctx) { (void)ctx; }

/* As in memcached, the first six names may be abbreviated; the first match counts. The other names
 * must be complete. */
static const struct {
    const char *name;
    bool        begins;
    bool        own;  /* refuses further words, which memcached's kinds ignore */
    bool        ends; /* END is written for the function */
    bool        is_order; /* the control thread runs it */
    void (*show)(struct command_context *);
    void (*run)(struct command_context *, const struct words *); /* if it takes words */
} stats_kinds[] = {
    {"reset", .begins = true, .is_order = true, .show = stats_reset},
    {"detail", .begins = true, .run = stats_detail},
    {"settings", .begins = true, .show = stats_settings},
    {"cachedump", .begins = true, .run = stats_cachedump},
    {"conns", .begins = true, .show = stats_conns},
    {"extstore", .begins = true, .ends = true, .show = stats_nothing},
    {"items", .show = stats_items},
    {"slabs", .show = stats_slabs},
    {"sizes", .show = stats_sizes},
    {"describe", .show = stats_describe},
    {"curve", .run = stats_curve},
    {"hotkeys", .run = stats_hotkeys},
    {"pages", .run = stats_pages},
    {"slated", .own = true, .ends = true, .show = stats_slated},
    {"memory", .own = true, .ends = true, .show = stats_memory},
    {"policies", .own = true, .ends = true, .show = stats_policies},
    {"automove", .own = true, .ends = true, .show = stats_automove},
    {"config", .own = true, .ends = true, .show = stats_config},
    {"geometry", .own = true, .ends = true, .show = stats_geometry},
    {"moves", .own = true, .show = stats_moves},
    {"audit", .own = true, .is_order = true, .show = stats_audit},
    {"whatif", .own = true, .show = stats_whatif},
    {"sizehist", .own = true, .show = stats_sizehist},
    {"evictions", .own = true, .show = stats_evictions},
};

static void stats_run_kind(struct command_context *ctx, const struct words *w, size_t i) {
    if (stats_kinds[i].run) {
        stats_kinds[i].run(ctx, w);
    } else if (stats_kinds[i].own && w->count > 2) {
        text_out_printf(ctx->out, "CLIENT_ERROR usage: stats %s\r\n", stats_kinds[i].name);
    } else if (stats_kinds[i].is_order && ctx->order == NULL) {
        command_order(ctx, w, stats_command);
    } else {
        stats_kinds[i].show(ctx);
        text_out_str(ctx->out, stats_kinds[i].ends ? "END\r\n" : "");
    }
}

void stats_command(struct command_context *ctx, const struct words *w) {
    if (w->count < 2) {
        stats_general(ctx);
        text_out_str(ctx->out, "END\r\n");
        return;
    }
    /* A complete name is matched first, so that an abbreviation never hides `stats describe`. */
    for (int begins = 0; begins < 2; begins++) {
        for (size_t i = 0; i < sizeof stats_kinds / sizeof *stats_kinds; i++) {
            if (begins ? stats_kinds[i].begins && word_begins(&w->word[1], stats_kinds[i].name)
                       : word_is(&w->word[1], stats_kinds[i].name)) {
                stats_run_kind(ctx, w, i);
                return;
            }
        }
    }
    text_out_str(ctx->out, REPLY_ERROR);
}
