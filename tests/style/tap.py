# SPDX-License-Identifier: Apache-2.0
"""TAP for the tests written in Python: each test is a function whose name is the fact."""
import subprocess
import sys


class Skip(Exception):
    pass


def run(tests):
    """Runs them in order; an assertion that fails is a point that fails."""
    failed = 0
    print("1..%d" % len(tests))
    for number, test in enumerate(tests, 1):
        name = test.__name__.replace("_", " ")
        try:
            test()
            print("ok %d - %s" % (number, name))
        except Skip as why:
            print("ok %d - %s # SKIP %s" % (number, name, why))
        except (AssertionError, OSError, ValueError, KeyError) as why:
            failed += 1
            print("not ok %d - %s" % (number, name))
            print("\n".join("# " + line for line in str(why).splitlines()))
    sys.exit(1 if failed else 0)


def succeeds(*command, text=None):
    """What the command printed; it must exit 0."""
    done = subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, "%s\n%s" % (" ".join(command), done.stdout)
    return done.stdout
