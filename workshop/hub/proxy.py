"""The door of a classroom: one address for all, behind which the hub and each student's server
listen on ports of their own.

JupyterHub starts it as `configurable-http-proxy`, whose command line and interface it has: `POST
/api/routes/user/ada` with `{"target": "http://127.0.0.1:4711"}` sends what begins with `/user/ada`
there, and of several routes that fit the longest one is taken. What comes is passed on as it comes,
in both directions: requests and answers piece by piece (the progress of a starting server is an
answer that takes a minute to end), and websockets, over which notebooks talk to their kernels. What
is no request for this door, such as one with the address of another server in its first line, is
answered 400, in one line.

How the real one differs: npm's configurable-http-proxy is that of JupyterHub, needs Node.js, speaks
TLS, and can be used here (`HUB_PROXY`). PyPI's package of the same name, 0.4.0, cannot: it does not
pass on the websocket's subprotocol, so a browser refuses the connection, and it holds an answer
back until it has ended.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hmac
import logging
import os
import signal
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote

import aiohttp
from aiohttp import web
from aiohttp.typedefs import Handler
from yarl import URL

# Of one connection only (RFC 9110, 7.6.1): each of the two that meet here has its own.
HOP = {
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
    "te", "trailer", "transfer-encoding", "upgrade",
}  # fmt: skip
HANDSHAKE = {
    "sec-websocket-key",
    "sec-websocket-version",
    "sec-websocket-extensions",
    "sec-websocket-protocol",
}
UNANSWERED = (aiohttp.ClientError, TimeoutError, OSError)
log = logging.getLogger("proxy")
# it has a traceback for everything that is no HTTP
silent = logging.Logger("aiohttp", logging.CRITICAL + 1)


class Routes:
    """Which path leads where."""

    def __init__(self) -> None:
        self.known: dict[str, dict[str, Any]] = {}

    def add(self, path: str, route: dict[str, Any]) -> None:
        self.known[tidy(path)] = {**route, "last_activity": now()}

    def remove(self, path: str) -> bool:
        return self.known.pop(tidy(path), None) is not None

    def find(self, path: str) -> dict[str, Any] | None:
        """The route of the longest beginning of `path`, by whole names: `/user/ad` is none of
        `/user/ada`.
        """
        path = tidy(path)
        while path not in self.known and path != "/":
            path = tidy(path.rpartition("/")[0])
        return self.known.get(path)


class Proxy:
    """Passes on what comes to `app`; `interface` is for the hub, which alone knows the token."""

    def __init__(self, token: str, error_target: str | None = None) -> None:
        self.routes, self.token, self.error_target = Routes(), token, error_target
        self.app, self.interface = (web.Application(middlewares=[one_line]) for _ in range(2))
        self.app.router.add_route("*", "/{anything:.*}", self.pass_on)
        self.app.cleanup_ctx.append(self.connected)
        self.interface.router.add_route("*", "/api/routes{path:.*}", self.change_routes)

    async def connected(self, app: web.Application) -> Any:
        """One session for all that is passed on. No connection is kept: a server that restarts
        would have dropped it.
        """
        self.client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, force_close=True),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )
        yield
        await self.client.close()

    async def pass_on(self, request: web.Request) -> web.StreamResponse:
        if not request.raw_path.startswith("/"):
            raise ValueError("the first line names another server")
        if request.path == "/_chp_healthz":
            return web.json_response({"status": "OK"})
        route = self.routes.find(request.path)
        if route is None:
            return await self.error(request, 404)
        route["last_activity"] = now()
        url = URL(route["target"].rstrip("/") + request.raw_path, encoded=True)
        try:
            if request.headers.get("Upgrade", "").lower() == "websocket":
                return await self.socket(request, url, route)
            return await self.answer(request, url)
        except UNANSWERED as error:
            log.warning("503 %s %s: %r", request.method, request.path, error)
            return await self.error(request, 503)

    async def answer(self, request: web.Request, url: URL) -> web.StreamResponse:
        """Passes a request on, and its answer back, while they come."""
        async with self.client.request(
            request.method, url, headers=passed_on(request),
            data=request.content if request.can_read_body else None, allow_redirects=False,
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        ) as found:  # fmt: skip
            response = web.StreamResponse(status=found.status, reason=found.reason)
            response.headers.extend(
                (k, v) for k, v in found.headers.items() if k.lower() not in HOP
            )
            await response.prepare(request)
            try:
                async for piece in found.content.iter_any():
                    await response.write(piece)
                await response.write_eof()
            except UNANSWERED as error:
                # too late to say 503: the connection ends where the answer does
                log.info("%s %s ended early: %r", request.method, request.path, error)
                if request.transport is not None:
                    request.transport.abort()
            return response

    async def socket(
        self, request: web.Request, url: URL, route: dict[str, Any]
    ) -> web.StreamResponse:
        """Joins two websockets: the server's is opened first, so that the browser is told the
        subprotocol that it chose.

        Nobody is asked for signs of life: on a busy machine they come late, and an idle kernel is
        ended by its server anyway.
        """
        offered = [
            name.strip()
            for name in request.headers.get("Sec-WebSocket-Protocol", "").split(",")
            if name.strip()
        ]
        try:
            server = await self.client.ws_connect(
                url, headers=passed_on(request, HANDSHAKE), protocols=offered, max_msg_size=0
            )
        except aiohttp.WSServerHandshakeError as refused:
            return web.Response(status=refused.status, text=refused.message)
        async with server:
            chosen = (server.protocol,) if server.protocol else ()
            browser = web.WebSocketResponse(protocols=chosen, max_msg_size=0, compress=False)
            await browser.prepare(request)
            await either(relay(browser, server, route), relay(server, browser, route))
            await browser.close(code=server.close_code or aiohttp.WSCloseCode.OK)
            return browser

    async def error(self, request: web.Request, status: int) -> web.Response:
        """The hub's page for an error, "your server is not running" for one."""
        if self.error_target:
            url = f"{self.error_target.rstrip('/')}/{status}?url={quote(request.path, safe='')}"
            with contextlib.suppress(*UNANSWERED):
                async with self.client.get(
                    URL(url, encoded=True), headers={"Accept": request.headers.get("Accept", "*/*")}
                ) as page:
                    return web.Response(
                        status=status,
                        body=await page.read(),
                        headers={"Content-Type": page.content_type},
                    )
        return web.Response(status=status, text=f"{status}: nothing answers at {request.path}\n")

    async def change_routes(self, request: web.Request) -> web.Response:
        """The hub's interface: GET, POST and DELETE of routes."""
        given = request.headers.get("Authorization", "").removeprefix("token ").strip()
        if not hmac.compare_digest(given.encode(errors="surrogateescape"), self.token.encode()):
            return web.Response(status=403)
        path = request.match_info["path"]
        if request.method == "POST":
            try:
                route = await request.json()
                target = URL(route["target"])
                leads = target.scheme in ("http", "https") and target.port and bool(target.host)
            except (ValueError, TypeError, LookupError, RecursionError):
                leads = False
            if not leads:
                return web.Response(
                    status=400, text="a route is a JSON object whose target is an http address"
                )
            self.routes.add(path, route)
            return web.Response(status=201)
        if request.method == "DELETE":
            return web.Response(status=204 if self.routes.remove(path) else 404)
        if tidy(path) == "/":
            return web.json_response(self.routes.known)
        found = self.routes.known.get(tidy(path))
        return web.Response(status=404) if found is None else web.json_response(found)


