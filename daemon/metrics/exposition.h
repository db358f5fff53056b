/* The page of metrics: the replies to `stats` as Prometheus' text, with the names of slatectl's
 * exporter (lua/slate/cli/prometheus.lua) and of memcached_exporter. Each row of server/stats is a
 * metric, with the row's type and help.
 *
 * Threading: any thread, at no cost to workers. Cost: that of the same `stats` commands, and a
 * millisecond for a server with many classes. */
#ifndef SLATE_METRICS_EXPOSITION_H
#define SLATE_METRICS_EXPOSITION_H
#include <stdbool.h>

#include "server/server.h"
#include "server/text_out.h"

/* Appends the page, in OpenMetrics if requested. Out of memory: sets to->failed. */
void exposition_write(struct server *, bool openmetrics, struct text_out *to);
#endif
