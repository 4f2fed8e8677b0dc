"""How a provider is reached, what it costs and how hard it may be pressed."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from prompt_evaluator.model import bounds


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """US dollars per million tokens."""

    input: Annotated[float, bounds.PRICE.meta]
    output: Annotated[float, bounds.PRICE.meta]


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may be asked of one key at one endpoint."""

    max_concurrency: Annotated[int, bounds.CONCURRENCY.meta] | None = None
    """Calls in flight at most (64 when nobody says). How many there really are adapts to what the service bears."""
    requests_per_minute: Annotated[int, bounds.REQUESTS_PER_MINUTE.meta] | None = None
    tokens_per_minute: Annotated[int, bounds.TOKENS_PER_MINUTE.meta] | None = None
    """None: learned from the service's rate-limit headers where it sends them."""
    try_timeout: Annotated[float, bounds.TIMEOUT.meta] = 600.0
    """Seconds for one request with its whole reply. Models that reason take minutes."""
    deadline: Annotated[float, bounds.TIMEOUT.meta] = 1_800.0
    """Seconds for a call with all its tries and waits."""
    max_tries: Annotated[int, bounds.TRIES.meta] = 6
    """Tries of a call. After one that timed out, which may have been paid for, there are two more at most. While a
    model says 429 to everybody, its calls go on beyond this, until `give_up_after`."""
    give_up_after: Annotated[float, bounds.TIMEOUT.meta] = 120.0
    """Seconds in which a model has answered no call and its tries have failed: then the run ends, to be resumed."""
    first_backoff: Annotated[float, bounds.BACKOFF.meta] = 0.5
    """Seconds before the second try when the service does not say; doubles with each further one."""
    max_retry_after: Annotated[float, bounds.WAIT.meta] = 120.0
    """A longer Retry-After ends the call instead of stalling it."""
    max_reply_bytes: Annotated[int, bounds.REPLY_BYTES.meta] = 32 * 1024 * 1024


class ProviderSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry under `providers:`; the name of the entry is what stands before the slash of a model's name."""

    kind: str
    """Which protocol it speaks: a built-in kind, or one that a plug-in brings."""
    base_url: str | None = None
    base_url_env: str | None = None
    """The environment variable that overrides `base_url`."""
    api_key_env: str | None = None
    api_key_file: str | None = None
    api_key_header: str | None = None
    """Where the key goes when it is no bearer token, such as Azure's `api-key`."""
    key_required: bool = True
    proxy: str | None = None
    """The proxy that calls go through, as `http://HOST:PORT`, over what the environment says; `none` for no proxy."""
    ca_file: str | None = None
    """The authorities whose certificates are accepted, in place of those that the system trusts."""
    cert_file: str | None = None
    """The certificate that the service is shown."""
    key_file: str | None = None
    """The key of that certificate, where it is not in the same file."""
    headers: dict[str, str] = {}
    query: dict[str, str] = {}
    limits: Limits = Limits()
    prices: dict[str, Price] = {}
    """By model; over the table that ships."""
    options: dict[str, Any] = {}
    """What only this kind understands, such as the mock's latency and faults."""
