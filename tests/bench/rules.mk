# SPDX-License-Identifier: BSD-3-Clause
# slate-load and the measurements. tests/bench/README.md says what each is for.
LOAD_O    := $(patsubst %.c,$B/%.o,$(filter-out tests/bench/load/main.c,$(wildcard tests/bench/load/*.c)))
LOAD_LIBS := -lssl -lcrypto $(ZSTD_LIBS) -lz -lm
# The reader of traces is the simulator's.
TRACE_O   := $(addprefix $B/daemon/,base/number.o simulate/trace_recall.o simulate/trace.o simulate/trace_bytes.o \
             simulate/trace_format.o)
OBJECTS   += $(LOAD_O) $B/tests/bench/load/main.o
BINS      += $B/bin/slate-load

$B/tests/bench/load/%.o: tests/bench/load/%.c tests/bench/rules.mk
	$Qmkdir -p $(@D) && $(CC) $(FLAGS) $(CFLAGS) -Itests/bench/load -Idaemon -c -o $@ $<
$B/bin/slate-load: $B/tests/bench/load/main.o $(LOAD_O) $(TRACE_O)
	$Qmkdir -p $(@D) && $(CC) $(CFLAGS) $(LDFLAGS) $(if $(LTO),-fno-lto) -o $@ $^ $(LOAD_LIBS)

# Programs that measure functions of slated within their own process; some draw keys as slate-load does, or rest on the
# fixtures of the suites.
BENCH_I := $(DAEMON_I) -Itests/bench -Itests/bench/load -Itests/unit -Itests/unit/daemon
DRAWN_O := $B/tests/bench/load/dist.o $B/tests/bench/load/popularity.o
in_process = $Qmkdir -p $(@D) && $(CC) $(FLAGS_ALONE) $(CFLAGS) $(BENCH_I) $(LDFLAGS) -o $@ \
             $(filter-out %.h $(JEMALLOC_O) $(OWN_CLOCK),$^) $(SUITE_LIBS)
BENCHES := foresight session_bench index sampled scaling policies twins
$(BENCHES:%=$B/bench/%): tests/bench/side.h tests/bench/fed.h $(DRAWN_O) $(DAEMON_O) $(JEMALLOC_O)
	$(in_process)
$B/bench/foresight $B/bench/session_bench: $B/bench/%: tests/bench/%.c
$B/bench/index $B/bench/sampled $B/bench/scaling: $B/bench/%: tests/bench/%/bench.c
$B/bench/policies: $(wildcard tests/bench/policies/*.[ch]) tests/unit/own_clock.h
$B/bench/twins: tests/bench/twins.c tests/unit/own_clock.h
$B/bench/twins: LDFLAGS += -rdynamic
$B/bench/policies $B/bench/twins: OWN_CLOCK := $B/daemon/base/clock_system.o
# Programs of one file that talk to a server.
$B/bench/abuse: tests/bench/abuse/abuse.c
	$Qmkdir -p $(@D) && $(CC) $(FLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $<
$B/bench/%: tests/bench/%.c
	$Qmkdir -p $(@D) && $(CC) $(FLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $<

# Twins of a server: a file of played rows for each load and seed, which remains until a source changes. So a run that was
# ended goes on. ALL=1: all loads, each with three seeds.
LABORATORY := $B/bench/twins tests/bench/laboratory.lua
LOADS_FIT  := etc sizes shift alike twitter spread late expire session mixed moving
LOADS_HELD := users articles through tokens news growing small large loops level calcified
TWIN_LOADS  = $(or $(LOADS),$(if $(ALL),$(LOADS_FIT) $(LOADS_HELD),expire spread users tokens))
TWIN_SEEDS  = $(or $(SEEDS),$(if $(ALL),1 2 3,1))
played      = $(foreach load,$(TWIN_LOADS),$(TWIN_SEEDS:%=$B/bench/$1/$(load)-%))
$B/bench/moves/%: $(LABORATORY) tests/bench/moves.lua
	$Qmkdir -p $(@D) && $< tests/bench/moves.lua play $(subst -, ,$*) >$@.part && mv $@.part $@
$B/bench/sizes/%: $(LABORATORY) tests/bench/sizes.lua
	$Qmkdir -p $(@D) && $< tests/bench/sizes.lua play $(subst -, ,$*) >$@.part && mv $@.part $@

##@ measure, with memcached in the same run
# $(call measure,WHAT IS BUILT,THE RUN)
measure = @scripts/bootstrap bench && $(MAKE_J) $1 && $2
bench: ## CPU time per operation and throughput against memcached (RUNS, SECONDS, KEYS; LATENCY=1: waits at 70 % load)
	$(call measure,all $B/bench/floor,tests/bench/throughput $B/bin)
bench-large: ## CPU time of gets of large values against memcached (RUNS, SECONDS)
	$(call measure,all,tests/bench/large $B/bin)
bench-hit: ## hit ratio on traces against memcached and the best policy simulated (TRACES, SEED, ONLY, POLICIES)
	$(call measure,all,tests/bench/hit-ratio $B/bin)
bench-predictions: ## predicted hit ratios against real caches (TRACES, SAMPLES, TTLS, PARTS)
	$(call measure,all $B/bench/foresight,tests/bench/predictions $B)
bench-policies: ## what each mode of automove is worth under a dozen loads (SEEDS, MODES, LOADS, FIT=1, TRACES)
	@scripts/bootstrap bench && $(MAKE_J) $B/bench/policies
	@$B/bench/policies $(if $(SEEDS),--seeds $(SEEDS)) $(if $(MODES),--modes $(MODES)) $(if $(FIT),--fit yes) $(LOADS)
bench-sizes: ## predictions of other memory and policies, beside servers that have them (LOADS, SEEDS, LOOKS, ALL=1, ROWS=1)
	$(call measure,$(call played,sizes),$B/bench/twins tests/bench/sizes.lua judge memory $(call played,sizes))
	@$B/bench/twins tests/bench/sizes.lua judge policy $(call played,sizes)
bench-moves: ## predictions of page moves, beside twins without the move (LOADS, SEEDS, ROUNDS, MOVES, ALL=1, ROWS=1, SETTLE_S)
	$(call measure,$(call played,moves),$B/bench/twins tests/bench/moves.lua judge $(call played,moves))
bench-findings: ## how soon what is wrong with a recorded server is found, and false alarms where nothing is (SEEDS)
	$(call measure,$(LABORATORY),$B/bench/twins tests/bench/findings.lua)
bench-followed: ## what comes of page moves that are made as advised, five times in a row (LOADS, ROUNDS, STOCK=1, SEEDS, MODE)
	$(call measure,$(LABORATORY),$B/bench/twins tests/bench/followed.lua $(LOADS))
bench-sampling: ## what sampling costs the server, in instructions and in time (KOPS, PAIRS, SETTLE_MS, WINDOW_MS)
	$(call measure,all $B/bench/sampled,tests/bench/sampled/run $B/bench/sampled && tests/bench/sampling $B/bin)
bench-watched: ## what a server pays for slatectl hotkeys by watch fetchers, and the reads that it misses (RATES, PAIRS, SECONDS)
	$(call measure,all,tests/bench/watched $B/bin)
bench-scaling: ## how the cache scales with threads (KEYS, MS, INDEXES, POLICIES, PARTITIONS, THREADS, LOADS)
	$(call measure,$B/bench/scaling,tests/bench/scaling/run $B/bench/scaling)
bench-abuse: ## what greedy and dumb clients cost the server and others, against memcached (ONLY=word)
	$(call measure,all $B/bench/abuse,tests/bench/abuse/run $B/bin $B/bench/abuse)
bench-stalls: ## how long a get waits at most while the server does something large (RUNS, ONLY)
	$(call measure,all $B/bench/abuse,tests/bench/stalls/run $B/bin $B/bench/abuse)
bench-tls: ## server CPU time of requests and handshakes with TLS, against memcached (RUNS, SECONDS, CONNECTIONS)
	$(call measure,all,tests/bench/tls $B/bin)
bench-resident: ## resident size of small caches and of a million small items, against memcached (ITEMS)
	$(call measure,all,tests/bench/resident $B/bin)
bench-udp: ## server CPU time of a get by UDP, against memcached and an empty server (RUNS, SECONDS)
	$(call measure,all $B/bench/udp_side,tests/bench/udp $B/bin)
bench-ratio: ## twelve situations in which pages are to change hands, against memcached (ONLY, OPTIONS, AT_ONCE)
	$(call measure,all,tests/bench/ratio $B/bin)
bench-memory: ## moves, strategies and geometry against memcached (ONLY=names, MODES=names, TRACES=folder)
	$(call measure,all,tests/bench/memory/run $B/bin $(ONLY))
bench-restart: ## how long a restart with a memory file takes, against memcached's (ITEMS, BYTES, RUNS, FOLDER)
	@scripts/bootstrap bench && $(MAKE_J) $B/bin/slated $B/bench/restart/fill
	@tests/bench/peer || true
	@tests/bench/restart/run $B/bin $B/bench/restart/fill
bench-index: ## what each kind of index costs, in nanoseconds and instructions an operation (ITEMS, KINDS)
	$(call measure,$B/bench/index,tests/bench/index/run $B/bench/index)
bench-console: ## what slatetop costs: first paint, key to screen, bytes, processor time, memory
	@scripts/bootstrap test && $(MAKE_J) all $B/bench/console_pty && tests/bench/console $B/bin

.PHONY: bench bench-large bench-hit bench-predictions bench-policies bench-moves bench-sizes \
        bench-findings bench-followed bench-sampling bench-scaling bench-abuse bench-stalls bench-tls \
        bench-resident bench-udp bench-ratio bench-memory bench-restart bench-index \
        bench-console
