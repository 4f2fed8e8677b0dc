"""A whole run behind a company's proxy."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest
from certificates import Authority
from proxy_server import TlsServer, running, running_proxy
from workspace import REAL, Workspace

if TYPE_CHECKING:
    from chat_service import ChatService
    from proxy_server import ProxyServer

PASSWORD = "canary-of-a-proxy-9/+Q"
LOGIN = b64encode(f"someone:{PASSWORD}".encode()).decode()
SECRETS = (PASSWORD, PASSWORD.replace("/", "%2F"), json.dumps(PASSWORD)[1:-1], LOGIN)
NAMED_IN = pytest.mark.parametrize("named_in", ["environment", ".env", "configuration"])


def behind(workspace: Workspace, proxy: ProxyServer, named_in: str) -> None:
    """Let the folder's `openai` be a name that only the proxy knows."""
    url = proxy.url_with(f"someone:{PASSWORD.replace('/', '%2F')}")
    workspace.environment["OPENAI_BASE_URL"] = "http://models.company.test/v1"
    if named_in == "environment":
        workspace.environment["HTTP_PROXY"] = url
    elif named_in == ".env":
        workspace.write(".env", f"http_proxy={url}\n")
    else:
        limits = {"max_tries": 2, "first_backoff": 0.01}
        workspace.configure(providers={"openai": {"proxy": url, "limits": limits}})


def port_of(service: ChatService) -> int:
    return int(service.url.rpartition(":")[2])


def everything(workspace: Workspace) -> bytes:
    """All that a run has written: the store, artifacts, the index. Not what the user wrote."""
    own = {".env", "prompt_evaluator.yaml"}
    return b"".join(
        path.read_bytes() for path in workspace.folder.rglob("*") if path.is_file() and path.name not in own
    )


@NAMED_IN
def test_a_run_through_a_proxy_with_a_login_works_and_keeps_nothing_of_the_login(
    online: Workspace, service: ChatService, named_in: str
) -> None:
    with running_proxy(login=f"someone:{PASSWORD}", leads_to=("127.0.0.1", port_of(service))) as proxy:
        behind(online, proxy, named_in)

        done = online.evaluate(*REAL, "-n", "2")

    assert (done.code, done.json["status"]) == (0, "completed")
    assert {asked.target for asked in proxy.asked} == {"http://models.company.test/v1/chat/completions"}
    assert not [secret for secret in SECRETS if secret in done.out + done.err or secret.encode() in everything(online)]


def test_a_run_through_a_tunnel_with_a_login_reaches_a_service_with_an_authority_and_a_client_certificate(
    online: Workspace, service: ChatService
) -> None:
    authority, clients = Authority(online.folder / "authority"), Authority(online.folder / "clients")
    tls = authority.server("models.company.test", clients_of=clients)
    cert, key = clients.client("evaluator.test")
    with (
        running(TlsServer(tls, ("127.0.0.1", port_of(service)))) as secure,
        running_proxy(login=f"someone:{PASSWORD}", leads_to=("127.0.0.1", secure.port)) as proxy,
    ):
        online.environment["OPENAI_BASE_URL"] = "https://models.company.test/v1"
        online.environment["HTTPS_PROXY"] = proxy.url_with(f"someone:{PASSWORD.replace('/', '%2F')}")
        files = {"ca_file": str(authority.file), "cert_file": str(cert), "key_file": str(key)}
        online.configure(providers={"openai": files})

        done = online.evaluate(*REAL, "-n", "2")

    assert (done.code, done.json["status"]) == (0, "completed")
    assert {(asked.method, asked.target) for asked in proxy.asked} == {("CONNECT", "models.company.test:443")}
    names = {name for client in secure.clients for _, name in client["subjectAltName"]}
    assert names == {"evaluator.test"}
    assert not [secret for secret in SECRETS if secret in done.out + done.err or secret.encode() in everything(online)]


@NAMED_IN
def test_a_run_that_the_proxy_refuses_ends_with_a_sentence_that_names_it(online: Workspace, named_in: str) -> None:
    with running_proxy(login="someone:else") as proxy:
        behind(online, proxy, named_in)

        done = online.run("evaluate-dataset", "-d", "data.jsonl", "-s", "prompt.txt", *REAL, "-n", "1")

        assert done.code == 3
        assert f"the proxy {proxy.url} does not accept the login (407" in done.words
        assert "proxy login rejected" in done.words
        assert "fix the proxy's login, then:" in done.words
        assert "API key" not in done.words
    assert not [secret for secret in SECRETS if secret in done.out + done.err or secret.encode() in everything(online)]
