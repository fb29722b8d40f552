# SPDX-License-Identifier: Apache-2.0
# Meson and ninja do the work, in build/. `make help` lists what there is.
BUILD ?= build
PREFIX ?=
DESTDIR ?=
MESON_ARGS ?=
# root's alone, and in a folder that others do not search
LDCONFIG = [ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || PATH="$$PATH:/usr/sbin:/sbin" ldconfig || true

.PHONY: all help demo check check-long deb install uninstall clean
options = --prefix="$(PREFIX)" --options="$(MESON_ARGS)"

all: $(BUILD)/build.ninja
	@python3 scripts/build.py $(options) $(BUILD) product

help:
	@sed 1d scripts/make-help.txt

# build.ninja says that a set-up went well; ninja itself sees to changed meson files.
$(BUILD)/build.ninja:
	@sh scripts/setup.sh build
	@echo "setting up $(BUILD)"
	@meson setup --libdir lib $(if $(PREFIX),--prefix "$(PREFIX)") $(MESON_ARGS) $(BUILD) \
		>$(BUILD).log 2>&1 || { tail -20 $(BUILD).log; exit 1; }
	@mv $(BUILD).log $(BUILD)/setup.log

demo: $(BUILD)/build.ninja
	@python3 scripts/build.py $(BUILD) tcpx
	@sh scripts/demo.sh $(BUILD)/tcpx

check:
	@sh scripts/check.sh

check-long:
	@sh scripts/check.sh --long

deb:
	@sh scripts/deb.sh $(BUILD)

install: all
	@DESTDIR="$(DESTDIR)" meson install -C $(BUILD) --no-rebuild --quiet
	@$(LDCONFIG)

uninstall: $(BUILD)/build.ninja
	@python3 scripts/uninstall.py $(options) $(BUILD) "$(DESTDIR)"
	@$(LDCONFIG)

clean:
	@rm -rf $(BUILD) build-asan build-tsan build-fuzz build-cov
