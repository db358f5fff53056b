# SPDX-License-Identifier: BSD-3-Clause
# slated, and what the suites link of it.
ROOMS    := $(shell cut -d' ' -f1 daemon/LAYERS)
DAEMON_O := $(patsubst %.c,$B/%.o,$(wildcard $(ROOMS:%=daemon/%/*.c) $(ROOMS:%=daemon/%/*/*.c)))
DAEMON_I := -Idaemon -I$B/gen $(LUA_FLAGS)
OBJECTS  += $(DAEMON_O) $B/daemon/main.o
BINS     += $B/bin/slated

# jemalloc for items only: all its names but these are made local, so that malloc is the C library's, or a sanitizer's.
# That takes the static library, where the compiler has one. Without it the shared one is linked, and its malloc is then
# the whole process's; `make JEMALLOC=` chooses that. Threads get no cache and no arena of their own, which slated does
# not use: their first call made one, and ended the process when there was no memory for that.
JEMALLOC     := $(filter /%,$(shell $(CC) -print-file-name=libjemalloc_pic.a 2>/dev/null))
JEMALLOC_O   := $(if $(JEMALLOC),$B/jemalloc.o)
JEMALLOC_API := mallocx dallocx sallocx nallocx mallctl
OBJECTS      += $(JEMALLOC_O)
$B/jemalloc.o: $(JEMALLOC) daemon/rules.mk
	@mkdir -p $(@D) && echo 'const char *malloc_conf = "narenas:1,tcache:false";' | \
	    $(CC) -fPIC -r -nostdlib -o $@ -x c - -x none $(JEMALLOC_API:%=-Wl,-u,%) $< && \
	    $(OBJCOPY) $(JEMALLOC_API:%=-G %) $@

# Static where it can be: what only a trace needs is then in no server's memory.
ZSTD_LIBS   := $(or $(filter /%,$(shell $(CC) -print-file-name=libzstd.a 2>/dev/null)),-lzstd)
DAEMON_LIBS := $(or $(JEMALLOC_O),$(call libs_of,jemalloc,-ljemalloc)) \
               $(call libs_of,libevent libevent_pthreads,-levent -levent_pthreads) \
               $(call libs_of,libssl libcrypto,-lssl -lcrypto) $(call libs_of,libsasl2,-lsasl2) \
               $(call libs_of,libseccomp,-lseccomp) $(LUA_LIBS) $(ZSTD_LIBS) -lz -lm

# The world of the tests loads the objects as a shared one. To a program, which needs nothing of that, the linker has
# them cost nothing.
SHARED = -fPIC $(if $(filter %/main.o,$@),,-fvisibility=hidden)
$B/daemon/%.o: daemon/%.c daemon/rules.mk
	$Qmkdir -p $(@D) && $(CC) $(FLAGS) $(CFLAGS) $(if $(LTO),$(LTO) -ffat-lto-objects) $(DAEMON_I) $(SHARED) -c -o $@ $<
$B/bin/slated: $B/daemon/main.o $(DAEMON_O) $(JEMALLOC_O)
	$Qmkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) $(LTO) -o $@ $(filter-out $(JEMALLOC_O),$^) $(DAEMON_LIBS)
$B/daemon.a: $(DAEMON_O)
	@rm -f $@ && $(AR) qcs $@ $^

# slated has the rules for policies in it: modules of Lua as rows of C, name and text.
POLICY_LUA := $(call lua_modules,daemon/control/automove)
POLICY_INC := $B/gen/control/automove/policy_core.inc
$(POLICY_INC): $(POLICY_LUA:%=lua/slate/%.lua) daemon/rules.mk
	@mkdir -p $(@D) && for name in $(POLICY_LUA); do echo "{\"slate.$$name\"," | tr / . && \
	    sed 's/[\\"]/\\&/g;s/.*/"&\\n"/' lua/slate/$$name.lua && echo '},'; done >$@
$B/daemon/control/automove/lua_box.o: $(POLICY_INC)

# The names of memcached_exporter for the page of metrics stand in the exporter of slatectl.
EXPORTER_INC := $B/gen/metrics/exporter_rows.inc
$(EXPORTER_INC): lua/slate/cli/exporter_names.lua
	@mkdir -p $(@D) && awk '/= rows_of \[\[/ { part = $$2; next } /^\]\]/ { part = "" } part { \
	    for (i = 1; i < NF; i += 2) { n = split($$(i + 1), metric, /[{}]/); gsub(/"/, "\\\"", metric[2]); \
	        printf "{%s, \"%s\", \"%s\", \"%s\"},\n", part, $$i, metric[1], (n > 1 ? metric[2] : "") } }' $< >$@
$B/daemon/metrics/exposition.o: $(EXPORTER_INC)
