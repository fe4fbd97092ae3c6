"""Opens pages in the browser of the person who runs a command."""

import os
import sys

__all__ = ["open_browser"]


def open_browser(url: str) -> bool:
    """Open the browser; False if there is none. The link goes to no other program."""
    import webbrowser

    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False
