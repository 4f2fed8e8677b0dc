"""The nouns of the product: immutable values, no input or output."""

from prompt_evaluator.model.call import Answer, Request, TokenChoice, Usage
from prompt_evaluator.model.case import MetricUse, TestCase
from prompt_evaluator.model.dataset import Dataset
from prompt_evaluator.model.message import Message, Role, ToolCall
from prompt_evaluator.model.metric_uses import merged_uses
from prompt_evaluator.model.rubric import Criterion, Flag, Rubric
from prompt_evaluator.model.run import (
    CallFailure,
    CaseStatus,
    DatasetRef,
    Generation,
    JudgeConfig,
    Judgement,
    Mark,
    ModelConfig,
    Preparation,
    PromptRef,
    RunPlan,
    RunRecord,
    RunStatus,
    SampleStatus,
    ScoreRecord,
    Unit,
    UnitKind,
    Verdict,
)
from prompt_evaluator.model.score import Failed, Score, Scored, Skipped
from prompt_evaluator.model.secret import REDACTOR, Redactor, Secret
from prompt_evaluator.model.settings import Limits, Price, ProviderSettings

__all__ = [
    "REDACTOR",
    "Answer",
    "CallFailure",
    "CaseStatus",
    "Criterion",
    "Dataset",
    "DatasetRef",
    "Failed",
    "Flag",
    "Generation",
    "JudgeConfig",
    "Judgement",
    "Limits",
    "Mark",
    "Message",
    "MetricUse",
    "ModelConfig",
    "Preparation",
    "Price",
    "PromptRef",
    "ProviderSettings",
    "Redactor",
    "Request",
    "Role",
    "Rubric",
    "RunPlan",
    "RunRecord",
    "RunStatus",
    "SampleStatus",
    "Score",
    "ScoreRecord",
    "Scored",
    "Secret",
    "Skipped",
    "TestCase",
    "TokenChoice",
    "ToolCall",
    "Unit",
    "UnitKind",
    "Usage",
    "Verdict",
    "merged_uses",
]
