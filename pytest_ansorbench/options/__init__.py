"""What users type: options, their ini twins and marker keywords, as one frozen `Settings`."""

from pytest_ansorbench.options.declarations import OPTIONS
from pytest_ansorbench.options.resolve import SettingError, add_options, is_given, resolve
from pytest_ansorbench.options.settings import Settings

__all__ = ["OPTIONS", "SettingError", "Settings", "add_options", "is_given", "resolve"]
