"""Which item a tool call is likely to be work on: by the tool's name, else by what kind of work the tool does.

Pure. The loop asks it when no item is active. A guess from words, in English and Chinese; it knows no grammar, and says
no where it is in doubt, since an item that is wrongly started is soon wrongly finished.
"""

from __future__ import annotations

import re
from functools import lru_cache
from unicodedata import normalize

from headway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LETTERS = "a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u052f\u1e00-\u1fff"
"""Of the alphabets that are written with spaces, and their accents. In Chinese a word may stand next to anything."""
_WORD = re.compile(f"[{_LETTERS}]+")
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONGEST_NAME = 128
"""What is longer is no name of a tool, but a model may call anything."""
_STRETCH = 200
_FILLERS = frozenset({
    "all", "an", "and", "any", "as", "at", "by", "do", "for", "from", "in", "is", "it", "many", "of", "on", "or", "the",
    "to", "with",
})  # fmt: skip
"""Words of a name that say nothing: `search_in_files` is not work on every item with an "in"."""

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


def _forms(verb: str) -> Iterator[str]:
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


class _Kind(Value):
    """A kind of work: words of the names of tools that do it, and how items speak of it."""

    __slots__ = ("chinese", "phrase", "tools", "words")

    def __init__(self, tools: str, verbs: str, chinese: str, phrase: str = "") -> None:
        self.tools = frozenset(tools.split())
        self.words = frozenset(form for verb in verbs.split() for form in _forms(verb))
        # 编译器 is to 编译 as "compiler" is to "compile".
        self.chinese = re.compile(f"(?:{'|'.join(chinese.split())})(?!器)")
        self.phrase = re.compile(rf"(?<![{_LETTERS}]){phrase}(?![{_LETTERS}])") if phrase else None


_READ = _Kind(
    tools="cat dir glob head inspect list look ls open read reader show stat tail tree view viewer",
    verbs="""
        analyse analyze assess audit check compare debug diagnose discover evaluate examine explore familiarise
        familiarize identify inspect investigate list look open read review scan skim study understand view""",
    chinese="""
        读取 阅读 通读 细读 研读 读懂 读完 读一下 读一遍 查看 查阅 看看 看一下 看下 审查 审阅 审核 审计 分析 检查 检视
        了解 理解 弄清 搞清 熟悉 梳理 调查 排查 诊断 调试 评估 对比 探索 识别 列出 打开 浏览
        讀取 閱讀 研讀 讀懂 審查 審閱 檢查 檢視 瞭解 調查 診斷 評估 對比 識別 打開 瀏覽""",
)
_WRITE = _Kind(
    tools="""
        add append apply change copy cp create delete edit editor insert mkdir modify move mv overwrite patch refactor
        remove rename replace rm save touch update write writer""",
    verbs="""
        add adjust append apply change clean configure convert copy create customise customize delete develop disable
        draft edit enable expose extend extract fix generate handle implement improve insert integrate introduce merge
        migrate modify move optimise optimize overwrite patch refactor remove rename reorganise reorganize repair
        replace resolve restructure revert rewrite rework save simplify translate tweak undo update upgrade wire
        write""",
    chinese="""
        编写 撰写 书写 改写 重写 写入 写出 写好 写个 写一个 写一份 写一篇 写一段 写代码 写测试 写文档 实现
        开发(?!环境|服务|工具|依赖|人员|者) 修复 修正 修改 修订 更改 改成 改为 改进 改善 改造 添加 增加 新增 加入 加上
        补充 完善 更新 升级 重构 优化 简化 调整 创建 新建 建立 生成 删除 删掉 移除 去掉 清理 替换 重命名 移动到 移到
        移至 迁移 编辑 插入 追加 合并 拆分 提取 集成 接入 解决 翻译 保存
        編寫 撰寫 改寫 重寫 寫入 寫程式 實現 實作 修復 改進 改為 補充 重構 優化 簡化 調整 創建 刪除 遷移 編輯 合併 解決
        替換 儲存""",
)
_RUN = _Kind(
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
_SEARCH = _Kind(
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
_BY_EFFECT = {"read": _READ, "write": _WRITE, "execute": _RUN, "network": _SEARCH}


class _Signs(Value):
    """What in an item's text speaks for a tool."""

    __slots__ = ("kind", "name", "pattern", "words")

    def __init__(self, tool: str, effect: str | None) -> None:
        plain = normalize("NFKC", tool).strip()
        words = _WORD.findall(_folded(_HUMPS.sub(" ", plain)))
        self.kind = _kind(words) or _BY_EFFECT.get(effect or "")
        self.words = frozenset(word for word in words if len(word) > 1) - _FILLERS
        self.name = _folded(plain)
        # One character, or nothing but signs, is in too many texts to be a name there.
        said = sum(map(str.isalnum, self.name)) > 1
        self.pattern = re.compile(rf"(?<![{_LETTERS}0-9_]){re.escape(self.name)}(?![{_LETTERS}0-9_])") if said else None


@lru_cache(maxsize=20_000)
def matches(tool: str, effect: str | None, text: str) -> bool:
    """Whether a call of this tool is likely to be work on an item of this text."""
    signs = _signs(tool[:_LONGEST_NAME], effect)
    folded = _folded(text)
    words = frozenset(_WORD.findall(folded))
    if not signs.words.isdisjoint(words):
        return True
    # Looking for the bare name first is many times faster, and it is seldom there.
    if signs.pattern is not None and signs.name in folded and signs.pattern.search(folded):
        return True
    kind = signs.kind
    if kind is None:
        return False
    if not kind.words.isdisjoint(words):
        return True
    if kind.phrase is not None and "up" in words and kind.phrase.search(folded):
        return True
    return not folded.isascii() and kind.chinese.search(folded) is not None


@lru_cache(maxsize=256)
def _signs(tool: str, effect: str | None) -> _Signs:
    return _Signs(tool, effect)


def _kind(words: list[str]) -> _Kind | None:
    """The first word that tells; but what searches and then changes (`search_replace`) changes."""
    kinds = [_BY_WORD[word] for word in words if word in _BY_WORD]
    if not kinds:
        return None
    return _WRITE if kinds[0] is _SEARCH and _WRITE in kinds else kinds[0]


def _folded(text: str) -> str:
    """The text with wide and styled letters as plain ones, all in one case."""
    if text.isascii():
        return text.lower()
    # In stretches, because bringing accents into order takes quadratic time. By way of upper case, because some letters
    # share only that: ı and i.
    stretches = (text[at : at + _STRETCH] for at in range(0, len(text), _STRETCH))
    return "".join(normalize("NFKC", stretch) for stretch in stretches).upper().casefold()