@web.middleware
async def one_line(request: web.Request, handler: Handler) -> web.StreamResponse:
    """400 for what cannot be read, such as a Host whose port is no number; 500 for what should not
    have happened.
    """
    try:
        return await handler(request)
    except ValueError as error:
        log.info("400 %s %a: %a", request.method, request.raw_path[:200], str(error)[:200])
        return web.Response(status=400, text="400: this is no request that can be passed on\n")
    except (web.HTTPException, ConnectionError):
        raise
    except Exception:
        log.exception("500 %s %a", request.method, request.raw_path[:200])
        return web.Response(status=500, text="500: the proxy made an error; its log says which\n")


def passed_on(request: web.Request, without: Iterable[str] = ()) -> list[tuple[str, str]]:
    """A request's headers, less those of its connection, more those that tell where it came
    from.
    """
    named = {name.strip().lower() for name in request.headers.get("Connection", "").split(",")}
    forwarded = {
        "X-Forwarded-For": ",".join(
            filter(None, [request.headers.get("X-Forwarded-For"), request.remote])
        ),
        "X-Forwarded-Proto": request.headers.get("X-Forwarded-Proto", request.scheme),
        "X-Forwarded-Host": request.headers.get("X-Forwarded-Host", request.host),
        "X-Forwarded-Port": request.headers.get(
            "X-Forwarded-Port", str(URL(f"//{request.host}").port or 80)
        ),
    }
    dropped = HOP | named | set(without) | {name.lower() for name in forwarded}
    return [(k, v) for k, v in request.headers.items() if k.lower() not in dropped] + list(
        forwarded.items()
    )


async def relay(source: Any, target: Any, route: dict[str, Any]) -> None:
    """Messages from one websocket to another, until either is closed."""
    async for message in source:
        route["last_activity"] = now()
        if message.type == aiohttp.WSMsgType.TEXT:
            await target.send_str(message.data)
        elif message.type == aiohttp.WSMsgType.BINARY:
            await target.send_bytes(message.data)


async def either(*parts: Any) -> None:
    """Runs until one of them ends, then ends the others. A connection that broke is an end like any
    other.
    """
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def tidy(path: str) -> str:
    """`/user/ada` for `/user/ada/` and `user/ada`; what is percent-encoded is decoded."""
    return "/" + unquote(path).strip("/")


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


async def serve(options: argparse.Namespace) -> None:
    proxy, runners = Proxy(os.environ["CONFIGPROXY_AUTH_TOKEN"], options.error_target), []
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    try:
        for app, ip, port in (
            (proxy.app, options.ip, options.port),
            (proxy.interface, options.api_ip, options.api_port),
        ):
            runners.append(web.AppRunner(app, access_log=None, logger=silent, shutdown_timeout=1))
            await runners[-1].setup()
            await web.TCPSite(runners[-1], ip or None, port).start()
        await ended.wait()
    finally:
        for runner in runners:
            await runner.cleanup()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m workshop.hub.proxy", description="a classroom's proxy"
    )
    parser.add_argument("--ip", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--api-ip", default="127.0.0.1")
    parser.add_argument("--api-port", type=int, default=8001)
    parser.add_argument("--error-target")
    parser.add_argument("--log-level", default="info")
    options = parser.parse_args()
    logging.basicConfig(level=options.log_level.upper(), format="[proxy] %(message)s")
    if not os.environ.get("CONFIGPROXY_AUTH_TOKEN"):
        parser.error("CONFIGPROXY_AUTH_TOKEN is not set: anyone could change the routes")
    asyncio.run(serve(options))


if __name__ == "__main__":
    main()
