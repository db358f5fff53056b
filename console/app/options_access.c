/* What opens the servers' doors: made of the options and the environment. */
#include "app/options.h"

#include <stdlib.h>

/* The path of the option, else of the environment; NULL: neither. */
static const char *path_of(const char *given, const char *variable) {
    const char *named = getenv(variable);
    return given[0] != '\0' ? given : named != NULL && named[0] != '\0' ? named : NULL;
}

bool options_open(struct options *options, char *why, size_t why_bytes) {
    const struct tls_files files = {.ca = path_of(options->tls_ca, "SLATE_TLS_CA"),
                                    .cert = path_of(options->tls_cert, "SLATE_TLS_CERT"),
                                    .key = path_of(options->tls_key, "SLATE_TLS_KEY")};
    bool has_tls = false;
    for (unsigned i = 0; i < options->server_count; i++) {
        has_tls = has_tls || options->servers[i].is_tls;
    }
    options->access = (struct access){.credentials = options->credentials,
                                      .tls = tls_context_create(&files)};
    return !has_tls || options->access.tls == NULL ||
           tls_context_load(options->access.tls, why, why_bytes);
}

void options_close(struct options *options) {
    tls_context_destroy(&options->access.tls);
}
