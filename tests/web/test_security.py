"""Who may talk to the server: a tab that was let in, or whoever has the token; nothing else answers or is read."""

from __future__ import annotations

import json
import socket
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.counts import some
from tests.support.processes import Form

import headway
from headway.web.security import sign

from .serving import JSON, Answer, Headers, Server, at

HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
GUARDED = "guarded"
SESSION = at(GUARDED)
ROUTES = [
    "/",
    "/static/index.html",
    "/static/favicon.svg",
    "/api/project",
    "/api/stream",
    "/api/tickets",
    "/api/sessions",
    SESSION,
    *(
        f"{SESSION}/{one}"
        for one in ("events", "stream", "changes", "plan", "run", "answers", "current", "report", "todos/a/diff")
    ),
    "/nowhere",
    "/api",
    "/docs",
    "/openapi.json",
]
METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "ODD"]
ADD = json.dumps({"kind": "add", "content": "Not wanted"}).encode()


@pytest.fixture(scope="module", autouse=True)
def guarded(server: Server) -> headway.Session:
    """A session that nobody without the token sees or changes."""
    session = headway.open(server.folder, GUARDED)
    session.write([{"id": "secret", "content": "A secret item"}])
    return session


@pytest.fixture(autouse=True)
def elsewhere(guarded: headway.Session) -> None:
    """Another session is the current one: a test that begins one with the token makes that the current one."""
    guarded.store.set_current("elsewhere")


def unchanged(server: Server) -> bool:
    session = headway.open(server.folder, GUARDED)
    return session.version == 1 and session.store.current() == "elsewhere"


def is_closed(answer: Answer) -> bool:
    return answer.status in (401, 403) and b"secret" not in answer.body and is_headed(answer)


def is_headed(answer: Answer) -> bool:
    """Has what keeps a browser from doing more with it than is meant."""
    policy = answer.headers["content-security-policy"] or ""
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "script-src 'unsafe" not in policy and "http:" not in policy and "*" not in policy
    assert answer.headers["server"] is None
    assert answer.headers["access-control-allow-origin"] is None
    return True


def refused(server: Server, headers: Headers, method: str = "POST") -> None:
    """What would otherwise add an item goes no further."""
    path = f"{SESSION}/changes" if method == "POST" else SESSION
    answer = server.send(method, path, headers, ADD if method == "POST" else b"")
    assert is_closed(answer), (answer.status, answer.body)
    assert answer.status == 403
    assert unchanged(server)


# the token


@pytest.mark.parametrize("route", ROUTES)
def test_without_the_token_nothing_answers(server: Server, route: str) -> None:
    for method in METHODS:
        body = ADD if method in ("POST", "PUT", "PATCH", "DELETE") else b""
        for headers in ({"Host": server.host, **JSON}, {"Host": server.host}):
            answer = server.send(method, route, headers, body)
            if method in ("GET", "HEAD") and (route == "/" or route.startswith("/static/")):
                assert (answer.status, is_headed(answer)) == (200, True), (method, route)
                assert server.token.encode() not in answer.body
            else:
                assert is_closed(answer), (method, route)
    assert unchanged(server)


def test_no_way_of_writing_an_address_leads_around_the_key(server: Server) -> None:
    path = SESSION.removeprefix("/")
    for way in (f"//{path}", f"/static/../{path}", f"/static/%2e%2e/{path}", f"/%61{path[1:]}", f"/static/..%2f{path}"):
        answer = server.send("GET", way, {"Host": server.host})
        assert answer.status in (401, 404) and b"secret" not in answer.body, way


