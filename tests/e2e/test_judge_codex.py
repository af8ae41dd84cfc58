"""The `codex` judge: the real client, offline, with a scripted model that tries what it must not get."""

from __future__ import annotations

import contextlib
import json
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.clients.codex_client import Codex
from tests.e2e.clients.plugins import bare, write_plugin
from tests.e2e.clients.sandboxing import Box, program
from tests.e2e.clients.scripted_model import Asked, Call, Failing, Json, Say, ScriptedModel, Sent

pytestmark = pytest.mark.slow

ASK = Path(__file__).parent / "clients" / "ask_judge.py"
SCHEMA = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "satisfied": {"type": ["boolean", "null"]}},
    "required": ["reasoning", "satisfied"],
    "additionalProperties": False,
}
VERDICT = {"reasoning": "report.md has it", "satisfied": True}
GIVE = Say(json.dumps(VERDICT))
OURS = [f"mcp__judge/{name}" for name in ("glob", "grep", "list", "read")]
RESOURCES = ["/list_mcp_resource_templates", "/list_mcp_resources", "/read_mcp_resource"]
NOT_DROPPED = {
    # What codex 0.171 offers whatever it is set to: on this server there are no resources, nobody answers, nothing can be
    # written, and what would run a program of the model's is switched off.
    "scripted": [*RESOURCES, "/request_user_input"],
    "gpt-5.5": [*RESOURCES, "/request_user_input", "/apply_patch"],
    "gpt-6.2-sol": [
        f"functions/{name}"
        for name in (
            "exec",
            "request_user_input",
            "request_user_input_async",
            "send_message_to_user_async",
            "wait",
        )
    ],
}
CANARY = "canary-7b2e"
PROVIDER = """\
model = "{model}"
model_provider = "house"
developer_instructions = "{canary}-developer"

[model_providers.house]
name = "house"
base_url = "{url}/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""


@dataclass
class Asking:
    """A workspace outside of the project, in a box where codex is on PATH, and how the judge is asked about it."""

    box: Box
    workspace: Path
    mark: str = field(default_factory=lambda: f"mark-{uuid.uuid4().hex}")

    @property
    def home(self) -> Path:
        return self.box.home / ".codex"

    def configure(self, url: str, model: str = "scripted", more: str = 'env_key = "HOUSE_KEY"\n') -> None:
        """The user's own config.toml."""
        self.home.mkdir(exist_ok=True)
        text = PROVIDER.format(url=url, model=model, canary=CANARY)
        (self.home / "config.toml").write_text(text + more, encoding="utf-8")

    def __call__(
        self,
        model: ScriptedModel | None,
        prompt: str = "Is the slope in the report?",
        *,
        env: dict[str, str] | None = None,
        name: str = "scripted",
        faults: str | None = None,
        trusted: bool = True,
        judge: Json | None = None,
        **changes: Any,
    ) -> Json:
        """What came of it, in the words of `ask_judge.py`. Whatever it was, no process and no file is left."""
        question = {
            "kind": "criterion",
            "subject": "C1",
            "system": "You judge one criterion.",
            "prompt": prompt,
            "answer_schema": SCHEMA,
            "workspace": str(self.workspace),
            "seconds": 50.0,
            "turns": 10,
            "prompt_digest": "a" * 64,
            "workspace_digest": "b" * 64,
            **changes,
        }
        judge = {"backend": "codex", **(judge or {})}
        wanted = {"root": str(self.box.work), "judge": judge, "question": question}
        file = self.box.home.parent / "wanted.json"
        file.write_text(json.dumps({**wanted, "faults": faults, "trusted": trusted}), "utf-8")
        if not (self.home / "config.toml").exists():
            self.configure(model.url if model else "http://127.0.0.1:9", name)
        scratch = self.box.home.parent / "tmp"
        before = set(scratch.iterdir())
        environment = self.box.environment(HOUSE_KEY="house-key", JUDGE_MARK=self.mark)
        environment["PATH"] = f"{self.box.home.parent / 'programs'}:{environment['PATH']}"
        done = self.box.run([sys.executable, ASK, file], {**environment, **(env or {})})
        assert done.status == 0, done
        assert processes(self.mark, str(self.workspace)) == []
        assert set(scratch.iterdir()) == before
        answer: Json = json.loads(done.out)
        return answer


