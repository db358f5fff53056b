/* What the parts of the app share: app.c has the loop, app_keys.c what keys mean, app_acting.c changes,
 * app_time.c all that is about the past, app_mouse.c the mouse and colours. Private to them. */
#ifndef CONSOLE_APP_APP_STATE_H
#define CONSOLE_APP_APP_STATE_H
#include "app/fleet.h"
#include "app/options.h"
#include "draw/term.h"
#include "app/timeline.h"
#include "views/view.h"

enum {
    MESSAGE_MS = 8000,
    TICK_MS = 1000,
    GATHER_MS = 50 /* what servers say within it goes into one frame */
};

struct app {
    const struct options *options;
    struct fleet fleet;
    struct model *nobody; /* shown while there is no server */
    struct session *replay; /* of a recording; NULL: the fleet is watched */
    struct session *open;   /* the server on the screen; NULL while a list is still looked up */
    struct timeline timeline;
    struct mark mark;
    struct fleet_row rows[SERVER_LIMIT]; /* of the fleet, as drawn last */
    unsigned row_count;
    uint64_t draw_ms;                    /* news are drawn then; UINT64_MAX: there are none */
    char audit_path[AUDIT_PATH_BYTES];
    char under_way[NOTE_BYTES]; /* a change or a trial of the open server, in words */
    struct undo_entry taken;    /* what the review takes back, or does again */
    struct ui ui;
    struct cells *cells;
    char message[NOTE_BYTES];
    uint64_t message_until_ms;
    bool is_dirty, is_done;
    bool has_mouse;
    unsigned theme;
    bool seeks; /* to --at, once the recording is loaded */
    int exit_code;
};

/* Shows a line for the operator for MESSAGE_MS. */
void show_message(struct app *app, const char *text, uint64_t now_ms);
/* The open server's model; an empty one while the lists of servers are still looked up. */
const struct model *live_model(const struct app *app);
/* Why nothing can be sent, in two words; NULL: it can. */
const char *locked_by(const struct app *app);
/* What a screen is drawn from, at the moment that is looked at. */
struct frame make_frame(struct app *app, uint64_t now_ms);

/* Changes: the review is sent, or says why not; the last one is reviewed to be undone. */
void send_reviewed(struct app *app, uint64_t now_ms);
void propose_undo(struct app *app, uint64_t now_ms);
void propose_redo(struct app *app, uint64_t now_ms);
void keep_trial(struct app *app, uint64_t now_ms);
/* Shows what came of changes. */
void show_outcomes(struct app *app, uint64_t now_ms);
/* The console is left: trials go back first, which may take ACTING_LEAVE_MS; what can't is said on
 * stderr. Call it with the terminal closed. */
void leave_servers(struct app *app);
/* Does what a key means where the operator is. */
void handle_key(struct app *app, uint32_t key, uint64_t now_ms);
/* Does what the mouse just did, as a key would. */
void handle_pointer(struct app *app, uint64_t now_ms);
void toggle_mouse(struct app *app, uint64_t now_ms);
void next_theme(struct app *app, uint64_t now_ms);

/* True when the command was about time, and was obeyed. */
bool time_command(struct app *app, enum command command, uint64_t now_ms);
/* Goes to --at when all of the recording is there: before, the place in it can't be found. */
void seek_once_loaded(struct app *app);
#endif
