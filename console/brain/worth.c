#include "brain/worth.h"

#include <math.h>

enum { GETS_WINDOW_MS = 10000 };
#define PAGE_BYTES 1048576.0

/* By the slope of the stretch between two points around the size of now; a curve is made of so few
 * points that within a stretch it is straight. */
static double change_by(const struct curve *curve, double bytes) {
    return curve_value_at(curve, curve->bytes + bytes) - curve_value_at(curve, curve->bytes);
}

static struct class_worth worth_of(const struct details *details, unsigned id, double gets,
                                   double reads) {
    const struct curve *curve = &details->class_curves[id];
    const struct page_worth *measured = &details->worth.classes[id];
    struct class_worth worth = {id, NAN, NAN, NAN, NAN, NAN};
    if (curve->count >= 2 && reads > 0) {
        worth.hit_ratio = curve->hit_ratio;
        worth.read_share = curve->reads / reads;
        worth.gain = change_by(curve, PAGE_BYTES) * worth.read_share * gets;
        worth.loss = -change_by(curve, -PAGE_BYTES) * worth.read_share * gets;
    }
    if (detail_is_known(details, INQUIRY_AUTOMOVE) && details->worth.is_weighed &&
        !isnan(measured->gain)) {
        worth.gain = measured->gain * gets / 1000;
        worth.loss = measured->loss * gets / 1000;
    }
    return worth;
}

unsigned worth_of_classes(const struct model *model, struct class_worth out[CLASS_LIMIT]) {
    const struct details *details = model_details(model);
    const struct snapshot *now = model_now(model);
    double gets = model_mean(model, METRIC_GETS, GETS_WINDOW_MS), reads = 0;
    unsigned count = 0;
    for (unsigned id = 1; details != NULL && id < CLASS_LIMIT; id++) {
        const struct curve *curve = &details->class_curves[id];
        reads += curve->count >= 2 && curve->reads > 0 ? curve->reads : 0;
    }
    for (unsigned id = 1; details != NULL && now != NULL && id < CLASS_LIMIT; id++) {
        struct class_worth worth = worth_of(details, id, gets, reads);
        worth.pages = stat_number(now->classes[id].value[CLASS_total_pages]);
        if (isnan(worth.gain) || !(worth.pages > 0)) {
            continue;
        }
        unsigned at = count++;
        for (; at > 0 && out[at - 1].gain < worth.gain; at--) {
            out[at] = out[at - 1];
        }
        out[at] = worth;
    }
    return count;
}
