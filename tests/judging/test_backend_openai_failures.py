"""How the openai backend fails, what of its key must not leave, and proxies and a private CA."""

from __future__ import annotations

import datetime
import ipaddress
import json
import logging
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.e2e.clients.model_server import Answer, Received, calls, failure, model_server
from tests.judging.judges import question as question_of
from tests.judging.openai_judge import KEY, VERDICT, ask, both, judge

from autoscirub.errors import AutoscirubError, ConfigError, JudgeError
from autoscirub.judging.backends import ask_within

pytestmark = pytest.mark.usefixtures("plain_openai_client")


# Failures

BAD_JSON = Answer(content=b'{"choices": [{"message": ')
FAILURES: list[tuple[str, list[Answer], str]] = [
    ("401", [failure(401, "bad key")], r"the server wants a key \(401\): bad key; name its variable in judge.key_env"),
    ("403", [failure(403, "region")], r"the server does not allow it \(403\): region"),
    ("404 model", [failure(404, "model `m` not found")], r"does not know the model 'm' \(404\).*correct judge.model"),
    ("404 path", [Answer(status=404, content=b"404 page")], r"nothing answers at http://127.*\(404\): 404 page; correct judge.base_url"),
    ("429", [failure(429, "slow down")] * 3, r"\(429\): slow down; it does not say when to try again, or lower judge.at_once"),
    ("500", [failure(500, "boom")] * 3, r"the server failed \(500\): boom; it was tried 3 times"),
    ("503 html", [Answer(status=503, content=b"<html>busy")] * 3, r"the server failed \(503\): <html>busy"),
    ("400", [failure(400, "context length")], r"refuses the request \(400\): context length; the model must take tools"),
    ("redirect", [Answer(status=307, content=b"", headers={"Location": "http://127.0.0.1:9/"})],
     r"redirects \(307\) to http://127.0.0.1:9/; name the final address"),
    ("no JSON", [BAD_JSON], r"the server's answer is malformed: .*; does judge.base_url \(http://127"),
    ("HTML", [Answer(content=b"<html>hello", headers={"Content-Type": "text/html"})], "is malformed"),
    ("events", [Answer(content=b"data: {}\n\n", headers={"Content-Type": "text/event-stream"})], "is malformed"),
    ("nothing", [Answer(content=b"")], "is malformed"),
    ("deep", [Answer(content=b"[" * 100_000)], "is malformed"),
    ("a list", [Answer(content=b"[]")], r"the server's answer is no \w+ answer"),
    ("another object", [Answer(content=b'{"choices": [], "output": null}')], r"is no \w+ answer"),
    ("an error in 200", [Answer(content=b'{"error": {"message": "overloaded"}}')], "answers with an error: overloaded"),
    ("broken off", [Answer(VERDICT * 9, breaks=True)], r"the connection broke in the middle of an answer, after \d+ bytes"),
    ("endless", [Answer("x" * 8_000_001)], "sent more than 8,000,000 bytes"),
    ("empty", [Answer("")], "an empty answer: neither a text nor a call"),
    ("null", [Answer(None)], "an empty answer"),
    ("refusal", [Answer(refusal="I cannot judge this.")], "no answer: it refused: I cannot judge this."),
    ("filtered", [Answer("half", finish="content_filter")], "no answer: a content filter of the server stopped it"),
    ("max tokens", [Answer('{"satis', finish="length")], "no whole answer: it wrote as many tokens as one answer may have"),
    ("max tokens in a call", [calls(("read", '{"pa'), finish="length")], "no whole answer: it wrote as many tokens"),
]  # fmt: skip


@both
@pytest.mark.parametrize(
    ("script", "words"), [case[1:] for case in FAILURES], ids=[case[0] for case in FAILURES]
)
def test_each_failure_is_an_error_of_its_own(
    tmp_path: Path, api: str, script: list[Answer], words: str
) -> None:
    with model_server(*script) as server, pytest.raises(JudgeError, match=words):
        ask(server, api, tmp_path, request={"seconds": 20.0})


