"""Students as a hub sees them: each with own cookies, through the login form, its pages, its API
and a kernel's websocket.

Used by `test_hub.py`, and by `measure_class.py` for the table in workshop/hub/README.md.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import aiohttp

LIMIT = 300  # seconds in which anything has to have happened


@dataclass
class Student:
    """Someone with a browser. `seconds` are how long each step took."""

    name: str
    hub: str
    seconds: dict[str, float] = field(default_factory=dict)
    told_to_wait: int = 0

    async def __aenter__(self) -> Student:
        self.session = aiohttp.ClientSession(
            # unsafe: cookies of an address without a name
            cookie_jar=aiohttp.CookieJar(unsafe=True),
            timeout=aiohttp.ClientTimeout(total=LIMIT),
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        await self.session.close()

    @property
    def server(self) -> str:
        return f"{self.hub}/user/{self.name}"

    def token(self, path: str) -> str:
        """The cookie that a form or a script has to repeat, so that other sites cannot post for the
        student.
        """
        for cookie in self.session.cookie_jar:
            if cookie.key == "_xsrf" and cookie["path"] == path:
                return cookie.value
        raise LookupError(
            f"no _xsrf cookie of {path}: {[(c.key, c['path']) for c in self.session.cookie_jar]}"
        )

    async def log_in(self, password: str) -> int:
        """Fill in the form; returns the status of the page one comes to, 403 for a wrong
        password.
        """
        # as a browser says of a page: only then it gets the cookie
        page = {"Sec-Fetch-Mode": "navigate"}
        async with self.session.get(f"{self.hub}/hub/login", headers=page) as answer:
            assert answer.status == 200, await answer.text()
        form = {"username": self.name, "password": password, "_xsrf": self.token("/hub/")}
        async with self.session.post(
            f"{self.hub}/hub/login?next=%2Fhub%2Fhome", data=form, headers=page
        ) as answer:
            return answer.status

    async def start_server(self) -> None:
        """Ask for the server, wait as long as the hub says to, and enter it."""
        began = time.monotonic()
        while True:
            async with self.session.post(
                f"{self.hub}/hub/api/users/{self.name}/server",
                json={},
                headers={"X-XSRFToken": self.token("/hub/")},
            ) as answer:
                if answer.status != 429:
                    assert answer.status in (201, 202), (answer.status, await answer.text())
                    break
                self.told_to_wait += 1
                await asyncio.sleep(float(answer.headers["Retry-After"]))
        while not (await self.about_me())["servers"].get("", {}).get("ready"):
            assert time.monotonic() - began < LIMIT, f"the server of {self.name} did not start"
            await asyncio.sleep(0.25)
        async with self.session.get(
            f"{self.server}/lab", headers={"Sec-Fetch-Mode": "navigate"}
        ) as answer:
            assert answer.status == 200 and "/lab" in str(answer.url), (answer.status, answer.url)
        self.seconds["server"] = time.monotonic() - began

    async def about_me(self) -> dict[str, Any]:
        async with self.session.get(f"{self.hub}/hub/api/users/{self.name}") as answer:
            assert answer.status == 200, (answer.status, await answer.text())
            return await answer.json()

    async def call(
        self, method: str, path: str, server: str | None = None, **options: Any
    ) -> tuple[int, Any]:
        """A request to a server (the own one unless told) as its pages send it: the status, and
        what came back.
        """
        headers = {"X-XSRFToken": self.token(f"/user/{self.name}/")}
        async with self.session.request(
            method,
            f"{self.hub}/user/{server or self.name}{path}",
            headers=headers,
            allow_redirects=False,
            **options,
        ) as answer:
            body = await answer.read()
            return answer.status, json.loads(body) if body.startswith(
                (b"{", b"[")
            ) else body.decode()

    async def open(self, path: str) -> dict[str, Any]:
        """A file as the pages get it: name, whether it is trusted (in the cells' metadata), and
        content.
        """
        status, model = await self.call("GET", f"/api/contents/{path}")
        assert status == 200, (status, model)
        return model

    async def run_notebook(self, path: str) -> dict[str, Any]:
        """Open a notebook, start its kernel, run every cell, save it; returns it. Raises
        AssertionError if a cell fails.
        """
        began = time.monotonic()
        notebook = (await self.open(path))["content"]
        async with Kernel(self, path) as kernel:
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    cell["outputs"] = await kernel.run(
                        cell["source"],
                        allowed="raises-exception" in cell["metadata"].get("tags", []),
                    )
        await self.save(path, notebook)
        self.seconds["notebook"] = time.monotonic() - began
        return notebook

    async def save(self, path: str, notebook: dict[str, Any]) -> None:
        status, told = await self.call(
            "PUT", f"/api/contents/{path}", json={"type": "notebook", "content": notebook}
        )
        assert status == 200, (status, told)


class Kernel:
    """A notebook's kernel, reached as its page does: one websocket through the proxy."""

    def __init__(self, student: Student, path: str, stop: bool = False) -> None:
        self.student, self.path, self.stop = student, path, stop

    async def __aenter__(self) -> Kernel:
        status, session = await self.student.call(
            "POST", "/api/sessions",
            json={"path": self.path, "type": "notebook", "name": Path(self.path).name,
                  "kernel": {"name": "python3"}},
        )  # fmt: skip
        assert status == 201, (status, session)
        self.id, self.session = session["kernel"]["id"], session["id"]
        self.socket = await self.student.session.ws_connect(
            f"{self.student.server}/api/kernels/{self.id}/channels?session_id={self.session}",
            headers={"Origin": self.student.hub},
            max_msg_size=0,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        await self.socket.close()
        if self.stop:
            await self.student.call("DELETE", f"/api/sessions/{self.session}")

    async def run(self, code: str, allowed: bool = False) -> list[dict[str, Any]]:
        """The outputs of a cell. Raises AssertionError with the traceback if it failed, unless it
        is allowed to.
        """
        key, outputs, replied, idle = uuid.uuid4().hex, [], None, False
        await self.socket.send_json(
            {
                "channel": "shell",
                "header": {"msg_id": key, "msg_type": "execute_request",
                           "username": self.student.name, "session": self.session,
                           "version": "5.3", "date": ""},
                "parent_header": {}, "metadata": {}, "buffers": [],
                "content": {"code": code, "silent": False, "store_history": True,
                            "user_expressions": {}, "allow_stdin": False, "stop_on_error": True},
            }
        )  # fmt: skip
        while replied is None or not idle:
            message = await self.socket.receive(timeout=LIMIT)
            assert message.type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY), (
                f"the socket closed: {message}"
            )
            told = json.loads(message.data)
            if told["parent_header"].get("msg_id") != key:
                continue
            kind, content = told["msg_type"], told["content"]
            if kind == "execute_reply":
                replied = content
            elif kind == "status":
                idle = idle or content["execution_state"] == "idle"
            elif kind in ("stream", "display_data", "execute_result", "error"):
                outputs.append(
                    {"output_type": kind, **{k: v for k, v in content.items() if k != "transient"}}
                )
        assert allowed or replied["status"] == "ok", "\n".join(
            replied.get("traceback", [str(replied)])
        )
        return outputs
