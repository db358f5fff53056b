# Slate. `make help` lists the targets; `make run` and `make test` are all the set-up there is.
comma   := ,
B       := build$(if $(DEBUG),-debug)$(if $(SAN),-$(subst $(comma),-,$(SAN)))
PREFIX  ?= /usr/local
CC      ?= gcc
VERSION := 0.1.0
ROOMS   := $(shell cut -d' ' -f1 daemon/LAYERS)

CFLAGS  ?= -O2 -g
FLAGS   := -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
           -DSLATE_VERSION='"$(VERSION)"' -fno-strict-aliasing -pthread -MMD -MP \
           $(if $(DEBUG),-DSLATE_DEBUG,-DNDEBUG) $(if $(CI),-Werror) \
           $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all) \
           $(if $(findstring thread,$(SAN)),-Wno-tsan)
LDFLAGS += -pthread $(if $(SAN),-fsanitize=$(SAN))

DAEMON_O  := $(patsubst %.c,$B/%.o,$(wildcard $(ROOMS:%=daemon/%/*.c)))
CONSOLE_O := $(patsubst %.c,$B/%.o,$(filter-out console/main.c,$(wildcard console/*.c console/views/*.c)))
LOAD_O    := $(patsubst %.c,$B/%.o,$(filter-out tests/bench/load/main.c,$(wildcard tests/bench/load/*.c)))
DAEMON_LIBS  := -levent -levent_pthreads -lm
CONSOLE_LIBS := -lncursesw -ltinfo -lm
LOAD_LIBS    := -lz -lm
TESTS   := $(patsubst tests/unit/%.c,$B/unit/%,$(wildcard tests/unit/*/test_*.c))
BINS    := $(addprefix $B/bin/,slated slatetop slate-load slatectl)

all: $(BINS) ## build the four programs into build/bin (DEBUG=1, SAN=address,undefined, CI=1)

$B/bin/slated: $B/daemon/main.o $(DAEMON_O)
	@mkdir -p $(@D) && $(CC) $(LDFLAGS) -o $@ $^ $(DAEMON_LIBS)
$B/bin/slatetop: $B/console/main.o $(CONSOLE_O)
	@mkdir -p $(@D) && $(CC) $(LDFLAGS) -o $@ $^ $(CONSOLE_LIBS)
$B/bin/slate-load: $B/tests/bench/load/main.o $(LOAD_O)
	@mkdir -p $(@D) && $(CC) $(LDFLAGS) -o $@ $^ $(LOAD_LIBS)
$B/bin/slatectl: scripts/slatectl
	@mkdir -p $(@D) && sed 's|@LUADIR@|$(CURDIR)/lua|;s|@BINDIR@|$(CURDIR)/$B/bin|;s|@VERSION@|$(VERSION)|' $< > $@ && chmod +x $@

$B/daemon/%.o: daemon/%.c
	@mkdir -p $(@D) && $(CC) $(FLAGS) $(CFLAGS) -Idaemon -c -o $@ $<
$B/console/%.o: console/%.c
	@mkdir -p $(@D) && $(CC) $(FLAGS) $(CFLAGS) -Iconsole -c -o $@ $<
$B/tests/bench/load/%.o: tests/bench/load/%.c
	@mkdir -p $(@D) && $(CC) $(FLAGS) $(CFLAGS) -Itests/bench/load -c -o $@ $<

# Unit tests keep their asserts and link every object of the program they test.
$B/unit/daemon/%: tests/unit/daemon/%.c $(DAEMON_O)
	@mkdir -p $(@D) && $(CC) $(FLAGS) -UNDEBUG $(CFLAGS) -Idaemon -Itests/unit $(LDFLAGS) -o $@ $< $(DAEMON_O) $(DAEMON_LIBS)
$B/unit/console/%: tests/unit/console/%.c $(CONSOLE_O)
	@mkdir -p $(@D) && $(CC) $(FLAGS) -UNDEBUG $(CFLAGS) -Iconsole -Itests/unit $(LDFLAGS) -o $@ $< $(CONSOLE_O) $(CONSOLE_LIBS)
$B/unit/load/%: tests/unit/load/%.c $(LOAD_O)
	@mkdir -p $(@D) && $(CC) $(FLAGS) -UNDEBUG $(CFLAGS) -Itests/bench/load -Itests/unit $(LDFLAGS) -o $@ $< $(LOAD_O) $(LOAD_LIBS)

units: $(TESTS) ## build the C unit tests only
clean: ## remove every build folder
	rm -rf build build-*
help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' Makefile

.PHONY: all units clean help
-include $(shell find $B -name '*.d' 2>/dev/null)