def test_a_wrong_token_is_no_token(server: Server) -> None:
    token, port = server.token, server.port
    page, other = server.as_page(), server.as_page()
    cookie, key = page["Cookie"], page["Authorization"].removeprefix("Tab ")
    tab, _, value = key.partition(".")
    wrong = [
        {"Authorization": f"Bearer {token}x"},
        {"Authorization": f"Bearer {token[:-1]}"},
        {"Authorization": f"Bearer {token.swapcase()}"},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer é🦊"},
        {"Authorization": f"Basic {token}"},
        {"Authorization": f"bearer:{token}"},
        {"Cookie": f"headway-{port}={token}x"},
        {"Cookie": f"headway-{port}="},
        {"Cookie": f"headway-{port + 1}={token}"},
        {"Cookie": f"headway={token}"},
        {"Cookie": f"headway-{port}"},
        {"Cookie": f'headway-{port}="{token}'},
        {"Cookie": "\x7f=;;;=="},
        {"Cookie": f"headway-{port}={token}"},
        {"Cookie": cookie},
        {"Authorization": f"Tab {key}"},
        {"Authorization": f"Bearer {key}", "Cookie": cookie},
        {"Authorization": f"Tab {token}", "Cookie": cookie},
        {"Authorization": f"Tab {key}", "Cookie": f"headway-{port}={token}"},
        {"Authorization": f"Tab {key}x", "Cookie": cookie},
        {"Authorization": f"Tab {other['Authorization'][4:].partition('.')[0]}.{value}", "Cookie": cookie},
        {"Authorization": f"Tab {tab}.", "Cookie": cookie},
        {"Authorization": f"Tab .{value}", "Cookie": cookie},
        {"Authorization": f"Tab {tab}.{server.let_in().partition('.')[2]}", "Cookie": cookie},
        {"Authorization": "Tab é🦊", "Cookie": cookie},
        {"X-Token": token},
        {"Referer": f"http://{server.host}/?token={token}"},
        {"Authorization": "Bearer wrong", "Cookie": cookie},
    ]
    for headers in wrong:
        assert is_closed(server.send("GET", SESSION, {"Host": server.host, **headers})), headers
        answer = server.send("POST", f"{SESSION}/changes", {"Host": server.host, **JSON, **headers}, ADD)
        assert is_closed(answer), headers
    assert unchanged(server)


def test_the_token_in_an_address_opens_the_page_and_nothing_else(server: Server) -> None:
    query = f"?token={server.token}"
    for route in ROUTES[3:]:
        assert is_closed(server.send("GET", route + query, {"Host": server.host})), route
    assert is_closed(server.send("POST", f"/{query}", {"Host": server.host, **JSON}, ADD))
    inside = json.dumps({"kind": "add", "content": "x", "token": server.token}).encode()
    assert is_closed(server.send("POST", f"{SESSION}/changes{query}", {"Host": server.host, **JSON}, inside))
    assert unchanged(server)


def test_the_first_visit_gives_the_tab_a_secret_and_the_browser_a_cookie_neither_of_which_is_the_token(
    server: Server,
) -> None:
    answer = server.send("GET", f"/?token={server.token}", {"Host": server.host})
    assert (answer.status, is_headed(answer)) == (303, True)
    address, _, tab = answer.headers["location"].partition("#tab=")
    assert (address, server.token in tab) == ("/", False)
    pair, *attributes = [part.strip() for part in answer.headers["set-cookie"].split(";")]
    assert server.token not in pair and tab.partition(".")[2] not in pair
    assert {"httponly", "samesite=strict", "path=/"} <= {one.lower() for one in attributes}
    assert not any(one.lower().startswith("domain") for one in attributes)
    key = {"Authorization": f"Tab {server.tab_key(tab)}"}
    assert server.send("GET", SESSION, {"Host": server.host, "Cookie": f"other=1; {pair}", **key}).status == 200
    entered = server.send("POST", "/api/entry", {"Host": server.host, **JSON, **key})
    assert (entered.status, entered.headers["set-cookie"].partition(";")[0]) == (200, pair)


def test_what_another_port_received_is_worthless(server: Server) -> None:
    """Cookies go to every port of a host: whoever serves another one has this one's, and can send what he likes."""
    server.let_in()
    seen = {"Host": server.host, "Cookie": server.cookie, "Origin": f"http://{server.host}"}
    for route in ROUTES[3:]:
        for method in METHODS:
            answer = server.send(method, route, {**seen, **JSON}, ADD if method not in ("GET", "HEAD") else b"")
            assert is_closed(answer), (method, route)
    assert is_closed(server.send("POST", "/api/entry", {**seen, **JSON}, b"{}"))
    assert unchanged(server)


