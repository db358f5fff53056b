/* What the parts of the running console share: what is watched, what is on the screen, what the
 * operator chose. */
#ifndef CONSOLE_APP_STATE_H
#define CONSOLE_APP_STATE_H
#include "app/fleet.h"
#include "app/options.h"
#include "app/remembered.h"
#include "app/timeline.h"
#include "draw/term.h"
#include "views/screen.h"

enum {
    MESSAGE_MS = 8000,
    TICK_MS = 1000,
    GATHER_MS = 50 /* what servers say within it goes into one frame */
};

struct app {
    const struct options *options;
    struct fleet fleet;
    struct model *nobody; /* shown while there is no server; NULL where one was there at once */
    struct session *replay; /* of a recording; NULL: the fleet is watched */
    struct session *open;   /* the server on the screen; NULL while a list is still looked up */
    struct timeline timeline;
    struct mark mark;
    struct fleet_row rows[SERVER_LIMIT]; /* of the fleet, as drawn last */
    unsigned row_count;
    int64_t wall_ms;                     /* the time of day, as of this turn of the loop */
    uint64_t draw_ms;                    /* news are drawn then; UINT64_MAX: there are none */
    char audit_path[AUDIT_PATH_BYTES];
    char under_way[NOTE_BYTES]; /* a change or a trial of the open server, in words */
    struct proposal taken;      /* what the review takes back, or does again */
    struct ui ui;
    struct cells *cells;
    char message[NOTE_BYTES];
    uint64_t message_until_ms;
    bool is_dirty, is_done;
    bool has_mouse;
    unsigned theme;
    char remembered[REMEMBERED_BYTES]; /* the choices as they were at the start */
    uint64_t record_until_ms; /* it was asked whether to record: until then the same key says yes */
    bool seeks; /* to --at, once the recording is loaded */
    int exit_code;
};

/* The time of day in seconds. */
time_t app_wall(const struct app *app);
/* Shows a line for the operator for MESSAGE_MS. */
void show_message(struct app *app, const char *text, uint64_t now_ms);
/* The open server's model; an empty one while the lists of servers are still looked up. */
const struct model *live_model(const struct app *app);
/* Why nothing can be sent, in two words; NULL: it can. */
const char *locked_by(const struct app *app);
/* What a screen is drawn from, at the moment that is looked at. */
struct frame make_frame(struct app *app, uint64_t now_ms);
#endif
