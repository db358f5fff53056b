# SPDX-License-Identifier: BSD-3-Clause
# Slate. `make help` lists the targets; `make run` and `make test` are all the set-up there is.
comma   := ,
B       := build$(if $(DEBUG),-debug)$(if $(SAN),-$(subst $(comma),-,$(SAN)))
PREFIX  ?= /usr/local
ifeq ($(origin CC),default)
CC      := gcc
endif
OBJCOPY ?= objcopy
VERSION := 0.1.0
ROOMS   := $(shell cut -d' ' -f1 daemon/LAYERS)

CFLAGS  ?= -O2 -g
# Programs that only test are compiled and linked in half the time so, unless CFLAGS says how. With DEBUG and with sanitizers they have
# the lines that debuggers and reports tell; with CI, where warnings are errors, those are of -O2.
ifeq ($(origin CFLAGS)$(DEBUG)$(SAN),file)
QUICK      := $(if $(CI),,-O1) -g0
QUICK_LINK := -Wl,--strip-debug
endif
PKG_CONFIG ?= pkg-config
Q       := $(if $(V),,@)
# The flags of packages as pkg-config has them; else the words behind the comma.
cflags_of = $(or $(strip $(shell $(PKG_CONFIG) --cflags $1 2>/dev/null)),$2)
libs_of   = $(or $(strip $(shell $(PKG_CONFIG) --libs $1 2>/dev/null)),$2)
# Systems call it by different names.
LUA_PACKAGE := $(or $(firstword $(foreach n,lua5.4 lua-5.4 lua54,$(shell $(PKG_CONFIG) --exists $n 2>/dev/null && echo $n))),lua5.4)
LUA_PROGRAM ?= $(or $(firstword $(shell command -v lua5.4 lua54)),/usr/bin/lua5.4)
LUA_FLAGS := $(call cflags_of,$(LUA_PACKAGE),-I/usr/include/lua5.4)
LUA_LIBS  := $(call libs_of,$(LUA_PACKAGE),-llua5.4)
FLAGS   := $(CPPFLAGS) -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
           -DSLATE_VERSION='"$(VERSION)"' -fno-strict-aliasing -pthread -MMD -MP \
           $(if $(DEBUG),-DSLATE_DEBUG,$(if $(SAN),,-DNDEBUG)) $(if $(CI),-Werror) \
           $(if $(SAN),-fsanitize=$(SAN) $(if $(findstring undefined,$(SAN)),-fsanitize=float-cast-overflow) -fno-omit-frame-pointer \
             -fno-sanitize-recover=all) \
           $(if $(findstring thread,$(SAN)),-Wno-tsan -Wno-stringop-overread)
# slated is optimised as a whole: the files of a room call each other often on the way of a request. The suites link the same objects
# as they are (SUITE_LIBS). `make LTO=` does without, and so do builds for debugging.
ifndef DEBUG
ifndef SAN
LTO     := $(if $(findstring clang,$(CC)),,-flto=auto)
endif
endif
override LDFLAGS += -pthread $(if $(SAN),-fsanitize=$(SAN))

