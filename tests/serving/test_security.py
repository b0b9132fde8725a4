"""Who may ask, and what the server will not do for anybody: TLS, client certificates, tokens,
files, pickles.
"""

from __future__ import annotations

import ast
import http.client
import json
import pickle
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

grpc = pytest.importorskip("grpc", reason="the extra `serving` is not installed")
trustme = pytest.importorskip("trustme", reason="the extra `test` is not installed")

import internals as torch
from internals import serving
from internals.serving.command import make_settings, parser
from internals.serving.transport.security import same_token

Serve = Callable[..., Any]
X = torch.ones(1, 8)
TOKEN = "correct horse battery staple"


class Certificates:
    """An authority of our own, and what it issued: PEM files."""

    def __init__(self, folder: Path, name: str) -> None:
        authority = trustme.CA()
        self.ca = folder / f"{name}_ca.pem"
        authority.cert_pem.write_to_path(self.ca)
        self.server = self.issue(folder, authority, f"{name}_server", "127.0.0.1", "localhost")
        self.client = self.issue(folder, authority, f"{name}_client", "client@example.org")

    def issue(self, folder: Path, authority: Any, name: str, *identities: str) -> dict[str, Path]:
        issued = authority.issue_cert(*identities)
        certificate, key = folder / f"{name}.pem", folder / f"{name}_key.pem"
        issued.cert_chain_pems[0].write_to_path(certificate)
        issued.private_key_pem.write_to_path(key)
        return {"certificate": certificate, "key": key}


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("ours"), "ours")


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("strangers"), "strangers")


def get(url: str, context: ssl.SSLContext | None = None, **headers: str) -> Any:
    with urllib.request.urlopen(
        urllib.request.Request(url, headers=headers), context=context, timeout=20
    ) as answer:
        return answer.read()


def test_over_tls_only_with_the_right_authority(
    serve: Serve, mlp: Any, ours: Certificates, strangers: Certificates
) -> None:
    server = serve({"mlp": mlp}, tls_cert=ours.server["certificate"], tls_key=ours.server["key"])
    with serving.Client(server.grpc_address, root_certificates=ours.ca) as client:
        assert client.infer("mlp", X).shape == (1, 3)
    for options in ({"root_certificates": strangers.ca}, {}):
        with serving.Client(server.grpc_address, **options) as client:
            with pytest.raises(serving.RemoteError, match="UNAVAILABLE"):
                client.infer("mlp", X, timeout=20)
    trusting = ssl.create_default_context(cafile=str(ours.ca))
    assert (
        json.loads(get(f"https://{server.http_address}/v2/models/mlp", trusting))["name"] == "mlp"
    )
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        get(
            f"https://{server.http_address}/v2",
            ssl.create_default_context(cafile=str(strangers.ca)),
        )


def test_mutual_tls_wants_a_certificate_that_our_authority_signed(
    serve: Serve, mlp: Any, ours: Certificates, strangers: Certificates
) -> None:
    pair = {"tls_cert": ours.server["certificate"], "tls_key": ours.server["key"]}
    server = serve({"mlp": mlp}, **pair, tls_client_ca=ours.ca)
    with serving.Client(server.grpc_address, root_certificates=ours.ca, **ours.client) as client:
        assert client.infer("mlp", X).shape == (1, 3)
    for certificate in ({}, strangers.client):
        with serving.Client(
            server.grpc_address, root_certificates=ours.ca, **certificate
        ) as client:
            with pytest.raises(serving.RemoteError, match="UNAVAILABLE"):
                client.infer("mlp", X, timeout=20)
    context = ssl.create_default_context(cafile=str(ours.ca))
    with pytest.raises((urllib.error.URLError, ssl.SSLError, ConnectionError)):
        get(f"https://{server.http_address}/v2", context)
    context.load_cert_chain(ours.client["certificate"], ours.client["key"])
    assert get(f"https://{server.http_address}/v2/health/live", context)


def asked(address: str, *headers: tuple[str, str], path: str = "/v2") -> tuple[int, str]:
    """The status, and the body, of a request with just these headers."""
    connection = http.client.HTTPConnection(address, timeout=20)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    told = answer.read().decode()
    connection.close()
    return answer.status, told


