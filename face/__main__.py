"""``python -m carom`` is the command ``carom``."""

import sys

from .command_line import main

sys.exit(main())
