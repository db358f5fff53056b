# SPDX-License-Identifier: BSD-3-Clause
# The suites. tests/README.md says what each folder holds.
SUITES   := $(wildcard tests/unit/*/test_*.c $(if $(SAN),,tests/faults/test_*.c))
FUZZ_NAMES := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
# Of the C suites those that start threads, by themselves or by these headers and functions. Under the thread sanitizer
# only these are built and run: where there is one thread it has nothing to find that the address sanitizer has not. A
# suite that this misses fails in every other build: there each of the rest claims that it never started a thread.
THREADS  := pthread_create|thread_start|memory_file|log_start|metrics_start|pace_start|tuner_create|net_fixture.h|$\
            mover_fixture.h|tune_fixture.h|session_fixture.h|app_run
THREADED := $(shell grep -lE '$(THREADS)' $(SUITES))
ONE_THREAD = $(if $(filter $<,$(THREADED)),,-DTAP_ONE_THREAD)
ifneq ($(findstring thread,$(SAN)),)
TESTS    := $(patsubst tests/%.c,$B/%,$(THREADED))
# It wants a memory layout that the kernel did not shuffle.
UNSHUFFLED := $(shell setarch -R true 2>/dev/null && echo setarch -R)
else
TESTS    := $(patsubst tests/%.c,$B/%,$(SUITES)) $(FUZZ_NAMES:%=$B/fuzz/%)
endif
SPECS    := $(foreach room,real console spec,$(sort $(wildcard tests/$(room)/*_spec.lua)))
RUN      := $(UNSHUFFLED) scripts/run-tests $(if $(LIMIT_S),-t $(LIMIT_S)) -o $B/test-logs

# Suites keep their asserts and link what they need of the objects of the program they test: with all objects a hundred
# links took most of the time of a build.
SUITE_LIBS := $(if $(LTO),-fno-lto) $(DAEMON_LIBS)
SUITE_CC    = $Qmkdir -p $(@D) && $(CC) $(FLAGS) -UNDEBUG $(ONE_THREAD) $(CFLAGS) $(QUICK) -Itests/unit $(LDFLAGS) \
              $(QUICK_LINK) -o $@ $<
# The same of several files.
SUITE_CC_ALL = $Qmkdir -p $(@D) && $(CC) $(FLAGS_ALONE) -UNDEBUG $(CFLAGS) $(QUICK) -Itests/unit $(LDFLAGS) \
              $(QUICK_LINK) -o $@
$B/unit/daemon/%: tests/unit/daemon/%.c $B/daemon.a $(JEMALLOC_O)
	$(SUITE_CC) $(DAEMON_I) $B/daemon.a $(SUITE_LIBS)
$B/unit/console/%: tests/unit/console/%.c $B/console.a
	$(SUITE_CC) $(LUA_FLAGS) -Iconsole $B/console.a $(CONSOLE_LIBS)
$B/unit/load/%: tests/unit/load/%.c $(LOAD_O) $(TRACE_O)
	$(SUITE_CC) -Itests/bench/load -Idaemon $(if $(LTO),-fno-lto) $(LOAD_O) $(TRACE_O) $(LOAD_LIBS)

# The world: an interpreter of Lua in whose process servers run; and slatetop on a terminal of cells, with a spec's clock.
$B/world/slated.so: $B/daemon/main.o $(DAEMON_O)
	$Qmkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) -fno-lto -shared -Wl,-Bsymbolic,--strip-debug -o $@ $^ \
	    $(filter-out $(JEMALLOC_O),$(DAEMON_LIBS))
WORLD_C := $(wildcard tests/world/*.c) console/draw/cells.c console/draw/glyph.c console/bridge/lua_cells.c \
    console/bridge/lua_files.c console/link/poll_clock.c
$B/world/lua: $(WORLD_C) $(wildcard tests/world/*.h console/draw/cells.h console/draw/glyph.h console/bridge/*.h console/link/poll_clock.h) $(JEMALLOC_O) | $B/world/slated.so
	$(SUITE_CC_ALL) $(LUA_FLAGS) -Iconsole -rdynamic $(filter %.c %.o,$^) $(LUA_LIBS) -lm -ldl
$B/world/slatetop: tests/console/terminal.c tests/unit/console/cells_row.h $B/console/main.o $(CONSOLE_O)
	$Qmkdir -p $(@D) && $(CC) $(FLAGS_ALONE) $(CFLAGS) $(QUICK) -Iconsole $(LDFLAGS) $(QUICK_LINK) -o $@ $< \
	    $(filter-out %.c %.h %/draw/term.o %/link/poll_clock.o,$^) $(CONSOLE_LIBS)

# Of these the linker hands the calls at which one thread makes way for another to the suite.
ISOLATION_WRAPS := pthread_mutex_lock pthread_mutex_unlock usleep nanosleep clock_mono_us cache_read_copy \
                   cache_read_end slab_drain_begin slab_drain_end slab_page_withdraw page_move_finish \
                   cache_turns_note cache_quiesce cache_turn_end
$B/isolation/test_isolation: $(wildcard tests/isolation/*.[ch]) $(DAEMON_O) $(JEMALLOC_O)
	$(SUITE_CC_ALL) $(DAEMON_I) -Itests/unit/daemon -Itests/isolation $(ISOLATION_WRAPS:%=-Wl,--wrap=%) \
	    $(filter %.c,$^) $(DAEMON_O) $(SUITE_LIBS)
# Clients of a server in a process of its own are never built with a sanitizer.
$B/stress/model $B/stress/crash: $B/stress/%: tests/unit/tap.h
	$(SUITE_CC_ALL) -Itests/stress/model $(filter %.c,$^)
$B/stress/model: $(wildcard tests/stress/model/*.[ch])
$B/stress/crash: $(wildcard tests/stress/crash/*.[ch]) $(addprefix tests/stress/model/,wire.c wire.h)
# A server in a process of its own, with a shim between it and the C library that makes calls fail.
$B/faults/shim.so: tests/faults/shim.c tests/faults/control.h
	$Qmkdir -p $(@D) && $(CC) $(filter-out $(SANITIZE),$(FLAGS_ALONE)) $(CFLAGS) $(QUICK) -shared -fPIC -o $@ $<
$B/faults/test_%: tests/faults/test_%.c | $B/faults/shim.so $B/bin/slated
	$(SUITE_CC)

# Fuzzers in a build folder of their own, with coverage of lines in another (COVERAGE=1).
F       := build-fuzz$(if $(COVERAGE),-coverage)
FUZZ_S  ?= 60
FUZZ_CC  = $Qmkdir -p $(@D) && clang $(filter-out -DNDEBUG,$(FLAGS_ALONE)) -g -O1 -fno-sanitize-recover=all \
           -fsanitize=fuzzer-no-link,address,undefined $(if $(COVERAGE),-fprofile-instr-generate -fcoverage-mapping)
$F/daemon/%.o: daemon/%.c $(POLICY_INC) $(EXPORTER_INC)
	$(FUZZ_CC) $(DAEMON_I) -c -o $@ $<
$F/fuzz_%: tests/fuzz/fuzz_%.c $(DAEMON_O:$B/%=$F/%) $(JEMALLOC_O)
	$(FUZZ_CC) -fsanitize=fuzzer $(DAEMON_I) -Itests/unit -Itests/unit/daemon -o $@ $(filter-out $(JEMALLOC_O),$^) \
	    $(SUITE_LIBS)
# And as suites that replay the inputs that are kept.
REPLAYS  = -DFUZZ_CORPUS='"tests/fuzz/corpus/$(patsubst fuzz_%,%,$(@F))"'
$B/fuzz/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/driver.c $B/daemon.a $(JEMALLOC_O)
	$(SUITE_CC_ALL) $(REPLAYS) $(DAEMON_I) -Itests/unit/daemon $(filter-out $(JEMALLOC_O),$^) $(SUITE_LIBS)

##@ test
TESTED  = all units $(BESIDE) $B/bench/abuse $B/bench/policies $B/bench/twins $B/world/lua
BESIDE := $B/stress/model $B/stress/crash
CHECKED := build-debug/isolation/test_isolation build-debug/stress/crash
test: ## build all and run every test, each once; the last line counts them (MORE=suites, ALL=1: nothing by sample)
	@scripts/bootstrap test
	@$(call build_all,$(TESTED),the four programs and the test programs)
	@$(MAKE_J) DEBUG=1 build-debug/bin/slated build-debug/world/slated.so $(CHECKED)
	@$(RUN) $(MORE) $(CHECKED) $(SPECS) $(BESIDE) $(TESTS)
units: $(TESTS) $(if $(SAN),,$B/world/slatetop) ## build the C unit tests only
check: ## run the C tests only (SAN=address,undefined or SAN=thread: with asserts and a sanitizer; MORE=suites)
	@$(MAKE_J) units
	@$(RUN) $(MORE) $(TESTS)
test-clients: ## stock clients of seven languages on slated and on memcached, and the suites of Django and pylibmc
	@scripts/bootstrap clients
	@tests/clients/fetch
	@$(call build_all,all,the four programs)
	@$(RUN) tests/clients/suites_spec.lua tests/real/clients_spec.lua tests/real/slated_sasl_spec.lua
world: ## administrators, and clients who know what they stored, at once in the world: no seed may contradict itself (FIRST, SEEDS, SWITCHES)
	@scripts/bootstrap test && $(MAKE_J) $B/bin/slated $B/world/lua
	@SLATE_TEST_SERVER=$B/bin/slated $B/world/lua tests/world/storm.lua \
	    $(or $(FIRST),1) $(or $(SEEDS),1000) $(SWITCHES)
stress: ## the model client against every store and index (SECONDS a storm, STORE, INDEX, ROOM, SAN, SEED)
	@scripts/bootstrap run && $(MAKE_J) $B/bin/slated && $(MAKE_J) SAN= build/stress/model
	@STRESS_SECONDS=$(SECONDS) tests/stress/matrix build/stress/model $B/bin/slated
stress-crash: ## a server with a memory file is killed again and again, and its items are checked (CRASHES, SAN, SEED)
	@scripts/bootstrap run && $(MAKE_J) $B/bin/slated && $(MAKE_J) SAN= build/stress/crash
	@CRASHES=$(or $(CRASHES),200) build/stress/crash $B/bin/slated
stress-hostile: ## 10,000 clients of TLS who mean ill, against a limit of the process (CONNECTIONS, LIMIT_MB)
	@scripts/bootstrap run && $(MAKE_J) $B/bin/slated
	@tests/stress/hostile/run $B/bin/slated
stress-takeover: ## takeovers under load, again and again: no refusal, no lost item (TAKEOVERS, ITEMS, EXTRA, SAN)
	@scripts/bootstrap run && $(MAKE_J) $B/bin/slated $B/bin/slate-load
	@tests/stress/takeover/run $B/bin
linearize: ## histories of contended keys judged by porcupine, over stores and indexes (OPS, SAN, SEED); needs Go
	@scripts/bootstrap run && $(MAKE_J) $B/bin/slated
	@tests/stress/linearize/run $B/bin/slated
fuzz: ## run each fuzzer of tests/fuzz for FUZZ_S seconds (60); needs clang
	@scripts/bootstrap fuzz && $(MAKE_J) $(FUZZ_NAMES:%=$F/%)
	@cd $F && for f in $(FUZZ_NAMES); do echo "$$f for $(FUZZ_S) s" && mkdir -p corpus-$$f && \
	    ./$$f -verbosity=0 -print_final_stats=1 -max_total_time=$(FUZZ_S) -max_len=4096 \
	    -dict=../tests/fuzz/$${f#fuzz_}.dict corpus-$$f ../tests/fuzz/corpus/$${f#fuzz_} || exit 1; done
fuzz-coverage: ## how much of their files the kept inputs reach (LEARNT=1: and those of make fuzz); needs clang and llvm
	@scripts/bootstrap fuzz && $(MAKE_J) COVERAGE=1 $(FUZZ_NAMES:%=build-fuzz-coverage/%)
	@tests/fuzz/coverage build-fuzz-coverage $(if $(LEARNT),build-fuzz)
model: ## explore the lock-free protocols under weakly ordered memory, with and without each fence; needs spin
	@scripts/bootstrap model && tests/model/run

.PHONY: test units check test-clients world stress stress-crash stress-hostile stress-takeover linearize fuzz \
        fuzz-coverage model