OUR_NAMES = (
    "127.0.0.1", "127.0.0.1:8000", "[::1]", "[::1]:8000", "[FE80::1]", "10.0.0.7", "localhost",
    "LocalHost:8000", "localhost.", "models.example", "MODELS.example:443", "models.example.:80",
    "böhm.example",
)  # fmt: skip
NOT_OURS = (
    "evil.example", "evil.example:8000", "localhost.evil.example", "models.example.evil.example",
    "xmodels.example", "127.1", "127.0.0.1.evil.example", "x@127.0.0.1", "[evil.example]",
    "127.0.0.1:8000:evil", "evil.example:127.0.0.1", "", ":80", "localhost..", "local host", "[::1",
    "0x7f000001", "localhost/", "\x80",
)  # fmt: skip


def test_a_server_without_a_token_answers_only_to_its_own_names(serve: Serve, mlp: Any) -> None:
    hosts = ("models.example", "Böhm.example")
    server = serve({"mlp": mlp}, allowed_hosts=hosts, http_port=0)
    for address, path in ((server.http_address, "/v2"), (server.metrics_address, "/metrics")):
        for name in OUR_NAMES:
            assert asked(address, ("Host", name.encode()), path=path)[0] == 200, name  # type: ignore[arg-type]
        for name in NOT_OURS:
            status, told = asked(address, ("Host", name), path=path)
            assert status in (400, 403), name  # 400: not even HTTP
            if status == 403:
                assert "--allowed-hosts" in told and told.isascii() and told.isprintable(), told
        assert asked(address, ("Host", "evil.example"), path=path)[0] == 403
        assert asked(address, ("Host", "evil.example"), path="/v2/health/live")[0] == 403
        assert asked(address, path=path)[0] in (200, 400)


def test_a_server_without_a_token_answers_no_web_page(serve: Serve, mlp: Any) -> None:
    server = serve({"mlp": mlp}, control=True)
    body = json.dumps(
        {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 8], "data": [1] * 8}]}
    ).encode()
    for origin in ("https://evil.example", "null", "http://localhost:8000", ""):
        for path, data in (
            ("/v2", None),
            ("/v2/models/mlp/infer", body),
            ("/v2/repository/models/mlp/unload", b""),
        ):
            request = urllib.request.Request(
                f"http://{server.http_address}{path}", data, {"Origin": origin}
            )
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request, timeout=20)
            assert refused.value.code == 403 and b"--token-file" in refused.value.read()
    assert get(f"http://{server.http_address}/v2/models/mlp")


def test_with_a_token_it_is_the_token_that_counts(serve: Serve, mlp: Any) -> None:
    server = serve({"mlp": mlp}, token=TOKEN)
    named = ("Host", "any.example"), ("Origin", "https://any.example")
    assert asked(server.http_address, *named)[0] == 401
    assert asked(server.http_address, *named, ("Authorization", f"Bearer {TOKEN}"))[0] == 200


def test_the_value_of_host_is_a_name_of_the_server(serve: Serve, mlp: Any) -> None:
    from internals.serving.transport.security import is_address, name_in

    named = {name: name_in(name) for name in ("LOCALHOST.:1", "[::1]:1", "a:b:c")}
    assert named == {"LOCALHOST.:1": "localhost", "[::1]:1": "::1", "a:b:c": "a:b:c"}
    assert is_address("::1") and not is_address("a:b:c")
    server = serve({"mlp": mlp}, host="localhost")
    assert asked(server.http_address, ("Host", "localhost"))[0] == 200


@pytest.mark.parametrize("wrong", ["http://a", "a:80", "", "a b", "*", "a,b", "[::1]", "a/"])
def test_an_allowed_host_is_a_name(wrong: str) -> None:
    with pytest.raises(ValueError, match="allowed_hosts=.*a name without a port"):
        serving.Settings(allowed_hosts=(wrong,))


def test_the_option_takes_names_with_commas(tmp_path: Path) -> None:
    options = vars(parser().parse_args([str(tmp_path), "--allowed-hosts", "a.example, B"]))
    assert make_settings(options).allowed_hosts == ("a.example", "B")