def test_a_refused_connection_is_named(tmp_path: Path) -> None:
    with model_server() as server:
        pass
    with pytest.raises(
        JudgeError, match=r"http://127.0.0.1:\d+/v1 cannot be reached: .*; start it, or correct"
    ):
        ask(server, "chat", tmp_path)


# The key, and what else must not leave


def echo(received: Received) -> str:
    return f"you sent {received.headers['authorization']}"


ECHOES: list[Callable[[Received], Answer]] = [
    lambda received: failure(401, echo(received)),
    lambda received: failure(404, echo(received)),
    lambda received: failure(400, echo(received)),
    lambda received: failure(429, echo(received), retry_after=KEY),
    lambda received: failure(500, echo(received)),
    lambda _: Answer(status=302, content=b"", headers={"Location": f"http://x/{KEY}"}),
    lambda received: Answer(content=echo(received).encode()),
    lambda received: Answer(content=json.dumps({"error": echo(received)}).encode()),
    lambda _: Answer(content=json.dumps({KEY: 1}).encode()),
    lambda received: Answer(refusal=echo(received)),
    lambda received: Answer("", model=echo(received)),
    lambda received: Answer(echo(received) * 9, breaks=True),
    lambda received: Answer(echo(received), finish="length"),
    # Shortened messages, cut off in the middle of the key.
    lambda received: failure(400, echo(received) + "x" * 490),
    lambda received: failure(400, "x" * 490 + echo(received)),
    lambda _: Answer(content=b'{"error": "' + KEY.encode() + b"x" * 490 + b'"}'),
    lambda _: Answer(content=b'{"' + KEY.encode() + b'": 1, "' + KEY.encode() + b'": 2}'),
    lambda _: Answer(content=b'{"choices": [{"' + KEY.encode()[:-4]),
    lambda _: Answer(content=b'{"error": "' + KEY.replace("/", "\\/").encode() + b'"}'),
    lambda _: Answer(refusal="x" * 490 + KEY),
    lambda _: Answer("", model=KEY + "x" * 190),
]


@both
@pytest.mark.parametrize("number", range(len(ECHOES)))
def test_the_key_is_in_no_error_and_no_log(
    tmp_path: Path, key: str, api: str, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.DEBUG, "openai")
    script = [ECHOES[number]] * (3 if number in (3, 4) else 1)
    with model_server(*script) as server, pytest.raises(AutoscirubError) as caught:
        ask(server, api, tmp_path, key_env=key)
    assert KEY in server.wire
    everything = f"{caught.value}\n{vars(caught.value)}\n{caplog.text}"
    chain: BaseException | None = caught.value
    while chain is not None:
        everything += f"{chain!r}"
        chain = chain.__cause__
    assert not [at for at in range(len(KEY) - 8) if KEY[at : at + 8] in everything]
    assert "[JUDGE_KEY]" in everything


@both
def test_the_key_is_in_no_reply(tmp_path: Path, key: str, api: str) -> None:
    verdict = json.dumps({"reasoning": KEY, "satisfied": None})
    with model_server(lambda _: Answer(verdict, model=f"m {KEY}")) as server:
        reply = ask(server, api, tmp_path, key_env=key)
    assert KEY not in reply.model_dump_json()
    assert reply.structured == {"reasoning": "[JUDGE_KEY]", "satisfied": None}


def test_a_word_that_is_no_secret_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", "ollama")
    with model_server(Answer('{"reasoning": "ollama"}')) as server:
        assert ask(server, "chat", tmp_path, key_env="JUDGE_KEY").structured == {"reasoning": "ollama"}


@both
def test_nothing_of_the_environment_is_sent_along(
    tmp_path: Path, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", f"env-canary-{name}")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/env-canary")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: env-canary\nX-Own: env-canary")
    with model_server(Answer(VERDICT)) as server:
        ask(server, api, tmp_path)
    [received] = server.received
    assert "env-canary" not in server.wire
    assert str(tmp_path) not in server.wire
    assert received.headers["authorization"] == "Bearer no-key"
    assert set(received.headers) <= {
        "host", "accept", "content-type", "content-length", "connection", "user-agent", "authorization",
        "x-stainless-raw-response",
    }  # fmt: skip


