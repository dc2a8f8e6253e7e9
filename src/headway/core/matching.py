"""Which item a tool call is likely to be work on: by the tool's name in its text, else by the kind of its leading verb.

Pure. Tracking asks it when a call begins and when it is over. A guess from words, in English and Chinese; it knows
little grammar, and says no where it is in doubt, since what is wrongly started is soon wrongly finished.
"""

from __future__ import annotations

import re
from functools import lru_cache
from unicodedata import normalize

from headway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LETTERS = "a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u052f\u1e00-\u1fff"
"""Of the alphabets that are written with spaces, and their accents. In Chinese a word may stand next to anything."""
_WORD = re.compile(f"[{_LETTERS}]+")
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"(?P<word>[{_LETTERS}]+)|(?P<han>[{_HAN}]+)|[^\W\d_]")
"""A word, a stretch of Chinese, or a letter of another script. Digits and signs before them say nothing."""
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONGEST_NAME = 128
"""What is longer is no name of a tool, but a model may call anything."""
_STRETCH = 200
_OPENING = 300
"""Characters of a text in which its leading verb is looked for."""
_LABEL = re.compile(r"[^:：]{1,40}[:：]")
_LEADS = _word_set("""
    please first second third then next now finally lastly also and to we i you let us lets need needs must should will
    can have has go try todo task step phase part item again carefully quickly thoroughly briefly manually locally""")
"""Words that may stand before the leading verb."""
_CHINESE_LEADS = re.compile(
    "(?:请|請|麻烦|帮我|幫我|帮忙|我们|我們|我|你|需要|应该|應該|必须|要|先|再|然后|然後|接着|接著|首先|其次|最后|最後|随后|之后"
    "|继续|繼續|尝试|嘗試|试着|重新|仔细|手动|进行|進行|去|来|來|并且|并|並|第[一二三四五六七八九十]+步)+"
)
_CHINESE_PREPOSITIONS = re.compile(
    "把|将(?!来)|將(?!來)|用(?!户|戶)|使用|对(?!话|象|齐|应|方)|對(?!話|象|齊|應|方)|给|給|为(?!什)|為(?!什)|在(?!线)|从|從|通过|通過"
)
"""What they are about stands between them and the verb."""

_VOWELS = "aeiou"
_IRREGULAR = {
    "analyse": "analysis",
    "build": "built",
    "find": "found",
    "investigate": "investigation",
    "overwrite": "overwrote overwritten",
    "rebuild": "rebuilt",
    "rerun": "reran",
    "rewrite": "rewrote rewritten",
    "run": "ran",
    "understand": "understood",
    "undo": "undid undone",
    "write": "wrote written",
}


def _list_verb_forms(verb: str) -> Iterator[str]:
    """The verb as it may be written. Some are no words (`runed`, `editting`), and then nobody means another by them."""
    yield verb
    yield from _IRREGULAR.get(verb, "").split()
    stem = verb.removesuffix("e")
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        yield from (f"{verb[:-1]}ies", f"{verb[:-1]}ied")
    else:
        yield verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")
        yield f"{stem}ed"
    yield f"{stem}ing"
    if verb[-1] not in _VOWELS + "wxy" and verb[-2] in _VOWELS and verb[-3] not in _VOWELS:
        yield from (f"{verb}{verb[-1]}ed", f"{verb}{verb[-1]}ing")


class _WorkKind:
    """A kind of work: words of the names of tools that do it, and how items speak of it."""

    __slots__ = ("chinese", "phrase", "tools", "words")

    def __init__(self, tools: str, verbs: str, chinese: str, phrase: str = "") -> None:
        self.tools = frozenset(tools.split())
        self.words = frozenset(form for verb in verbs.split() for form in _list_verb_forms(verb))
        # 编译器 is to 编译 as "compiler" is to "compile".
        self.chinese = re.compile(f"(?:{'|'.join(chinese.split())})(?!器)")
        self.phrase = re.compile(rf"(?<![{_LETTERS}]){phrase}(?![{_LETTERS}])") if phrase else None


