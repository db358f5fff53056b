/* The data that the parts of the running console share: the servers, the screen, the operator's
 * choices. */
#ifndef CONSOLE_APP_APP_STATE_H
#define CONSOLE_APP_APP_STATE_H
#include "app/options/remembered.h"
#include "app/options/startup_options.h"
#include "app/servers/fleet.h"
#include "app/servers/timeline.h"
#include "draw/term.h"
#include "views/screen.h"

enum {
    MESSAGE_MS = 8000,
    TICK_MS = 1000,
    GATHER_MS = 50 /* news of this time go into one frame */
};

struct app {
    const struct options *options;
    struct fleet fleet;
    struct model *nobody; /* shown while there is no server; NULL: never needed */
    struct session *replay; /* the recording; NULL: the fleet is watched */
    struct session *open;   /* the server on the screen; NULL until a list is looked up */
    struct timeline timeline;
    struct mark mark;
    struct fleet_row rows[SERVER_LIMIT]; /* the fleet's rows as last drawn */
    unsigned row_count;
    int64_t wall_ms;                     /* the time of day, as of this turn of the loop */
    uint64_t draw_ms;                    /* when to draw news; UINT64_MAX: there are none */
    char audit_path[AUDIT_PATH_BYTES];
    char under_way[NOTE_BYTES]; /* the open server's change or trial under way, in words */
    struct proposal taken;      /* the change that the review takes back or makes again */
    struct ui ui;
    struct cells *cells;
    char message[NOTE_BYTES];
    uint64_t message_until_ms;
    bool is_dirty, is_done;
    bool has_mouse;
    unsigned theme;
    char remembered[REMEMBERED_BYTES]; /* the choices as they were at the start */
    uint64_t record_until_ms; /* until then the same key confirms a recording */
    bool seeks; /* go to --at once the recording is loaded */
    int exit_code;
};

/* The time of day in seconds. */
time_t app_wall(const struct app *app);
/* Shows a line for the operator for MESSAGE_MS. */
void app_report(struct app *app, const char *text, uint64_t now_ms);
/* The open server's model; an empty one while the lists of servers are still looked up. */
const struct model *app_live_model(const struct app *app);
/* Why changes can't be sent, in two words; NULL: they can. */
const char *app_locked_by(const struct app *app);
/* The data from which views draw the screen, of the moment shown. */
struct frame app_make_frame(struct app *app, uint64_t now_ms);
#endif
