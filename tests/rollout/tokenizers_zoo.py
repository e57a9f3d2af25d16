"""Small real tokenizers and chat templates of the kinds that published models use."""

from __future__ import annotations

from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

TURN_END, TEXT_END, HEADER = "<|im_end|>", "<|endoftext|>", "<|im_start|>"
SPECIALS = [TEXT_END, HEADER, TURN_END]
WORDS = [
    "system",
    "user",
    "assistant",
    "tsrflowsystem",
    "tsrflowuser",
    "tsrflowreply",
    "tsrflownext",
    "play",
    "at",
    "start",
    "a",
    "b",
    "c",
    "||",
    "<think>",
    "</think>",
    "<answer>",
    "</answer>",
    "first",
    "second",
    "third",
    "thought",
    "Up",
    "Left",
    "[INST]",
    "[/INST]",
    "turn",
    "model",
]

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
DROPS_THOUGHTS = CHATML.replace(
    "{{ m['content'] }}",
    "{{ m['content'].split('</think>')[-1] if m['role'] == 'assistant' else m['content'] }}",
)
STRIPS = CHATML.replace("m['content'] }}", "m['content'] | trim }}")
NO_NEWLINE = CHATML.replace("<|im_end|>\n", "<|im_end|>")
NO_SYSTEM = (
    "{% for m in messages %}{% if m['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "<|im_start|>{{ 'model' if m['role'] == 'assistant' else m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>model\n{% endif %}"
)
IGNORES_SYSTEM = CHATML.replace("{% for m in messages %}", "{% for m in messages if m['role'] != 'system' %}")
PRIMED = CHATML.replace("<|im_start|>assistant\n{% endif %}", "<|im_start|>assistant\n<think>\n{% endif %}")
INSTRUCT = (
    "{% for m in messages %}{% if m['role'] == 'assistant' %} {{ m['content'] }}<|im_end|>"
    "{% else %}[INST] {{ m['content'] }} [/INST]{% endif %}{% endfor %}"
)
NO_CLOSING = (
    "{% for m in messages %}{{ m['role'] }}\n{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant\n{% endif %}"
)


def byte_level(template: str | None = CHATML, *, merges: int = 120) -> Any:
    """Byte-level BPE trained on a few lines, so that many strings have several encodings."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=256 + len(SPECIALS) + merges,
        special_tokens=SPECIALS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(
        [" ".join(WORDS), "\n\n  the theme thinks <answer>Up || Left</answer>\n"] * 4, trainer
    )
    return _wrap(tokenizer, template, TURN_END)


def word_level(template: str | None = CHATML) -> Any:
    """Whole words; the padding token is also the one that ends a turn."""
    vocabulary = {word: i for i, word in enumerate([*SPECIALS, "<unk>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(SPECIALS)
    return _wrap(tokenizer, template, TURN_END)


def _wrap(tokenizer: Tokenizer, template: str | None, end: str) -> Any:
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=end,
        pad_token=end,
        additional_special_tokens=[s for s in SPECIALS if s != end],
    )
    wrapped.chat_template = template
    return wrapped


def stop_ids(tokenizer: Any) -> frozenset[int]:
    """Both ids that may end a turn, as in the generation config of a chat model."""
    return frozenset(tokenizer.convert_tokens_to_ids([TURN_END, TEXT_END]))
