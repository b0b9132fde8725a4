"""The hub's proxy: what comes is passed on as it comes, to where the hub said, and only the hub
says where.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from workshop.hub.proxy import Proxy, Routes

TOKEN = {"Authorization": "token secret"}


class World:
    """A proxy, its interface, and a server behind it that answers at every path, with a browser in
    front.
    """

    def __init__(self) -> None:
        self.server_app = web.Application(client_max_size=2**30)
        self.server_app.router.add_route("*", "/{path:.*}", self.answer)
        self.go_on = asyncio.Event()

    async def __aenter__(self) -> World:
        self.server = TestServer(self.server_app)
        await self.server.start_server()
        self.proxy = Proxy("secret", f"{self.server.make_url('/error')}")
        self.front, self.interface = TestServer(self.proxy.app), TestServer(self.proxy.interface)
        await self.front.start_server()
        await self.interface.start_server()
        self.browser = aiohttp.ClientSession(
            auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()
        )
        self.target = str(self.server.make_url("/")).rstrip("/")
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.browser.close()
        for each in (self.front, self.interface, self.server):
            await each.close()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path.endswith("/slow"):
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            await response.write(b"data: half\n\n")
            await self.go_on.wait()
            await response.write(b"data: whole\n\n")
            return response
        if request.path.endswith("/socket"):
            socket = web.WebSocketResponse(
                protocols=("v1.kernel.websocket.jupyter.org",), max_msg_size=0
            )
            await socket.prepare(request)
            async for message in socket:
                if message.data == "bye":
                    await socket.close(code=4001)
                elif message.type == aiohttp.WSMsgType.TEXT:
                    await socket.send_str(f"{socket.ws_protocol}: {message.data}")
                else:
                    await socket.send_bytes(message.data[::-1])
            return socket
        if request.path.endswith("/away"):
            raise web.HTTPFound("/elsewhere")
        told = {
            "path": request.raw_path,
            "method": request.method,
            "headers": dict(request.headers),
        }
        body = await request.read()
        headers = [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("Content-Encoding", "identity")]
        return web.json_response({**told, "size": len(body)}, headers=headers)  # type: ignore[arg-type]

    async def route(self, path: str, target: str | None = None, **options: Any) -> int:
        async with self.browser.post(
            self.interface.make_url(f"/api/routes{path}"),
            json={"target": target or self.target},
            headers=TOKEN,
            **options,
        ) as answer:
            return answer.status

    def url(self, path: str) -> str:
        return f"{str(self.front.make_url('/')).rstrip('/')}{path}"


def in_the_world(test: Callable[[World], Awaitable[None]]) -> Callable[[], None]:
    def run() -> None:
        async def whole() -> None:
            async with World() as world:
                await asyncio.wait_for(test(world), 60)

        asyncio.run(whole())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@pytest.mark.parametrize(
    "path, found",
    [("/", "hub"), ("/hub/login", "hub"), ("/user/ada", "ada"), ("/user/ada/lab/x", "ada"),
     ("/user/adam/lab", "hub"), ("/user/ad%61/", "ada"), ("/user/ada//x", "ada"),
     ("/user/m%20x/y", "m x")],
)  # fmt: skip
def test_the_longest_route_of_whole_names_is_taken(path: str, found: str) -> None:
    routes = Routes()
    for name, target in (("/", "hub"), ("/user/ada", "ada"), ("/user/m x/", "m x")):
        routes.add(name, {"target": target})
    route = routes.find(path)
    assert route is not None and route["target"] == found
    assert routes.remove("/user/ada/") and not routes.remove("/user/ada")
    assert Routes().find("/") is None


@in_the_world
async def test_requests_and_answers_are_passed_on(world: World) -> None:
    await world.route("/user/ada")
    headers = {
        "Cookie": "c=3",
        "Connection": "keep-alive, X-Own",
        "X-Own": "1",
        "Accept-Encoding": "gzip",
    }
    sent = b"x" * 3_000_000  # more than aiohttp takes in a body unless told
    async with world.browser.put(
        world.url("/user/ada/a%2Fb?q=%C3%A4&q=2"), data=sent, headers=headers
    ) as answer:
        told = await answer.json()
        assert answer.status == 200 and answer.headers.getall("Set-Cookie") == ["a=1", "b=2"]
    assert (
        told["path"] == "/user/ada/a%2Fb?q=%C3%A4&q=2"
        and told["method"] == "PUT"
        and told["size"] == len(sent)
    )
    got = told["headers"]
    assert got["Cookie"] == "c=3" and "X-Own" not in got and got["Accept-Encoding"] == "gzip"
    assert got["Host"] == got["X-Forwarded-Host"] == f"127.0.0.1:{world.front.port}"
    assert got["X-Forwarded-For"] == "127.0.0.1" and got["X-Forwarded-Proto"] == "http"
    assert got["X-Forwarded-Port"] == str(world.front.port)
    async with world.browser.get(world.url("/user/ada/away"), allow_redirects=False) as answer:
        assert answer.status == 302 and answer.headers["Location"] == "/elsewhere"
    async with world.browser.head(world.url("/user/ada/x")) as answer:
        assert answer.status == 200 and int(answer.headers["Content-Length"]) > 0


async def raw(port: int | None, said: bytes) -> bytes:
    """The first line of the answer to these bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(said)
    line = await reader.readline()
    writer.close()
    return line


