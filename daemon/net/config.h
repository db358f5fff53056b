/* What the network is told of the settings. */
#ifndef SLATE_NET_CONFIG_H
#define SLATE_NET_CONFIG_H
#include "net/net.h"

/* Both borrow texts of the settings, and the first points to the second with -Z. What comes of
 * another process or of the environment is left out. */
void net_config_of(const struct settings *, struct net_config *, struct tls_config *);
#endif
