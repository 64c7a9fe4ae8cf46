"""`python -m vericap` is the command line."""

import sys

from vericap.cli import main

sys.exit(main())
