"""Sends one request to a model server through the `openai` client library, and says in words what went wrong."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn

from autoscirub.errors import ConfigError, JudgeError
from autoscirub.judging.backends.limits import one_line
from autoscirub.judging.backends.protocol import keep_so_far
from autoscirub.store import JsonFault, parse

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator

    import httpx2
    from openai import APIConnectionError, APIStatusError, AsyncOpenAI

    from autoscirub.judging.backends.model_server.address import KeyRedaction, ServerAddress

RETRIES = 2
"""Of the client library: after a refused or broken connection, 408, 409, 429 and 5xx."""
CONNECT_SECONDS = 10.0
ANSWER_BYTES = 8_000_000
"""Of one answer: some hundred times the longest that a model writes."""
RAW_CHARACTERS = 64 * 1024
_SENT = frozenset(
    [
        *("host", "accept", "content-type", "content-length", "connection", "user-agent"),
        "x-stainless-raw-response",  # by which the library knows later that the answer is read piece by piece
    ]
)
_REFUSED = frozenset({400, 413, 415, 422})


class RequestRefused(JudgeError):  # noqa: N818 - the refusal is the error
    """Raised where the server cannot take this request as it is, so that it may be asked in another form."""


@asynccontextmanager
async def open_client(address: ServerAddress, key: str, seconds: float) -> AsyncIterator[AsyncOpenAI]:
    """A client for one answer that may take `seconds`. Raises ConfigError without the library, or for the proxy or
    the certificates of the environment."""
    from anyio.to_thread import run_sync

    client = await run_sync(_make_client, address, key, monotonic() + seconds)  # the import takes a second
    async with client:
        yield client


def _make_client(address: ServerAddress, key: str, deadline: float) -> AsyncOpenAI:
    try:
        import httpx2
        from openai import AsyncOpenAI
    except ImportError as cause:
        raise ConfigError(
            f"judge openai: the client library cannot be loaded ({cause}); pip install 'autoscirub[openai]'"
        ) from None

    async def send_only_ours(request: httpx2.Request) -> None:
        # The library adds what OPENAI_* variables and the platform say, and this server may be anybody's.
        for name in set(request.headers) - _SENT:
            del request.headers[name]
        request.headers["Authorization"] = f"Bearer {key}"

    async def give_up_in_time(response: httpx2.Response) -> None:
        # The library waits up to two minutes where the server says so; past the limit that wait would be for nothing.
        if _seconds(response.headers.get("retry-after")) > deadline - monotonic():
            response.headers["x-should-retry"] = "false"

    try:
        http_client = httpx2.AsyncClient(
            verify=_certificates(address),
            # No proxy of the environment is for this machine's own servers.
            trust_env=not address.is_local,
            # What a redirect leads to was not trusted, and the files under judgement would go there.
            follow_redirects=False,
            event_hooks={"request": [send_only_ours], "response": [give_up_in_time]},
        )
    except (httpx2.InvalidURL, ValueError, ImportError) as cause:  # its message may hold the proxy's password
        raise ConfigError(
            f"judge openai: the proxy that the environment names cannot be used ({type(cause).__name__}); "
            "correct HTTPS_PROXY, HTTP_PROXY, ALL_PROXY or NO_PROXY"
        ) from None
    return AsyncOpenAI(
        api_key=key,
        base_url=address.base_url,
        max_retries=RETRIES,
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),  # the whole is bounded from outside
        http_client=http_client,
    )


def _certificates(address: ServerAddress) -> ssl.SSLContext:
    """SSL_CERT_FILE and SSL_CERT_DIR as the library reads them, else REQUESTS_CA_BUNDLE, else the system's."""
    import ssl

    import httpx2

    if address.is_local and not address.is_tls:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # not used; to read the system's takes a while
    own = next((name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)), None)
    bundle = None if own else os.environ.get("REQUESTS_CA_BUNDLE")
    try:
        if not bundle:
            return httpx2.create_ssl_context()
        folder = Path(bundle).is_dir()
        return ssl.create_default_context(
            cafile=None if folder else bundle, capath=bundle if folder else None
        )
    except OSError as cause:  # ssl.SSLError too
        raise ConfigError(
            f"judge openai: {own or 'REQUESTS_CA_BUNDLE'} names no readable certificates: {cause.strerror or cause}"
        ) from None


def _seconds(header: str | None) -> float:
    try:
        return float(header or 0)
    except ValueError:  # a date: the library reads it, and the limit from outside holds
        return 0.0


