"""What a sandbox is told, from what a command may use: nothing is run here."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.app.questions import parse_reply
from headway.core.errors import HeadwayError, SettingsError
from headway.settings import load_settings
from headway.tools import Answer, Approvals, Executor, Question, Reply, builtin_tools
from headway.tools.sandbox.places import Places, find_places
from headway.tools.sandbox.sandbox import StandIns, bubblewrap_arguments, describe_sandbox, seatbelt_profile

PLACES = Places(
    "/Users/a/p",
    "/Users/a",
    private=("/Users/a", "/tmp"),
    readable=("/Users/a/.pyenv", "/Users/a/p/.git/config"),
    writable=("/Users/a/p", "/Users/a/p/.git"),
    hidden_folders=("/Users/a/p/.headway", "/Users/a/.pyenv/secrets"),
    hidden_files=("/Users/a/.pyenv/token",),
    links=(("/Users/a/.pyenv", "/Users/a/py"),),
    missing=("/Users/a/p/.git/hooks",),
    forbidden=("/Users/a/p/.git/commondir",),
)


def test_bubblewrap_mounts_what_is_deeper_over_what_is_around_it() -> None:
    words = bubblewrap_arguments("/usr/bin/bwrap", PLACES, StandIns("/t/tmp", "/t/cache", "/t/empty"), network=False)
    start = words.index("/") - 1
    assert words[:start] == [
        *("/usr/bin/bwrap", "--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"),
        *("--unshare-cgroup-try", "--cap-drop", "ALL", "--unshare-net"),
    ]
    text = " ".join(words[start:])
    assert text.startswith("--ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --bind /t/tmp /tmp --tmpfs /Users/a ")
    order = [words.index(path, start) for path in ("/Users/a", "/Users/a/p", "/Users/a/p/.git", "/Users/a/p/.headway")]
    assert order == sorted(order)
    assert text.index("--bind /Users/a/p/.git ") < text.index("--ro-bind /Users/a/p/.git/config")
    assert text.index("--ro-bind /Users/a/.pyenv ") < text.index("--ro-bind /t/empty /Users/a/.pyenv/token")
    assert "--ro-bind /Users/a/p/.git/hooks /Users/a/p/.git/hooks" in text
    assert "--bind /t/cache /Users/a/.cache" in text and "--symlink /Users/a/.pyenv /Users/a/py" in text
    assert text.endswith("--remount-ro /Users/a/.pyenv/secrets --chdir /Users/a/p --")


def test_a_profile_for_macos_lets_the_last_rule_that_fits_decide() -> None:
    profile = seatbelt_profile(PLACES, temporary="/private/var/t", network=False)
    lines = profile.splitlines()
    assert lines[:4] == ["(version 1)", "(allow default)", "(deny network*)", "(deny file-write*)"]
    at = lines.index
    assert at('(deny file-read* (subpath "/Users/a"))') < at('(allow file-read* (subpath "/Users/a/p"))')
    assert at('(allow file-write* (subpath "/Users/a/p"))') < at('(deny file-write* (subpath "/Users/a/p/.headway"))')
    assert at('(allow file-write* (subpath "/Users/a/p/.git"))') < at(
        '(deny file-write* (subpath "/Users/a/p/.git/config"))'
    )
    assert '(deny file-write* (subpath "/Users/a/p/.git/hooks"))' in lines
    assert '(deny file-write* (literal "/Users/a/p/.git/commondir"))' in lines
    assert "(deny network*)" not in seatbelt_profile(PLACES, temporary="/private/var/t", network=True)
    odd = Places('/a"b', "/h", (), (), ('/a"b\\c',), ())
    assert '(subpath "/a\\"b\\\\c")' in seatbelt_profile(odd, temporary="/t", network=True)


def test_secrets_in_what_can_be_read_are_hidden_and_a_project_in_the_home_folder_is_not(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for name in (".cargo/bin", ".ssh", "other/.headway", "project/.git/hooks", "project/.venv/bin", "tools/bin"):
        (home / name).mkdir(parents=True)
    (home / ".cargo/credentials.toml").write_text("token")
    (home / "project/.git/config").write_text("[core]\n")
    (home / "bin").symlink_to(home / "tools/bin")
    project, git = f"{home}/project", f"{home}/project/.git"
    environ = {"HOME": str(home), "PATH": f"{home}/bin:{project}/.venv/bin:relative/bin"}
    places = find_places(project, environ, private=[str(home)])
    assert places.private == (str(home),) and places.writable == (project, git)
    ours = [path for path in places.readable if path.startswith(str(home))]
    assert sorted(ours) == sorted([f"{home}/.cargo", f"{home}/tools/bin", f"{git}/config", f"{git}/hooks"])
    assert (f"{home}/tools/bin", f"{home}/bin") in places.links
    assert f"{home}/.cargo/credentials.toml" in places.hidden_files
    assert places.hidden_folders[0] == f"{project}/.headway" and f"{home}/.ssh" not in places.hidden_folders
    assert places.missing == (f"{project}/.headway",) and places.forbidden == (
        f"{git}/commondir",
        f"{git}/config.worktree",
    )
    whole = find_places(str(home), environ, private=[str(home)])
    assert {f"{home}/.ssh", f"{home}/.headway"} <= {*whole.hidden_folders}, "a project that is the home folder itself"


@pytest.mark.parametrize("name", ["PATH", "GOPATH", "HOME"])
def test_no_way_to_name_the_home_folder_has_all_of_it_read(tmp_path: Path, name: str) -> None:
    home, project = tmp_path / "people/u", tmp_path / "people/u/project"
    for folder in (home / "bin", home / ".local/bin", project, tmp_path / "people/bin"):
        folder.mkdir(parents=True)
    (tmp_path / "people/me").symlink_to(home)
    named = f"{tmp_path}/people/me"
    environ = {
        "HOME": f"{home}/" if name == "HOME" else named,
        "PATH": f"{home}/bin:{named}/bin:{home}/.local/bin:{tmp_path}/people/bin",
        "GOPATH": str(home) if name == "GOPATH" else "",
    }
    places = find_places(str(project), environ, private=[str(tmp_path)])
    ours = {path for path in places.readable if path.startswith(str(tmp_path))}
    assert ours == {f"{home}/bin", f"{home}/.local/bin", f"{tmp_path}/people/bin"}


def test_a_mode_without_its_sandbox_asks_as_default_and_says_so() -> None:
    assert Approvals(mode="sandboxed").lacks_sandbox and not Approvals(mode="sandboxed", has_sandbox=True).lacks_sandbox
    assert describe_sandbox("off") == "Commands run without a sandbox: the setting 'sandbox' is off."
    assert describe_sandbox("off", "sandboxed").endswith("The mode sandboxed therefore asks as default does.")


def test_what_is_set_for_the_sandbox_is_checked(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"Expected 'auto' \| 'on' \| 'off', received 'yes'"):
        load_settings(tmp_path, {"sandbox": "yes"}, {})
    with pytest.raises(HeadwayError, match="Expected a full path"):
        load_settings(tmp_path, {"sandbox_read": ["lib"]}, {})
    settings = load_settings(tmp_path, {}, {"HEADWAY_SANDBOX_READ": "~/lib;/srv/data"}).settings
    assert settings.sandbox_read == ("~/lib", "/srv/data")


def test_only_a_command_in_the_sandbox_can_be_allowed_without_the_network() -> None:
    assert parse_reply("o", in_sandbox=True) == Answer(Reply.OFFLINE) and parse_reply("o") is None


async def test_a_yes_without_the_network_is_a_no_where_there_is_no_sandbox(tmp_path: Path) -> None:
    async def ask(question: Question) -> Answer:
        assert not question.in_sandbox
        return Answer("offline")

    result = await Executor(builtin_tools(tmp_path), approvals=Approvals(ask)).call("bash", {"command": "touch x"})
    assert result.denied and "it would have the network" in result.text and not (tmp_path / "x").exists()