DAEMON_O  := $(patsubst %.c,$B/%.o,$(wildcard $(ROOMS:%=daemon/%/*.c) $(ROOMS:%=daemon/%/*/*.c)))
CONSOLE_O := $(patsubst %.c,$B/%.o,$(filter-out console/main.c,$(wildcard console/*.c console/*/*.c)))
# The reader of traces is the simulator's.
TRACE_O   := $(addprefix $B/daemon/,base/number.o simulate/recall.o simulate/trace.o simulate/trace_bytes.o simulate/trace_format.o)
LOAD_O    := $(patsubst %.c,$B/%.o,$(filter-out tests/bench/load/main.c,$(wildcard tests/bench/load/*.c)))
DAEMON_I     := -Idaemon -I$B/gen $(LUA_FLAGS)
# The static library where the compiler has one. Without it the shared one is linked, and its malloc is then the whole
# process's. `make JEMALLOC=` chooses that.
JEMALLOC     := $(filter /%,$(shell $(CC) -print-file-name=libjemalloc_pic.a 2>/dev/null))
JEMALLOC_O   := $(if $(JEMALLOC),$B/jemalloc.o)
# Static where it can be: what only a trace needs is then in no server's memory.
ZSTD_LIBS    := $(or $(filter /%,$(shell $(CC) -print-file-name=libzstd.a 2>/dev/null)),-lzstd)
JEMALLOC_API := mallocx dallocx sallocx nallocx mallctl
DAEMON_LIBS  := $(or $(JEMALLOC_O),$(call libs_of,jemalloc,-ljemalloc)) \
                $(call libs_of,libevent libevent_pthreads,-levent -levent_pthreads) \
                $(call libs_of,libssl libcrypto,-lssl -lcrypto) $(call libs_of,libsasl2,-lsasl2) \
                $(call libs_of,libseccomp,-lseccomp) $(LUA_LIBS) $(ZSTD_LIBS) -lz -lm
SUITE_LIBS   := $(if $(LTO),-fno-lto) $(DAEMON_LIBS)
CONSOLE_LIBS := $(call libs_of,ncursesw tinfo,-lncursesw -ltinfo) $(call libs_of,jansson,-ljansson) $(LUA_LIBS) -lz -lm
# The rules for policies, each behind those that it requires; and modules as rows of C: name and text.
POLICY_LUA   := base/policy_curve base/policy_box base/policy_core
lua_texts     = for name in $1; do echo "{\"slate.$$name\"," | tr / . && \
                sed 's/[\\"]/\\&/g;s/.*/"&\\n"/' lua/slate/$$name.lua && echo '},'; done
# The same packed and without lines of comment, though with the numbers of all others: a sixth of the text, of which a
# console would keep all in memory beside what Lua makes of it.
lua_packed    = for name in $1; do echo "MODULE(\"slate.$$name\"," | tr / . && sed 's/^ *--.*//' lua/slate/$$name.lua | \
                gzip -9nc | od -An -v -to1 | sed 's/ /\\/g;s/.*/"&"/' && echo ')'; done
# What slatetop judges and acts by, which slatectl runs too.
BRAIN_LUA    := act/acting act/move act/shown act/steps act/talk base/json base/order base/places base/policy_box \
                base/policy_core base/policy_curve base/sandbox base/units facts/answers facts/audit facts/automove \
                facts/chunks facts/faults facts/foresight facts/geometry facts/moves facts/proxy facts/record_change \
                facts/record_line facts/runtime facts/settings facts/settings_change facts/settings_shown facts/sizehist \
                facts/snapshot facts/stats facts/storage facts/store facts/waste judge/attention judge/bounds judge/checks \
                judge/doctor judge/fit judge/outlook judge/prospect judge/rules judge/starving judge/thresholds \
                judge/verdict judge/view wire/lists wire/names wire/request
# Of the modules that these require, those that console/brain/lua_state.c provides, and those of functions that slatetop never calls.
BRAIN_GIVEN    := base/clock
BRAIN_UNCALLED := base/input base/shell wire/keydump wire/resolver
LOAD_LIBS    := -lssl -lcrypto $(ZSTD_LIBS) -lz -lm
# Of the C suites those that start threads, by themselves or by what these headers and functions start. Under the thread
# sanitizer only these are built and run: where there is one thread it has nothing to find that the address sanitizer has
# not. A suite that this misses fails in every other build: there each of the rest claims that it never started a thread.
SUITES   := $(wildcard tests/unit/*/test_*.c $(if $(SAN),,tests/faults/test_*.c))
THREADED := $(shell grep -lE 'pthread_create|thread_start|memory_file|log_start|metrics_start|pace_start|tuner_create|net_fixture.h|mover_fixture.h|geometry_fixture.h|session_fixture.h|app_run' $(SUITES))
ONE_THREAD = $(if $(filter $<,$(THREADED)),,-DTAP_ONE_THREAD)
TESTS   := $(patsubst tests/%.c,$B/%,$(if $(findstring thread,$(SAN)),$(THREADED),$(SUITES)))
TESTS   += $(if $(findstring thread,$(SAN)),,$(patsubst tests/fuzz/%.c,$B/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c)))
BINS    := $(addprefix $B/bin/,slated slatetop slate-load slatectl)
SPECS   := $(sort $(wildcard tests/spec/*_spec.lua tests/console/*_spec.lua tests/real/*_spec.lua))
# The thread sanitizer wants a memory layout that the kernel did not shuffle. A suite that hangs is
# ended; with a sanitizer some take seven times as long as without.
RUN     := $(if $(findstring thread,$(SAN)),$(shell setarch -R true 2>/dev/null && echo setarch -R)) scripts/run-tests -t $(or $(LIMIT_S),$(if $(SAN),600,240)) -o $B/test-logs
FUZZ_NAMES := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
F       := build-fuzz$(if $(COVERAGE),-coverage)
FUZZERS := $(FUZZ_NAMES:%=$F/%)
FUZZ_FLAGS = $(filter-out -MMD -MP -DNDEBUG,$(FLAGS)) -g -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all \
             $(if $(COVERAGE),-fprofile-instr-generate -fcoverage-mapping)
REPLAYS  = -Itests/unit -DFUZZ_CORPUS='"tests/fuzz/corpus/$(patsubst fuzz_%,%,$(@F))"'
FUZZ_S  ?= 60
MAKE_J   = $(MAKE) -s --no-print-directory -j$(shell nproc)
# Builds TARGETS, and says so before where there is something to build: it may take minutes.
build_all = $(MAKE) -s -q $1 2>/dev/null || echo "building $2"; $(MAKE_J) $1
# What the programs include and link beside the C library.
HEADERS := event2/event.h jemalloc/jemalloc.h curses.h jansson.h openssl/ssl.h sasl/sasl.h seccomp.h xxhash.h zlib.h zstd.h lua.h
# In a build folder slatectl finds its library and the other programs from where it lies, so that a clone may be moved.
slatectl = sed 's|@LUADIR@|$(shell realpath -m --relative-to=$B/bin lua)|;s|@BINDIR@|.|;s|@VERSION@|$(VERSION)|' scripts/slatectl

all: $(BINS) ## build the four programs into build/bin (DEBUG=1, SAN=address,undefined, CI=1)

# Names what is missing and how to get it, before a compiler fails at its first use. Where the headers are there it is silent.
$B/headers:
	@mkdir -p $(@D) && { printf '#include <%s>\n' $(HEADERS) | $(CC) $(LUA_FLAGS) -E - >/dev/null; } 2>$@.log || { \
	    scripts/bootstrap --dry-run run >&2; \
	    echo "make: headers or libraries are missing ($@.log): scripts/bootstrap run installs them, and make run does" >&2; exit 1; }
	@mv $@.log $@
$(DAEMON_O) $(CONSOLE_O) $(LOAD_O) $(patsubst %,$B/%/main.o,daemon console tests/bench/load) $(JEMALLOC_O): | $B/headers

$B/bin/slated: $B/daemon/main.o $(DAEMON_O) $(JEMALLOC_O)
	$Qmkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) $(LTO) -o $@ $(filter-out %/jemalloc.o,$^) $(DAEMON_LIBS)
# jemalloc for items only: all its names but these are made local, so that malloc is the C library's, or a sanitizer's.
# Threads get no cache and no arena of their own, which slated does not use: their first call made one, and ended the
# process when there was no memory for that.
$B/jemalloc.o: $(JEMALLOC) Makefile
	@mkdir -p $(@D) && echo 'const char *malloc_conf = "narenas:1,tcache:false";' | \
	    $(CC) -fPIC -r -nostdlib -o $@ -x c - -x none $(JEMALLOC_API:%=-Wl,-u,%) $< && $(OBJCOPY) $(JEMALLOC_API:%=-G %) $@
$B/bin/slatetop: $B/console/main.o $(CONSOLE_O)
	$Qmkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(CONSOLE_LIBS)
# slatetop on a terminal of cells and with the clock of a spec.
$B/world/slatetop: tests/console/terminal.c tests/unit/console/cells_row.h $B/console/main.o $(CONSOLE_O)
	$Qmkdir -p $(@D) && $(CC) $(filter-out -MMD -MP,$(FLAGS)) $(CFLAGS) $(QUICK) -Iconsole $(LDFLAGS) $(QUICK_LINK) -o $@ $< \
	    $(filter-out %.c %.h %/draw/term.o %/facts/clock.o,$^) $(CONSOLE_LIBS)
$B/bin/slate-load: $B/tests/bench/load/main.o $(LOAD_O) $(TRACE_O)
	$Qmkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) $(if $(LTO),-fno-lto) -o $@ $^ $(LOAD_LIBS)
$B/bin/slatectl: scripts/slatectl Makefile
	@mkdir -p $(@D) && $(slatectl) >$@ && chmod +x $@

# slated has the rules for policies in it, as strings of C.
$B/gen/tune/policies/policy_core.inc: $(POLICY_LUA:%=lua/slate/%.lua) Makefile
	@mkdir -p $(@D) && $(call lua_texts,$(POLICY_LUA)) >$@
$B/daemon/tune/policies/lua_box.o: $B/gen/tune/policies/policy_core.inc
# The names of memcached_exporter for its page of metrics stand in the exporter of slatectl.
$B/gen/metrics/exporter_rows.inc: lua/slate/cli/exporter_names.lua
	@mkdir -p $(@D) && awk '/= rows_of \[\[/ { part = $$2; next } /^\]\]/ { part = "" } part { \
	    for (i = 1; i < NF; i += 2) { n = split($$(i + 1), metric, /[{}]/); gsub(/"/, "\\\"", metric[2]); \
	        printf "{%s, \"%s\", \"%s\", \"%s\"},\n", part, $$i, metric[1], (n > 1 ? metric[2] : "") } }' $< >$@
$B/daemon/metrics/exposition.o: $B/gen/metrics/exporter_rows.inc
# The world loads them as a shared object. To a program, which needs nothing of that, the linker has them cost nothing.
SHARED = -fPIC $(if $(filter %/main.o,$@),,-fvisibility=hidden)
$B/daemon/%.o: daemon/%.c
	$Qmkdir -p $(@D) && $(CC) $(FLAGS) $(CFLAGS) $(if $(LTO),$(LTO) -ffat-lto-objects) $(DAEMON_I) $(SHARED) -c -o $@ $<
# slatetop has the explanations in it, likewise.
$B/gen/console/draw/explain_text.inc: man/explain.txt
	@mkdir -p $(@D) && sed '/^#/d;s/[\\"]/\\&/g;s/.*/"&\\n"/' $< >$@
$B/console/draw/explain.o: $B/gen/console/draw/explain_text.inc
# And the modules that judge.
$B/gen/console/brain/modules.inc: $(BRAIN_LUA:%=lua/slate/%.lua) Makefile
	@mkdir -p $(@D) && $(call lua_packed,$(BRAIN_LUA)) >$@
$B/console/brain/lua_state.o: $B/gen/console/brain/modules.inc
$B/console/%.o: console/%.c
	$Qmkdir -p $(@D) && $(CC) $(FLAGS) $(CFLAGS) $(LUA_FLAGS) -Iconsole -I$B/gen/console -c -o $@ $<
$B/tests/bench/load/%.o: tests/bench/load/%.c
	$Qmkdir -p $(@D) && $(CC) $(FLAGS) $(CFLAGS) -Itests/bench/load -Idaemon -c -o $@ $<
$B/bench/foresight $B/bench/flip $B/bench/session_bench: $B/bench/%: tests/bench/%.c $(DAEMON_O) $(JEMALLOC_O)
	$Qmkdir -p $(@D) && $(CC) $(FLAGS) $(CFLAGS) $(DAEMON_I) $(LDFLAGS) -Itests/bench -o $@ $< $(DAEMON_O) $(SUITE_LIBS)
POLICIES_C := $(wildcard tests/bench/policies/*.c)
$B/bench/policies: $(POLICIES_C) $(wildcard tests/bench/policies/*.h) tests/bench/side.h $(DAEMON_O) $B/tests/bench/load/dist.o \
    $B/tests/bench/load/popularity.o $(JEMALLOC_O)
	$Qmkdir -p $(@D) && $(CC) $(filter-out -MMD -MP,$(FLAGS)) $(CFLAGS) $(DAEMON_I) $(LDFLAGS) -Itests/bench -Itests/bench/load -o $@ \
	    $(filter-out %.h %/jemalloc.o,$^) $(SUITE_LIBS)
$B/bench/moves-twins: tests/bench/moves/twins.c tests/bench/side.h $(DAEMON_O) $B/tests/bench/load/dist.o $B/tests/bench/load/popularity.o $(JEMALLOC_O)
	$Qmkdir -p $(@D) && $(CC) $(filter-out -MMD -MP,$(FLAGS)) $(CFLAGS) $(DAEMON_I) $(LDFLAGS) -Itests/bench -Itests/bench/load -o $@ \
	    $(filter-out %.h %/jemalloc.o,$^) $(SUITE_LIBS)
$B/bench/index: tests/bench/index/bench.c $(DAEMON_O) $(JEMALLOC_O)
	$Qmkdir -p $(@D) && $(CC) $(FLAGS) $(CFLAGS) $(DAEMON_I) $(LDFLAGS) -o $@ $< $(DAEMON_O) $(SUITE_LIBS)
# These link the suites' fixtures.
$B/bench/sampled $B/bench/scaling: $B/bench/%: tests/bench/%/bench.c $(DAEMON_O) $B/tests/bench/load/popularity.o $(JEMALLOC_O)
	$Qmkdir -p $(@D) && $(CC) $(FLAGS) $(CFLAGS) $(DAEMON_I) -Itests/unit -Itests/unit/daemon -Itests/bench/load $(LDFLAGS) -o $@ $< \
	    $B/tests/bench/load/popularity.o $(DAEMON_O) $(SUITE_LIBS)
$B/bench/%: tests/bench/%.c
	$Qmkdir -p $(@D) && $(CC) $(FLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $<

# Unit tests keep their asserts and link what they need of the objects of the program they test: with all objects a hundred links
# took most of the time of a build.
$B/daemon.a: $(DAEMON_O)
$B/console.a: $(CONSOLE_O)
$B/daemon.a $B/console.a:
	@rm -f $@ && $(AR) qcs $@ $^
$B/unit/daemon/%: tests/unit/daemon/%.c $B/daemon.a $(JEMALLOC_O)
	$Qmkdir -p $(@D) && $(CC) $(FLAGS) -UNDEBUG $(ONE_THREAD) $(CFLAGS) $(QUICK) $(DAEMON_I) -Itests/unit $(LDFLAGS) $(QUICK_LINK) -o $@ $< $B/daemon.a $(SUITE_LIBS)
# The world: an interpreter of Lua in whose process servers run (tests/world).
$B/world/slated.so: $B/daemon/main.o $(DAEMON_O)
	$Qmkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -fno-lto -shared -Wl,-Bsymbolic,--strip-debug -o $@ $^ $(filter-out $(JEMALLOC_O),$(DAEMON_LIBS))
$B/world/lua: $(wildcard tests/world/*.[ch]) $(JEMALLOC_O) | $B/world/slated.so
	$Qmkdir -p $(@D) && $(CC) $(filter-out -MMD -MP,$(FLAGS)) -UNDEBUG $(CFLAGS) $(QUICK) $(LUA_FLAGS) $(LDFLAGS) -rdynamic -o $@ \
	    $(filter %.c %.o,$^) $(LUA_LIBS) -lm -ldl
# Of these the linker hands the calls at which one thread makes way for another to the suite.
ISOLATION_WRAPS := pthread_mutex_lock pthread_mutex_unlock usleep nanosleep clock_mono_us cache_read_copy cache_read_end \
                   slab_drain_begin slab_drain_end slab_page_withdraw page_move_finish cache_turns_note cache_quiesce \
                   cache_turn_end
ISOLATION_C     := $(wildcard tests/isolation/*.c)
$B/isolation/test_isolation: $(ISOLATION_C) $(wildcard tests/isolation/*.h) $(DAEMON_O) $(JEMALLOC_O)
	$Qmkdir -p $(@D) && $(CC) $(filter-out -MMD -MP,$(FLAGS)) -UNDEBUG $(CFLAGS) $(QUICK) $(DAEMON_I) -Itests/unit -Itests/unit/daemon \
	    -Itests/isolation $(ISOLATION_WRAPS:%=-Wl,--wrap=%) $(LDFLAGS) $(QUICK_LINK) -o $@ $(ISOLATION_C) $(DAEMON_O) $(SUITE_LIBS)
# The model client talks to a server in a process of its own, so it is never built with a sanitizer.
$B/stress/model: $(wildcard tests/stress/model/*.[ch]) tests/unit/tap.h
	$Qmkdir -p $(@D) && $(CC) $(filter-out -MMD -MP -DNDEBUG,$(FLAGS)) $(CFLAGS) $(QUICK) $(LDFLAGS) $(QUICK_LINK) -Itests/unit -Itests/stress/model -o $@ $(filter %.c,$^)
$B/stress/crash: $(wildcard tests/stress/crash/*.[ch]) tests/unit/tap.h
	$Qmkdir -p $(@D) && $(CC) $(filter-out -MMD -MP -DNDEBUG,$(FLAGS)) $(CFLAGS) $(QUICK) $(LDFLAGS) $(QUICK_LINK) -Itests/unit -Itests/stress/crash -o $@ $(filter %.c,$^)
# These test a server in a process of its own, with a shim between it and the C library that makes calls fail.
$B/faults/shim.so: tests/faults/shim.c tests/faults/control.h
	$Qmkdir -p $(@D) && $(CC) $(filter-out -fsanitize=% -fno-sanitize% -MMD -MP,$(FLAGS)) $(CFLAGS) $(QUICK) -shared -fPIC -o $@ $<
$B/faults/test_%: tests/faults/test_%.c | $B/faults/shim.so $B/bin/slated
	$Qmkdir -p $(@D) && $(CC) $(FLAGS) -UNDEBUG $(ONE_THREAD) $(CFLAGS) $(QUICK) -Itests/unit $(LDFLAGS) $(QUICK_LINK) -o $@ $<
$B/unit/console/%: tests/unit/console/%.c $B/console.a
	$Qmkdir -p $(@D) && $(CC) $(FLAGS) -UNDEBUG $(ONE_THREAD) $(CFLAGS) $(QUICK) $(LUA_FLAGS) -Iconsole -Itests/unit $(LDFLAGS) $(QUICK_LINK) -o $@ $< $B/console.a $(CONSOLE_LIBS)
$B/unit/load/%: tests/unit/load/%.c $(LOAD_O) $(TRACE_O)
	$Qmkdir -p $(@D) && $(CC) $(FLAGS) -UNDEBUG $(ONE_THREAD) $(CFLAGS) $(QUICK) -Itests/bench/load -Idaemon -Itests/unit $(LDFLAGS) $(QUICK_LINK) $(if $(LTO),-fno-lto) -o $@ $< $(LOAD_O) $(TRACE_O) $(LOAD_LIBS)

run: ## build all, start a server under load and open the console on it
	@scripts/bootstrap run
	@$(call build_all,all,the four programs)
	@scripts/demo $B/bin
test: ## build all and run every test, each once; the last line counts them (MORE=suites)
	@scripts/bootstrap test
	@$(call build_all,all units $B/stress/model $B/stress/crash $B/bench/abuse $B/bench/policies $B/world/lua,the four programs and the test programs)
	@$(MAKE_J) DEBUG=1 build-debug/bin/slated build-debug/world/slated.so build-debug/isolation/test_isolation build-debug/stress/crash
	@$(RUN) $(MORE) $(SPECS) $B/stress/model $B/stress/crash build-debug/stress/crash build-debug/isolation/test_isolation $(TESTS)
units: $(TESTS) $(if $(SAN),,$B/world/slatetop) ## build the C unit tests only
check: ## run the C tests only (SAN=address,undefined or SAN=thread: with asserts and a sanitizer; MORE=suites)
	@$(MAKE_J) units
	@$(RUN) $(MORE) $(TESTS)
test-clients: ## stock clients of C, Python, Ruby, PHP, JavaScript, Java and Go on slated and on memcached, and the suites of Django and pylibmc
	@scripts/bootstrap clients
	@tests/clients/fetch
	@$(call build_all,all,the four programs)
	@$(RUN) tests/clients/suites_spec.lua tests/real/clients_spec.lua tests/spec/slated_sasl_spec.lua
world: ## administrators and clients at once, in the world: no seed may end in a contradiction (FIRST, SEEDS, SWITCHES)
	@scripts/bootstrap test && $(MAKE_J) $B/bin/slated $B/world/lua
	@SLATE_TEST_SERVER=$B/bin/slated $B/world/lua tests/world/storm.lua $(or $(FIRST),1) $(or $(SEEDS),1000) $(or $(SWITCHES),3)
stress: ## the model client against every store and index (SECONDS a storm, STORE, INDEX, ROOM, SAN, SEED)
	@scripts/bootstrap run && $(MAKE_J) $B/bin/slated && $(MAKE_J) SAN= build/stress/model
	@STRESS_SECONDS=$(SECONDS) tests/stress/matrix build/stress/model $B/bin/slated
stress-crash: ## a server with a memory file is killed again and again, and what comes back is checked (CRASHES, SAN, SEED)
	@scripts/bootstrap run && $(MAKE_J) $B/bin/slated && $(MAKE_J) SAN= build/stress/crash
	@CRASHES=$(or $(CRASHES),200) build/stress/crash $B/bin/slated
stress-hostile: ## 10,000 clients of TLS who mean ill, against one limit for the memory of the process (CONNECTIONS, LIMIT_MB)
	@scripts/bootstrap run && $(MAKE_J) $B/bin/slated
	@tests/stress/hostile/run $B/bin/slated
stress-takeover: ## a server under load is taken over from, again and again; nobody may be refused, or lose an item (TAKEOVERS, ITEMS, EXTRA, SAN)
	@scripts/bootstrap run && $(MAKE_J) $B/bin/slated $B/bin/slate-load
	@tests/stress/takeover/run $B/bin
linearize: ## histories of contended keys judged by porcupine, over stores and indexes (OPS, SAN, SEED); needs Go
	@scripts/bootstrap run && $(MAKE_J) $B/bin/slated
	@tests/stress/linearize/run $B/bin/slated
# Fuzzers in a build folder of their own, with coverage of lines in another (COVERAGE=1).
$F/daemon/%.o: daemon/%.c $B/gen/tune/policies/policy_core.inc $B/gen/metrics/exporter_rows.inc
	$Qmkdir -p $(@D) && clang $(FUZZ_FLAGS) $(DAEMON_I) -c -o $@ $<
$F/console/%.o: console/%.c $B/gen/console/draw/explain_text.inc $B/gen/console/brain/modules.inc
	$Qmkdir -p $(@D) && clang $(FUZZ_FLAGS) $(LUA_FLAGS) -Iconsole -I$B/gen/console -c -o $@ $<
$F/fuzz_console: tests/fuzz/fuzz_console.c $(CONSOLE_O:$B/%=$F/%)
	$Qmkdir -p $(@D) && clang $(FUZZ_FLAGS) -fsanitize=fuzzer -Iconsole -o $@ $^ $(CONSOLE_LIBS)
$F/fuzz_%: tests/fuzz/fuzz_%.c $(DAEMON_O:$B/%=$F/%) $(JEMALLOC_O)
	$Qmkdir -p $(@D) && clang $(FUZZ_FLAGS) -fsanitize=fuzzer $(DAEMON_I) -Itests/unit -Itests/unit/daemon -o $@ $(filter-out %/jemalloc.o,$^) $(SUITE_LIBS)
# And as suites that replay the inputs that are kept.
$B/fuzz/fuzz_console: tests/fuzz/fuzz_console.c tests/fuzz/driver.c $B/console.a
	$Qmkdir -p $(@D) && $(CC) $(filter-out -MMD -MP,$(FLAGS)) -UNDEBUG $(CFLAGS) $(QUICK) $(REPLAYS) -Iconsole $(LDFLAGS) $(QUICK_LINK) -o $@ $^ $(CONSOLE_LIBS)
$B/fuzz/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/driver.c $B/daemon.a $(JEMALLOC_O)
	$Qmkdir -p $(@D) && $(CC) $(filter-out -MMD -MP,$(FLAGS)) -UNDEBUG $(CFLAGS) $(QUICK) $(REPLAYS) $(DAEMON_I) -Itests/unit/daemon $(LDFLAGS) $(QUICK_LINK) -o $@ \
	    $(filter-out %/jemalloc.o,$^) $(SUITE_LIBS)
fuzz: ## run each fuzzer of tests/fuzz for FUZZ_S seconds (60); needs clang
	@scripts/bootstrap fuzz && $(MAKE_J) $(FUZZERS)
	@cd $F && for f in $(FUZZ_NAMES); do echo "$$f for $(FUZZ_S) s" && mkdir -p corpus-$$f && \
	    ./$$f -verbosity=0 -print_final_stats=1 -max_total_time=$(FUZZ_S) -max_len=4096 \
	    -dict=../tests/fuzz/$${f#fuzz_}.dict corpus-$$f ../tests/fuzz/corpus/$${f#fuzz_} || exit 1; done
fuzz-coverage: ## how much of the files that each fuzzer is for its kept inputs reach (LEARNT=1: and those of make fuzz); needs clang and llvm
	@scripts/bootstrap fuzz && $(MAKE_J) COVERAGE=1 $(FUZZ_NAMES:%=build-fuzz-coverage/%)
	@tests/fuzz/coverage build-fuzz-coverage $(if $(LEARNT),build-fuzz)
model: ## explore the lock-free protocols under weakly ordered memory, with and without each fence; needs spin
	@scripts/bootstrap model && tests/model/run
lint: ## layers, circles, luacheck, shellcheck and the man pages
	@$(MAKE_J) all && scripts/lint $B
analyze: $B/gen/tune/policies/policy_core.inc $B/gen/metrics/exporter_rows.inc $B/gen/console/draw/explain_text.inc $B/gen/console/brain/modules.inc ## gcc -fanalyzer, cppcheck, and clang's warnings
	@scripts/bootstrap ci && scripts/analyze $B
bench: ## CPU time per operation and throughput against memcached (RUNS, SECONDS, KEYS; LATENCY=1: waits at 70 % load)
	@scripts/bootstrap bench && $(MAKE_J) all $B/bench/floor && tests/bench/throughput $B/bin
bench-large: ## CPU time of gets of large values against memcached (RUNS, SECONDS)
	@scripts/bootstrap bench && $(MAKE_J) all && tests/bench/large $B/bin
bench-hit: ## hit ratio on traces against memcached and the best policy simulated (TRACES=folder, SEED, ONLY=rows, POLICIES=names)
	@scripts/bootstrap bench && $(MAKE_J) all && tests/bench/hit-ratio $B/bin
bench-predictions: ## predicted hit ratios and the policy auto against real caches, on traces (TRACES=folder, SAMPLES, TTLS, PARTS=curves or between)
	@scripts/bootstrap bench && $(MAKE_J) all $B/bench/foresight $B/bench/flip && tests/bench/predictions $B
bench-policies: ## what each mode of automove is worth under a dozen loads, in reckoned time (SEEDS, MODES=names, LOADS=names, FIT=1, TRACES=folder)
	@scripts/bootstrap bench && $(MAKE_J) $B/bench/policies
	@$B/bench/policies $(if $(SEEDS),--seeds $(SEEDS)) $(if $(MODES),--modes $(MODES)) $(if $(FIT),--fit yes) $(LOADS)
bench-moves: ## what predictions of page moves are worth, over moves under three loads (MOVES, WINDOW_S, LOADS=names)
	@scripts/bootstrap bench && $(MAKE_J) all && tests/bench/moves/run $B/bin
bench-moves-reckoned: ## the same in reckoned time, each move beside a twin without it (SEEDS, MOVES, LOADS=names, ROWS=1, SETTLE_S)
	@scripts/bootstrap bench && $(MAKE_J) $B/bench/moves-twins && tests/bench/moves/reckoned $B/bench
bench-findings: ## how soon what is wrong with a recorded server is found, and false alarms where nothing is (SEEDS)
	@scripts/bootstrap bench && $(MAKE_J) $B/bench/moves-twins && tests/bench/findings $B/bench
bench-storm: ## a hundred changes of the eviction policy a second under load (PAIRS, SEED, SAN=address,undefined or SAN=thread)
	@scripts/bootstrap bench && $(MAKE_J) $B/bin/slated && $(MAKE) -s SAN= build/bin/slate-load
	@ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=halt_on_error=1 $(if $(findstring thread,$(SAN)),setarch -R) \
	    tests/bench/policy-storm $B/bin/slated build/bin/slate-load
bench-sampling: ## what the default rate of sampling costs the server, in instructions and in time (KOPS, PAIRS, SETTLE_MS, WINDOW_MS)
	@scripts/bootstrap bench && $(MAKE_J) all $B/bench/sampled && tests/bench/sampled/run $B/bench/sampled && tests/bench/sampling $B/bin
bench-scaling: ## how the cache scales with threads, by index, policy, partitions and load (KEYS, MS, INDEXES, POLICIES, PARTITIONS, THREADS, LOADS)
	@scripts/bootstrap bench && $(MAKE_J) $B/bench/scaling && tests/bench/scaling/run $B/bench/scaling
bench-abuse: ## what greedy and dumb clients cost the server and others, against memcached (ONLY=word)
	@scripts/bootstrap bench && $(MAKE_J) all $B/bench/abuse && tests/bench/abuse/run $B/bin $B/bench/abuse
bench-stalls: ## how long a get waits at most while the server does something large, against memcached (RUNS, ONLY=word)
	@scripts/bootstrap bench && $(MAKE_J) all $B/bench/abuse && tests/bench/stalls/run $B/bin $B/bench/abuse
$B/bench/abuse: tests/bench/abuse/abuse.c
	$Qmkdir -p $(@D) && $(CC) $(FLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $<
bench-tls: ## server CPU time a request and a handshake with TLS, against memcached (RUNS, SECONDS, CONNECTIONS)
	@scripts/bootstrap bench && $(MAKE_J) all && tests/bench/tls $B/bin
bench-resident: ## resident size of full small caches, and of each part of a million small items, against memcached (ITEMS)
	@scripts/bootstrap bench && $(MAKE_J) all && tests/bench/resident $B/bin
bench-udp: ## server CPU time of a get by UDP, against memcached and a server that looks nothing up (RUNS, SECONDS)
	@scripts/bootstrap bench && $(MAKE_J) all $B/bench/udp_side && tests/bench/udp $B/bin
bench-calcify: ## the 2012 rebalancing experiment against memcached
	@scripts/bootstrap bench && $(MAKE_J) all && tests/bench/calcify $B/bin
bench-ratio: ## twelve situations in which pages are to change hands, mode 1 against memcached (ONLY=word, OPTIONS, AT_ONCE)
	@scripts/bootstrap bench && $(MAKE_J) all && tests/bench/ratio $B/bin
bench-memory: ## moves, strategies and geometry against memcached (ONLY=names, MODES=names, TRACES=folder)
	@scripts/bootstrap bench && $(MAKE_J) all && tests/bench/memory/run $B/bin $(ONLY)
doc: ## the reference of the Lua library as HTML in build/doc
	@scripts/bootstrap doc && scripts/make-doc $(CURDIR)/build/doc && echo build/doc/html/index.html
bench-restart: ## how long a restart with a memory file takes, against memcached's (ITEMS, BYTES, RUNS, FOLDER)
	@scripts/bootstrap bench && $(MAKE_J) $B/bin/slated $B/bench/restart/fill
	@tests/bench/peer || true
	@tests/bench/restart/run $B/bin $B/bench/restart/fill
bench-index: ## what each kind of index costs, in nanoseconds and instructions an operation (ITEMS, KINDS)
	@scripts/bootstrap bench && $(MAKE_J) $B/bench/index && tests/bench/index/run $B/bench/index
bench-console: ## what slatetop costs: first paint, key to screen, bytes, processor time, memory
	@scripts/bootstrap test && $(MAKE_J) all $B/bench/console_pty && tests/bench/console $B/bin
# In quotes of their own: a folder's name may hold spaces.
INSTALL  = DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' SYSCONFDIR='$(SYSCONFDIR)' LUA_PROGRAM='$(LUA_PROGRAM)' scripts/install
install: $(BINS) ## copy programs, library, manual, completions, unit and examples to DESTDIR and PREFIX (/usr/local)
	$Q$(INSTALL) install $B
uninstall: ## remove what install put there
	$Q$(INSTALL) uninstall $B
pictures: all ## make the pictures of the README anew in man/pictures, from the real programs (two minutes; wants tmux, gnuplot)
	@scripts/pictures/make $B man/pictures
dist: ## an archive in build/: of the last commit, or of this folder where it is no git's
	@scripts/dist $(VERSION)
test-packages: ## build the Debian packages, and install, run and purge them in a temporary root
	@scripts/bootstrap packages && scripts/test-packages
clean: ## remove every build folder
	rm -rf build build-*
help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' Makefile

.PHONY: bench-large all run test world test-clients test-packages units check stress stress-crash stress-hostile stress-takeover linearize fuzz fuzz-coverage model lint analyze bench bench-hit bench-predictions bench-policies bench-moves bench-moves-reckoned bench-findings bench-stalls bench-storm bench-sampling bench-tls bench-resident bench-udp bench-calcify bench-ratio bench-console bench-memory bench-index bench-scaling doc install uninstall dist clean help
-include $(shell find $B -name '*.d' 2>/dev/null)
