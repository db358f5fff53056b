# SPDX-License-Identifier: BSD-3-Clause
# Slate. `make help` lists the targets; `make run` and `make test` are all the set-up there is. How the files of a
# folder are built stands in its rules.mk.
comma   := ,
B       := build$(if $(DEBUG),-debug)$(if $(SAN),-$(subst $(comma),-,$(SAN)))
PREFIX  ?= /usr/local
ifeq ($(origin CC),default)
CC      := gcc
endif
OBJCOPY ?= objcopy
VERSION := 0.1.0
CFLAGS  ?= -O2 -g
# Programs that only test are compiled and linked in half the time so, unless CFLAGS says how. With DEBUG and with
# sanitizers they have the lines that debuggers and reports tell; with CI, where warnings are errors, those are of -O2.
ifeq ($(origin CFLAGS)$(DEBUG)$(SAN),file)
QUICK      := $(if $(CI),,-O1) -g0
QUICK_LINK := -Wl,--strip-debug
endif
# slated is optimised as a whole: the files of a room call each other often on the way of a request. The suites link the
# same objects as they are. `make LTO=` does without, and so do builds for debugging.
ifeq ($(DEBUG)$(SAN),)
LTO     := $(if $(findstring clang,$(CC)),,-flto=auto)
endif
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla $(if $(CI),-Werror) \
            $(if $(findstring thread,$(SAN)),-Wno-tsan -Wno-stringop-overread)
SANITIZE := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all \
            $(if $(findstring undefined,$(SAN)),-fsanitize=float-cast-overflow))
FLAGS_ALONE := $(CPPFLAGS) -std=c11 -D_GNU_SOURCE $(WARNINGS) -DSLATE_VERSION='"$(VERSION)"' -fno-strict-aliasing \
            -pthread $(if $(DEBUG),-DSLATE_DEBUG,$(if $(SAN),,-DNDEBUG)) $(SANITIZE)
# The compiler notes which headers a file includes. For several files at once it cannot: such rules take FLAGS_ALONE.
FLAGS   := $(FLAGS_ALONE) -MMD -MP
override LDFLAGS += -pthread $(if $(SAN),-fsanitize=$(SAN))
Q       := $(if $(V),,@)
MAKE_J   = $(MAKE) -s --no-print-directory -j$(shell nproc)
# Builds TARGETS, and says so before where there is something to build: it may take minutes.
build_all = $(MAKE) -s -q $1 2>/dev/null || echo "building $2"; $(MAKE_J) $1

PKG_CONFIG ?= pkg-config
# The flags of packages as pkg-config has them; else the words behind the comma.
cflags_of = $(or $(strip $(shell $(PKG_CONFIG) --cflags $1 2>/dev/null)),$2)
libs_of   = $(or $(strip $(shell $(PKG_CONFIG) --libs $1 2>/dev/null)),$2)
# Systems call it by different names.
LUA_NAMES   := lua5.4 lua-5.4 lua54
LUA_PACKAGE := $(firstword $(foreach n,$(LUA_NAMES),$(shell $(PKG_CONFIG) --exists $n 2>/dev/null && echo $n)) lua5.4)
LUA_PROGRAM ?= $(firstword $(shell command -v lua5.4 lua54) /usr/bin/lua5.4)
LUA_FLAGS := $(call cflags_of,$(LUA_PACKAGE),-I/usr/include/lua5.4)
LUA_LIBS  := $(call libs_of,$(LUA_PACKAGE),-llua5.4)
# The modules of Lua that the C files of a folder need, but for those that the second word names.
lua_modules = $(or $(shell scripts/lua-modules $1 $2),$(error scripts/lua-modules $1: no modules))

# What the programs include beside the C library. What is missing is named, with how to get it, before a compiler fails
# at its first use.
HEADERS := event2/event.h jemalloc/jemalloc.h curses.h jansson.h openssl/ssl.h sasl/sasl.h seccomp.h xxhash.h zlib.h \
           zstd.h lua.h
$B/headers:
	@mkdir -p $(@D) && { printf '#include <%s>\n' $(HEADERS) | $(CC) $(LUA_FLAGS) -E - >/dev/null; } 2>$@.log || { \
	    scripts/bootstrap --dry-run run >&2; \
	    echo "make: headers or libraries are missing ($@.log):" \
	        "scripts/bootstrap run installs them, and make run does" >&2; \
	    exit 1; }
	@mv $@.log $@

.DEFAULT_GOAL := all
include $(wildcard daemon/rules.mk console/rules.mk scripts/rules.mk tests/bench/rules.mk tests/rules.mk)
$(OBJECTS): | $B/headers

##@ use
all: $(BINS) ## build the four programs into build/bin (DEBUG=1, SAN=address,undefined, CI=1)
run: ## build all, start a server under load and open the console on it
	@scripts/bootstrap run
	@$(call build_all,all,the four programs)
	@scripts/demo $B/bin
# In quotes of their own: a folder's name may hold spaces.
INSTALL = DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' SYSCONFDIR='$(SYSCONFDIR)' LUA_PROGRAM='$(LUA_PROGRAM)' scripts/install
install: $(BINS) ## copy programs, library, manual, completions, unit and examples to DESTDIR and PREFIX (/usr/local)
	$Q$(INSTALL) install $B
uninstall: ## remove what install put there
	$Q$(INSTALL) uninstall $B
doc: ## the reference of the Lua library as HTML in build/doc
	@scripts/bootstrap doc && scripts/make-doc $(CURDIR)/build/doc && echo build/doc/html/index.html
clean: ## remove every build folder
	rm -rf build build-*
help: ## this list
	@awk -F ':.*## ' '/^##@ / { print "\n" substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' \
	    Makefile tests/rules.mk scripts/rules.mk tests/bench/rules.mk

.PHONY: all run install uninstall doc clean help
-include $(shell find $B -name '*.d' 2>/dev/null)
