"""Items that run at once: each in a folder and a conversation of its own, merged so that nothing is lost."""

from __future__ import annotations

import os
import re
import shutil
import stat
from pathlib import Path

import pytest

import headway
from headway.core.errors import NotRunnable
from headway.core.execution_events import AttemptFinished, AttemptStarted, ExecutionStarted
from headway.execute import ExecutionEnding, diff_todo, roll_back, undo
from headway.testing import Call, Turn

from .executing import (
    Answer,
    Doors,
    always,
    bash,
    begun,
    commit_files,
    does,
    facts,
    go,
    in_memory,
    item,
    listed,
    model,
    one,
    opened,
    outcomes,
    put,
    runs,
    scripted,
    sound,
    starts,
    states,
    texts,
    todo,
    until,
    waits,
    write,
)
from .shadows import bytes_below, git

LINES = "".join(f"line {number}\n" for number in range(1, 21))


def edit(number: int, text: str) -> Turn:
    return bash(f"sed -i 's/^line {number}$/{text}/' lines.txt")


def meeting(a: list[Turn], b: list[Turn], *, first: str = "a") -> dict[str, list[Answer]]:
    """Two items that work at the same time; the first to finish is known."""

    def turns(name: str, calls: list[Turn]) -> list[Answer]:
        door = [] if name == first else [waits("first is done")]
        return always(waits("both are here"), *calls, *door)

    return {"a": turns("a", a), "b": turns("b", b)}


async def met(folder: Path, doors: Doors, turns: dict[str, list[Answer]], **how: object) -> headway.Session:
    session = opened(folder, ["a", "b"])

    def heard(event: headway.Event) -> None:
        if isinstance(event.data, AttemptFinished):
            doors.open("first is done")

    task = begun(session, scripted(turns), parallel=2, tools=doors.tools, on_event=heard, **how)
    await until(lambda: doors.reached["both are here"] == 2)
    doors.open("both are here")
    await task
    sound(session)
    return session


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    return commit_files(tmp_path / "lines", {"lines.txt": LINES, "other.txt": "other\n"})


# merging


@pytest.mark.disk
async def test_edits_of_different_places_in_a_file_are_merged(lines: Path, doors: Doors) -> None:
    session = await met(lines, doors, meeting([edit(2, "by a")], [edit(18, "by b")]))
    assert texts(lines)["lines.txt"] == LINES.replace("line 2\n", "by a\n").replace("line 18\n", "by b\n")
    assert outcomes(session) == [("a", "completed"), ("b", "completed")]
    assert {fact.files for fact in facts(session, AttemptFinished)} == {("lines.txt",)}


async def test_edits_of_the_same_place_are_made_one_after_the_other_and_the_log_says_so(
    lines: Path, doors: Doors
) -> None:
    a, b = bash("sed -i '5s/$/ a/' lines.txt"), bash("sed -i '5s/$/ b/' lines.txt")
    session = await met(lines, doors, meeting([a], [b]))
    assert texts(lines)["lines.txt"].splitlines()[4] == "line 5 a b"
    assert outcomes(session) == [("a", "completed"), ("b", "conflict"), ("b", "completed")]
    began = [(fact.item_id, fact.attempt, fact.alone, fact.index) for fact in facts(session, AttemptStarted)]
    assert sorted(began) == [("a", 1, False, 1), ("b", 1, False, 2), ("b", 1, True, 2)]
    [conflict] = [fact for fact in facts(session, AttemptFinished) if fact.outcome == "conflict"]
    assert conflict.reason == "Conflict with changes made in the meantime in lines.txt."
    assert conflict.again
    assert conflict.kept
    assert states(session) == {"a": "completed", "b": "completed"}
    assert todo(session, "b").tool_calls >= 4, "both attempts count"


async def test_items_that_run_again_keep_their_number_and_do_not_add_to_the_total(lines: Path, doors: Doors) -> None:
    session = opened(lines, ["a", "b", "c", "d"])
    turns = {name: always(waits("here"), bash(f"sed -i '5s/$/ {name}/' lines.txt")) for name in ("a", "b", "c")}
    task = begun(session, scripted({**turns, "d": runs("false") + runs("true")}), parallel=3, tools=doors.tools)
    await until(lambda: doors.reached["here"] == 3)
    doors.open("here")
    result = await task
    began = facts(session, AttemptStarted)
    numbers = {fact.item_id: fact.index for fact in began}
    assert len(began) == 7 and sorted(numbers.values()) == [1, 2, 3, 4]
    assert [(fact.index, fact.total) for fact in began] == [(numbers[fact.item_id], 4) for fact in began]
    assert (result.outcome, result.total) == (ExecutionEnding.COMPLETE, 4)


