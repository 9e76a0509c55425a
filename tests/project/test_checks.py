"""The table of checks in the documentation of their package is complete."""

import importlib
import inspect
import pkgutil
import re

from sampled_metrics import checks


def test_table_lists_the_checks_of_each_file():
    listed = {}
    for name in re.findall(r"(?m)^(\w+:|(?:of|in)_\w+) ", checks.__doc__):
        if name.endswith(":"):
            names = listed.setdefault(name[:-1], [])
        else:
            names.append(f"signs_{name}")
    defined = {}
    for file in pkgutil.iter_modules(checks.__path__):
        module = importlib.import_module(f"{checks.__name__}.{file.name}")
        defined[file.name] = sorted(
            name
            for name, function in inspect.getmembers(module, inspect.isgeneratorfunction)
            if name.startswith("signs_") and function.__module__ == module.__name__
        )
    assert {file: sorted(names) for file, names in listed.items()} == defined
