"""What holds for all tests."""

import signal
import sys
from pathlib import Path

# The tests are imported by path, so their folder is on no path: `recorded` can be imported by all of them.
sys.path.insert(0, str(Path(__file__).parent))

# A shell starts what it runs in the background with Ctrl-C ignored, and children inherit that: programs would not stop.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
