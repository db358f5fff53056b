/* stats config: the settings that a client may change at run time, with their types, limits and
 * choices. */
#include "server/stats/stats.h"

static bool config_is_number(const struct setting *row) {
    enum setting_storage stored = setting_types[row->type].stored;
    return (stored == SETTING_STORED_INT && row->type != SETTING_OCTAL) ||
           stored == SETTING_STORED_UINT64 || stored == SETTING_STORED_DOUBLE;
}

static const char *config_source(const struct server *server, const struct settings *now,
                                 const struct settings *defaults, const struct setting *row) {
    if (!setting_same(now, &server->at_start, row)) {
        return "runtime";
    }
    return setting_same(now, defaults, row) ? "default" : "start";
}

static void config_put_choices(struct text_out *out, const char *name, const struct setting *row) {
    char list[SETTING_WHY_BYTES];
    if (row->type == SETTING_MODE) {
        automove_list(list, sizeof list);
        text_out_printf(out, "STAT %s:choices %s\r\n", name, list);
    } else if (row->type == SETTING_CHOICE) {
        text_out_printf(out, "STAT %s:choices %s\r\n", name, row->unit);
    }
}

static void config_put_row(struct command_context *ctx, const struct settings *now,
                           const struct settings *defaults, const struct setting *at_start) {
    const struct setting live = setting_live(at_start, cache_limit_most(ctx->server->cache)),
                         *row = &live;
    char value[SETTING_LIST_BYTES];
    const char *name = row->stat ? row->stat : row->name;
    struct text_out *out = ctx->out;
    setting_format(now, row, value, sizeof value);
    text_out_printf(out, "STAT %s:value %s\r\n", name, value);
    setting_format(defaults, row, value, sizeof value);
    text_out_printf(out, "STAT %s:default %s\r\n", name, value);
    text_out_printf(out, "STAT %s:source %s\r\n", name,
                    config_source(ctx->server, now, defaults, row));
    text_out_printf(out, "STAT %s:type %s\r\n", name, setting_types[row->type].name);
    text_out_printf(out, "STAT %s:unit %s\r\n", name,
                    row->type == SETTING_CHOICE ? "name" : row->unit);
    if (config_is_number(row)) {
        text_out_printf(out, "STAT %s:min %.15g\r\nSTAT %s:max %.15g\r\n", name, row->min, name,
                        row->max);
    }
    config_put_choices(out, name, row);
    text_out_printf(out, "STAT %s:help %s\r\n", name, row->help);
}

void stats_config(struct command_context *ctx) {
    struct settings now, defaults;
    settings_init(&defaults);
    server_settings(ctx->server, &now);
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        if (setting_is_live(&now, row)) {
            config_put_row(ctx, &now, &defaults, row);
        }
    }
}
