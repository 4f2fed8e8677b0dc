"""Every error this package raises on purpose.

PromptEvaluatorError
├── InputError (also a ValueError)               a file written by a user cannot be used
│   ├── InputNotFoundError (also a FileNotFoundError)
│   └── ResultsFileError                         a file of the harness's results cannot be read
├── ConfigurationError                           a setting is missing or wrong
│   ├── UnknownNameError                         no provider, metric, … with that name
│   ├── InvalidLabelError                        a label does not fit the run it is about
│   └── PluginError                              a plug-in cannot be loaded
├── StoreError                                   runs cannot be stored or read
│   ├── RunBusyError                             another process is working on this run
│   ├── OwnershipLostError                       this process may no longer work on its run
│   ├── StoreUnreachableError                    there is no connection to the store's server
│   ├── LabelledRunError                         a run to be deleted has labels
│   └── PinnedRunError                           a run to be deleted is a baseline
├── IncomparableError                            runs differ in what makes a comparison fair
├── BudgetSpentError                             the next call would exceed --max-calls or --max-cost
├── EngineError                                  the workers of a run cannot be started, or keep dying
├── StoppedError                                 the run is stopping, so nothing new is started
└── ProviderError                                a call gave no answer
    ├── RateLimitedError            retried      too many requests or tokens for now
    ├── UnavailableError            retried      the service is down or overloaded
    ├── ConnectionFailedError       retried      no connection, or one that broke
    │   └── UnreachableError        retried      …there never was one, so nothing was sent
    │       └── ProxyUnreachableError            …because of the proxy
    ├── TimedOutError               retried      one try took too long
    ├── BadReplyError               retried      the reply is malformed or incomplete
    │   ├── OversizedReplyError     final        more bytes than allowed
    │   └── RedirectedError         final        the service redirected to another address
    ├── DeadlineError               final        the call, with all its tries, took too long
    ├── RequestRefusedError         final        the service rejected the request
    │   ├── FieldRefusedError       retried      …because of a field that the next try omits
    │   └── TargetFailedError       final        the program or function under test failed
    ├── JudgeRefusedError           final        the judge declined to judge
    └── HopelessError               final        every other call would fail as well
        ├── AuthenticationError                  the key is missing, wrong or lacks permission
        ├── ProxyLoginError                      the proxy requires a login or rejected it
        ├── ModelNotFoundError                   no such model or address
        ├── QuotaExhaustedError                  the account is out of money
        └── CircuitOpenError                     calls have stopped because all of them failed

Messages are sentences for people: where, what is wrong, what to do. The same facts are attributes, for programs.
"""

from __future__ import annotations

from prompt_evaluator.errors.base import (
    BudgetSpentError,
    EngineError,
    IncomparableError,
    PromptEvaluatorError,
    StoppedError,
)
from prompt_evaluator.errors.calls import (
    AuthenticationError,
    BadReplyError,
    CircuitOpenError,
    ConnectionFailedError,
    DeadlineError,
    FieldRefusedError,
    HopelessError,
    JudgeRefusedError,
    ModelNotFoundError,
    OversizedReplyError,
    ProviderError,
    ProxyLoginError,
    ProxyUnreachableError,
    QuotaExhaustedError,
    RateLimitedError,
    RedirectedError,
    RequestRefusedError,
    TargetFailedError,
    TimedOutError,
    UnavailableError,
    UnreachableError,
)
from prompt_evaluator.errors.inputs import (
    ConfigurationError,
    InputError,
    InputNotFoundError,
    InvalidLabelError,
    PluginError,
    ResultsFileError,
    UnknownNameError,
)
from prompt_evaluator.errors.stores import (
    LabelledRunError,
    OwnershipLostError,
    PinnedRunError,
    RunBusyError,
    StoreError,
    StoreUnreachableError,
)

__all__ = [
    "AuthenticationError",
    "BadReplyError",
    "BudgetSpentError",
    "CircuitOpenError",
    "ConfigurationError",
    "ConnectionFailedError",
    "DeadlineError",
    "EngineError",
    "FieldRefusedError",
    "HopelessError",
    "IncomparableError",
    "InputError",
    "InputNotFoundError",
    "InvalidLabelError",
    "JudgeRefusedError",
    "LabelledRunError",
    "ModelNotFoundError",
    "OversizedReplyError",
    "OwnershipLostError",
    "PinnedRunError",
    "PluginError",
    "PromptEvaluatorError",
    "ProviderError",
    "ProxyLoginError",
    "ProxyUnreachableError",
    "QuotaExhaustedError",
    "RateLimitedError",
    "RedirectedError",
    "RequestRefusedError",
    "ResultsFileError",
    "RunBusyError",
    "StoppedError",
    "StoreError",
    "StoreUnreachableError",
    "TargetFailedError",
    "TimedOutError",
    "UnavailableError",
    "UnknownNameError",
    "UnreachableError",
]
