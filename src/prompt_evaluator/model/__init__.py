"""The nouns of the product: immutable values without I/O."""

from prompt_evaluator.model.call import Answer, LeftOut, Outcome, Request, Sent, TokenChoice, Usage
from prompt_evaluator.model.case import MetricUse, TestCase
from prompt_evaluator.model.dataset import Dataset
from prompt_evaluator.model.label import Label, LabelKey, current_labels
from prompt_evaluator.model.message import Message, Role, ToolCall
from prompt_evaluator.model.metric_uses import merged_uses
from prompt_evaluator.model.rubric import Criterion, Flag, Rubric
from prompt_evaluator.model.run import (
    CallFailure,
    CaseStatus,
    CommandLine,
    DatasetRef,
    Generation,
    JudgeConfig,
    Judgement,
    ModelConfig,
    Preparation,
    PromptRef,
    RunPlan,
    RunProgress,
    RunRecord,
    RunStatus,
    SampleStatus,
    Target,
    Unit,
    UnitKind,
)
from prompt_evaluator.model.score import UNREADABLE, Failed, Score, Scored, Scores, ScoreScale, Skipped
from prompt_evaluator.model.secret import REDACTOR, Redactor, Secret, message_of
from prompt_evaluator.model.settings import Limits, Price, ProviderSettings, Rule

__all__ = [
    "REDACTOR",
    "UNREADABLE",
    "Answer",
    "CallFailure",
    "CaseStatus",
    "CommandLine",
    "Criterion",
    "Dataset",
    "DatasetRef",
    "Failed",
    "Flag",
    "Generation",
    "JudgeConfig",
    "Judgement",
    "Label",
    "LabelKey",
    "LeftOut",
    "Limits",
    "Message",
    "MetricUse",
    "ModelConfig",
    "Outcome",
    "Preparation",
    "Price",
    "PromptRef",
    "ProviderSettings",
    "Redactor",
    "Request",
    "Role",
    "Rubric",
    "Rule",
    "RunPlan",
    "RunProgress",
    "RunRecord",
    "RunStatus",
    "SampleStatus",
    "Score",
    "ScoreScale",
    "Scored",
    "Scores",
    "Secret",
    "Sent",
    "Skipped",
    "Target",
    "TestCase",
    "TokenChoice",
    "ToolCall",
    "Unit",
    "UnitKind",
    "Usage",
    "current_labels",
    "merged_uses",
    "message_of",
]
