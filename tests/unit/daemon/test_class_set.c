/* Sets of class ids: every id keeps to itself, and what threads add is taken once. */
#include "tap.h"

#include "mem/class_set.h"

int main(void) {
    unsigned wrong = 0;
    for (unsigned id = 0; id < CLASS_SET_IDS; id++) {
        struct class_set s = class_set_one(id), others = class_set_all();
        class_set_remove(&others, id);
        struct class_set both = class_set_meet(s, &others);
        wrong += class_set_count(&s) != 1 || !class_set_has(&s, id) || !class_set_empty(&both);
    }
    is(wrong, 0, "each of the %d ids has a place of its own", CLASS_SET_IDS);
    struct class_set all = class_set_all(), few = class_set_first(70);
    ok(class_set_count(&all) == 255 && !class_set_has(&all, 0), "all are 1 to 255");
    ok(class_set_count(&few) == 70 && class_set_has(&few, 70) && !class_set_has(&few, 71), "the first 70 are 1 to 70");

    struct class_set_shared shared = {{0}};
    ok(class_set_shared_add(&shared, 5), "the first of a word is told apart");
    ok(!class_set_shared_add(&shared, 5) && !class_set_shared_add(&shared, 63), "one that is there, or not the first, is not");
    ok(class_set_shared_add(&shared, 200), "another word has its own first");
    struct class_set taken = class_set_shared_take(&shared), again = class_set_shared_take(&shared);
    ok(class_set_count(&taken) == 3 && class_set_has(&taken, 200), "all that was added is taken");
    ok(class_set_empty(&again), "once");
    return tap_done();
}
