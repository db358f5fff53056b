/* Changes to a server: whether a change may be sent, and its exact command lines. An action is one
 * change as plain data; a plan is several actions, carried out in order. The rules are those of
 * lua/slate/act/shown.lua.
 *
 * action_check is the only gate: an action that it refuses is not sent. It refuses actions that are
 * known to crash this version of the server. Functions of the model. One thread. */
#ifndef CONSOLE_ACT_ACTION_H
#define CONSOLE_ACT_ACTION_H
#include "act/setting.h"
#include "facts/model.h"

enum action_kind { ACTION_MOVE_PAGES, ACTION_SET };

enum {
    MOVE_PAGES_LIMIT = 1000000,
    POOL_CLASS = 0,
    PLAN_LIMIT = SETTINGS_MOST, /* every setting of Tune at once */
    ACTION_LINE_BYTES = 200,
};

struct action {
    enum action_kind kind;
    unsigned from, to, pages; /* ACTION_MOVE_PAGES: class ids; to may be POOL_CLASS */
    /* ACTION_SET: a name and a value of setting.h; class_policy's value is "POLICY CLASS", and
     * lru_tune, which has no row, sets four */
    char name[SETTING_NAME_BYTES];
    char value[SETTING_VALUE_BYTES];
};

struct plan {
    unsigned count;
    struct action steps[PLAN_LIMIT];
};

struct action action_move(unsigned from, unsigned to, unsigned pages);
struct action action_set(const char *name, const char *value);
struct plan action_plan(struct action action);

/* True when the action may be sent to this server now; else why has a sentence with the reason and
 * the remedy. */
bool action_check(const struct action *action, const struct model *model, char *why,
                  size_t why_bytes);

/* Makes the command lines, one a call; false past the last. The line is sent *times times: slated
 * takes a count of pages, memcached moves one page a command. */
bool action_line(const struct action *action, const struct model *model, unsigned index,
                 char line[ACTION_LINE_BYTES], unsigned *times);
#endif