_READ = _WorkKind(
    tools="cat dir glob head inspect list look ls open read reader show stat tail tree view viewer",
    verbs="""
        analyse analyze assess audit check compare debug diagnose discover evaluate examine explore familiarise
        familiarize identify inspect investigate list look open read review scan skim study understand view""",
    chinese="""
        读取 阅读 通读 细读 研读 读懂 读完 读一下 读一遍 查看 查阅 看看 看一下 看下 审查 审阅 审核 审计 分析 检查 检视
        了解 理解 弄清 搞清 熟悉 梳理 调查 排查 诊断 调试 评估 对比 探索 识别 列出 打开 浏览
        讀取 閱讀 研讀 讀懂 審查 審閱 檢查 檢視 瞭解 調查 診斷 評估 對比 識別 打開 瀏覽""",
)
_WRITE = _WorkKind(
    tools="""
        add append apply change copy cp create delete edit editor insert mkdir modify move mv overwrite patch refactor
        remove rename replace rm save touch update write writer""",
    verbs="""
        add adjust append apply bump change clean configure convert copy correct create customise customize delete
        develop disable document draft drop edit enable expose extend extract fix generate handle implement improve
        insert integrate introduce merge migrate modify move optimise optimize overwrite patch port refactor remove
        rename reorganise reorganize repair replace resolve restructure revert rewrite rework save set simplify
        translate tweak undo update upgrade wire write""",
    chinese="""
        编写 撰写 书写 改写 重写 写入 写出 写好 写个 写一个 写一份 写一篇 写一段 写代码 写测试 写文档 实现
        开发(?!环境|服务|工具|依赖|人员|者) 修复 修正 修改 修订 更改 改成 改为 改进 改善 改造 添加 增加 新增 加入 加上
        补充 完善 更新 升级 重构 优化 简化 调整 创建 新建 建立 生成 删除 删掉 移除 去掉 清理 替换 重命名 移动到 移到
        移至 迁移 编辑 插入 追加 合并 拆分 提取 集成 接入 解决 翻译 保存
        編寫 撰寫 改寫 重寫 寫入 寫程式 實現 實作 修復 改進 改為 補充 重構 優化 簡化 調整 創建 刪除 遷移 編輯 合併 解決
        替換 儲存""",
)
_RUN = _WorkKind(
    tools="""
        bash build cmd command compile console deploy exec execute execution executor install launch lint make
        powershell pwsh pytest python repl run runner sh shell start terminal test tests zsh""",
    verbs="""
        benchmark build commit compile deploy execute install invoke launch lint measure publish push rebuild recompile
        reinstall reproduce rerun restart run setup start test validate verify""",
    chinese="""
        运行 执行 测试 单测 构建 编译 打包 安装 部署 发布 验证 校验 启动 重启 复现 跑一下 跑一遍 跑通 跑完 跑测试 跑单测
        重跑 提交代码 提交更改 提交修改 提交变更 提交改动 推送到 推送代码
        運行 執行 測試 構建 建置 編譯 安裝 發佈 驗證 校驗 啟動 重啟 復現 重現""",
    phrase=r"set(?:s|ting)?\s+up",
)
_SEARCH = _WorkKind(
    tools="""
        browse browser crawl curl download fetch find google grep http https lookup query rg ripgrep scrape search
        searcher url web wget""",
    verbs="""
        browse collect crawl discover download explore fetch find gather identify investigate locate lookup research
        retrieve scrape search survey""",
    chinese="""
        搜索 搜寻 搜集 检索 查找 查询 查出 寻找 找到 找出 定位 调研 调查 研究 探索 识别 下载 获取 抓取 爬取 拉取 收集
        搜尋 檢索 查詢 尋找 調研 調查 識別 下載 獲取 擷取""",
    phrase=r"look(?:s|ed|ing)?\s+up",
)
_KINDS = (_READ, _WRITE, _RUN, _SEARCH)
_BY_WORD = {word: kind for kind in _KINDS for word in kind.tools}
_NOUNS = _word_set("""
    browser build cmd code command compiler console data dir docs file files folder http list log page project query
    reader repo server shell table task terminal test tests text tool tree url view web writer""")
"""Names of tools that in a text stand for a thing, and not for the tool."""
_BY_EFFECT = {"read": _READ, "write": _WRITE, "execute": _RUN, "network": _SEARCH}


class _ToolSigns(Value):
    """What is known of a tool: its name, and the kinds of work that it does."""

    __slots__ = ("kinds", "name", "pattern")

    def __init__(self, tool: str, effect: str | None, command_kind: str | None) -> None:
        plain = normalize("NFKC", tool).strip()
        words = _WORD.findall(_fold_case(_HUMPS.sub(" ", plain)))
        kind = _find_first_kind(words) or _BY_EFFECT.get(effect or "")
        self.kinds = () if kind is None else (kind,)
        if kind is _RUN and command_kind == "reads":  # `ls` in a shell lists files, and runs nothing
            self.kinds = (_READ, _SEARCH)
        self.name = _fold_case(plain)
        # One character, or nothing but signs, is in too many texts to be a name there; nouns stand for things.
        said = sum(map(str.isalnum, self.name)) > 1 and self.name not in _NOUNS
        self.pattern = re.compile(rf"(?<![{_LETTERS}0-9_]){re.escape(self.name)}(?![{_LETTERS}0-9_])") if said else None

    def is_named_in(self, text: str) -> bool:
        # Looking for the bare name first is many times faster, and it is seldom there.
        folded = _fold_case(text)
        return self.pattern is not None and self.name in folded and self.pattern.search(folded) is not None


