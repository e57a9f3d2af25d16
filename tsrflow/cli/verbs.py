"""The verbs of the command line; each is a module of this package with ``main(arguments)``."""

from __future__ import annotations

VERBS = {
    "components": "list what a config can name, with settings: tsrflow components [KIND]",
    "warmup": "make a tiny model from scripted play: tsrflow warmup out=FOLDER [key=value ...]",
}
