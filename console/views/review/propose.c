/* The proposals of keys: moves of pages and modes of automove, as plans to be reviewed. */
#include "views/view.h"

#include "brain/brain.h"

/* The class with the most pages, if there is no better donor; -1 when no class has two pages. */
static int propose_find_largest(const struct snapshot *now, unsigned except) {
    int largest = -1;
    double most = 1;
    for (unsigned id = 1; id < CLASS_LIMIT; id++) {
        double pages = stat_number(snapshot_class(now, id)->value[CLASS_total_pages]);
        if (id != except && pages > most) {
            most = pages;
            largest = (int)id;
        }
    }
    return largest;
}

struct intent propose_move(const struct frame *frame, int to, int from) {
    const struct snapshot *now = model_now(frame->model);
    if (now == NULL) {
        return view_say("nothing is known about the server yet");
    }
    if (to < 0 && from < 0) {
        return view_say(
            "no class is starving: choose one in the class table (2) and press m there");
    }
    struct donor donor = {.class_id = -1};
    if (from < 0) {
        donor = brain_donor(brain_of(frame->model), (unsigned)to);
        from = donor.class_id >= 0 ? donor.class_id : propose_find_largest(now, (unsigned)to);
    }
    if (from < 0) {
        return view_say("no other class has a page to spare");
    }
    if (donor.class_id >= 0) {
        return review_of(action_move((unsigned)from, (unsigned)to, donor.pages));
    }
    unsigned pages =
        brain_pages(brain_of(frame->model), (unsigned)from, to < 0 ? POOL_CLASS : (unsigned)to);
    return review_of(action_move((unsigned)from, to < 0 ? POOL_CLASS : (unsigned)to, pages));
}

struct intent propose_automove(const struct frame *frame) {
    const struct snapshot *now = model_now(frame->model);
    if (now == NULL) {
        return view_say("nothing is known about the server yet");
    }
    uint64_t mode = now->setting[SETTING_slab_automove];
    if (mode == STAT_ABSENT && now->automove[0] == '\0') {
        return view_say("this server does not report an automove setting");
    }
    const char *on = now->is_slated ? "utility" : "1"; /* as in slatectl advise automove */
    return review_of(action_set("slab_automove", mode == 0 ? on : "0"));
}