async def test_an_item_that_a_person_adds_meanwhile_adds_to_the_total(folder: Path) -> None:
    session = opened(folder, ["a", "b"])
    adding = does(lambda: session.add("Do c", id="c"), "Done.")
    result = await go(session, model(a=[bash("false"), "No.", adding], b=["Done."], c=["Done."]), retries=1)
    began = [(fact.item_id, fact.index, fact.total) for fact in facts(session, AttemptStarted)]
    assert began == [("a", 1, 2), ("a", 1, 2), ("b", 2, 3), ("c", 3, 3)]
    assert result.total == 3


async def test_a_conflict_uses_up_no_retry(lines: Path, doors: Doors) -> None:
    a, b = bash("sed -i '5s/$/ a/' lines.txt"), bash("sed -i '5s/$/ b/' lines.txt")
    session = await met(lines, doors, meeting([a], [b]), retries=0)
    assert states(session) == {"a": "completed", "b": "completed"}


@pytest.mark.parametrize("first", ["a", "b"])
async def test_deleting_and_editing_a_file_at_once_is_as_one_after_the_other(
    lines: Path, doors: Doors, first: str
) -> None:
    a, b = bash("rm -f other.txt"), bash("echo more >> other.txt")
    session = await met(lines, doors, meeting([a], [b], first=first))
    found = texts(lines).get("other.txt")
    assert found == ("more\n" if first == "a" else None)
    assert ("conflict" in dict(outcomes(session)).values()) or len(outcomes(session)) == 3
    assert states(session) == {"a": "completed", "b": "completed"}


async def test_two_items_that_make_the_same_new_file_differently_lose_nothing(lines: Path, doors: Doors) -> None:
    a, b = bash("echo from a >> new.txt"), bash("echo from b >> new.txt")
    await met(lines, doors, meeting([a], [b]))
    assert texts(lines)["new.txt"] == "from a\nfrom b\n"


async def test_what_runs_again_alone_runs_beside_nothing(lines: Path, doors: Doors) -> None:
    session = opened(lines, [item("a"), item("b"), item("c", "a"), item("d", "a")])
    beside: list[list[str]] = []

    def look() -> None:
        assert session.run is not None
        assert session.run.execution is not None
        beside.append([*session.run.execution.executing])

    change = bash("sed -i '5s/$/ b/' lines.txt")
    turns: dict[str, list[Answer]] = {
        "a": [waits("here"), bash("sed -i '5s/$/ a/' lines.txt"), "Done."],
        "b": [waits("here"), change, waits("a is done"), "Done.", does(look, change), does(look, "Done.")],
        "c": ["Done."],
        "d": ["Done."],
    }

    def heard(event: headway.Event) -> None:
        if isinstance(event.data, AttemptFinished):
            doors.open("a is done")

    task = begun(session, scripted(turns), parallel=3, tools=doors.tools, on_event=heard)
    await until(lambda: doors.reached["here"] == 2)
    doors.open("here")
    await task
    assert beside == [["b"], ["b"]]
    assert texts(lines)["lines.txt"].splitlines()[4] == "line 5 a b"
    sound(session)


async def test_what_a_person_edits_during_a_parallel_run_is_not_lost(lines: Path, doors: Doors) -> None:
    session = opened(lines, ["a", "b"])
    turns = {"a": [edit(2, "by a"), waits("a"), "Done."], "b": always(edit(10, "by b"), waits("b"))}
    task = begun(session, scripted(turns), parallel=2, tools=doors.tools)
    await doors.until("a", "b")
    text = LINES.replace("line 10\n", "mine\n").replace("line 19\n", "mine too\n")
    put(lines, {"lines.txt": text, "new.txt": "new\n", "other.txt": "changed\n"})
    doors.open("a", "b")
    await task
    assert texts(lines) == {
        "lines.txt": text.replace("line 2\n", "by a\n"),
        "new.txt": "new\n",
        "other.txt": "changed\n",
    }
    assert outcomes(session).count(("b", "conflict")) == 1
    assert states(session) == {"a": "completed", "b": "completed"}