async def post(
    client: AsyncOpenAI, api: str, body: dict[str, Any], address: ServerAddress, redacted: KeyRedaction
) -> tuple[Any, str]:
    """Send one request; return the JSON that came back, and its text without the key.

    Raises RequestRefused where another form of the request may do, and JudgeError for any other failure. When it is
    cancelled, what had arrived is kept for the error.
    """
    import httpx2
    from openai import APIConnectionError, APIStatusError

    resource: Any = client.chat.completions if api == "chat" else client.responses
    data = bytearray()
    whole = False
    try:
        async with resource.with_streaming_response.create(**body) as response:
            async for chunk in response.iter_bytes():
                data += chunk
                if len(data) > ANSWER_BYTES:
                    raise JudgeError(
                        f"judge openai: the server sent more than {ANSWER_BYTES:,} bytes; one answer was expected",
                        _raw(data, redacted),
                    )
        whole = True
    except APIStatusError as error:
        _refuse(error, str(body.get("model")), address, redacted)
    except APIConnectionError as error:
        raise JudgeError(f"judge openai: {_unreachable(error, address, redacted)}") from None
    except httpx2.HTTPError as error:
        raise JudgeError(
            f"judge openai: the connection broke in the middle of an answer, after {len(data):,} bytes "
            f"({one_line(redacted(str(error))) or type(error).__name__}); ask again",
            _raw(data, redacted),
        ) from None
    finally:
        if not whole and data:
            keep_so_far(_raw(data, redacted))
    # Without the key before it is read: a message about what is wrong there may quote a part of it.
    text = redacted(data.decode("utf-8", "surrogateescape"))
    try:
        return parse(text.encode("utf-8", "surrogateescape")), _raw(data, redacted)
    except JsonFault as fault:
        raise JudgeError(
            f"judge openai: the server's answer is malformed: {fault}; does judge.base_url "
            f"({address.base_url}) name a server of the {api} format?",
            _raw(data, redacted),
        ) from None


def _raw(data: bytes | bytearray, redacted: KeyRedaction) -> str:
    return redacted(data.decode("utf-8", "replace"))[:RAW_CHARACTERS]


def _refuse(error: APIStatusError, model: str, address: ServerAddress, redacted: KeyRedaction) -> NoReturn:
    status, raw = error.status_code, redacted(error.response.text)[:RAW_CHARACTERS]
    reply = error.body.get("message") if isinstance(error.body, dict) else error.body
    text = one_line(redacted(str(reply or error.response.text))) or "it says nothing more"
    what, todo, kind = f"the server refuses the request ({status}): {text}", "", JudgeError
    if status == 401:
        what = f"the server {'does not accept the key' if address.key_env else 'wants a key'} (401): {text}"
        todo = f"correct {address.key_env}" if address.key_env else "name its variable in judge.key_env"
    elif status == 403:
        what, todo = f"the server does not allow it (403): {text}", "ask who runs it what this key may do"
    elif status == 404 and model in text:
        what, todo = f"the server does not know the model {model!r} (404): {text}", "correct judge.model"
    elif status == 404:
        what = f"nothing answers at {error.request.url} (404): {text}"
        todo = "correct judge.base_url, which mostly ends in /v1, or judge.api"
    elif status == 429:
        wait = one_line(redacted(error.response.headers.get("retry-after", "")), 40)
        when = f"try again in {wait} s" if wait else "it does not say when to try again"
        what, todo = f"too many requests, or no credit (429): {text}", f"{when}, or lower judge.at_once"
    elif status >= 500:
        what, kind = f"the server failed ({status}): {text}", RequestRefused
        todo = f"it was tried {RETRIES + 1} times; look at the server's log"
    elif status < 400:
        to = one_line(redacted(error.response.headers.get("location", "nowhere")), 200)
        what, todo = f"the server redirects ({status}) to {to}", "name the final address in judge.base_url"
    elif status in _REFUSED:
        kind = RequestRefused
        todo = "the model must take tools, and a conversation of this length"
    raise kind(f"judge openai: {what}{f'; {todo}' if todo else ''}", raw) from None


def _unreachable(error: APIConnectionError, address: ServerAddress, redacted: KeyRedaction) -> str:
    import ssl

    cause: BaseException = error
    trusted = True
    while (deeper := cause.__cause__ or cause.__context__) is not None:
        cause = deeper
        trusted = trusted and not isinstance(cause, ssl.SSLError)
    reason = one_line(redacted(str(cause))) or type(cause).__name__
    todo = "start it, or correct judge.base_url" if trusted else "a private CA is named by SSL_CERT_FILE"
    return f"{address.base_url} cannot be reached: {reason}; {todo}"