def test_nothing_without_the_token_but_signs_of_life(serve: Serve, mlp: Any) -> None:
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    server = serve({"mlp": mlp}, token=TOKEN)
    with serving.Client(server.grpc_address, token=TOKEN) as client:
        assert client.infer("mlp", X).shape == (1, 3)
        assert client.call("ModelReady", name="mlp").ready
    for wrong in (None, "", TOKEN[:-1], TOKEN + "x", TOKEN.upper()):
        with serving.Client(server.grpc_address, token=wrong) as client:
            assert client.call("ServerLive").live and client.call("ServerReady").ready
            for ask in (lambda c: c.infer("mlp", X), lambda c: c.call("ModelMetadata", name="mlp")):
                with pytest.raises(
                    serving.RemoteError, match="UNAUTHENTICATED: the server wants a token"
                ):
                    ask(client)
            assert (
                health_pb2_grpc.HealthStub(client.channel)
                .Check(health_pb2.HealthCheckRequest())
                .status
                == 1
            )
            stream = client.channel.stream_stream(
                "/inference.GRPCInferenceService/ModelStreamInfer"
            )
            with pytest.raises(grpc.RpcError, match="UNAUTHENTICATED"):
                list(stream(iter([serving.client.write_request("mlp", X)])))
    base = f"http://{server.http_address}"
    assert get(f"{base}/v2/health/live") and get(f"{base}/v2/health/ready")
    for path in ("/v2", "/v2/models/mlp", "/metrics", "/v2/models/none"):
        with pytest.raises(urllib.error.HTTPError, match="401"):
            get(base + path)
        if path != "/v2/models/none":
            assert get(base + path, Authorization=f"Bearer {TOKEN}")
    assert TOKEN not in server.log.stream.getvalue() and TOKEN not in repr(server.settings)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        TOKEN,
        f"Basic {TOKEN}",
        f"Bearer{TOKEN}",
        f"Bearer  {TOKEN}",
        b"\xff",
        "Bearer \udcff",
    ],
)
def test_only_the_exact_header_is_the_token(header: Any) -> None:
    assert not same_token(header, TOKEN)
    assert same_token(f"bearer {TOKEN}", TOKEN)  # the scheme's case does not matter (RFC 7235)
    assert same_token(f"Bearer {TOKEN}", TOKEN) and same_token(f"Bearer {TOKEN}".encode(), TOKEN)


def test_a_token_comes_from_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    options = vars(parser().parse_args([str(tmp_path), "--token-file", str(tmp_path / "token")]))
    assert make_settings(options).token == TOKEN
    monkeypatch.setenv("INTERNALS_SERVE_TOKEN", "other")
    assert make_settings(vars(parser().parse_args([str(tmp_path)]))).token == "other"
    assert make_settings(options).token == TOKEN


def test_clients_load_what_is_in_the_folder_and_nothing_else(
    serve: Serve, mlp: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    for path in (folder / "inside.pt", tmp_path / "outside.pt"):
        torch.jit.save(torch.jit.script(mlp), path)
    (folder / "link.pt").symlink_to(tmp_path / "outside.pt")
    server = serve({}, model_dir=folder, control=True)
    names = (
        "../outside",
        str(tmp_path / "outside"),
        "outside",
        "link",
        "inside/../../outside",
        "..",
        "",
        "a\0b",
        "inside.pt",
    )
    with serving.Client(server.grpc_address) as client:
        assert client.infer("inside", X).shape == (1, 3)
        for name in names:
            with pytest.raises(serving.RemoteError) as caught:
                client.call("RepositoryModelLoad", model_name=name)
            assert caught.value.status.name in ("NOT_FOUND", "INVALID_ARGUMENT", "UNAVAILABLE"), (
                name
            )
            with pytest.raises(serving.RemoteError):
                client.infer(name, X)
        ready = [m.name for m in client.call("RepositoryIndex", ready=True).models]
    assert ready == ["inside"]


def test_no_pickle_near_the_wire(serve: Serve, mlp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are served with pickle out of order; and no module of serving imports it."""

    def refuse(*arguments: Any, **options: Any) -> Any:
        raise AssertionError("something was unpickled")

    server = serve({"mlp": mlp})
    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    with serving.Client(server.grpc_address) as client:
        assert client.infer("mlp", X).shape == (1, 3)
        for content in (pickle.dumps({"inputs": 1}), b"\x80\x04N."):
            with pytest.raises(grpc.RpcError):
                client.channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")(content)
    folder = Path(serving.__file__).parent
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, (ast.Import, ast.ImportFrom))
                else []
            )
            module = getattr(node, "module", None) or ""
            used = {part for name in (*names, module) for part in name.split(".")}
            assert not used & {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}, file