async def test_items_that_changed_nothing_are_completed(lines: Path, doors: Doors) -> None:
    before = texts(lines)
    session = await met(lines, doors, meeting([bash("true")], [bash("true")]))
    assert texts(lines) == before
    assert [fact.files for fact in facts(session, AttemptFinished)] == [(), ()]


# apart from each other


async def test_each_item_has_a_folder_of_its_own_with_all_that_is_there(folder: Path, doors: Doors) -> None:
    put(folder, {"readme.txt": "dirty\n", "untracked.txt": "untracked\n", "sub/deep.txt": "deep\n"})
    put(folder, {".gitignore": ".venv\nnode_modules\nbuild\n"})
    put(folder, {".venv/bin/python": "#!\n", "node_modules/x/index.js": "x\n", "build/out": "out\n"})
    session = opened(folder, ["a", "b"])
    looks = bash("pwd; cat readme.txt untracked.txt sub/deep.txt .venv/bin/python node_modules/x/index.js; ls -a")
    asked = scripted({name: [waits("here"), looks, bash(f"echo {name} > own.txt; ls"), "Done."] for name in "ab"})
    task = begun(session, asked, parallel=2, tools=doors.tools, retries=0)
    await until(lambda: doors.reached["here"] == 2)
    doors.open("here")
    await task
    said = [str(request.messages[-1]) for request in asked.requests if len(request.messages) == 5]
    assert len(said) == 2
    for one_said in said:
        assert all(text in one_said for text in ("dirty", "untracked", "deep", "#!", "worktrees"))
        assert "build" not in one_said.partition("index.js")[2]
    folders = {re.findall(r"worktrees/[\w-]+", text)[0] for text in said}
    assert len(folders) == 2
    assert texts(folder)["own.txt"] in ("a\n", "b\n", "a\nb\n")
    assert (folder / "node_modules" / "x" / "index.js").read_text() == "x\n"
    assert not (folder / ".venv").is_symlink()
    sound(session)


async def test_each_item_has_a_conversation_of_its_own(project: Path, doors: Doors) -> None:
    session = in_memory(["a", "b"])
    asked = scripted({name: [waits("here"), bash(f"echo said by {name}"), "Done."] for name in "ab"})
    task = begun(session, asked, parallel=2, tools=doors.tools)
    await until(lambda: doors.reached["here"] == 2)
    doors.open("here")
    await task
    for request in asked.requests:
        whole = str(request.messages)
        assert not ("said by a" in whole and "said by b" in whole)
        assert not ("Execute todo: a\\n" in whole and "Execute todo: b\\n" in whole)


async def test_the_lists_of_items_stay_their_own(folder: Path) -> None:
    session = opened(folder, ["a", "b", "c", "d"])
    before = [todo.content for todo in session.todos]
    own = '{"todos":[{"content":"Mine","activeForm":"x","status":"completed"}]}'
    turns: dict[str, list[Answer]] = {
        "a": [Turn(calls=[Call("TodoWrite", own)]), "Done."],
        "b": [bash(f"TodoWrite '{own}'"), "Done."],
        "c": [bash(f"true && TodoWrite '{own}'"), "Done."],
        "d": [bash("cd /; TodoWrite '" + own + "' | cat"), "Done."],
    }
    result = await go(session, scripted(turns), parallel=2, retries=0, keep_going=True)
    assert [todo.content for todo in session.todos] == before
    assert {agent: [t.content for t in todos.items.values()] for agent, todos in session.state.lists.items()} == {
        "main": before,
        **{fact.agent: ["Mine"] for fact in facts(session, AttemptStarted)},
    }
    assert result.outcome is ExecutionEnding.COMPLETE
    assert not [path for path in folder.rglob(".headway") if path.parent != folder], "nobody made a project of its own"


