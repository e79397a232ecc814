# SPDX-License-Identifier: MIT
# The lab's targets; included by the Makefile at the top. See tests/lab/README.md.
#
#   make lab            every environment       make lab ENV=6.1-hpet   one (or several by comma)
#   make lab TAG=xen    a subset                make lab-ci             the subset of .ci/run
#   make lab-list       their names             make lab-deps           the packages they need
#
# LAB_CACHE=DIR   where kernels and emulators are kept   LAB_JSON=FILE  results as JSON
# LAB_SOURCE=DIR  another tree to build vdsocheck from     LAB_VDSOCHECK=FILE  a static binary to run instead

LAB := python3 -B $(dir $(lastword $(MAKEFILE_LIST)))lab.py
LAB_CHOICE = $(if $(ENV),--env '$(ENV)') $(if $(TAG),--tag '$(TAG)')

.PHONY: lab lab-ci lab-list lab-deps

lab:
	+@$(LAB) run $(LAB_CHOICE)

lab-ci:
	+@$(LAB) run --tag ci

lab-list:
	@$(LAB) list $(LAB_CHOICE)

lab-deps:
	@$(LAB) deps $(LAB_CHOICE)

# A program for the guests that is linked with the program's own modules.
$(BUILD)/tests/lab/copy_search: tests/lab/copy_search.c $(MODULES)
	$(call say,LINK,$@)
	$(QUIET)mkdir -p $(@D)
	$(QUIET)$(COMPILE) -c $< -o $@.o
	$(QUIET)$(LINK) $@.o $(MODULES) $(LIBRARY_LIBS) -o $@
