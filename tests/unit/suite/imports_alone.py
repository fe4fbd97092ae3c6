"""Imports each module of a package in a process that has loaded nothing else of the package.

    python imports_alone.py PACKAGE [LAYER ...]

The lowest layer comes first; a layer may be several names with spaces between.

Every module is imported in a fork of this interpreter. Modules of layers that were tried are kept ready: in a
fork they are not loaded, but importing one does not run it again. The result would be the same, because
imports only go down. A module that uses what it does not import, or that needs another one to be imported
first, fails as in a new interpreter, in a fraction of the time.
"""

import contextlib
import gc
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class Ready(MetaPathFinder, Loader):
    """Provides modules that have been run already."""

    def __init__(self, modules: dict[str, ModuleType]) -> None:
        self._modules = modules

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in self._modules else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        pass


def main(root: str, layers: Sequence[str]) -> int:
    waiting = sorted(_modules(root))
    total = len(waiting)
    failed = 0
    for layer in [*layers, root]:
        prefixes = tuple(f"{name}." for name in layer.split())
        members = [name for name in waiting if f"{name}.".startswith(prefixes)]
        waiting = [name for name in waiting if name not in members]
        _load_libraries(root, members)
        failed += sum(not _imports_alone(root, name) for name in members)
        for name in members:
            with contextlib.suppress(Exception):  # it was reported above
                importlib.import_module(name)
        if early := [name for name in waiting if name in sys.modules]:
            print(f"{layer} imports {', '.join(early)}, which is above it")
            failed += 1
        gc.freeze()
    print(f"{total} modules, {failed} failed")
    return 1 if failed else 0


def _modules(root: str) -> list[str]:
    """All modules, found as files: looking into a package must not import it."""
    found: list[str] = []
    base = importlib.import_module(root).__path__[0]
    for directory, folders, files in os.walk(base):
        folders[:] = [
            folder for folder in folders if os.path.isfile(os.path.join(directory, folder, "__init__.py"))
        ]
        package = root + directory[len(base) :].replace(os.sep, ".")
        found += [f"{package}.{folder}" for folder in folders]
        found += [
            f"{package}.{file[:-3]}"
            for file in files
            if file.endswith(".py") and file not in ("__init__.py", "__main__.py")
        ]
    return found


def _load_libraries(root: str, members: Sequence[str]) -> None:
    """Load what the modules of a layer import from elsewhere: once here, instead of in every fork."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        try:
            for name in members:
                with contextlib.suppress(Exception):
                    importlib.import_module(name)
            names = [name for name in list(sys.modules) if name.partition(".")[0] != root]
            with open(theirs, "w", encoding="utf-8") as pipe:
                pipe.write("\n".join(names))
        finally:
            os._exit(0)
    os.close(theirs)
    with open(ours, encoding="utf-8") as pipe:
        names = pipe.read().split("\n")
    os.waitpid(child, 0)
    for name in names:
        if name and name not in sys.modules and name != "__mp_main__":
            with contextlib.suppress(Exception):
                importlib.import_module(name)


def _imports_alone(root: str, name: str) -> bool:
    sys.stdout.flush()
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    code = 1
    try:
        _forget(root)
        importlib.import_module(name)
        code = 0
    except BaseException:
        print(f"{name} cannot be imported alone:\n{traceback.format_exc()}", flush=True)
    finally:
        os._exit(code)


def _forget(root: str) -> None:
    """Unload all modules of the package except the package itself, and keep them ready."""
    ready = {name: module for name, module in sys.modules.items() if name.startswith(f"{root}.")}
    for name in ready:
        del sys.modules[name]
        parent, _, child = name.rpartition(".")
        if parent == root:
            vars(sys.modules[root]).pop(child, None)
    sys.meta_path.insert(0, Ready(ready))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
