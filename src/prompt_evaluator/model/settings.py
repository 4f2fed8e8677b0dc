"""Settings of a provider: how it is reached, what it costs and how much load it may get."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from prompt_evaluator.model import bounds


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """US dollars per million tokens."""

    input: Annotated[float, Meta(ge=0, le=1_000_000)]
    output: Annotated[float, Meta(ge=0, le=1_000_000)]
    cached: Annotated[float, Meta(ge=0, le=1_000_000)] | None = None
    """For input that is read from the service's cache; without it, such tokens cost what other input does."""
    cache_write: Annotated[float, Meta(ge=0, le=1_000_000)] | None = None
    """For input that is written to the service's cache; without it, such tokens cost what other input does."""


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits for one key at one endpoint."""

    max_concurrency: Annotated[int, bounds.CONCURRENCY.meta] | None = None
    """Maximum number of calls in flight (64 by default). The actual number adapts to the service's 429s."""
    requests_per_minute: Annotated[int, Meta(ge=1, le=1_000_000_000)] | None = None
    tokens_per_minute: Annotated[int, Meta(ge=1, le=1_000_000_000_000)] | None = None
    try_timeout: Annotated[float, bounds.TIMEOUT.meta] = 600.0
    """Seconds for one request including its full reply. Reasoning models take minutes."""
    deadline: Annotated[float, bounds.TIMEOUT.meta] = 1_800.0
    """Seconds for a call with all its tries and waits."""
    max_tries: Annotated[int, Meta(ge=1, le=100)] = 6
    """Maximum tries of a call. After one that timed out, which may have been billed, there are at most two more. While
    more than a tenth of calls get a 429, these do not count."""
    give_up_after: Annotated[float, bounds.TIMEOUT.meta] = 120.0
    """The run ends, and can be resumed, after this many seconds in which a model answered no call and its tries
    failed."""
    first_backoff: Annotated[float, Meta(ge=0.001, le=3_600)] = 0.5
    """Seconds before the second try if the service does not specify a wait; doubles with each further try."""
    max_retry_after: Annotated[float, Meta(ge=0.001, le=86_400)] = 120.0
    """Seconds. A longer Retry-After ends the call instead of stalling it."""
    max_reply_bytes: Annotated[int, Meta(ge=1, le=1_073_741_824)] = 32 * 1024 * 1024


class Rule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What some models do with parameters. The first rule that matches a request holds."""

    match: str = ".*"
    """A regular expression for the whole name of the model, in lower case, without prefixes and dates."""
    services: tuple[str, ...] = ()
    """The services it is about; empty for all."""
    when: dict[str, str] = {}
    """Holds only if a parameter has this value; `*` means any, `!none` any but none. `effort` is that of the model if
    none is asked for, `version` that of the protocol, `api` the protocol itself."""
    effort: str | None = None
    """The model's reasoning effort if none is asked for."""
    efforts: tuple[str, ...] = ()
    """The efforts it takes; empty if not known."""
    thinks: Literal["always", "default"] | None = None
    """Whether it reasons without being asked to."""
    no_thinking: dict[str, Any] = {}
    """What to send for the effort `none`, where that is not an effort."""
    drop: tuple[str, ...] = ()
    """Parameters that it refuses."""
    drop_default: tuple[str, ...] = ()
    """Parameters that are sent only if the user has asked for them."""
    rename: dict[str, str] = {}
    """Other names for parameters."""
    ignored: tuple[str, ...] = ()
    """Parameters that it takes without effect."""
    use_path: Literal["chat", "responses"] | None = None
    """The protocol to use, if the service has it."""
    cap: dict[str, Annotated[int, bounds.TOKENS.meta]] = {}
    """The highest values of parameters."""
    strip_schema: bool = False
    """Whether it refuses bounds in JSON schemas; Anthropic's protocol never has them."""
    cache_from: Annotated[int, bounds.TOKENS.meta] | None = None
    """The fewest tokens that it caches, where caching has to be asked for."""
    source: str = ""
    """Where this is documented, and when it was read."""


class ProviderSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry under `providers:`. Its name is the part before the slash in a model's name."""

    kind: str
    """The protocol it speaks: a built-in kind, or one from a plug-in."""
    service: str | None = None
    """The service whose rules and prices apply, such as `azure`; by default only what is known of models."""
    api: Literal["chat", "responses"] | None = None
    """Which of OpenAI's protocols to use; by default what the model needs."""
    base_model: dict[str, str] = {}
    """By deployment: the model behind it, for rules and prices."""
    rules: tuple[Rule, ...] = ()
    """What models do with parameters; these come before the built-in rules."""
    base_url: str | None = None
    base_url_env: str | None = None
    """The environment variable that overrides `base_url`."""
    api_key_env: str | None = None
    api_key_file: str | None = None
    api_key_command: str | None = None
    """A command that prints the key, such as `gcloud auth print-access-token`; run again when the key has expired."""
    api_key_header: str | None = None
    """The header for the key if it is not sent as a bearer token, such as Azure's `api-key`."""
    key_required: bool = True
    proxy: str | None = None
    """The proxy for calls, as `http://HOST:PORT`; overrides the environment. `none` means no proxy."""
    ca_file: str | None = None
    """The certificate authorities to accept, instead of those the system trusts."""
    cert_file: str | None = None
    """The client certificate to present to the service."""
    key_file: str | None = None
    """The client certificate's key, if it is not in the same file."""
    headers: dict[str, str] = {}
    query: dict[str, str] = {}
    limits: Limits = Limits()
    prices: dict[str, Price] = {}
    """By model; overrides the table of list prices."""
    options: dict[str, Any] = {}
    """Options of this kind only, such as the mock's latency and faults."""
