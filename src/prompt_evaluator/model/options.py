"""Every option of an evaluation, declared once. Flags, settings, the Python API and resuming are derived from here."""

from pathlib import Path
from typing import Annotated, Any

import msgspec

from prompt_evaluator.model import bounds
from prompt_evaluator.model.bars import Bars
from prompt_evaluator.model.case import TestCase
from prompt_evaluator.model.declaration import (
    CONDITIONS,
    DATASET,
    FILE,
    FOLDER,
    LABELS,
    MAPPING,
    METRICS,
    NOTE,
    PATH,
    PROBLEM,
    RUBRIC,
    SWITCH,
    TEXT,
    WORDS,
    Option,
    declared,
    number,
)
from prompt_evaluator.model.run import CommandLine, HarnessPart

QUICK_SAMPLES, DEFAULT_SAMPLES = 2, 5


class EvaluateOptions(Bars, frozen=True, kw_only=True):
    """Options of an evaluation. A field without `Option` is set by the program, not the user."""

    dataset: Annotated[
        Path | None,
        Option(
            help="The cases: a .yaml, .yml, .jsonl or .json file, or a configured name.",
            kind=DATASET,
            flags=("--dataset", "-d"),
            kept_in="dataset",
        ),
    ] = None
    cases: tuple[TestCase, ...] | None = None
    """Cases to use instead of a dataset file."""
    system_prompt: Annotated[
        Path | None,
        Option(
            help="The system prompt: a file, or a configured name. Sent verbatim unless --render-prompt is given.",
            kind=FILE,
            flags=("--system-prompt", "-s"),
            kept_in="target.prompt",
        ),
    ] = None
    system_text: str | None = None
    """The system prompt, instead of a file."""
    template: Annotated[
        Path | None,
        Option(
            help="A file with {{field}} placeholders, sent instead of the case's input.",
            kind=PATH,
            flags=("--template",),
            kept_in="target.template",
        ),
    ] = None
    prompt_version: Annotated[
        str | None,
        Option(
            help="Your own name for this version of the prompt.",
            kind=NOTE,
            flags=("--prompt-version",),
            kept_in="target.prompt.version",
        ),
    ] = None
    generator_model: Annotated[
        str,
        Option(
            help="The model under test, as PROVIDER/MODEL.",
            kind=TEXT,
            flags=("--generator-model",),
            setting="generator.model",
            keyword="target",
            kept_in="target.model",
        ),
    ] = "mock/default"
    temperature: Annotated[
        float | None,
        Option(
            help="Temperature of the model under test; the default is sent only to models that take one.",
            kind=number(bounds.TEMPERATURE),
            flags=("--temperature", "-t"),
            setting="generator.temperature",
            kept_in="target.temperature",
        ),
    ] = 0.7
    max_tokens: Annotated[
        int | None,
        Option(
            help="The maximum number of tokens in an answer.",
            kind=number(bounds.TOKENS),
            flags=("--max-tokens",),
            setting="generator.max_tokens",
            kept_in="target.max_tokens",
        ),
    ] = None
    seed: Annotated[
        int | None,
        Option(
            help="Makes runs repeatable if the model supports it. Sample 1 uses this number, sample 2 the next.",
            kind=number(bounds.SEED),
            flags=("--seed",),
            setting="generator.seed",
            kept_in="target.seed",
        ),
    ] = None
    effort: Annotated[
        str | None,
        Option(
            help="How much the model under test should reason: none, low, medium, high, or another level it has.",
            kind=TEXT,
            flags=("--effort",),
            setting="generator.effort",
            kept_in="target.effort",
        ),
    ] = None
    schema: Annotated[
        Path | None,
        Option(
            help="A file with the JSON schema that answers have to follow.",
            kind=PATH,
            flags=("--schema",),
            kept_in="target.response_schema",
        ),
    ] = None
    strict_params: Annotated[
        bool,
        Option(
            help="Fail rather than leave out a parameter that a model does not take.",
            kind=SWITCH,
            flags=("--strict-params",),
            setting="strict_params",
            kept_in="target.strict_params",
        ),
    ] = False
    params: Annotated[
        dict[str, Any],
        Option(
            help="Further parameters of the model under test, such as top_p=0.9.",
            kind=MAPPING,
            flags=("--param",),
            setting="generator.params",
            metavar="KEY=VALUE",
            kept_in="target.params",
        ),
    ] = msgspec.field(default_factory=dict)
    render_prompt: Annotated[
        bool,
        Option(
            help="Fill {{field}} in the system prompt from each case.",
            kind=SWITCH,
            flags=("--render-prompt",),
            setting="generator.render_prompt",
            kept_in="target.render_prompt",
        ),
    ] = False
    attempts: int = 1
    """How many answers to request per sample while they miss a pass mark; only the release harness asks again."""
    judge_model: Annotated[
        str | None,
        Option(
            help="The model that judges, as PROVIDER/MODEL.",
            kind=TEXT,
            flags=("--judge-model",),
            setting="judge.model",
            keyword="judge",
            otherwise="the model under test",
            kept_in="judge.model",
        ),
    ] = None
    judge_temperature: Annotated[
        float,
        Option(
            help="Temperature of the judge.",
            kind=number(bounds.TEMPERATURE),
            flags=("--judge-temperature",),
            setting="judge.temperature",
            kept_in="judge.temperature",
        ),
    ] = 0.0
    judge_effort: Annotated[
        str | None,
        Option(
            help="How much the judge should reason.",
            kind=TEXT,
            flags=("--judge-effort",),
            setting="judge.effort",
            kept_in="judge.effort",
        ),
    ] = None
    judge_max_tokens: Annotated[
        int | None,
        Option(
            help="The maximum number of tokens in a judge's reply.",
            kind=number(bounds.TOKENS),
            flags=("--judge-max-tokens",),
            setting="judge.max_tokens",
            kept_in="judge.max_tokens",
        ),
    ] = None
    judge_params: Annotated[
        dict[str, Any],
        Option(
            help="Further parameters of the judge, such as top_p=0.9.",
            kind=MAPPING,
            flags=("--judge-param",),
            setting="judge.params",
            metavar="KEY=VALUE",
            kept_in="judge.params",
        ),
    ] = msgspec.field(default_factory=dict)
    judge_repeats: Annotated[
        int,
        Option(
            help="How many times to judge each answer.",
            kind=number(bounds.JUDGE_REPEATS),
            flags=("--judge-repeats",),
            setting="judge.repeats",
            kept_in="judge.repeats",
        ),
    ] = 1
    judge_system_prompt: Annotated[
        Path | None,
        Option(
            help="Instructions for the judge, instead of the built-in ones: a file, or a configured name.",
            kind=FILE,
            flags=("--judge-system-prompt",),
            setting="judge.system_prompt",
            kept_in="judge.system_prompt",
        ),
    ] = None
    allow_mock_judge: Annotated[
        bool,
        Option(help="Let the mock judge a real model's answers.", kind=SWITCH, flags=("--allow-mock-judge",)),
    ] = False
    rubric: Annotated[
        str | None,
        Option(
            help="What the judge looks for: a built-in rubric, a file, a configured name, or none.",
            kind=RUBRIC,
            flags=("--rubric",),
            setting="rubric",
            kept_in="rubric",
        ),
    ] = "default"
    metrics: Annotated[
        tuple[str | dict[str, Any], ...],
        Option(
            help="Metrics in addition to the rubric.",
            kind=METRICS,
            flags=("--metrics",),
            setting="metrics",
            kept_in="metrics",
        ),
    ] = ()
    """As written; `app.plans` parses them."""
    metrics_file: Annotated[
        Path | None,
        Option(
            help="A YAML or JSON file with metrics, instead of or in addition to --metrics.",
            kind=PATH,
            flags=("--metrics-file",),
            kept_in="metrics",
        ),
    ] = None
    reducers: Annotated[
        tuple[str, ...],
        Option(
            help="How to combine a case's samples into one number: pass@3, pass^3, majority, best-of or 2-of-3.",
            kind=WORDS,
            flags=("--reducers",),
            kept_in="reducers",
        ),
    ] = ()
    num_samples: Annotated[
        int,
        Option(
            help="Samples per case.",
            kind=number(bounds.SAMPLES),
            flags=("--num-samples", "-n"),
            setting="num_samples",
            keyword="samples",
            kept_in="num_samples",
        ),
    ] = DEFAULT_SAMPLES
    case_ids: Annotated[
        tuple[str, ...] | None,
        Option(help="Evaluate only these cases, by id.", kind=WORDS, flags=("--case-ids",), kept_in="filters.case_ids"),
    ] = None
    where: Annotated[
        tuple[str, ...],
        Option(
            help="Evaluate only cases whose metadata matches.",
            kind=CONDITIONS,
            flags=("--where",),
            metavar="KEY=VALUE",
            kept_in="filters.where",
        ),
    ] = ()
    max_cases: Annotated[
        int | None,
        Option(
            help="Evaluate at most N matching cases.",
            kind=number(bounds.CASES),
            flags=("--max-cases",),
            metavar="N",
            kept_in="filters.max_cases",
        ),
    ] = None
    only: Annotated[
        str | None,
        Option(
            help="Evaluate only cases with this problem in --of RUN.",
            kind=PROBLEM,
            flags=("--only",),
            kept_in="filters.only",
        ),
    ] = None
    of: Annotated[
        str | None,
        Option(help="The run that --only refers to.", kind=TEXT, flags=("--of",), metavar="RUN", kept_in="filters.of"),
    ] = None
    among: frozenset[str] | None = None
    """Ids of the cases selected by `only` and `of`."""
    output_dir: Annotated[
        Path,
        Option(
            help="Where results go.",
            kind=FOLDER,
            flags=("--output-dir", "-o"),
            setting="output_dir",
            kept_in="output_dir",
        ),
    ] = Path("runs")
    reuse: Annotated[
        bool,
        Option(
            help="Reuse answers and judgements of identical requests in earlier runs, instead of paying again.",
            kind=SWITCH,
            flags=("--reuse",),
            kept_in="reuse",
        ),
    ] = False
    run_note: Annotated[
        str | None,
        Option(
            help="A sentence to remember the run by.", kind=NOTE, flags=("--run-note",), keyword="note", kept_in="note"
        ),
    ] = None
    tags: Annotated[
        dict[str, str],
        Option(
            help="Tags for the run; KEY alone means KEY=true.",
            kind=LABELS,
            flags=("--tag",),
            metavar="KEY=VALUE",
            kept_in="tags",
        ),
    ] = msgspec.field(default_factory=dict)
    stated: frozenset[str] = frozenset()
    """Names of the options that the user gave, in a flag, a variable or a file."""
    group_id: str | None = None
    """The group of runs started together; a single run is its own group."""
    command: CommandLine | None = None
    """The command that started the run."""
    harness: HarnessPart | None = None
    """Set by the release harness."""


OPTIONS = declared(EvaluateOptions)
