"""Hydra configs, shipped as the package ``tsrflow.conf``."""
