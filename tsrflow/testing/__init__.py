"""Contract checks and scripted parts for authors of components: one clear message per broken rule.

from tsrflow.testing import check_scorer
check_scorer(MyScorer(MyConfig()))
"""

from tsrflow.testing.check_env import check_env
from tsrflow.testing.check_filter import check_filter
from tsrflow.testing.check_generator import check_generator
from tsrflow.testing.check_scorer import check_scorer
from tsrflow.testing.check_search import check_search
from tsrflow.testing.contract import ContractError
from tsrflow.testing.scripted import CharacterTokenizer, ScriptedGenerator, TableEnv

__all__ = [
    "CharacterTokenizer",
    "ContractError",
    "ScriptedGenerator",
    "TableEnv",
    "check_env",
    "check_filter",
    "check_generator",
    "check_scorer",
    "check_search",
]
