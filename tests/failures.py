"""Names a test as soon as it fails: a run takes many minutes, and its traceback comes at the end."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # the workers' reports come to the process that started them
        config.pluginmanager.register(_FailureNames(config))


class _FailureNames:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None and getattr(self._config.option, "numprocesses", None):
            crash = getattr(report.longrepr, "reprcrash", None)
            why = crash.message.partition("\n")[0][:200] if crash is not None else report.when
            terminal.write_line(f"\nFAILED {report.nodeid}: {why}")
