# SPDX-License-Identifier: BSD-3-Clause
# slatectl, the checks that read the source, and what is handed out.
BINS += $B/bin/slatectl
# In a build folder slatectl finds its library and the other programs from where it lies, so that a clone may be moved.
$B/bin/slatectl: scripts/slatectl Makefile
	@mkdir -p $(@D) && sed "s|@LUADIR@|$$(realpath -m --relative-to=$B/bin lua)|;s|@BINDIR@|.|;s|@VERSION@|$(VERSION)|" \
	    scripts/slatectl >$@ && chmod +x $@

##@ check and hand out
lint: ## layers, circles, luacheck, shellcheck and the man pages
	@$(MAKE_J) all && scripts/lint $B
analyze: $(POLICY_INC) $(EXPORTER_INC) $(EXPLAIN_INC) $(MODULES_INC) ## gcc -fanalyzer, cppcheck, and clang's warnings
	@scripts/bootstrap ci && scripts/analyze $B
pictures: all ## the pictures of the README anew, from the real programs (four minutes; wants tmux, gnuplot)
	@scripts/pictures/make $B man/pictures
dist: ## an archive in build/: of the last commit, or of this folder where it is no git's
	@scripts/dist $(VERSION)
test-packages: ## build the Debian packages, and install, run and purge them in a temporary root
	@scripts/bootstrap packages && scripts/test-packages

.PHONY: lint analyze pictures dist test-packages
