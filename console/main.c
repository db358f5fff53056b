/* slatetop: gives the command line to the program in Lua, lua/slate/console/main.lua. */
#include "bridge/lua_core.h"

#include <locale.h>
#include <malloc.h>
#include <signal.h>

/* Large short-lived buffers, of packing and reading, go back to the system. The C library would
 * keep more and more of their memory, between lasting blocks and at the heap's end. */
enum { SCRATCH_BYTES = 128 << 10, SPARE_BYTES = 16 << 10 };
enum { EXIT_INTERNAL = 70 };

int main(int argc, char **argv) {
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C"); /* figures have a point, as servers and recordings write them */
    mallopt(M_MMAP_THRESHOLD, SCRATCH_BYTES);
    mallopt(M_TRIM_THRESHOLD, 2 * SPARE_BYTES);
    mallopt(M_TOP_PAD, SPARE_BYTES);
    signal(SIGPIPE, SIG_IGN); /* a failed write shows that the reader has gone */
    return lua_core_run("slate.console.main", "run", argc - 1, argv + 1, EXIT_INTERNAL);
}