def test_only_the_server_that_let_a_tab_in_can_prove_it(server: Server) -> None:
    tab = server.let_in()
    name, _, secret = tab.partition(".")
    ask = {"Host": server.host}
    first = server.send("GET", f"/api/entry?tab={name}&nonce={'a' * 16}", ask).data
    second = server.send("GET", f"/api/entry?tab={name}&nonce={'b' * 16}", ask).data
    assert first["start"] == second["start"] and first["proof"] != second["proof"]
    assert secret not in str(first) and server.tab_key(tab).partition(".")[2] not in str(first)
    asked = f"?tab={name}&nonce="
    for odd in ("", f"?tab={name}", "?nonce=aaaaaaaaaaaaaaaa", f"{asked}short", f"{asked}a%0a{'a' * 16}"):
        assert is_closed(server.send("GET", f"/api/entry{odd}", ask)), odd


def test_a_signed_link_opens_one_report_in_this_browser(server: Server) -> None:
    page = server.as_page()
    name, _, key = page["Authorization"].removeprefix("Tab ").partition(".")
    path, browser = f"{SESSION}/report", {"Host": server.host, "Cookie": page["Cookie"]}
    query = f"format=html&tab={name}&signature={sign(key, path)}"
    assert server.send("GET", f"{path}?{query}", browser).status == 200
    assert is_closed(server.send("GET", f"{path}?{query}", {"Host": server.host}))
    assert is_closed(server.send("GET", f"{path}?{query}0", browser))
    assert is_closed(server.send("GET", f"{at('another')}/report?{query}", browser))
    other = f"tab={name}&signature={sign(key, SESSION)}"
    assert is_closed(server.send("GET", f"{SESSION}?{other}", browser))


def test_a_wrong_token_in_the_address_sets_no_cookie(server: Server) -> None:
    for wrong in ("x", f"{server.token}x", server.token[:-1], "%00", "%ff", f"x&token={server.token}"):
        answer = server.send("GET", f"/?token={wrong}", {"Host": server.host})
        assert is_closed(answer), wrong
        assert answer.headers["set-cookie"] is None
    answer = server.send("GET", "/?token=wrong", server.as_page())
    assert answer.headers["set-cookie"] is None


def test_cookies_of_other_servers_on_this_machine_do_not_lock_anyone_out(server: Server) -> None:
    page = server.as_page()
    own_name = server.cookie.partition("=")[0]
    for cookie in (f'theirs={{"a": 1}}; {server.cookie}', f"{own_name}=theirs; {server.cookie}"):
        assert server.send("GET", SESSION, {**page, "Cookie": cookie}).status == 200


# where a request comes from


def test_only_the_address_of_the_server_is_answered(server: Server) -> None:
    port = server.port
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1",
        f"127.0.0.1:{port + 1}",
        f"127.0.0.1:{port}.evil.example",
        f"LOCALHOST:{port}",
        f"localhost.:{port}",
        f"127.1:{port}",
        f"0.0.0.0:{port}",
        f"[::]:{port}",
        f"[::1]:{port}",
        f"user@127.0.0.1:{port}",
        "localhost",
        "",
    ):
        for method in ("GET", "POST"):
            refused(server, {**server.own, **JSON, "Host": host}, method)
    for name in ("127.0.0.1", "localhost"):
        answer = server.send("GET", SESSION, {**server.own, "Host": f"{name}:{port}"})
        assert answer.status == 200


def test_a_request_that_names_no_host_or_two_is_refused(server: Server) -> None:
    key = f"Authorization: Bearer {server.token}\r\n"
    old = server.raw(f"GET {SESSION} HTTP/1.0\r\n{key}\r\n".encode())
    none = server.send("GET", SESSION, {"Authorization": f"Bearer {server.token}"})
    two = server.send("GET", SESSION, [*server.own.items(), ("Host", "evil.example")])
    named = server.send("GET", SESSION, {**server.own, "Host": "evil.example", "X-Forwarded-Host": server.host})
    assert [old.status, none.status, two.status, named.status] == [403, 400, 400, 403]
    assert not any(b"secret" in answer.body for answer in (old, none, two, named))