def processes(*marks: str) -> list[str]:
    """The command lines of processes that have one of the marks there, or in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (process / "cmdline").read_bytes()
            known = (command + (process / "environ").read_bytes()).decode("utf-8", "replace")
            found += [command.decode("utf-8", "replace")] if any(mark in known for mark in marks) else []
    return found


@pytest.fixture
def ask(box: Box, tmp_path: Path) -> Asking:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("codex", "node"):
        (programs / name).symlink_to(program(name))
    (box.work / "secret.txt").write_text(f"{CANARY}-project\n")
    workspace = tmp_path / "visible"
    workspace.mkdir()
    (workspace / "report.md").write_text("The slope is 0.48.\n")
    return Asking(box, workspace)


def offered(asked: Asked) -> list[str]:
    return sorted(f"{tool.namespace or ''}/{tool.name}" for tool in asked.tools)


def sent(model: ScriptedModel) -> str:
    """All that the model was sent."""
    return json.dumps([[each.body, each.headers] for each in model.asked] + [model.others])


# What the judge gets


@pytest.mark.parametrize("name", NOT_DROPPED)
def test_the_model_gets_our_four_tools_and_only_what_codex_cannot_drop(ask: Asking, name: str) -> None:
    calls = [Call("read", {"path": "report.md"}), Call("list")]
    with ScriptedModel([calls, Call("grep", {"pattern": "slope"}), GIVE], ask.box.listen()) as model:
        answer = ask(model, name=name)
    assert [offered(each) for each in model.asked] == [sorted([*OURS, *NOT_DROPPED[name]])] * 3
    [question] = [text for text in model.last.texts if "slope" in text]
    assert question == "Is the slope in the report?"
    assert model.last.texts[0] == "You judge one criterion."
    assert len(model.last.texts) == 2  # nothing is added to the two
    assert model.last.body["text"]["format"]["schema"] == SCHEMA
    assert model.last.body["text"]["format"]["strict"] is True
    assert "1│The slope is 0.48." in model.last.results[0].text
    reply = answer["reply"]
    assert (json.loads(reply["text"]), reply["structured"]) == (VERDICT, VERDICT)
    assert reply["model_served"] == name
    usage = reply["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["turns"]) == (300, 30, 3)
    assert (usage["cost_usd"], usage["price_basis"]) == (None, None)
    address = f"{model.url}/v1"
    assert answer["settings"] == {"backend": "codex", "model": name, "provider": "house", "base_url": address}
    assert model.last.headers["authorization"] == "Bearer house-key"
    assert sorted(path.name for path in ask.home.iterdir()) == [
        "config.toml"
    ]  # nothing is stored in the user's own


def test_the_project_s_model_goes_before_the_user_s(ask: Asking) -> None:
    with ScriptedModel([GIVE], ask.box.listen()) as model:
        answer = ask(model, judge={"model": "gpt-5.5"})
    assert model.last.body["model"] == answer["settings"]["model"] == "gpt-5.5"


def test_a_repair_is_a_new_run_that_names_the_faults(ask: Asking) -> None:
    with ScriptedModel([GIVE], ask.box.listen()) as model:
        answer = ask(model, "Is it so?", faults="satisfied was missing")
    assert answer["reply"]["structured"] == VERDICT
    [text] = [text for text in model.last.texts if "Is it so?" in text]
    assert "satisfied was missing" in text


def test_the_user_s_login_is_used_and_stays_where_it_is(ask: Asking) -> None:
    with ScriptedModel([GIVE], ask.box.listen()) as model:
        ask.configure(model.url, more="requires_openai_auth = true\n")
        answer = ask(model)
        assert answer["kind"] == "JudgeError"
        assert "codex: not logged in" in answer["error"]
        assert "run `codex login`" in answer["error"]
        assert model.asked == []
        login = ask.home / "auth.json"
        login.write_text(json.dumps({"auth_mode": "apikey", "OPENAI_API_KEY": "the-user-s"}))
        answer = ask(model)
    assert answer["reply"]["structured"] == VERDICT
    assert model.last.headers["authorization"] == "Bearer the-user-s"
    assert json.loads(login.read_text())["OPENAI_API_KEY"] == "the-user-s"


def test_nobody_is_asked_where_the_judge_is_not_trusted(ask: Asking) -> None:
    with ScriptedModel([], ask.box.listen()) as model:
        answer = ask(model, trusted=False)
    assert answer["kind"] == "TrustError"
    assert "autoscirub trust" in answer["error"]
    assert (model.asked, model.others) == ([], [])


# What it must not get


def served(model: ScriptedModel) -> bool:
    """Whether the user's own MCP server was offered."""
    return any(tool.namespace == "mcp__bare" or tool.name == "tool_search" for tool in model.last.tools)


