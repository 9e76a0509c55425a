"""The table of checks in the documentation of their package is complete."""

import importlib
import inspect
import pkgutil
import re

from sampled_metrics import checks


def test_table_lists_all_checks():
    modules = [
        importlib.import_module(f"{checks.__name__}.{each.name}")
        for each in pkgutil.iter_modules(checks.__path__)
    ]
    names = {
        name
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isgeneratorfunction)
        if name.startswith("signs_")
    }
    listed = re.findall(r"^((?:of|in)_\w+)", checks.__doc__, re.MULTILINE)
    assert {f"signs_{name}" for name in listed} == names
    assert len(listed) == len(names)


def test_each_module_has_a_heading_in_the_table():
    for module in pkgutil.iter_modules(checks.__path__):
        assert re.search(rf"^{module.name}: ", checks.__doc__, re.MULTILINE), module.name
