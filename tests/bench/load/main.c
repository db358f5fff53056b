/* slate-load: load generator for memcached-compatible servers. README.md describes its files. */
#include "app.h"

int main(int argc, char **argv) {
    return app_run(argc, argv, stdout, stderr);
}