@lru_cache(maxsize=20_000)
def is_likely_work_on(tool: str, effect: str | None, text: str, command_kind: str | None = None) -> bool:
    """Return whether a call of this tool is likely to be work on an item of this text: by its name, or by its kind.

    `command_kind` says what a command that it runs comes to, as in `command_kinds`.
    """
    signs = _find_tool_signs(tool[:_LONGEST_NAME], effect, command_kind)
    return not _find_leading_kinds(text).isdisjoint(signs.kinds) or signs.is_named_in(text)


@lru_cache(maxsize=20_000)
def is_matching_kind(tool: str, effect: str | None, text: str, command_kind: str | None = None) -> bool:
    """Return whether a call of this tool does the kind of work that the item's leading verb asks for.

    The tool's name counts only where the verb tells no kind: editing with `edit` is not "Read what edit does".
    """
    signs = _find_tool_signs(tool[:_LONGEST_NAME], effect, command_kind)
    kinds = _find_leading_kinds(text)
    return not kinds.isdisjoint(signs.kinds) if kinds else signs.is_named_in(text)


@lru_cache(maxsize=20_000)
def _find_leading_kinds(text: str) -> frozenset[_WorkKind]:
    """The kinds of work of the verb with which the text begins, if need be after a label: `Parser: fix the crash`."""
    opening = _fold_case(text[:_OPENING])
    kinds = _find_kinds_at(opening, 0)
    if not kinds and (label := _LABEL.match(opening)):
        kinds = _find_kinds_at(opening, label.end())
    return kinds


def _find_kinds_at(text: str, start: int) -> frozenset[_WorkKind]:
    after_preposition = False
    for token in _TOKEN.finditer(text, start):
        if word := token["word"]:
            kinds = frozenset(kind for kind in _KINDS if word in kind.words) - _is_part_of_phrase(text, token.start())
            kinds |= frozenset(kind for kind in _KINDS if kind.phrase and kind.phrase.match(text, token.start()))
            if kinds or not (word in _LEADS or after_preposition):
                return kinds
        elif token["han"]:
            lead = _CHINESE_LEADS.match(text, token.start(), token.end())
            at = lead.end() if lead else token.start()
            kinds = _find_chinese_kinds(text, at, token.end())
            if not kinds and (preposition := _CHINESE_PREPOSITIONS.match(text, at, token.end())):
                at, after_preposition = preposition.end(), True
            while not kinds and after_preposition and at < token.end():
                kinds = _find_chinese_kinds(text, at, token.end())
                at += 1
            if kinds or (at < token.end() and not after_preposition):
                return kinds
        else:
            break
    return frozenset()


def _is_part_of_phrase(text: str, at: int) -> frozenset[_WorkKind]:
    """Setting up is not setting."""
    return frozenset({_WRITE}) if _RUN.phrase and _RUN.phrase.match(text, at) else frozenset()


def _find_chinese_kinds(text: str, at: int, end: int) -> frozenset[_WorkKind]:
    return frozenset(kind for kind in _KINDS if kind.chinese.match(text, at, end))


@lru_cache(maxsize=256)
def _find_tool_signs(tool: str, effect: str | None, command_kind: str | None) -> _ToolSigns:
    return _ToolSigns(tool, effect, command_kind)


def _find_first_kind(words: list[str]) -> _WorkKind | None:
    """The first word that tells; but what searches and then changes (`search_replace`) changes."""
    kinds = [_BY_WORD[word] for word in words if word in _BY_WORD]
    if not kinds:
        return None
    return _WRITE if kinds[0] is _SEARCH and _WRITE in kinds else kinds[0]


def _fold_case(text: str) -> str:
    """Return the text with wide and styled letters as plain ones, all in one case."""
    if text.isascii():
        return text.lower()
    # In stretches, because bringing accents into order takes quadratic time. By way of upper case, because some letters
    # share only that: ı and i.
    stretches = (text[at : at + _STRETCH] for at in range(0, len(text), _STRETCH))
    return "".join(normalize("NFKC", stretch) for stretch in stretches).upper().casefold()
