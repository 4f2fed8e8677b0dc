"""One prompt, one answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.app.models import Models
from prompt_evaluator.app.planning.plans import read_prompt
from prompt_evaluator.model import Message, Request

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import Answer


async def generate(  # noqa: PLR0913 - each is a flag of the command
    prompt: str,
    settings: Settings,
    *,
    model: str,
    system: Path | None = None,
    temperature: float | None = None,
    max_tokens: int | None = None,
    seed: int | None = None,
) -> Answer:
    """Call a model once, with the system prompt in the file `system` if given. Nothing is stored."""
    instructions = (Message("system", read_prompt(system, None).text),) if system else ()
    async with Models(settings.providers) as models:
        name = models.name(model)
        models.check(name)
        request = Request(
            model=name.model,
            messages=(*instructions, Message("user", prompt)),
            temperature=temperature,
            max_tokens=max_tokens,
            seed=seed,
        )
        return await models.client(name.provider).complete(request)