def test_a_redirect_is_not_followed(tmp_path: Path, key: str) -> None:
    with model_server() as elsewhere:
        moved = Answer(
            status=308, content=b"", headers={"Location": f"{elsewhere.base_url}/chat/completions"}
        )
        with model_server(moved) as server, pytest.raises(JudgeError, match="redirects"):
            ask(server, "chat", tmp_path, key_env=key)
    assert elsewhere.received == []


# Proxies and a private CA


@pytest.fixture
def private(tmp_path: Path) -> tuple[Path, ssl.SSLContext]:
    """A CA of the test's own, and a server's context with a certificate of it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    def name(common: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common)])

    def certificate(common: str, own: Any, issuer: str, signer: Any, ca: bool) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        day = datetime.timedelta(days=1)
        builder = (
            x509.CertificateBuilder().subject_name(name(common)).issuer_name(name(issuer))
            .public_key(own.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(now - day).not_valid_after(now + day)
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        )  # fmt: skip
        return builder.sign(signer, hashes.SHA256())

    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    authority = certificate("own CA", keys[0], "own CA", keys[0], ca=True)
    served = certificate("server", keys[1], "own CA", keys[0], ca=False)
    pem = serialization.Encoding.PEM
    (tmp_path / "ca.pem").write_bytes(authority.public_bytes(pem))
    secret = keys[1].private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "server.pem").write_bytes(secret + served.public_bytes(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    return tmp_path / "ca.pem", context


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_a_private_ca_is_named_by_the_usual_variables(
    tmp_path: Path,
    private: tuple[Path, ssl.SSLContext],
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    key: str,
) -> None:
    authority, context = private
    with model_server(Answer(VERDICT), tls=context) as server:
        with pytest.raises(
            JudgeError, match="cannot be reached: .*certificate.*; a private CA is named by SSL_CERT_FILE"
        ):
            ask(server, "chat", tmp_path, key_env=key)
        monkeypatch.setenv(variable, str(authority))
        assert ask(server, "chat", tmp_path, key_env=key).text == VERDICT


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
@pytest.mark.parametrize("content", [None, "no certificate"])
def test_certificates_that_cannot_be_read_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, content: str | None
) -> None:
    if content is not None:
        (tmp_path / "ca.pem").write_text(content)
    monkeypatch.setenv(variable, str(tmp_path / "ca.pem"))
    with pytest.raises(ConfigError, match=f"{variable} names no readable certificates"):
        anyio.run(ask_within, judge("https://127.0.0.1:9/v1"), question_of(workspace=str(tmp_path)))


def test_a_proxy_gets_what_goes_out_and_nothing_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    asked = question_of(workspace=str(tmp_path))
    with model_server(Answer(VERDICT), *[Answer(status=502, content=b"")] * 3) as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert anyio.run(ask_within, judge("http://judge.invalid/v1"), asked).text == VERDICT
        with pytest.raises(JudgeError, match="https://judge.invalid/v1 cannot be reached: .*502"):
            anyio.run(ask_within, judge("https://judge.invalid/v1", key_env=key), asked)
        with model_server(Answer(VERDICT)) as server:
            assert ask(server, "chat", tmp_path, key_env=key).text == VERDICT
        monkeypatch.setenv("NO_PROXY", "judge.invalid")
        with pytest.raises(JudgeError, match="cannot be reached"):
            anyio.run(ask_within, judge("http://judge.invalid/v1"), asked)
    assert [received.path for received in proxy.received] == [
        "http://judge.invalid/v1/chat/completions", *["judge.invalid:443"] * 3
    ]  # fmt: skip
    assert KEY not in proxy.wire


@pytest.mark.parametrize(
    "value", ["http://me:hunter-22@[::1", "gopher://me:hunter-22@h", "socks5://me:hunter-22@h:1"]
)
def test_a_proxy_that_cannot_be_used_is_refused_and_not_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", value)
    with pytest.raises(ConfigError, match="the proxy that the environment names cannot be used") as caught:
        anyio.run(ask_within, judge("https://judge.invalid/v1"), question_of(workspace=str(tmp_path)))
    assert "hunter" not in str(caught.value)
