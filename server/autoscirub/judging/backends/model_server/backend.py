"""The `openai` backend: a model behind any server that speaks OpenAI's chat or responses format, local ones too."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from autoscirub.errors import ConfigError, TrustError
from autoscirub.judging.backends.model_server.address import KeyRedaction, ServerAddress
from autoscirub.judging.backends.model_server.client import open_client
from autoscirub.judging.backends.model_server.conversations import ChatConversation, ResponsesConversation
from autoscirub.judging.backends.model_server.exchange import Exchange
from autoscirub.judging.backends.protocol import with_faults
from autoscirub.judging.tools import WorkspaceTools

if TYPE_CHECKING:
    from autoscirub.judging.backends.model_server.conversations import Conversation
    from autoscirub.models import JudgeConfig, JudgeReply, JudgeRequest

_REMEMBERED = 64
_CHARACTERS_A_TOKEN = 4
_ANSWER_TOKENS = 1_000


class ModelServerBackend:
    """A model server that the project names. What the judge may see is sent there, so it needs `trust`."""

    name = "openai"

    def __init__(self, config: JudgeConfig, *, trusted: bool) -> None:
        """Raises ConfigError for an address or a model that is missing, and for an address that cannot be used."""
        if config.base_url is None:
            raise ConfigError(
                'judge.backend is "openai" and judge.base_url is not set; name the server\'s address, such as '
                "http://localhost:8000/v1 (vLLM), http://localhost:11434/v1 (Ollama) or https://api.openai.com/v1"
            )
        if not config.model:
            raise ConfigError(
                'judge.backend is "openai" and judge.model is not set; name a model of that server'
            )
        self._model, self._config, self._trusted = config.model, config, trusted
        self._address = ServerAddress(config.base_url, config.key_env)
        self._open: OrderedDict[tuple[str, str, int, str], Conversation] = OrderedDict()
        """Conversations that a repair may continue, the newest last."""

    def settings(self) -> dict[str, Any]:
        """Which model is asked, where, and in which format."""
        config = self._config
        return {
            "backend": self.name,
            "model": config.model,
            "base_url": config.base_url,
            "api": config.api,
        }

    def price(self, request: JudgeRequest) -> float | None:
        """Of one turn, by the question's length and the configured prices: tools make it more. None without prices."""
        asked = len(request.system) + len(request.prompt)
        return self._cost(asked // _CHARACTERS_A_TOKEN, _ANSWER_TOKENS)

    async def ask(self, request: JudgeRequest) -> JudgeReply:
        """Put the question, and answer calls of tools until there is an answer.

        Raises JudgeError; TrustError and ConfigError where nothing was sent.
        """
        kind = ChatConversation if self._config.api == "chat" else ResponsesConversation
        return await self._converse(request, kind(request, self._model, WorkspaceTools(request.workspace)))

    async def repair(self, request: JudgeRequest, reply: JudgeReply, faults: str) -> JudgeReply:
        """Say `faults` in the same conversation, or put the question again where that is not known any more."""
        conversation = self._open.pop(_identity(request, reply), None)
        if conversation is None:
            return await self.ask(with_faults(request, faults))
        conversation.add_text("user", faults)
        return await self._converse(request, conversation)

    async def _converse(self, request: JudgeRequest, conversation: Conversation) -> JudgeReply:
        if not self._trusted:
            raise TrustError(
                f"not judged: that files go to {self._config.base_url} was not trusted on this machine in this folder; "
                "look at what would be asked with `autoscirub trust`, and allow it"
            )
        key = self._address.key()
        redacted = KeyRedaction(self._address, key)
        async with open_client(self._address, key, request.seconds) as client:
            exchange = Exchange(client, conversation, request, self._address, redacted, self._cost)
            reply = await exchange.verdict()
        self._open[_identity(request, reply)] = conversation
        while len(self._open) > _REMEMBERED:
            self._open.popitem(last=False)
        return reply

    def _cost(self, input_tokens: int | None, output_tokens: int | None) -> float | None:
        prices = self._config.input_usd, self._config.output_usd
        if input_tokens is None or output_tokens is None or prices[0] is None or prices[1] is None:
            return None
        return (prices[0] * input_tokens + prices[1] * output_tokens) / 1e6


def _identity(request: JudgeRequest, reply: JudgeReply) -> tuple[str, str, int, str]:
    return request.prompt_digest, request.workspace_digest, request.member, reply.text
