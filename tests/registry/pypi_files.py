"""What is on PyPI, in a directory: wheels, and sources that write a file when they are built."""

import io
import tarfile
import zipfile
from pathlib import Path

from tiny_agent import tiny_agent

BACKEND = """
import json, os, shutil
from pathlib import Path
with open({ran!r}, "w") as file: json.dump(dict(os.environ), file)
def build_wheel(directory, *_):
    shutil.copy({wheel!r}, directory)
    return {wheel!r}
"""

PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""


def wheel(place: Path, name: str, version: str, *, needs: str = "") -> Path:
    """Write a wheel, with the tiny agent as a program of the package's name."""
    stem = f"{name.replace('-', '_')}-{version}"
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files = {
        f"{stem}.data/scripts/{name}": tiny_agent(version),
        f"{stem}.dist-info/METADATA": (about + (f"Requires-Dist: {needs}\n" if needs else "")).encode(),
        f"{stem}.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{stem}.dist-info/RECORD": b"",
    }
    path = place / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        for member, data in files.items():
            file.writestr(member, data)
    return path


def sdist(place: Path, name: str, version: str, ran: Path) -> None:
    """Write the source of a package that, when it is built, leaves its environment in the file `ran`."""
    built = wheel(place, name, version)
    backend = BACKEND.format(ran=str(ran), wheel=built.name)
    files = {
        "pyproject.toml": PROJECT.encode(),
        "backend.py": backend.encode(),
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        built.name: built.read_bytes(),
    }
    built.unlink()
    stem = f"{name.replace('-', '_')}-{version}"
    with tarfile.open(place / f"{stem}.tar.gz", "w:gz") as file:
        for member, data in files.items():
            info = tarfile.TarInfo(f"{stem}/{member}")
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