@in_the_world
async def test_what_cannot_be_passed_on_is_answered_without_a_traceback(world: World) -> None:
    await world.route("/")
    own = b"GET /x HTTP/1.1\r\n"
    for said in (
        b"GET http://evil.example/x HTTP/1.1\r\nHost: evil.example",
        b"GET http://127.0.0.1:9/x HTTP/1.1\r\nHost: localhost",
        own + b"Host: x:abc",
        own + b"Host: x:99999999",
        own + b"Host: [::1",
        own + b"Host: \xff",
    ):
        assert b" 400 " in await raw(world.front.port, said + b"\r\n\r\n"), said
    for said in (b"OPTIONS * HTTP/1.1\r\nHost: a", b"CONNECT a:80 HTTP/1.1\r\nHost: a"):
        assert b" 404 " in await raw(world.front.port, said + b"\r\n\r\n"), said
    for said in (b"Host: ", b"Host: a\r\nCookie: \xff"):
        assert b" 200 " in await raw(world.front.port, own + said + b"\r\n\r\n"), said


@in_the_world
async def test_the_interface_takes_routes_and_the_token_only(world: World) -> None:
    head = b"POST /api/routes/x HTTP/1.1\r\nHost: a\r\nAuthorization: token "
    for token in (b"\xff\xfe", "sécret".encode(), b"", b"secret\xff"):
        assert b" 403 " in await raw(world.interface.port, head + token + b"\r\n\r\n"), token
    bodies = [b"{x", b"\xff", b"[]", b"{}", b"[" * 100_000, b'{"target": 3}']
    targets = (
        "http://[",
        "nonsense",
        "ftp://a",
        "http://127.0.0.1:99999",
        "http://a:b",
        "/x",
        "http://",
    )
    for body in (*bodies, *(b'{"target": "%s"}' % target.encode() for target in targets)):
        said = head + b"secret\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        assert b" 400 " in await raw(world.interface.port, said), body[:50]
    assert not world.proxy.routes.known


@in_the_world
async def test_an_answer_is_passed_on_before_it_has_ended(world: World) -> None:
    """The progress of a starting server; many may wait for theirs, and others get answers
    meanwhile.
    """
    await world.route("/")
    waiting = [await world.browser.get(world.url(f"/{n}/slow")) for n in range(40)]
    for answer in waiting:
        assert await answer.content.readuntil(b"\n\n") == b"data: half\n\n"
    async with world.browser.get(world.url("/quick")) as quick:
        assert quick.status == 200
    world.go_on.set()
    for answer in waiting:
        assert await answer.read() == b"data: whole\n\n"


@in_the_world
async def test_websockets_are_joined_and_keep_their_subprotocol(world: World) -> None:
    await world.route("/user/ada")
    offered = ("unknown", "v1.kernel.websocket.jupyter.org")
    async with world.browser.ws_connect(
        world.url("/user/ada/socket"), protocols=offered, max_msg_size=0
    ) as socket:
        assert socket.protocol == "v1.kernel.websocket.jupyter.org"
        await socket.send_str("1 + 1")
        assert await socket.receive_str() == "v1.kernel.websocket.jupyter.org: 1 + 1"
        large = bytes(range(256)) * 50_000  # more than 10 MiB: a large output
        await socket.send_bytes(large)
        assert await socket.receive_bytes() == large[::-1]
        await socket.send_str("bye")
        assert (await socket.receive()).data == 4001, "the server's reason is told"
    async with world.browser.ws_connect(world.url("/user/ada/socket")) as plain:
        assert plain.protocol is None


@in_the_world
async def test_a_websocket_that_the_server_refuses_is_refused(world: World) -> None:
    await world.route("/")
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await world.browser.ws_connect(world.url("/no-socket-here"))
    assert refused.value.status == 200  # what the server answered; not 101


@in_the_world
async def test_where_nothing_answers_the_hub_says_so(world: World) -> None:
    async with world.browser.get(world.url("/nowhere")) as answer:
        assert answer.status == 404 and (await answer.json())["path"] == "/error/404?url=%2Fnowhere"
    await world.route("/user/ada", "http://127.0.0.1:1")
    async with world.browser.get(world.url("/user/ada/lab")) as answer:
        assert (
            answer.status == 503
            and (await answer.json())["path"] == "/error/503?url=%2Fuser%2Fada%2Flab"
        )
    world.proxy.error_target = "http://127.0.0.1:1"
    async with world.browser.get(world.url("/user/ada/lab")) as answer:
        assert answer.status == 503 and "nothing answers at /user/ada/lab" in await answer.text()
    async with world.browser.get(world.url("/_chp_healthz")) as answer:
        assert await answer.json() == {"status": "OK"}


@in_the_world
async def test_only_who_knows_the_token_changes_routes(world: World) -> None:
    routes = world.interface.make_url("/api/routes/user/ada")
    for headers in (
        {},
        {"Authorization": "token wrong"},
        {"Authorization": "token "},
        {"Authorization": "token sécret"},
    ):
        for method in ("GET", "POST", "DELETE"):
            async with world.browser.request(
                method, routes, json={"target": "http://evil"}, headers=headers
            ) as answer:
                assert answer.status == 403
    async with world.browser.post(
        world.front.make_url("/api/routes/x"), json={"target": "x"}, headers=TOKEN
    ) as answer:
        assert answer.status == 404, "the interface is not at the room's address"
    async with world.browser.post(routes, json={"target": 5}, headers=TOKEN) as answer:
        assert answer.status == 400
    assert await world.route("/user/ada", data=None) == 201
    async with world.browser.get(world.interface.make_url("/api/routes"), headers=TOKEN) as answer:
        told = await answer.json()
        assert told["/user/ada"]["target"] == world.target and told["/user/ada"][
            "last_activity"
        ].endswith("Z")
    async with world.browser.delete(routes, headers=TOKEN) as answer:
        assert answer.status == 204
    async with world.browser.delete(routes, headers=TOKEN) as answer:
        assert answer.status == 404