def test_nothing_of_the_user_s_own_but_the_provider_reaches_the_judge(ask: Asking) -> None:
    box, ran = ask.box, ask.box.home / "ran"
    note = f"echo hook >> {ran}"
    server = "\n".join(f"{key} = {json.dumps(value)}" for key, value in bare(required=True).items())
    config = f"[mcp_servers.bare]\n{server}\n[features]\nmemories = true\n"
    client = Codex(box, config)
    client.install(write_plugin(box.home.parent / "shop", SessionStart=note, Stop=note), "small@shop")
    client.trust_hooks()
    for folder in (client.home, box.home, box.work, ask.workspace, ask.workspace.parent):
        (folder / "AGENTS.md").write_text(f"{CANARY}-notes\n")
    homes = [box.home / ".agents", client.home, box.work / ".agents", ask.workspace / ".agents"]
    for name, home in zip(("shouting", "singing", "humming", "crying"), homes, strict=True):
        skill = home / "skills" / name / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text(f"---\nname: {name}\ndescription: {CANARY}-skill\n---\n{CANARY}-{name}\n")
    (client.home / "memories").mkdir(exist_ok=True)
    (client.home / "memories" / "memory_summary.md").write_text(f"{CANARY}-memory\n")
    (box.work / ".codex").mkdir()
    (box.work / ".codex" / "config.toml").write_text(f'developer_instructions = "{CANARY}-project"\n')
    # All of it is alive: the client as a user runs it has it.
    for _ in range(4):  # on a busy machine the client may ask before its servers have answered
        with ScriptedModel(lambda _: Say("Yes."), box.listen()) as model:
            client.ask(model, "$shouting", plugins=True)
        if served(model):
            break
    assert {f"{CANARY}-{part}" for part in ("notes", "skill", "shouting", "memory")} <= set(
        sent(model).replace("\\n", " ").replace('"', " ").split()
    )
    assert served(model)
    assert ran.exists()
    ran.unlink()
    before = (client.home / "config.toml").read_text()
    with ScriptedModel([Call("list"), GIVE], box.listen()) as model:
        own = PROVIDER.format(url=model.url, model="gpt-5.5", canary=CANARY) + 'env_key = "HOUSE_KEY"\n'
        (client.home / "config.toml").write_text(own + before)
        answer = ask(model, "$shouting")
    assert answer["reply"]["structured"] == VERDICT
    assert [offered(each) for each in model.asked] == [sorted([*OURS, *NOT_DROPPED["gpt-5.5"]])] * 2
    assert CANARY not in sent(model)
    assert not ran.exists()


@pytest.mark.parametrize(
    "prompt", ["/init", "@/etc/hostname", "!cat {secret}", "$shouting Is @{secret} fine?", "-"]
)
def test_a_question_is_sent_as_it_is_whatever_it_begins_with(ask: Asking, prompt: str) -> None:
    secret = ask.box.home.parent / "secret.txt"
    secret.write_text(f"{CANARY}\n")
    prompt = prompt.format(secret=secret)
    with ScriptedModel([GIVE], ask.box.listen()) as model:
        assert ask(model, prompt)["reply"]["structured"] == VERDICT
    assert model.last.texts == ["You judge one criterion.", prompt]
    assert CANARY not in sent(model)


def attempts(box: Box, workspace: Path) -> list[Call]:
    """What a judge that was talked into something might call."""
    secret, made = str(box.work / "secret.txt"), str(box.work / "made.txt")
    patch = f"*** Begin Patch\n*** Add File: {made}\n+x\n*** End Patch"
    shell = f"cat {secret}; touch {made}"
    script = f"text(JSON.stringify(ALL_TOOLS)); text(await tools.exec_command({{cmd: {json.dumps(shell)}}}))"
    builtin = [
        Call("exec_command", {"cmd": shell}, unseen=True),
        Call("shell", {"command": ["sh", "-c", shell]}, unseen=True),
        Call("local_shell", {"command": ["sh", "-c", shell]}, unseen=True),
        Call("write_stdin", {"session_id": 1, "chars": "x"}, unseen=True),
        Call("view_image", {"path": secret}, unseen=True),
        Call("web_search", {"query": "slope"}, unseen=True),
        Call("spawn_agent", {"message": shell}, unseen=True),
        Call("tool_search", {"query": "shell"}, unseen=True),
        Call("read_mcp_resource", {"server": "judge", "uri": f"file://{secret}"}, unseen=True),
        Call("request_user_input", {"questions": []}, unseen=True),
        Call("mcp__bare__add", {"a": 1, "b": 2}, unseen=True),
    ]
    (workspace / "link.txt").symlink_to(secret)
    paths = [
        secret,
        "../project/secret.txt",
        "link.txt",
        "/etc/passwd",
        f"file://{secret}",
        "~/.codex/config.toml",
    ]
    return [
        *builtin,
        Call("apply_patch", {"input": patch}),
        Call("exec", {"input": script}),
        *(Call("read", {"path": path}) for path in paths),
        Call("grep", {"pattern": CANARY, "path": ".."}),
    ]


