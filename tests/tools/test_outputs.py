"""Long answers: cut in the middle exactly, kept whole in a private file, in bounded memory."""

from __future__ import annotations

import os
import resource
import stat
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.counts import FULL, some
from tests.support.projects import temporary_folder

from headway.core.secrets import redact
from headway.tools.outputs import MOST_FILES, OutputFiles

KEY = "sk-" + "abcd1234" * 4
PEM = (
    "-----BEGIN PRIVATE KEY-----\n"
    + ("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" * 2 + "\n") * 30
    + "-----END PRIVATE KEY-----\n"
)


def spooled(
    folder: Path, pieces: list[str], limit: int = 1_000, kept_bytes: int = 50_000_000
) -> tuple[str, str | None]:
    with OutputFiles(str(folder), kept_bytes=kept_bytes).make_spool("bash", limit) as spool:
        for piece in pieces:
            spool.add(piece)
    return spool.text(), spool.kept


def kept_text(folder: Path, pieces: list[str], limit: int = 1_000) -> str:
    kept = spooled(folder, pieces, limit)[1]
    assert kept is not None
    return (folder / kept).read_text()


@pytest.mark.parametrize("limit", [1_000, 1_001])
@pytest.mark.parametrize("char", ["x", "é", "修", "🙂"])
def test_text_is_cut_exactly_beyond_its_limit(tmp_path: Path, limit: int, char: str):
    outputs = OutputFiles(str(tmp_path), kept_bytes=1_000_000)
    fits = char * limit
    assert outputs.shorten("bash", fits, limit) == (fits, None)
    assert not (tmp_path / ".headway").exists()
    text, kept = outputs.shorten("bash", "a" + fits + "bc", limit)
    assert kept is not None
    head, note, tail = text.split("\n\n")
    assert (head, tail) == ("a" + char * ((limit + 1) // 2 - 1), char * (limit // 2 - 2) + "bc")
    assert note == f"[… 3 characters left out; the whole text is in {kept}; read parts of it with read_file …]"
    assert (tmp_path / kept).read_text() == "a" + fits + "bc"


def test_what_is_kept_is_the_owners_alone(tmp_path: Path):
    (tmp_path / ".headway" / "outputs").mkdir(parents=True, mode=0o755)
    before = os.umask(0)
    try:
        kept = spooled(tmp_path, ["x" * 2_000])[1]
    finally:
        os.umask(before)
    assert kept is not None and kept.startswith(".headway/outputs/")
    modes = [stat.S_IMODE((tmp_path / path).stat().st_mode) for path in (kept, ".headway/outputs", ".headway")]
    assert modes == [0o600, 0o700, 0o700]


PARTS = [
    *("\n", " ", "x" * 50_000, "line\n" * 20_000, KEY, f"token: {KEY}\n", "password=\n  hunter2x\n", PEM, PEM[:700]),
    "修" * 9_000,
]


@settings(max_examples=some(20))
@given(st.lists(st.integers(0, len(PARTS) - 1), min_size=1, max_size=10), st.integers(300, 70_000))
def test_pieces_of_any_size_give_the_same_as_one(parts: list[int], size: int):
    text = "begin " + "".join(PARTS[part] for part in parts) + "x" * 1_000
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    with temporary_folder() as folder:
        (one, kept_one), (many, kept_many) = spooled(folder, [text]), spooled(folder, pieces)
        assert kept_one and kept_many
        assert one.replace(kept_one, "") == many.replace(kept_many, "")
        assert (folder / kept_one).read_text() == (folder / kept_many).read_text() == redact(text)


def test_single_characters_are_taken_too(tmp_path: Path):
    text = ("word " * 30 + "\n") * 1_000
    assert kept_text(tmp_path, [*text]) == text


@pytest.mark.full
@pytest.mark.parametrize("secret", [KEY, f"password: '{'hunter2x' * 3}'", PEM], ids=["key", "named", "block"])
def test_no_secret_slips_through_where_text_is_parted(tmp_path: Path, secret: str):
    for before in [*range(103_000, 106_000, 371)][:: 1 if FULL else 4]:
        for filling in ("x" * 79 + "\n", "x" * 80 + " "):
            text = (filling * (before // 80))[: before - 1] + " " + secret + " " + filling * 700
            kept = kept_text(tmp_path, [text])
            assert "hunter2x" not in kept and "abcd1234" not in kept and "MIIEvQ" not in kept
            assert kept == redact(text)


def test_a_line_of_ten_megabytes_is_kept(tmp_path: Path):
    line = "0123456789" * 1_000_000
    assert kept_text(tmp_path, [line]) == line


def test_no_more_is_kept_than_allowed(tmp_path: Path):
    for pieces in (["é" * 300_000], ["é" * 999] * 301):
        text, kept = spooled(tmp_path, pieces, kept_bytes=100_001)
        assert kept is not None and f"the beginning is saved in {kept}" in text
        data = (tmp_path / kept).read_bytes()
        assert len(data) <= 100_001
        assert data.decode().endswith("é\n[cut here: too long to be kept]\n")


def test_nothing_is_kept_where_that_is_turned_off(tmp_path: Path):
    text, kept = spooled(tmp_path, ["x" * 2_000], kept_bytes=0)
    assert kept is None
    assert "it could not be saved: the setting `limits.kept_bytes` or `limits.outputs_bytes` is 0" in text
    assert not (tmp_path / ".headway").exists()


def test_a_folder_that_cannot_be_made_is_said_and_the_answer_still_comes(tmp_path: Path):
    (tmp_path / ".headway").write_text("a file")
    text, kept = spooled(tmp_path, ["a" * 2_000 + "z"])
    assert kept is None and text.startswith("aaa") and text.endswith("z")
    assert "1,001 characters left out; it could not be saved: " in text and "is not a folder" in text


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_said(tmp_path: Path):
    (tmp_path / ".headway").mkdir(mode=0o500)
    text, kept = spooled(tmp_path, ["x" * 2_000])
    assert kept is None and "it could not be saved: Permission denied" in text


def test_a_link_in_place_of_the_folder_is_not_followed(tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / ".headway").mkdir()
    (tmp_path / ".headway" / "outputs").symlink_to(elsewhere)
    text, kept = spooled(tmp_path, ["x" * 2_000])
    assert kept is None and "is a link, which is not followed" in text
    assert [*elsewhere.iterdir()] == []


def test_no_room_leaves_the_beginning(tmp_path: Path):
    import signal

    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        text, kept = spooled(tmp_path, ["x" * 300_000])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert kept is not None and f"the beginning is saved in {kept}" in text
    assert (tmp_path / kept).read_text() == "x" * 100_000


def test_the_newest_outputs_stay(tmp_path: Path):
    outputs = OutputFiles(str(tmp_path), kept_bytes=1_000_000)
    kept = [outputs.shorten("bash", f"{at:04} " + "x" * 1_000, 1_000)[1] for at in range(300)]
    there = sorted((tmp_path / ".headway" / "outputs").iterdir())
    assert [str(path.relative_to(tmp_path)) for path in there] == kept[-MOST_FILES:]
    assert [path.read_text()[:4] for path in there] == [f"{at:04}" for at in range(100, 300)]


def test_all_outputs_together_stay_below_their_limit_and_the_newest_stay(tmp_path: Path):
    outputs = OutputFiles(str(tmp_path), kept_bytes=4_000, total_bytes=10_000)
    sizes = [3_000, 4_000, 2_500, 2_000, 9_000, 3_500]  # of the fifth only as much is kept as one may have
    kept = [outputs.shorten("bash", "x" * size, 1_000)[1] for size in sizes]
    there = sorted((tmp_path / ".headway" / "outputs").iterdir())
    assert [str(path.relative_to(tmp_path)) for path in there] == kept[-3:]
    assert sum(path.stat().st_size for path in there) <= 10_000
    assert OutputFiles(str(tmp_path), kept_bytes=4_000, total_bytes=0).shorten("bash", "x" * 2_000, 1_000)[1] is None


def test_surrogates_do_not_keep_an_answer_from_being_kept(tmp_path: Path):
    assert kept_text(tmp_path, ["\ud800" * 2_000]) == "?" * 2_000


def test_memory_stays_bounded_whatever_the_length(tmp_path: Path):
    piece = ("some ordinary output of a program\n" * 31_000)[:1_000_000]
    outputs = OutputFiles(str(tmp_path), kept_bytes=2_000_000)
    tracemalloc.start()
    try:
        with outputs.make_spool("bash", 30_000) as spool:
            for _ in range(300):
                spool.add(piece)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert spool.length == 300_000_000
    assert peak < 20_000_000
