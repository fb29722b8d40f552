# SPDX-License-Identifier: Apache-2.0
# A thin door to meson and ninja: everything is built in build/, the tool is build/tcpx.
BUILD ?= build
DESTDIR ?=
MESON_ARGS ?=

.PHONY: all demo check install clean

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

# build.ninja tells that a set-up went well; ninja itself sees to changed meson files.
$(BUILD)/build.ninja:
	@sh scripts/setup.sh build
	@meson setup --libdir lib $(MESON_ARGS) $(BUILD)

demo: $(BUILD)/build.ninja
	@ninja -C $(BUILD) tcpx
	@sh scripts/demo.sh $(BUILD)/tcpx

check:
	@sh scripts/check.sh

install: all
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild --quiet
	@[ -n "$(DESTDIR)" ] || ldconfig || true

clean:
	@rm -rf $(BUILD) build-asan build-tsan build-fuzz