@pytest.mark.parametrize("parallel", [1, 3])
async def test_the_users_repository_is_untouched(folder: Path, parallel: int) -> None:
    put(folder, {"readme.txt": "stashed\n"})
    git(folder, "stash")
    git(folder, "branch", "other")
    put(folder, {"readme.txt": "staged\n", "new.txt": "new\n"})
    git(folder, "add", "readme.txt")
    put(folder, {"readme.txt": "dirty\n"})
    git(folder, "status")
    (folder / ".git" / "hooks").mkdir()
    (folder / ".git" / "hooks" / "post-commit").write_text('#!/bin/sh\necho ran > "$(git rev-parse --git-dir)/ran"\n')
    (folder / ".git" / "hooks" / "post-commit").chmod(0o755)
    before = bytes_below(folder / ".git")
    session = opened(folder, ["a", "b", "c", "d"])
    spoil = (
        "git add -A; git -c user.name=x -c user.email=x commit -qm theirs; git branch mine; git tag t; git gc -q;"
        "git config alias.x status; git checkout -q -b theirs; git stash drop -q"
    )
    turns = {name: runs(f"echo {name} > {name}.txt; git status --short > /dev/null") for name in "ab"}
    turns |= {"c": runs(f"{spoil}; echo c > c.txt"), "d": runs(f"{spoil}; git reset -q --hard HEAD~1; false")}
    await go(session, scripted(turns), parallel=parallel, tools=None, keep_going=True)
    assert states(session) == {**dict.fromkeys("abc", "completed"), "d": "blocked"}
    roll_back(session, "b")
    diff_todo(session, "a")
    assert bytes_below(folder / ".git") == before
    assert git(folder, "stash", "list").count("stash@") == 1
    assert set(texts(folder)) == {"readme.txt", "new.txt", "a.txt", "c.txt"}


@pytest.mark.parametrize("most", [1, 2, 3])
async def test_no_more_run_at_once_than_is_wanted(project: Path, doors: Doors, most: int) -> None:
    names = [f"i{number}" for number in range(6)]
    session = in_memory(names)
    task = begun(session, scripted({name: [waits(name), "Done."] for name in names}), parallel=most, tools=doors.tools)
    for number in range(0, 6, most):
        await until(lambda number=number: len(doors.reached) >= min(number + most, 6))
        assert session.run is not None
        assert session.run.execution is not None
        assert len(session.run.execution.executing) <= most
        doors.open(*doors.reached)
    await task
    assert doors.most == most
    assert states(session) == dict.fromkeys(names, "completed")


async def test_nothing_is_left_of_the_folders(folder: Path) -> None:
    session = opened(folder, ["a", "b"])
    await go(session, scripted({name: runs("mkdir -p x; chmod 500 x") for name in "ab"}), parallel=2)
    assert not (folder / ".headway" / "worktrees").exists()


async def test_executable_bits_links_and_binaries_come_into_the_project(folder: Path) -> None:
    session = opened(folder, ["a", "b"])
    makes = "printf '#!/bin/sh\\n' > run.sh; chmod +x run.sh; ln -s readme.txt link; printf '\\0\\1\\377' > data.bin"
    await go(session, model(a=runs(makes), b=runs("git rm -q --cached readme.txt; rm readme.txt")), parallel=2)
    assert (folder / "run.sh").stat().st_mode & stat.S_IXUSR
    assert (folder / "link").readlink() == Path("readme.txt")
    assert (folder / "data.bin").read_bytes() == b"\0\1\xff"
    assert not (folder / "readme.txt").exists()


# without git


@pytest.fixture
def no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH with all there is but git."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "sh", "cat", "ls", "true", "false", "sleep", "rm", "mkdir", "touch", "echo"):
        if found := shutil.which(name):
            os.symlink(found, tools / name)
    monkeypatch.setenv("PATH", str(tools))


async def test_in_memory_items_of_one_module_do_not_run_at_once_and_others_do(doors: Doors) -> None:
    session = headway.open(memory=True)
    listed(session, [item("a", module="core"), item("b", module="core"), item("c", module="docs"), item("d")])
    turns = {name: [waits(name), "Done."] for name in "abcd"}
    task = begun(session, scripted(turns), parallel=4, tools=doors.tools)
    await doors.until("a", "c", "d")
    assert doors.reached["b"] == 0
    doors.open("c", "d")
    await until(lambda: states(session)["d"] == states(session)["c"] == "completed")
    assert doors.reached["b"] == 0, "the module is still busy"
    doors.open("a")
    await doors.until("b")
    doors.open("b")
    assert (await task).outcome is ExecutionEnding.COMPLETE
    sound(session)


