"""`python -m runtimes.corpus`: see `make.py`."""

import sys

from runtimes.corpus.make import main

sys.exit(main())
