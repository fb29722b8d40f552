# SPDX-License-Identifier: Apache-2.0
"""The plugins in the wheel, and their place beside an installed NIXL's own."""
import glob
import os
import sys
from typing import List

NIXL = "libplugin_TCPX.so"


class Missing(Exception):
    """A file or a program that is not here."""


def own(name: str) -> str:
    """The path of a file of this package."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", name)
    if not os.path.exists(path):
        raise Missing("this package has no %s: it was made without it" % name)
    return path


def nixl_folders() -> List[str]:
    """Where NIXL looks: NIXL_PLUGIN_DIR alone if it is set, else those of its wheels."""
    named = os.environ.get("NIXL_PLUGIN_DIR")
    if named:
        if not os.path.isdir(named):
            raise Missing("NIXL_PLUGIN_DIR names %s, which is no folder" % named)
        return [named]
    found = {os.path.realpath(folder) for place in sys.path
             for folder in glob.glob(os.path.join(glob.escape(place or "."),
                                                  ".nixl*.mesonpy.libs", "plugins"))}
    if not found:
        raise Missing("no NIXL is installed for %s; NIXL_PLUGIN_DIR may name the folder of "
                      "its plugins" % sys.executable)
    return sorted(found)


def _ours(link: str) -> bool:
    return os.path.islink(link) and os.readlink(link).endswith(os.path.join("tcpx", "lib", NIXL))


def nixl_install() -> int:
    """Links the plugin into each folder. What is there and no link of ours stays."""
    plugin = own(NIXL)
    for folder in nixl_folders():
        link = os.path.join(folder, NIXL)
        if _ours(link):
            os.unlink(link)
        elif os.path.lexists(link):
            raise Missing("%s is there, and is no link of ours: remove it first" % link)
        os.symlink(plugin, link)
        print(link)
    return 0


def nixl_remove() -> int:
    """Removes the links of nixl_install(), and nothing else."""
    for folder in nixl_folders():
        link = os.path.join(folder, NIXL)
        if _ours(link):
            os.unlink(link)
            print("removed", link)
    return 0
