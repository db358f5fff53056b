/* slate-load: load generator for memcached-compatible servers. README.md says how it is made. */
#include "app.h"

int main(int argc, char **argv) {
    return app_run(argc, argv, stdout, stderr);
}
