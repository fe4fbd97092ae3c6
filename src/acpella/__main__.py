"""`python -m acpella`."""

import sys

from acpella.cli import main

sys.exit(main())
