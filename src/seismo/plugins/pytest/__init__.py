"""The parts of the plugin for pytest (seismo.plugins.pytest_plugin): coverage, object budgets, leaks, checks."""
