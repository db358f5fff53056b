/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes a suite of a fuzzer: replays the inputs in FUZZ_CORPUS, its folder of corpus/, and speaks TAP. So branches stay reached, and mended
 * faults stay mended. An input that breaks a claim ends the program: the last one that is named. */
#include <dirent.h>

#include "tap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int main(void) {
    static uint8_t bytes[1 << 16];
    unsigned inputs = 0;
    DIR *dir = opendir(FUZZ_CORPUS);
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", FUZZ_CORPUS, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (file) {
            size_t n = fread(bytes, 1, sizeof bytes, file);
            fclose(file);
            printf("# %s\n", path);
            fflush(stdout);
            LLVMFuzzerTestOneInput(bytes, n);
            inputs++;
        }
    }
    if (dir) {
        closedir(dir);
    }
    ok(inputs > 0, "%u inputs of %s break nothing", inputs, FUZZ_CORPUS);
    return tap_done();
}