async def test_without_git_items_work_one_at_a_time_in_the_project_and_it_says_so(
    tmp_path: Path, no_git: None, doors: Doors
) -> None:
    folder = tmp_path / "bare"
    folder.mkdir()
    session = opened(folder, ["a", "b"])
    turns = {name: [waits(name), write(f"{name}.txt", name), "Done."] for name in "ab"}
    task = begun(session, scripted(turns), parallel=4, tools=doors.tools)
    await doors.until("a")
    doors.open("a", "b")
    assert ((await task).outcome, doors.most) == (ExecutionEnding.COMPLETE, 1)
    [began] = facts(session, ExecutionStarted)
    assert (began.checkpoints, began.worktrees, began.parallel) == (False, False, 1)
    assert began.note == (
        "Saving the project's files needs git, which is not installed; install git. Items work in the project's "
        "own files, one at a time, and cannot be rolled back."
    )
    assert texts(folder) == {"a.txt": "a", "b.txt": "b"}


async def test_with_git_items_of_one_module_run_at_once(folder: Path, doors: Doors) -> None:
    session = opened(folder, [item("a", module="core"), item("b", module="core")])
    task = begun(session, scripted({name: [waits(name), "Done."] for name in "ab"}), parallel=2, tools=doors.tools)
    await doors.until("a", "b")
    doors.open("a", "b")
    assert (await task).outcome is ExecutionEnding.COMPLETE


async def test_without_git_a_rollback_says_why_there_is_none(tmp_path: Path, no_git: None) -> None:
    folder = tmp_path / "bare"
    folder.mkdir()
    session = opened(folder, ["a"])
    await one(session, "a", model(a=[write("a.txt", "a"), bash("true"), "Done."]))
    with pytest.raises(NotRunnable, match=r"no files were saved when it was executed\. It changed: a\.txt"):
        roll_back(session, "a")
    with pytest.raises(
        NotRunnable, match=r"The changes of 'a' cannot be shown: no files were saved .* It changed: a\.txt"
    ):
        diff_todo(session, "a")
    assert (states(session), texts(folder)) == ({"a": "completed"}, {"a.txt": "a"})
    undone = undo(session)
    assert (undone.left, undone.is_unsaved, texts(folder)) == (("a.txt",), True, {"a.txt": "a"})


async def test_with_an_old_git_items_work_in_the_project_s_files_and_can_be_rolled_back(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "old" / "git"
    old.parent.mkdir()
    old.write_text(f'#!/bin/sh\n[ "$1" = version ] && echo git version 2.37.9 || exec {shutil.which("git")} "$@"\n')
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(old.parent), prepend=os.pathsep)
    session = opened(folder, ["a"])
    await go(session, model(a=[write("a.txt", "a"), bash("echo b > b.txt"), "Done."]), parallel=2)
    [began] = facts(session, ExecutionStarted)
    assert began.note.startswith(
        "This version of git is too old for worktrees; install 2.38 or newer. Items work in the"
    )
    assert began.note.endswith("own files, one at a time."), "and can be rolled back"
    put(folder, {"readme.txt": "mine\n"})
    assert roll_back(session, "a").removed == ("a.txt",)
    assert texts(folder) == {"readme.txt": "mine\n", "b.txt": "b\n"}
    undone = undo(session)
    assert (undone.files, undone.left) == (("a.txt",), ())
    assert undo(session).left == ("b.txt",)


@pytest.mark.parametrize("turns", [["echo a > a.txt"], ["echo a > a.txt", "false"]])
async def test_without_git_a_rollback_of_what_commands_changed_says_why_too(
    tmp_path: Path, no_git: None, turns: list[str]
) -> None:
    folder = tmp_path / "bare"
    folder.mkdir()
    session = opened(folder, ["a"])
    await one(session, "a", model(a=runs(*turns)))
    before = states(session)
    with pytest.raises(NotRunnable):
        roll_back(session, "a")
    assert states(session) == before


async def test_git_that_goes_away_makes_rollback_unavailable_and_says_why(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened(folder, ["a"])
    await one(session, "a", model(a=runs("echo a > a.txt")))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotRunnable, match="Rollback is unavailable: Saving the project's files needs git"):
        roll_back(session, "a")
    assert (states(session), starts(session)) == ({"a": "completed"}, ["a"])
