"""A connection goes to a checked IP address, but the certificate must be that of the name."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from headway.tools.web.web_fetch import WebFetch

from .servers import HERE, Names, context, fetched, serving

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the openssl command")


class Certificate:
    def __init__(self, folder: Path, name: str) -> None:
        self.file, key = folder / f"{name}.pem", folder / f"{name}.key"
        subprocess.run(
            [
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=test",
                "-addext",
                f"subjectAltName={name}",
                "-keyout",
                str(key),
                "-out",
                str(self.file),
            ],
            check=True,
            capture_output=True,
        )
        self.shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.shown.load_cert_chain(self.file, key)

    @property
    def trusted(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.file))


async def test_the_certificate_of_the_name_is_accepted(tmp_path: Path):
    certificate = Certificate(tmp_path, "DNS:good.example")
    tool = WebFetch([HERE], lookup=Names(good_example=[[HERE]]), tls=certificate.trusted)
    async with serving(tls=certificate.shown) as server:
        result = await fetched(tool, server.url(host="good.example", scheme="https"), context(tmp_path))
    assert result.ok
    assert f"Host: good.example:{server.port}" in server.requests[0]


@pytest.mark.parametrize("name", ["DNS:other.example", "IP:127.0.0.1"])
async def test_a_trusted_certificate_for_another_name_or_only_the_address_is_refused(tmp_path: Path, name: str):
    certificate = Certificate(tmp_path, name)
    tool = WebFetch([HERE], lookup=Names(good_example=[[HERE]]), tls=certificate.trusted)
    async with serving(tls=certificate.shown) as server:
        result = await fetched(tool, server.url(host="good.example", scheme="https"), context(tmp_path))
    assert not result.ok
    assert result.text.startswith(f"The certificate of good.example:{server.port} cannot be trusted: Hostname mismatch")
    assert server.requests == []


async def test_an_address_is_accepted_with_a_certificate_for_it(tmp_path: Path):
    certificate = Certificate(tmp_path, "IP:127.0.0.1")
    async with serving(tls=certificate.shown) as server:
        tool = WebFetch([HERE], tls=certificate.trusted)
        assert (await fetched(tool, server.url(scheme="https"), context(tmp_path))).ok


async def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    certificate = Certificate(tmp_path, "DNS:good.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    tool = WebFetch([HERE], lookup=Names(good_example=[[HERE]]))
    async with serving(tls=certificate.shown) as server:
        result = await fetched(tool, server.url(host="good.example", scheme="https"), context(tmp_path))
    assert not result.ok
    assert "cannot be trusted: self" in result.text
    assert server.requests == []


async def test_a_server_that_speaks_no_tls_is_one_plain_sentence(tmp_path: Path):
    async with serving() as server:
        result = await fetched(WebFetch([HERE]), server.url(scheme="https"), context(tmp_path))
    assert not result.ok
    assert result.text.startswith(f"Could not make a secure connection to {HERE}:{server.port}: ")
    assert "\n" not in result.text


async def test_a_server_that_never_shakes_hands_is_given_up(tmp_path: Path):
    with socket.create_server((HERE, 0)) as silent:
        port = silent.getsockname()[1]
        result = await fetched(WebFetch([HERE]), f"https://{HERE}:{port}/", context(tmp_path, fetch_seconds=1))
    assert not result.ok
    assert result.text.startswith(f"Could not connect to {HERE}:{port}: it took too long.")
