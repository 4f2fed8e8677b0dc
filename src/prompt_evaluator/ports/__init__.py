"""Protocols between the packages. The types of functions that go with them are in `working`."""

from __future__ import annotations

from prompt_evaluator.ports.calls import Admission, ModelClient, Provider
from prompt_evaluator.ports.reading import ColumnRun, ComparedRun
from prompt_evaluator.ports.scoring import JudgeClient, Metric
from prompt_evaluator.ports.working import Desk, Engine, Items, RemoteWorker, Results, UnitSink, Worker

__all__ = [
    "Admission",
    "ColumnRun",
    "ComparedRun",
    "Desk",
    "Engine",
    "Items",
    "JudgeClient",
    "Metric",
    "ModelClient",
    "Provider",
    "RemoteWorker",
    "Results",
    "UnitSink",
    "Worker",
]
