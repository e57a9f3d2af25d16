"""What all contract checks share: one error class, one message per broken rule."""

from __future__ import annotations


class ContractError(AssertionError):
    """A component breaks a rule of its protocol; the message names the component and the rule."""


def require(holds: bool, component: object, rule: str) -> None:
    """Raise ContractError with ``rule`` unless it ``holds``."""
    if not holds:
        raise ContractError(f"{name_of(component)}: {rule}")


def name_of(component: object) -> str:
    """Class name of a component (or the name of a class)."""
    return component.__name__ if isinstance(component, type) else type(component).__name__
