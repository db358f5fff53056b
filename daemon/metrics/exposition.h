/* The page of metrics: the answers to `stats` as Prometheus' text, by the names of slatectl's
 * exporter (lua/slate/cli/prometheus.lua) and of memcached_exporter. A row of server/stats is a
 * metric here, with the type and the help that it has there.
 *
 * Threading: any thread, at no cost to workers. Cost: as much as a client that asks for the same
 * statistics, and a millisecond for a server with many classes. */
#ifndef SLATE_METRICS_EXPOSITION_H
#define SLATE_METRICS_EXPOSITION_H
#include <stdbool.h>

#include "server/server.h"
#include "server/text_out.h"

/* Appends the page, in OpenMetrics if asked for. Out of memory: to->failed. */
void exposition_write(struct server *, bool openmetrics, struct text_out *to);
#endif
