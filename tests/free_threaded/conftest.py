"""These tests need a free-threaded build, and are not collected by others."""

import sysconfig

collect_ignore_glob = [] if sysconfig.get_config_var("Py_GIL_DISABLED") else ["test_*.py"]
