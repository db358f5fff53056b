/* Servers that are marked in the fleet: one reviewed change goes to all of them. Functions of the
 * frame. */
#ifndef CONSOLE_VIEWS_REVIEW_MARKED_H
#define CONSOLE_VIEWS_REVIEW_MARKED_H
#include "views/view.h"

/* The inquiries to each marked server, by which a change is checked. */
#define MARKED_WANTS (INQUIRY_BIT(SETTINGS) | INQUIRY_BIT(CONFIG) | INQUIRY_BIT(POLICIES))

unsigned marked_count(const struct ui *ui);

/* True if a plan may go to several servers: settings may, but not pages and not the policy of one
 * class, because classes differ from server to server. */
bool marked_takes(const struct plan *plan);

/* The effect of the change on one marked server. */
enum marked_answer { MARKED_CHANGES, MARKED_HAS_IT, MARKED_REFUSES };
enum marked_answer marked_answer_of(const struct model *model, const struct plan *plan, char *why,
                                    size_t why_bytes);

/* Counts over all marked servers of the frame: how many would change, and how many have the values
 * already. False when one refuses, which why names, or when none would change. */
bool marked_check(const struct frame *frame, const struct ui *ui, const struct plan *plan,
                  unsigned *changed, unsigned *unchanged, char *why, size_t why_bytes);

/* Writes the values of a setting on the marked servers: "20", or "10 on 2, 20 on 1" of them; "-"
 * when no server reports it. */
void marked_now(const struct frame *frame, const struct ui *ui, const char *setting, char *out,
                size_t out_bytes);
#endif
