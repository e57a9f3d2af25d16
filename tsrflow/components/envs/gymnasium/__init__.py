"""``env=gymnasium env.id=…``: any registered Gymnasium environment with discrete actions, played as text.

``config`` what a user sets; ``world`` makes the environment and says what is wrong with an id; ``text`` turns
observations into text; ``randomness`` finds and restarts an environment's random generators; ``env`` is the adapter;
``probe`` finds out how its episodes can be copied. Only ``config`` can be imported without Gymnasium.
"""
