"""Which item a tool call is likely to be work on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.counts import some
from tests.support.tables import check_rows

from headway.core.matching import is_likely_work_on, is_matching_kind

BUILT_IN = {
    "read_file": "read", "read_many_files": "read", "ls": "read", "glob": "read", "grep": "read", "write_file": "write",
    "edit": "write", "bash": "execute", "web_fetch": "network", "web_search": "network",
}  # fmt: skip
ONE_OF_EACH = {"ls": "read", "edit": "write", "bash": "execute", "grep": "read"}
"""A built-in tool for every kind, by a name that few texts hold."""


def matched(text: str) -> set[str]:
    """Those of one tool of each kind that the text is matched by."""
    return {tool for tool, effect in ONE_OF_EACH.items() if is_likely_work_on(tool, effect, text)}


# By name


NAMED = [
    ("read_file", "Call read_file on every module"),
    ("read_file", "Call READ_FILE on every module"),
    ("read_file", "`read_file` fails"),
    ("readFile", "Use readFile"),
    ("readFile", "Use readfile"),
    ("edit", "First: edit."),
    ("ls", "Show what ls says"),
    ("ls", "用ls看目录"),
    ("bash", "整理bash脚本"),
    ("grep", "GREP-like output"),
    ("mcp__tracker__close-issue", "Call mcp__tracker__close-issue"),
    ("7z", "Unpack with 7z"),
    ("x-y", "Plot x-y pairs"),
    ("翻译工具", "用翻译工具处理说明"),
    ("ｒｅａｄ＿ｐａｇｅ", "Call read_page"),
]


def test_a_tool_matches_an_item_that_has_its_whole_name() -> None:
    def check(tool: str, text: str) -> None:
        assert is_likely_work_on(tool, None, text)

    check_rows(NAMED, check)


NOT_NAMED = [
    ("edit", "Credit cards"),
    ("edit", "The editor of choice"),
    ("edit", "Édith's éditions and edité"),
    ("ls", "Tools and models"),
    ("ls", "lsof"),
    ("glob", "Global state"),
    ("grep", "egrep"),
    ("cat", "Concatenate the categories"),
    ("read_file", "Threads and profiles"),
    ("web_search", "Cobweb"),
    ("7z", "17z and 7zip"),
    ("x-y", "max-y"),
    ("x_y", "x_y_z"),
    ("a_b", "a or b"),
    ("翻译工具", "翻译说明"),
    ("search_in_files", "What is in the box"),
    ("read_many_files", "Too many cooks"),
    ("x", "x marks the spot"),
    ("--", "this -- that"),
    ("", "anything"),
    ("   ", "any thing"),
    ("get_weather", ""),
    ("web_search", "Polish the web client"),
    ("sendEmail", "Email the customers"),
    ("mcp.tracker.closeIssue", "The issue of last week"),
    ("read_file", "Tidy the temp file"),
    ("list_dir", "Print the list of names"),
    ("run_command", "Think of a command"),
    ("file", "Tidy the temp file"),
    ("list", "Print the list of names"),
    ("command", "Think of a command"),
]


def test_a_tool_does_not_match_by_part_of_its_name_or_of_a_word_or_by_a_noun() -> None:
    def check(tool: str, text: str) -> None:
        assert not is_likely_work_on(tool, None, text)

    check_rows(NOT_NAMED, check)


# By kind, English

READING = [
    "Read the spec", "Look at the parser", "Inspect the log", "Analyse the failure", "Analyze the failure",
    "Review the design", "Understand how caching works", "Check the limits",
    "Examine the trace", "Study the protocol", "List what is there", "Compare both versions", "Debug the crash",
    "View the page", "Diagnose the leak", "Look upon it", "Look; up it goes", "Read, change, run and search",
    "Please read it", "Step 2: review the tests to delete",
]  # fmt: skip
CHANGING = [
    "Write the chapter", "Implement the cache", "Fix the parser", "Add a flag", "Change the colour",
    "Update the changelog", "Refactor the router", "Create a module", "Edit the page", "Remove dead code",
    "Rename the class", "Delete the folder", "Replace the client", "Move the constants", "Improve the wording",
    "Configure the proxy", "Handle timeouts", "Migrate to v2", "Optimise the loop", "Optimize the loop",
    "Delete the temp file", "Write the tests", "Set the limit", "Document the search", "fix_login_bug", "2fix",
    "Parser: fix the crash that running the tests finds", "[ ] 3. Then also add a command",
]  # fmt: skip
RUNNING = [
    "Run the suite", "Test the parser", "Build the wheel", "Install the package", "Execute the plan", "Compile it",
    "Start the server", "Deploy to staging", "Verify the result", "Set up the project", "Setup the project",
    "Launch the app", "Reproduce the crash", "Commit everything", "Validate the output", "Benchmark the loop",
    "Setting up the project", "step-3:run", "Test what reads the list",
]  # fmt: skip
RESEARCHING = [
    "Search for callers", "Find the callers", "Research the options", "Fetch the page", "Download the model",
    "Browse the docs", "Find and fix the leak", "Locate the config", "Retrieve the record", "Gather opinions",
    "Lookup the code",
]  # fmt: skip


OF_ONE_KIND = {"ls": READING, "edit": CHANGING, "bash": RUNNING, "grep": RESEARCHING}


def test_an_item_is_matched_by_the_one_kind_of_tool_that_does_such_work() -> None:
    def check(tool: str, text: str) -> None:
        assert matched(text) == {tool}

    check_rows([(tool, text) for tool, texts in OF_ONE_KIND.items() for text in texts], check)


OF_SEVERAL_KINDS = [
    "Look up the code of the country",
    "Looking\n up the code",
    "Explore the codebase",
    "Investigate it",
]


def test_a_verb_may_be_of_two_kinds() -> None:
    def check(text: str) -> None:
        assert matched(text) == {"ls", "grep"}

    check_rows(OF_SEVERAL_KINDS, check)


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("ls", "reads reading looked looking inspected inspecting analyses analysed analysing analyzes analyzed"
               " analyzing investigates investigating reviewed reviewing explores explored exploring understands"
               " understood understanding checks checked checking examined examining studies studied studying"
               " scanned scanning debugged debugging assesses"),
        ("edit", "writes writing wrote written implements implemented implementing fixes fixed fixing adds added"
                 " adding changes changed changing updates updated updating refactors refactored refactoring creates"
                 " created creating edits edited editing removes removed removing renames renamed renaming applies"
                 " applied applying copies copied rewrote rewritten undone patches modifies modified"),
        ("bash", "runs ran running tests tested testing builds built building installs installed installing executes"
                 " executed executing compiles compiled compiling starts started starting deploys deployed deploying"
                 " verifies verified verifying pushes committed committing reran"),
        ("grep", "searches searched searching finds found finding researches researched researching fetches fetched"
                 " fetching downloads downloaded downloading browses browsed browsing locates located locating"),
    ],
)  # fmt: skip
def test_verbs_are_known_in_their_usual_forms(tool: str, words: str) -> None:
    for word in words.split():
        assert is_likely_work_on(tool, ONE_OF_EACH[tool], f"{word} it"), word


OF_NO_KIND = [
    "", " \n", "Celebrate", "Thread safety", "Credit where credit is due", "Prefix and suffix", "Address the crowd",
    "A latest contest", "Outlook", "Compiler", "Finder", "Unfounded", "Already", "Checkered", "Grunt", "Trunk",
    "The profound", "Rewritable", "12345", "!?…", "🎉🎉", "a b c d", "Café", "rün", "fixé", "réad", "re\u0301ad",
    "run\u0301", "f\u200bix", "Root cause analysis", "Celebrate the fix", "The set of upper bounds", "Don't delete it",
    "Someone runs the tests", "New tests to write",
]  # fmt: skip


def test_an_item_without_such_words_is_matched_by_nothing() -> None:
    def check(text: str) -> None:
        assert matched(text) == set()
        assert not any(is_likely_work_on(tool, effect, text) for tool, effect in BUILT_IN.items())

    check_rows(OF_NO_KIND, check)


# By kind, Chinese


@pytest.mark.parametrize(
    ("tool", "texts"),
    [
        ("ls", "读取配置 阅读文档 查看日志 分析原因 检查边界 了解架构 理解流程 排查故障 审查代码 看一下目录 梳理逻辑"
               " 浏览目录 讀取設定 檢查邊界 閱讀文件"),
        ("edit", "编写说明 实现缓存 修复解析错误 修改颜色 添加按钮 新增接口 更新日志 重构路由 创建模块 删除文件夹"
                 " 优化循环 重命名类 替换客户端 写一个脚本 开发登录功能 實現快取 修復錯誤 刪除檔案"),
        ("bash", "运行脚本 测试边界 构建镜像 编译内核 安装依赖 执行计划 部署服务 验证结果 启动服务 跑一遍用例 打包"
                 " 提交代码 執行腳本 測試邊界 安裝套件"),
        ("grep", "搜索用法 查找用法 调研方案 研究方案 检索资料 下载模型 获取数据 寻找原因 定位问题 查询天气 收集意见"
                 " 搜尋用法 下載模型"),
    ],
)  # fmt: skip
def test_a_chinese_item_is_matched_by_the_one_kind_of_tool_that_does_such_work(tool: str, texts: str) -> None:
    for text in texts.split():
        assert matched(text) == {tool}, text


LED = [
    ("编写测试", "edit"),
    ("先查看README，再修改", "ls"),
    ("修复 parser 并 run 一遍", "edit"),
    ("请fix这个bug", "edit"),
    ("用pytest验证", "bash"),
    ("重构编译器", "edit"),
    ("启动开发服务器", "bash"),
    ("我们需要先运行测试", "bash"),
    ("第一步：读取配置", "ls"),
    ("把日志格式更新一下", "edit"),
    ("对配置进行修改", "edit"),
    ("将 parser 的错误修复后运行", "edit"),
]


def test_the_leading_verb_of_a_chinese_or_mixed_item_decides() -> None:
    def check(text: str, tool: str) -> None:
        assert matched(text) == {tool}

    check_rows(LED, check)


CHINESE_OF_NO_KIND = [
    "庆祝", "你好，世界", "浏览器", "编译器", "大小写一致", "机器学习", "移动端", "開く", "テスト", "テスト run",
    "用户登录测试", "代码审查", "将来",
]  # fmt: skip


def test_a_chinese_item_without_such_words_is_matched_by_nothing() -> None:
    def check(text: str) -> None:
        assert matched(text) == set()

    check_rows(CHINESE_OF_NO_KIND, check)


# The kind of a tool

OF_KIND = {
    "Inspect it": "read_file read_many_files cat view open ls list_dir glob tree ReadFile notebook-reader show2",
    "Fix it": "write_file edit create patch replace delete move MultiEdit apply_patch str_replace_editor NotebookEdit"
              " search_replace find_and_replace",
    "Verify it": "bash shell run exec execute_command terminal test make run_search execute_edit code_runner",
    "Locate it": "grep rg search find fetch web_fetch web_search http WebFetch search_files http_get browser.click",
}  # fmt: skip


@pytest.mark.parametrize(("text", "tools"), OF_KIND.items())
def test_a_tool_is_of_the_kind_that_its_name_tells_whatever_its_effect(text: str, tools: str) -> None:
    for tool in tools.split():
        for effect in (None, "read", "write", "execute", "network", "plan", "unheard of", ""):
            assert [at for at in OF_KIND if is_likely_work_on(tool, effect, at)] == [text], (tool, effect)


@pytest.mark.parametrize(
    ("effect", "text"),
    [("read", "Inspect it"), ("write", "Fix it"), ("execute", "Verify it"), ("network", "Locate it")],
)
def test_a_name_that_tells_nothing_leaves_it_to_the_effect(effect: str, text: str) -> None:
    for tool in ("weather", "mcp__tracker__ticket", "", "天气"):
        assert [at for at in OF_KIND if is_likely_work_on(tool, effect, at)] == [text]


@pytest.mark.parametrize("effect", [None, "", "plan", "todo", "READ", "unheard of"])
def test_a_tool_of_no_kind_matches_by_its_name_only(effect: str | None) -> None:
    assert not any(is_likely_work_on("weather", effect, text) for text in OF_KIND)
    assert is_likely_work_on("weather", effect, "The weather tomorrow")


@pytest.mark.parametrize(
    ("kind", "texts"),
    [("reads", ["Inspect it", "Locate it"]), ("check", ["Verify it"]), ("edits", ["Verify it"]), (None, ["Verify it"])],
)
def test_a_command_that_only_reads_is_of_the_kind_of_tools_that_read(kind: str | None, texts: list[str]) -> None:
    assert [at for at in OF_KIND if is_likely_work_on("bash", "execute", at, kind)] == texts
    assert is_likely_work_on("ls", "read", "Inspect it", kind)


COMPLETED_BY = [
    ("Delete the temp file", {"edit"}),
    ("Fix the bash prompt", {"edit"}),
    ("Read what edit and grep say", {"ls"}),
    ("Call grep on it", {"grep"}),
    ("Think", set[str]()),
]


def test_the_kind_of_the_verb_outweighs_the_name_of_a_tool() -> None:
    def check(text: str, tools: set[str]) -> None:
        assert {tool for tool, effect in ONE_OF_EACH.items() if is_matching_kind(tool, effect, text)} == tools

    check_rows(COMPLETED_BY, check)


# Any text


WRITTEN_OTHERWISE = ["FIX IT", "fIx it", "ｆｉｘ", "ＦＩＸ　ＩＴ", "ﬁx it", "𝐅𝐢𝐱 it", "ﬁxing", "请ＦＩＸ这个"]


def test_case_and_width_of_letters_do_not_matter() -> None:
    def check(text: str) -> None:
        assert matched(text) == {"edit"}

    check_rows(WRITTEN_OTHERWISE, check)


WORDS = [
    "fix", "Read", "RUN", "look up", "setting up", "search", "edit", "credit", "ı", "ß", "ſ", "é", "\u0301",
    "读取", "修复", "运行", "搜索", "器", " ",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(WORDS) | st.text(st.characters(), max_size=5)).map("".join)
TOOLS = st.sampled_from([*BUILT_IN, "7z", "x-y"]) | st.text(st.characters(), max_size=200)
EFFECTS = st.none() | st.sampled_from(["read", "write", "execute", "network", "plan"]) | st.text(max_size=5)


@given(TOOLS, EFFECTS, TEXTS)
def test_any_tool_and_text_get_the_same_answer_twice(tool: str, effect: str | None, text: str) -> None:
    assert is_likely_work_on(tool, effect, text) is is_likely_work_on(tool, effect, text)


@given(st.sampled_from([*BUILT_IN]), EFFECTS, TEXTS)
def test_the_answer_does_not_depend_on_case(tool: str, effect: str | None, text: str) -> None:
    answer = is_likely_work_on(tool, effect, text)
    for changed in (text.upper(), text.lower(), text.swapcase(), text.title(), text.casefold()):
        assert is_likely_work_on(tool, effect, changed) is answer
    assert is_likely_work_on(tool.upper(), effect, text) is answer


@given(st.sampled_from([*ONE_OF_EACH]), TEXTS)
def test_the_leading_verb_decides_whatever_text_follows(tool: str, after: str) -> None:
    sign = {"ls": "inspect", "edit": "implement", "bash": "verify", "grep": "locate"}[tool]
    for name, effect in ONE_OF_EACH.items():
        assert is_matching_kind(name, effect, f"{sign} {after}") is (name == tool)


MANY = some(100_000, 10)


@pytest.mark.full
@pytest.mark.parametrize(
    "text",
    [
        "a" * 10 * MANY, "a-" * 5 * MANY, "look " * 2 * MANY + "around", "look" + " " * 10 * MANY, "set\n" * 2 * MANY,
        "a" + "\u0301\u0323" * MANY, "读" * 5 * MANY, "\ufdfa" * (MANY // 5), "\ud800" * MANY, "\x00" * 10 * MANY,
        "\u202e\u200f" * MANY, "x_y" * 3 * MANY, "((((" * MANY,
    ],
    ids=lambda text: ascii(text[:4]),
)  # fmt: skip
def test_very_long_text_made_to_be_slow_is_read_to_its_end(text: str) -> None:
    for tool in ("bash", "x_y", "a-" * 1_000, "(((", "\\"):
        is_likely_work_on(tool, "execute", text)
        assert is_likely_work_on(tool, "execute", f"Verify {text}")
        assert is_likely_work_on(tool, "execute", f"验证{text}")


@pytest.mark.full
def test_a_name_of_any_length_is_no_harm() -> None:
    assert is_likely_work_on("run_" * 10 * MANY, None, "Verify it")
    assert not is_likely_work_on("q" * 10 * MANY, None, "q" * 100)
    for n in range(2_000):
        assert is_likely_work_on(f"tool_{n}_{chr(0x4E00 + n)}", None, f"A tool_{n}_{chr(0x4E00 + n)}")
