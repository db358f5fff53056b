/* What --check-config looks at beyond the options themselves: whether what they name is there. */
#ifndef SLATE_SERVE_CHECK_H
#define SLATE_SERVE_CHECK_H
#include <stdbool.h>

#include "serve/config/options.h"

/* False: `why` (OPTIONS_WHY_BYTES) holds one sentence. Opens no port and no file of items. */
bool check_settings(const struct settings *, char *why);
#endif
