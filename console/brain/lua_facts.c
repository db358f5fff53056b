#include "brain/lua_facts.h"

#include "brain/lua_values.h"

#include <lauxlib.h>
#include <stdlib.h>

/* Only the statistics that the modules read: two snapshots of each server stay in Lua's memory. */
static const enum general_stat general_read[] = {
    GENERAL_pid,
    GENERAL_uptime,
    GENERAL_time,
    GENERAL_cmd_get,
    GENERAL_cmd_set,
    GENERAL_cmd_touch,
    GENERAL_cmd_flush,
    GENERAL_get_hits,
    GENERAL_evictions,
    GENERAL_bytes,
    GENERAL_limit_maxbytes,
    GENERAL_curr_items,
    GENERAL_max_connections,
    GENERAL_curr_connections,
    GENERAL_rejected_connections,
    GENERAL_listen_disabled_num,
    GENERAL_accepting_conns,
    GENERAL_store_no_memory,
    GENERAL_slab_reassign_evictions_nomem,
    GENERAL_slab_reassign_busy_deletes,
    GENERAL_slab_global_page_pool,
};
static const enum class_stat class_read[] = {
    CLASS_chunk_size,  CLASS_chunks_per_page, CLASS_total_pages,   CLASS_used_chunks,
    CLASS_free_chunks, CLASS_free_chunks_end, CLASS_mem_requested, CLASS_number,
    CLASS_age,         CLASS_evicted,         CLASS_outofmemory,   CLASS_get_hits,
    CLASS_cmd_set,
};
#define STAT_READ(name) GENERAL_##name,
static const enum general_stat extstore_read[] = {EXTSTORE_STATS(STAT_READ)};
static const enum general_stat proxy_read[] = {PROXY_STATS(STAT_READ)};
enum {
    EXTSTORE_COUNT = sizeof extstore_read / sizeof *extstore_read,
    PROXY_COUNT = sizeof proxy_read / sizeof *proxy_read,
    GENERAL_READ = sizeof general_read / sizeof *general_read,
    CLASS_READ = sizeof class_read / sizeof *class_read
};

/* Sets a field of the table on top of the stack. An absent statistic sets none. */
static void facts_set_stat(lua_State *L, const char *name, uint64_t value) {
    if (value == STAT_ABSENT) {
        return;
    }
    lua_pushinteger(L, (lua_Integer)value);
    lua_setfield(L, -2, name);
}

static void facts_push_general(lua_State *L, const struct snapshot *snapshot, bool with_all) {
    const uint64_t *general = snapshot->general;
    int count = with_all ? (int)GENERAL_COUNT : (int)GENERAL_READ;
    lua_createtable(L, 0, count + 1);
    for (int i = 0; i < count; i++) {
        int stat = with_all ? i : (int)general_read[i];
        facts_set_stat(L, general_stat_names[stat], general[stat]);
    }
    for (int i = 0; snapshot_has_extstore(snapshot) && i < EXTSTORE_COUNT; i++) {
        facts_set_stat(L, general_stat_names[extstore_read[i]], general[extstore_read[i]]);
    }
    for (int i = 0; snapshot_is_proxy(snapshot) && i < PROXY_COUNT; i++) {
        facts_set_stat(L, general_stat_names[proxy_read[i]], general[proxy_read[i]]);
    }
    lua_values_set_number(L, "extstore_memory_pressure",
                          stat_number(general[GENERAL_extstore_memory_pressure]) / 100);
    uint64_t gets = general[GENERAL_cmd_get], hits = general[GENERAL_get_hits];
    bool is_known = gets != STAT_ABSENT && hits != STAT_ABSENT && gets >= hits;
    /* computed here, so snapshots need not store it */
    facts_set_stat(L, "get_misses", is_known ? gets - hits : STAT_ABSENT);
}

static void facts_push_classes(lua_State *L, const struct snapshot *snapshot, bool with_all) {
    int stats = with_all ? (int)CLASS_COUNT : (int)CLASS_READ;
    lua_newtable(L);
    lua_Integer count = 0;
    for (unsigned id = 0; id < CLASS_LIMIT; id++) {
        const struct class_stats *one = snapshot_class(snapshot, id);
        if (!one->present) {
            continue;
        }
        lua_createtable(L, 0, stats + 1);
        facts_set_stat(L, "id", id);
        for (int i = 0; i < stats; i++) {
            int stat = with_all ? i : (int)class_read[i];
            facts_set_stat(L, class_stat_names[stat], one->value[stat]);
        }
        lua_seti(L, -2, ++count);
    }
}

/* Settings that the modules read. form: integer, fraction or switch. */
static const struct {
    const char *name;
    enum setting_stat setting;
    char form;
} settings_read[] = {
    {"maxconns", SETTING_maxconns, 'i'},
    {"chunk_size", SETTING_chunk_size, 'i'},
    {"slab_chunk_max", SETTING_slab_chunk_max, 'i'},
    {"item_size_max", SETTING_item_size_max, 'i'},
    {"growth_factor", SETTING_growth_factor, 'f'},
    {"slab_reassign", SETTING_slab_reassign, 's'},
    {"ext_item_size", SETTING_ext_item_size, 'i'},
    {"ext_compact_under", SETTING_ext_compact_under, 'i'},
    {"ext_max_frag", SETTING_ext_max_frag, 'f'},
    {"ext_drop_unread", SETTING_ext_drop_unread, 's'},
};

/* memcached calls the first modes of automove by number. */
static void facts_push_settings(lua_State *L, const struct snapshot *snapshot) {
    lua_createtable(L, 0, 12);
    for (size_t i = 0; i < sizeof settings_read / sizeof *settings_read; i++) {
        uint64_t value = snapshot->setting[settings_read[i].setting];
        if (settings_read[i].form == 'i' || value == STAT_ABSENT) {
            facts_set_stat(L, settings_read[i].name, value);
        } else if (settings_read[i].form == 'f') {
            lua_values_set_number(L, settings_read[i].name, (double)value / 1000);
        } else {
            lua_pushboolean(L, value != 0);
            lua_setfield(L, -2, settings_read[i].name);
        }
    }
    if (snapshot_is_proxy(snapshot)) {
        lua_pushboolean(L, true);
        lua_setfield(L, -2, "proxy_enabled");
    }
    if (snapshot->automove[0] != '\0') {
        if (lua_stringtonumber(L, snapshot->automove) == 0) {
            lua_pushstring(L, snapshot->automove);
        }
        lua_setfield(L, -2, "slab_automove");
    }
}

void lua_facts_push(lua_State *L, const struct snapshot *snapshot, bool with_all) {
    luaL_checkstack(L, 4, NULL);
    lua_createtable(L, 0, 7);
    lua_values_set_text(L, "version", snapshot->version[0] != '\0' ? snapshot->version : NULL);
    lua_values_set_number(L, "time_s", (double)snapshot->at_ms / 1000);
    lua_values_set_text(L, "slated", snapshot->is_slated ? snapshot->own_version : NULL);
    facts_push_general(L, snapshot, with_all);
    lua_setfield(L, -2, "general");
    facts_push_settings(L, snapshot);
    lua_setfield(L, -2, "settings");
    facts_push_classes(L, snapshot, with_all);
    lua_setfield(L, -2, "classes");
    lua_createtable(L, 0, 1);
    facts_set_stat(L, "total_malloced", snapshot->general[GENERAL_total_malloced]);
    lua_setfield(L, -2, "totals");
}