@pytest.mark.parametrize("name", ["gpt-5.5", "gpt-6.2-sol"])
def test_other_tools_and_paths_outside_are_refused_and_have_no_effect(
    ask: Asking, tree: Callable[[Path], Json], name: str
) -> None:
    there = {tool.split("/")[1] for tool in [*OURS, *NOT_DROPPED[name]]}
    calls = [call for call in attempts(ask.box, ask.workspace) if call.unseen or call.tool in there]
    before = tree(ask.box.work), tree(ask.workspace)
    with ScriptedModel([*([call] for call in calls), GIVE], ask.box.listen()) as model:
        answer = ask(model, name=name, turns=40)
    assert answer["reply"]["structured"] == VERDICT
    results = model.last.results
    assert len(results) == len(calls)
    assert CANARY not in "".join(result.text for result in results)
    assert "root:" not in "".join(result.text for result in results)
    assert [result.text for result in results if result.tool == "exec"] in (
        [],
        ["code-mode host is disabled"],
    )
    assert all("rejected" in result.text for result in results if result.tool == "apply_patch")
    assert (tree(ask.box.work), tree(ask.workspace)) == before


STUDY = {
    "QUESTION.md": "Is the slope near one half?\n",
    "prereg.toml": 'hypothesis = "near one half"\n',
    "run.py": "print('runs')\n",
    "results/results.json": '{"slope": 0.51}\n',
    "REPORT.md": f"# Report\n\n{CANARY}-report: as we expected.\n",
    "verification.json": f'{{"note": "{CANARY}-verdict"}}\n',
    "runs/1/log.txt": f"{CANARY}-history\n",
    ".git/HEAD": f"ref: refs/heads/{CANARY}-git\n",
    "AGENTS.md": f"{CANARY}-instructions\n",
    ".autoscirub/verification.json": f'{{"note": "{CANARY}-record"}}\n',
    ".env": f"KEY={CANARY}-key\n",
    f"notes/{CANARY}-name.txt": "notes\n",
}


def test_no_canary_of_what_is_withheld_is_in_anything_that_the_model_is_sent(ask: Asking) -> None:
    from autoscirub.judging.workspace import build_workspace
    from autoscirub.store import open_project

    project = ask.box.work / "private-study"
    for name, text in STUDY.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with build_workspace(open_project(project), "hypothesis") as workspace:
        ask.workspace = workspace.root
        looks = [
            *(Call("list", {"depth": 64}), Call("glob", {"pattern": "**"}), Call("grep", {"pattern": "."})),
            *(Call("read", {"path": file.path}) for file in workspace.manifest.files),
            *(Call("read", {"path": name}) for name in STUDY),
        ]
        with ScriptedModel([looks, GIVE], ask.box.listen()) as model:
            answer = ask(model, env={"OLDPWD": str(project), "AUTOSCIRUB_STATE_DIR": f"{project}/state"})
    assert answer["reply"]["structured"] == VERDICT
    assert len(model.last.results) == len(looks)
    assert "0.51" in sent(model)
    # The names that the script itself asked for are not what it was sent.
    seen = "".join(result.text for result in model.last.results if CANARY not in json.dumps(result.arguments))
    for text in (
        seen,
        json.dumps(model.asked[0].body),
        json.dumps(model.others),
        json.dumps(model.last.headers),
    ):
        assert CANARY not in text
        assert "private-study" not in text
        assert str(workspace.root) not in text
        assert str(ask.box.home.parent) not in text


# How it fails


def stream(*events: Json | bytes, stalls: bool = False) -> Sent:
    created = {"type": "response.created", "response": {"id": "resp_1"}}
    parts = [
        event
        if isinstance(event, bytes)
        else f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
        for event in (created, *events)
    ]
    return Sent(b"".join(parts), stalls)


def message(part: Json) -> Json:
    item = {"type": "message", "id": "m", "role": "assistant", "content": [part]}
    return {"type": "response.output_item.done", "output_index": 0, "item": item}


