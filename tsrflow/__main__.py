"""``python -m tsrflow``."""

from __future__ import annotations

from tsrflow.cli.main import main

if __name__ == "__main__":
    main()
