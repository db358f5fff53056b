/* Servers that are marked in the fleet: one reviewed change goes to all of them. Functions of the
 * frame. */
#ifndef CONSOLE_VIEWS_MARKED_H
#define CONSOLE_VIEWS_MARKED_H
#include "views/view.h"

/* What is asked of each of them, so that a change can be checked. */
#define MARKED_WANTS (INQUIRY_BIT(SETTINGS) | INQUIRY_BIT(CONFIG) | INQUIRY_BIT(POLICIES))

unsigned marked_count(const struct ui *ui);

/* Whether a plan may go to several servers: settings may, but not pages and not the policy of one
 * class, for classes differ from server to server. */
bool marked_takes(const struct plan *plan);

/* What the change would do at one of them. */
enum marked_answer { MARKED_CHANGES, MARKED_HAS_IT, MARKED_REFUSES };
enum marked_answer marked_ask(const struct model *model, const struct plan *plan, char *why,
                              size_t why_bytes);

/* Over all marked servers of the frame: how many would be changed, and how many have the values
 * already. False when one refuses, which is named in why, or when none would be changed. */
bool marked_check(const struct frame *frame, const struct ui *ui, const struct plan *plan,
                  unsigned *changed, unsigned *unchanged, char *why, size_t why_bytes);

/* What the marked servers have of a setting now: "20", or "10 on 2, 20 on 1" of them; "-" when none
 * of them says. */
void marked_now(const struct frame *frame, const struct ui *ui, const char *setting, char *out,
                size_t out_bytes);
#endif