def failed(code: str) -> Json:
    error = {"code": code, "message": "scripted"}
    return {"type": "response.failed", "response": {"id": "resp_1", "error": error}}


CUT = {
    "type": "response.incomplete",
    "response": {"id": "resp_1", "incomplete_details": {"reason": "max_output_tokens"}},
}
DONE = {"type": "response.completed", "response": {"id": "resp_1", "usage": None}}
FAILURES: dict[str, tuple[Failing | Sent, str, str]] = {
    "401": (Failing(401), "401 Unauthorized", "run `codex login`"),
    "403": (Failing(403), "403 Forbidden", "correct the key"),
    "429": (Failing(429), "429 Too Many Requests", "a limit of its provider is used up: wait"),
    "429, retry-after": (Failing(429, headers={"retry-after": "1"}), "429", "wait, and run this again"),
    "500": (Failing(500), "high demand", "its provider failed: run this again later"),
    "503": (Failing(503), "503", "its provider failed"),
    "malformed": (stream(b"data: {broken\n\n"), "stream disconnected before completion", "run this again"),
    "no stream": (Sent(b"<html>"), "stream disconnected before completion", "run this again"),
    "max tokens": (stream(CUT), "max_output_tokens", "run this again"),
    "too long": (stream(failed("context_length_exceeded")), "context window", "lower judge.inline"),
    "no quota": (
        stream(failed("insufficient_quota")),
        "Quota exceeded",
        "a limit of its provider is used up",
    ),
    "refusal": (
        stream(message({"type": "refusal", "refusal": "No."}), DONE),
        "without a final message",
        "another judge.model",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_a_judge_s_error_that_says_what_happened_and_what_to_do(ask: Asking, name: str) -> None:
    turn, what, todo = FAILURES[name]
    with ScriptedModel([turn], ask.box.listen()) as model:
        answer = ask(model)
    assert answer["kind"] == "JudgeError"
    assert answer["error"].startswith("judge codex: ")
    assert what in answer["error"]
    assert todo in answer["error"]
    assert len(model.asked) == 1


def test_a_server_that_is_not_there_is_named_at_once(ask: Asking) -> None:
    answer = ask(None)
    assert answer["kind"] == "JudgeError"
    assert "its provider cannot be reached" in answer["error"]


def test_a_stall_in_mid_stream_ends_with_the_time_and_leaves_no_process(ask: Asking) -> None:
    delta = {"type": "response.output_text.delta", "delta": "half of a ver"}
    with ScriptedModel([stream(delta, stalls=True)], ask.box.listen()) as model:
        answer = ask(model, seconds=12.0)
    assert answer["kind"] == "JudgeError"
    assert "no answer within 12 s (judge.seconds)" in answer["error"]
    assert len(model.asked) == 1
    assert "thread.started" in answer["raw"]


def test_turns_are_cut_while_they_run(ask: Asking) -> None:
    with ScriptedModel(
        lambda _: [Call("list"), Call("read", {"path": "report.md"})], ask.box.listen()
    ) as model:
        answer = ask(model, turns=3)
    assert answer["kind"] == "OverLimit"
    assert answer["usage"]["turns"] >= 3
    assert "turn limit reached: more than 3 turns (judge.turns)" in answer["error"]
    assert 3 <= len(model.asked) <= 4


def test_an_answer_that_is_no_object_is_left_to_whoever_reads_replies(ask: Asking) -> None:
    with ScriptedModel([Say("It is satisfied.")], ask.box.listen()) as model:
        reply = ask(model)["reply"]
    assert (reply["text"], reply["structured"]) == ("It is satisfied.", None)


def test_where_codex_is_missing_it_says_how_to_get_it(ask: Asking) -> None:
    answer = ask(None, env={"PATH": "/usr/bin:/bin"})
    assert answer["kind"] == "JudgeError"
    assert "codex: no such program on PATH; to get it: npm install -g @openai/codex" in answer["error"]


def test_a_broken_config_of_the_user_s_is_named(ask: Asking) -> None:
    ask.configure("http://127.0.0.1:9", more="=\n")
    answer = ask(None)
    assert answer["kind"] == "JudgeError"
    assert "config.toml cannot be read" in answer["error"]


def test_what_is_missing_in_the_environment_is_named(ask: Asking) -> None:
    ask.configure("http://127.0.0.1:9", more='env_key = "NO_SUCH_KEY"\n')
    assert "Missing environment variable: `NO_SUCH_KEY`" in ask(None)["error"]