def test_other_sites_are_refused_even_with_the_cookie(server: Server) -> None:
    port = server.port
    own = {**server.as_page(), **JSON}
    for origin in (
        "http://evil.example",
        "https://evil.example",
        "null",
        "",
        f"http://127.0.0.1:{port + 1}",
        "http://127.0.0.1",
        f"https://127.0.0.1:{port}",
        f"http://127.0.0.1:{port}.evil.example",
        "file://",
    ):
        for method in ("GET", "POST"):
            refused(server, {**own, "Origin": origin}, method)
    for site in ("cross-site", "same-site", "odd", ""):
        for method in ("GET", "POST"):
            refused(server, {**own, "Sec-Fetch-Site": site}, method)
        refused(server, {**own, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"})
    refused(server, {**own, "Origin": f"http://{server.host}", "Sec-Fetch-Site": "cross-site"})


def test_the_own_page_is_not_refused(server: Server) -> None:
    own = {**server.as_page(), "Origin": f"http://{server.host}"}
    for site in ("same-origin", "none"):
        assert server.send("GET", SESSION, {**own, "Sec-Fetch-Site": site}).status == 200
    given = {**own, **JSON, "Sec-Fetch-Site": "same-origin"}
    assert server.send("POST", f"{SESSION}/run", given, b'{"action": "stop"}').status == 409
    given["Content-Type"] = "application/json; charset=utf-8"
    assert server.send("POST", f"{SESSION}/run", given, b'{"action": "stop"}').status == 409


def test_a_form_of_another_page_changes_nothing(server: Server) -> None:
    own = server.as_page()
    for kind in (
        "text/plain",
        "text/plain; application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "",
        "text/json",
    ):
        refused(server, {**own, "Content-Type": kind})
    refused(server, own)
    for method in ("POST", "PUT", "DELETE"):
        assert is_closed(server.send(method, f"{SESSION}/plan", own))
    assert is_closed(server.send("POST", f"{SESSION}/current", own))
    assert unchanged(server)


# what every answer has


def test_every_kind_of_answer_tells_the_browser_to_keep_to_itself(server: Server) -> None:
    for path in (
        *("/", "/static/base.css", "/static/app.js", "/static/favicon.svg", "/static/none.js", "/nowhere", "//"),
        *("/api/sessions", SESSION, f"{SESSION}/", f"{SESSION}/events?after=x", f"{SESSION}/changes"),
        *(f"{SESSION}/report?format={kind}" for kind in ("html", "json", "md", "odd")),
        at("nobody"),
        "/api/sessions/%00",
    ):
        assert is_headed(server.get(path)), path
    for body in (b"", b"{", b'{"kind": "drop", "id": "none"}', b'{"kind": "add", "content": ""}', b" " * 2_100_000):
        assert is_headed(server.post(f"{SESSION}/changes", body))
    assert is_headed(server.send("HEAD", "/", server.own))
    assert is_headed(server.send("OPTIONS", SESSION, {**server.own, **JSON}))
    with server.stream(GUARDED) as stream:
        assert stream.next().kind == "change"


def test_the_page_may_load_only_what_the_server_has(server: Server) -> None:
    policy = server.get("/").headers["content-security-policy"]
    given = {part.split()[0]: part.split()[1:] for part in policy.split(";")}
    assert given.pop("default-src") == ["'none'"]
    assert {source for sources in given.values() for source in sources} == {"'self'", "'none'", "data:"}
    assert (given["script-src"], given["connect-src"]) == (["'self'"], ["'self'"])
    report = server.get(f"{SESSION}/report").headers["content-security-policy"]
    assert "script-src" not in report and "default-src 'none'" in report


def test_an_error_of_the_api_is_data_also_without_the_token(server: Server) -> None:
    assert "message" in server.send("GET", SESSION, {"Host": server.host}).error


# what is read


def test_no_file_from_outside_is_read(server: Server) -> None:
    (server.folder / "outside.js").write_text("outside", encoding="utf-8")
    for path in (
        "/static/../app.py",
        "/static/../static/index.html",
        "/static/%2e%2e/app.py",
        "/static/%2e%2e%2fapp.py",
        "/static/..%2fapp.py",
        "/static/..%5capp.py",
        "/static/....//app.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        f"/static/{server.folder}/outside.js",
        f"/static/{str(server.folder).replace('/', '%2f')}%2foutside.js",
        "/static/index.html%00.js",
        "/static/%00",
        "/static/",
        "/static",
        "/static/none.js",
        "/static/INDEX.HTML",
        "/static/index",
        "/static/.",
        "/static/..",
        "/static/index.html/",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "file:///etc/passwd",
        "/.headway/web.json",
        "/static/web.json",
    ):
        answer = server.get(path)
        assert (answer.status in (404, 307), is_headed(answer)) == (True, True), path
        assert b"outside" not in answer.body and b"root:" not in answer.body and b"import" not in answer.body


def test_what_comes_with_the_page_is_sent_as_what_it_is(server: Server) -> None:
    kinds = {
        "index.html": "text/html",
        "base.css": "text/css",
        "app.js": "text/javascript",
        "favicon.svg": "image/svg+xml",
    }
    for file, kind in kinds.items():
        answer = server.get(f"/static/{file}")
        assert (answer.status, answer.headers["content-type"].partition(";")[0]) == (200, kind)
    assert server.get("/").body == server.get("/static/index.html").body


def test_only_this_machine_is_listened_to(server: Server) -> None:
    for address in ("127.0.0.2", "::1"):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as sock:
            sock.settimeout(5)
            assert sock.connect_ex((address, server.port)) != 0


# requests of any shape


@pytest.mark.parametrize("key", ["Bearer", "none"])
def test_an_address_with_many_fields_is_answered(server: Server, key: str) -> None:
    headers = server.own if key == "Bearer" else {"Host": server.host}
    answer = server.send("GET", f"/api/sessions?{'a=1&' * 1_500}", headers)
    assert answer.status == (200 if key == "Bearer" else 401)


_VISIBLE = string.ascii_letters + string.digits + string.punctuation
_PIECES = ["api", "sessions", GUARDED, "changes", "plan", "run", "events", "static", "..", "%2e%2e", "%00", "%ff", ""]
_PATHS = st.one_of(
    st.sampled_from(ROUTES),
    st.lists(st.sampled_from(_PIECES), max_size=7).map(lambda pieces: "/" + "/".join(pieces)),
    st.text(_VISIBLE, max_size=40).map(lambda text: "/" + text),
)
_FIELDS = st.tuples(
    st.sampled_from(
        ["token", "ticket", "tab", "nonce", "signature", "after", "limit", "item", "whole", "log", "format", "a", ""]
    ),
    st.one_of(
        st.sampled_from(["-1", "0", "99999999999999999999", "html", "%00", "%ff"]), st.text(_VISIBLE, max_size=9)
    ),
)
_QUERIES = st.lists(_FIELDS, max_size=18).map(lambda pairs: "&".join(f"{name}={value}" for name, value in pairs))
_NAMES = ["Origin", "Cookie", "Content-Type", "Sec-Fetch-Site", "Last-Event-ID", "Accept", "Range", "Expect", "X-Odd"]
_VALUES = st.one_of(
    st.sampled_from(["null", "application/json", "cross-site", "100-continue", "bytes=0-", "-1", "NaN"]),
    st.text(_VISIBLE + " é", max_size=30).map(str.strip),
)
_EXTRA = st.lists(st.tuples(st.sampled_from(_NAMES), _VALUES), max_size=5)
_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["kind", "action", "id", "content", "n", "title", "steps"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)
_BODIES = st.one_of(
    st.binary(max_size=60), _VALUE.map(lambda value: json.dumps(value).encode()), st.just(ADD), st.just(b"[" * 50_000)
)
_TARGETS = st.tuples(_PATHS, _QUERIES).map(lambda both: "?".join(both).replace("#", "").replace(" ", ""))


@settings(max_examples=some(100))
@given(st.sampled_from(METHODS), _TARGETS, _EXTRA, _BODIES)
def test_no_request_without_the_token_is_more_than_refused(
    server: Server, method: str, target: str, extra: list[tuple[str, str]], body: bytes
) -> None:
    sent = b"" if method in ("GET", "HEAD") else body
    answer = server.send(method, target, [("Host", server.host), *extra], sent)
    is_page = target.partition("?")[0] == "/" or target.startswith("/static/")
    assert answer.status in ((200, 400, 401, 403, 404) if is_page else (400, 401, 403)), (answer.status, answer.body)
    assert b"secret" not in answer.body
    assert unchanged(server)


@settings(max_examples=some(100))
@given(st.sampled_from(METHODS), _TARGETS, _EXTRA, _BODIES)
def test_no_request_with_the_token_is_too_much(
    server: Server, method: str, target: str, extra: list[tuple[str, str]], body: bytes
) -> None:
    if "stream" in target or target.startswith(f"{SESSION}/c"):
        return
    given = [(name, value) for name, value in extra if name not in ("Content-Type", "Expect")]
    sent = b"" if method in ("GET", "HEAD") else body
    answer = server.send(method, target, [*server.own.items(), *JSON.items(), *given], sent)
    assert answer.status < 500, (answer.status, answer.body)
    assert server.is_alive


_TEXTS = st.text(max_size=12) | st.sampled_from(["secret", "pending", "in_progress", "high", "x" * 20_000])
_FORMS: list[tuple[str, st.SearchStrategy[object]]] = [
    (f"{at('nearly right')}/{route}", st.fixed_dictionaries(known, optional=optional))
    for route, known, optional in (
        (
            "changes",
            {"kind": st.sampled_from(["begin", "add"]), "content": _TEXTS},
            {"after": _TEXTS, "priority": _TEXTS},
        ),
        ("changes", {"kind": st.just("edit"), "id": _TEXTS}, {"status": _TEXTS, "notes": _TEXTS, "depends_on": _VALUE}),
        ("changes", {"kind": st.just("move"), "id": _TEXTS, "position": st.integers() | _VALUE}, {}),
        ("changes", {"kind": st.sampled_from(["undo", "redo"])}, {"n": st.integers(-2, 3) | _VALUE}),
        ("changes", {"kind": st.sampled_from(["plan_to_todos", "drop", "plan_mode"])}, {"id": _TEXTS, "on": _VALUE}),
        ("plan", {"title": _TEXTS, "overview": _TEXTS, "steps": _VALUE}, {"risks": _VALUE}),
        (
            "run",
            {"action": st.sampled_from(["stop", "pause", "resume", "rollback"])},
            {"id": _TEXTS, "with_later": _VALUE},
        ),
        ("run", {"action": st.sampled_from(["execute", "message"]), "model": _TEXTS}, {"only": _TEXTS, "mode": _TEXTS}),
        ("answers", {"question_id": _TEXTS, "reply": st.sampled_from(["once", "no"])}, {"agent": _TEXTS}),
    )
]


@settings(max_examples=some(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(_FORMS).flatmap(lambda pair: st.tuples(st.just(pair[0]), pair[1])))
def test_no_form_that_is_nearly_right_is_too_much(server: Server, asked: tuple[str, object]) -> None:
    path, form = asked
    answer = server.put(path, form, "PUT" if path.endswith("plan") else "POST")
    assert answer.status < 500, (answer.status, answer.body)


_TOO_MUCH: list[tuple[str, Form]] = [
    ("changes", {"kind": "add", "content": "x", "depends_on": [1] * 200_000}),
    ("changes", {"kind": "add", "content": "x", "depends_on": [f"n{number}" for number in range(900)]}),
    ("changes", {"kind": "add", "content": "x", **{f"k{number}": 1 for number in range(50_000)}}),
    ("plan", {"title": "T", "overview": "O", "steps": [{}] * 200_000}),
    ("plan", {"title": "T", "overview": "O", "steps": [{}] * 900}),
]


@pytest.mark.parametrize(("path", "form"), _TOO_MUCH)
def test_however_much_is_wrong_the_answer_is_short(server: Server, path: str, form: Form) -> None:
    answer = server.put(f"{SESSION}/{path}", form, "PUT" if path == "plan" else "POST")
    assert answer.status in (400, 422)
    assert len(answer.body) < 20_000
    assert unchanged(server)


def test_a_script_is_not_read_for_a_request(server: Server) -> None:
    for action in ("execute", "message"):
        answer = server.run(GUARDED, action, model="scripted:/etc/passwd")
        assert (answer.status, answer.error["message"].partition(";")[0]) == (400, "A script is a file on this machine")
