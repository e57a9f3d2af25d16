"""What importing and validating a config must not drag in, and what is shipped."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("torch", "transformers", "lightning", "vllm")


@pytest.mark.parametrize(
    ("code", "forbidden"),
    [
        ("import tsrflow", (*HEAVY, "pydantic", "hydra", "omegaconf")),
        ("import tsrflow; tsrflow.RunConfig(search='bon').run_name()", (*HEAVY, "hydra", "omegaconf")),
        ("from tsrflow.config import compose; compose.register()", HEAVY),
    ],
)
def test_imports_stay_light(code: str, forbidden: tuple[str, ...]) -> None:
    check = f"{code}; import sys; print([m for m in {forbidden!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "[]\n"


def test_package_has_its_public_names_and_no_others() -> None:
    import tsrflow

    assert tsrflow.RunConfig.__name__ == "RunConfig" and tsrflow.__version__
    with pytest.raises(AttributeError, match="no attribute 'load'"):
        _ = tsrflow.load


def test_every_package_is_shipped() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    code = {".".join(file.relative_to(ROOT).parent.parts) for file in (ROOT / "tsrflow").rglob("__init__.py")}
    conf = {
        ".".join(("tsrflow", *file.relative_to(ROOT).parent.parts)) for file in (ROOT / "conf").rglob("__init__.py")
    }
    assert set(settings["packages"]) == code | conf, "keep [tool.setuptools] packages in pyproject.toml up to date"
    assert settings["package-dir"] == {"tsrflow.conf": "conf"}
    modules = {file.parent for file in (ROOT / "tsrflow").rglob("*.py")}
    assert all((folder / "__init__.py").is_file() for folder in modules), "a folder of modules without __init__.py"
