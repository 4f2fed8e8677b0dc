"""The work as a dataset of pydantic-evals, whose task is an agent of pydantic-ai.

usage: pydantic_evals_run.py CASES CONCURRENCY checked|judged ADDRESS
"""

import json
import sys
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Contains, LLMJudge

path, concurrency, kind, address = sys.argv[1:]
model = OpenAIChatModel("bench", provider=OpenAIProvider(base_url=address, api_key="none"))
agent = Agent(model, system_prompt="You are a helpful assistant.")
rows = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
judge = LLMJudge(rubric="The answer is plain and complete.", model=model, include_input=True)
dataset = Dataset(
    name="bench",
    cases=[
        Case(
            name=row["id"],
            inputs=row["input"],
            expected_output=row["target"],
            evaluators=() if kind == "judged" else (Contains(value=row["target"]),),
        )
        for row in rows
    ],
    evaluators=[judge] if kind == "judged" else [],
)


async def answer(question: str) -> str:
    """One answer of the agent."""
    return (await agent.run(question)).output


report = dataset.evaluate_sync(answer, max_concurrency=int(concurrency), progress=False)
if report.failures:
    sys.exit(f"{len(report.failures)} cases failed: {report.failures[0].error_message}")
print(report.averages())
