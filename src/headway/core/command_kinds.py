"""What a shell command that was run says about the work: whether it could have failed, and whether it edits. Pure.

A guess from the text, and a strict one: what cannot be read for certain never counts as a check. Nothing is expanded
or run. The loop asks when a command is over; what it made of it is recorded with the call.
"""

from __future__ import annotations

import re
from enum import StrEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class CommandKind(StrEnum):
    CHECK = "check"
    """It could have failed, and exit code 0 says that it did not."""
    READS = "reads"
    """It succeeds whatever the work is like, or its exit code hides what failed."""
    EDITS = "edits"
    """It changes files, or cannot be read for certain and may."""


_CHECK, _READS, _EDITS = CommandKind.CHECK, CommandKind.READS, CommandKind.EDITS
_DEEPEST = 20
_LONGEST = 20_000
"""A longer command is not looked at."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HARMLESS = _words("""
    : true false echo printf ls dir vdir cat tac pwd cd pushd popd dirs head tail wc nl rev less more most sort
    uniq cut tr grep egrep fgrep zgrep rg ag ack fd tree stat file du df date cal whoami id hostname uname arch
    nproc printenv which whereis type sleep usleep seq yes basename dirname realpath readlink expr test [ let
    history jobs wait times ulimit umask cksum sum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum md5
    shasum od xxd hexdump strings column fold fmt expand unexpand paste join comm tsort shuf base64 base32 basenc
    numfmt factor logname groups users who w uptime free ps pgrep lsof man info help clear reset tput stty tty
    locale getconf ldd nm objdump size jq yq bat batcat zcat xzcat bzcat sync pathchk ptx pr dircolors getent host
    dig nslookup ping nc lscpu lsblk lsusb mount dmesg last vmstat iostat top htop cowsay fortune figlet banner
    look apropos whatis""")
"""They tell nothing about the work when they succeed."""
_AWK = re.compile(r">|\||system|-i")
_READERS_THAT_MAY_EDIT = {
    "find": re.compile(r"^-(?:exec|ok|delete|fprint|fls)"),
    "sed": re.compile(r"^-[a-zA-Z]*i|^--in-place|(?:^|[;\n}0-9$])\s*[wWe]\s|/[gpiIMm0-9]*[we](?:\s|$)"),
    "curl": re.compile(r"^-[a-zA-Z]*[oO]|^--output|^--remote"),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _AWK),
}
"""They read, unless an argument is like this."""
_EDITORS = _words("""
    cp mv rm rmdir mkdir touch ln chmod chown chgrp chattr install tee dd truncate fallocate patch ed ex vi vim
    nvim nano emacs mktemp mkfifo mknod shred unlink link rename split csplit rsync scp sftp tar unzip zip gzip
    gunzip bzip2 bunzip2 xz unxz zstd 7z cpio wget sponge gofmt goimports rustfmt dos2unix unix2dos eval exec
    source . xargs parallel watch script ssh su chroot busybox toybox coproc tmux screen at batch crontab docker
    podman nerdctl kubectl venv virtualenv apt apt-get brew dnf yum apk conda mamba read mapfile readarray expect""")
"""They change files, or run what is not seen here."""
_FORMATTERS = _words("black isort autopep8 yapf prettier shfmt clang-format autoflake pyupgrade docformatter dprint")
"""They edit, unless they are to check."""
_TAINTING = _words("""
    exit return break continue trap alias unalias shopt enable bind kill killall pkill logout suspend disown bg fg
    shift getopts builtin caller compgen complete compopt""")
"""After them nobody knows which commands ran, or what an exit code means."""
_KEYWORDS = _words("if then else elif fi for while until do done case esac in function select ! { } [[ ]]")
_SETTERS = _words("set source . export declare typeset local readonly unset hash")
_SETTABLE = re.compile(r"[-+][euxo]+|pipefail|errexit|nounset|xtrace")
"""What `set` may set: nothing of it lets a failed command succeed."""
_NO_CHECK = _words("""
    --version -V --help -h --usage --dry-run --just-print --recon --collect-only --co --list --list-tests --listTests
    --exit-zero --if-present --passWithNoTests --pass-with-no-tests --ignore-errors --no-run --fixtures --markers
    --setup-plan --setup-only --touch --show-config --showconfig --print-config""")
"""Options with which a command succeeds whatever the work is like."""
_EDITING = re.compile(
    r"--?(?:fix|write|in-?place|apply|overwrite|bless|unsafe-fixes|fix-only|updateSnapshot|update-snapshots?"
    r"|snapshot-update|inline-snapshot|force-regen|regen-all|accept|lf-rewrite)(?:=.*)?"
)
"""Options with which a checking command edits, or makes its own expectations true."""
_WITH_SNAPSHOTS = _words("jest vitest ava playwright npm pnpm yarn bun")
_SUBCOMMANDS_READ = _words("""
    status log diff show blame branch rev-parse ls-files ls-tree describe remote shortlog reflog cat-file rev-list
    list ls view outdated why tree metadata search freeze help version config info env doc explain which""")
_SUBCOMMANDS_EDIT = _words("""
    init new add remove rm uninstall install i ci sync update upgrade lock fmt fix format generate mod get tidy create
    publish link clean cache self pip python venv tool download wheel""")
_WITH_SUBCOMMANDS = _words("""
    npm pnpm yarn bun deno pip uv poetry pipenv pdm hatch rye cargo go bundle gem composer dotnet mix swift stack cabal
    ruff mvn gradle gradlew rails rake""")
_RUNNERS = _words("""
    uv/run poetry/run pipenv/run pdm/run hatch/run rye/run pipx/run bundle/exec pnpm/exec pnpm/dlx yarn/dlx yarn/exec
    npm/exec""")
"""They run the command that follows."""
_WRAPPERS = _words("env time nice nohup timeout stdbuf command unbuffer setsid ionice sudo doas xvfb-run npx bunx uvx")
_SHELLS = _words("sh bash zsh dash ksh ash mksh fish")
_INTERPRETERS = re.compile(r"(?:python|pypy|node|nodejs|ruby|perl|php|lua|luajit|rscript|julia|tclsh)[\d.]*w?")
_INLINE = re.compile(r"-(?:[A-Za-z]*[ceEprRS]|-eval|-print|-run|-command)(?:=.*)?")
_WRITES = re.compile(
    r"open|write|path|os\b|fs\b|file|shutil|subprocess|system|exec|eval|spawn|unlink|remove|rename|import_?module|dump"
    r"|save|touch|mkdir|copy|move|`|>",
    re.IGNORECASE,
)
"""What code that changes a file is likely to mention."""
_MODULES_READ = _words("this site platform sysconfig calendar antigravity timeit json.tool pydoc help tokenize dis ast")
_MODULES_EDIT = _words("venv ensurepip http.server zipfile tarfile gzip lib2to3 idlelib turtledemo")
_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
_MASKING = re.compile(
    r"PATH|ENV|BASH_ENV|IFS|SHELLOPTS|BASHOPTS|BASH_FUNC.*|(?:LD|DYLD)_.*|.*(?:OPTS|OPTIONS|FLAGS)|PS4"
)
"""Variables that decide what a command is, or how it goes."""
_SINKS = _words("/dev/null /dev/stdout /dev/stderr /dev/tty")
_OPERATORS = (
    "&&",
    "||",
    ";;",
    "|&",
    "&>>",
    "&>",
    ">>",
    ">|",
    ">&",
    "<>",
    "<&",
    ";",
    "\n",
    "|",
    "&",
    ">",
    "<",
    "(",
    ")",
)


def classify_command(command: str) -> CommandKind:
    """Return what a command line comes to once it has run."""
    return _classify(command, 0) if len(command) <= _LONGEST else _EDITS


def _classify(command: str, depth: int) -> CommandKind:
    try:
        kinds = _StatementReader(_read_tokens(command), depth).read()
    except _UnclearError:
        return _EDITS
    return _kind_of_sequence(kinds) or _READS


class _UnclearError(Exception):
    """Only a shell can tell what this is."""


class _Token:
    __slots__ = ("operator", "plain", "text")

    def __init__(self, text: str, *, operator: bool = False, plain: bool = True) -> None:
        self.text = text
        self.operator = operator
        self.plain = plain
        """Nothing in it is expanded by the shell."""


def _read_tokens(command: str) -> list[_Token]:
    tokens: list[_Token] = []
    at, size = 0, len(command)
    while at < size:
        char = command[at]
        if command.startswith("\\\n", at):
            at += 2
        elif char in " \t\r":
            at += 1
        elif char == "#":
            end = command.find("\n", at)
            at = size if end < 0 else end
        elif command.startswith("<<<", at):
            tokens.append(_Token("<", operator=True))
            at += 3
        elif command.startswith(("<<", "<(", ">("), at):
            raise _UnclearError
        elif operator := next((op for op in _OPERATORS if command.startswith(op, at)), None):
            tokens.append(_Token(operator, operator=True))
            at += len(operator)
        else:
            token, at = _read_word(command, at)
            tokens.append(token)
    return tokens


def _read_word(command: str, at: int) -> tuple[_Token, int]:
    parts: list[str] = []
    plain, size = True, len(command)
    while at < size:
        char = command[at]
        if char == "'":
            end = command.find("'", at + 1)
            if end < 0:
                raise _UnclearError
            parts.append(command[at + 1 : end])
            at = end + 1
        elif char == '"':
            text, at, is_plain = _read_double_quoted(command, at + 1)
            parts.append(text)
            plain = plain and is_plain
        elif char == "\\":
            if at + 1 >= size:
                raise _UnclearError
            parts.append("" if command[at + 1] == "\n" else command[at + 1])
            at += 2
        elif char in " \t\r\n;&|<>()":
            break
        else:
            if char == "`" or command.startswith(("$(", "$'", '$"'), at):
                raise _UnclearError
            plain = plain and char not in "$*?[{!"
            parts.append(char)
            at += 1
    text = "".join(parts)
    return _Token(text, plain=plain or text == "["), at


def _read_double_quoted(command: str, at: int) -> tuple[str, int, bool]:
    parts: list[str] = []
    plain = True
    while at < len(command):
        char = command[at]
        if char == '"':
            return "".join(parts), at + 1, plain
        if char == "`" or command.startswith("$(", at):
            raise _UnclearError
        if char == "\\" and command[at + 1 : at + 2] in ("$", "`", '"', "\\", "\n"):
            parts.append("" if command[at + 1] == "\n" else command[at + 1])
            at += 2
            continue
        plain = plain and char != "$"
        parts.append(char)
        at += 1
    raise _UnclearError


_TAINTED = None
"""The kind of a command after which an exit code says nothing."""


class _StatementReader:
    """Reads the tokens of a line; gives the kind of each of its statements."""

    def __init__(self, tokens: Sequence[_Token], depth: int) -> None:
        if depth > _DEEPEST:
            raise _UnclearError
        self._tokens = tokens
        self._at = 0
        self._depth = depth

    def read(self) -> list[CommandKind | None]:
        kinds = self._statements()
        if self._at < len(self._tokens):  # a parenthesis that was never opened
            raise _UnclearError
        return kinds

    def _peek_operator(self) -> str | None:
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        return token.text if token is not None and token.operator else None

    def _take_word(self, *operators: str) -> str | None:
        operator = self._peek_operator()
        if operator not in operators:
            return None
        self._at += 1
        return operator

    def _statements(self) -> list[CommandKind | None]:
        kinds: list[CommandKind | None] = []
        while self._at < len(self._tokens) and self._peek_operator() != ")":
            if self._take_word(";", "\n"):
                continue
            kinds.append(self._alternatives())
            if self._take_word("&"):
                kinds.append(_TAINTED)
            elif self._at < len(self._tokens) and self._peek_operator() not in (";", "\n", ")"):
                raise _UnclearError
        return kinds

    def _alternatives(self) -> CommandKind | None:
        """`a && b || c`."""
        kinds = [self._pipeline()]
        masked = False
        while operator := self._take_word("&&", "||"):
            while self._take_word("\n"):
                pass
            masked = masked or operator == "||"
            kinds.append(self._pipeline())
        if _EDITS in kinds:
            return _EDITS
        if _TAINTED in kinds:
            return _TAINTED
        return _CHECK if _CHECK in kinds and not masked else _READS

    def _pipeline(self) -> CommandKind | None:
        kinds = [self._command()]
        while operator := self._take_word("|", "|&"):
            while self._take_word("\n"):
                pass
            kinds.append(self._command())
            if operator == "|&":
                kinds.append(_READS)
        return kinds[0] if len(kinds) == 1 else _kind_of_sequence(kinds, tainted=_TAINTED)

    def _command(self) -> CommandKind | None:
        if self._take_word("("):
            self._depth += 1
            if self._depth > _DEEPEST:
                raise _UnclearError
            kinds = self._statements()
            if not self._take_word(")"):
                raise _UnclearError
            self._depth -= 1
            return _EDITS if self._redirects([]) else _kind_of_sequence(kinds)
        words: list[_Token] = []
        edits = self._redirects(words)
        if not words and not edits:
            raise _UnclearError
        kind = _kind_of_words(words, self._depth)
        return _EDITS if edits else kind

    def _redirects(self, words: list[_Token]) -> bool:
        """Take the words up to the next operator, without redirections; return whether these write a file."""
        edits = False
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if not token.operator:
                words.append(token)
                self._at += 1
                continue
            if not self._take_word("&>>", "&>", ">>", ">|", ">&", "<>", "<&", ">", "<"):
                break
            if self._at >= len(self._tokens) or self._tokens[self._at].operator:
                raise _UnclearError
            target = self._tokens[self._at].text
            self._at += 1
            if words and words[-1].text.isdecimal() and words[-1].plain:  # `2>&1`: the number may be an argument, too
                words.pop()
            is_copy = token.text in (">&", "<&") and re.fullmatch(r"\d+|-", target)
            edits = edits or not (token.text in ("<", "<&") or is_copy or target in _SINKS)
        return edits


def _kind_of_sequence(
    kinds: Sequence[CommandKind | None], tainted: CommandKind | None = CommandKind.READS
) -> CommandKind | None:
    """The kind of commands of which only the last one's exit code is seen: the others must be none that matter."""
    if _EDITS in kinds:
        return _EDITS
    if _TAINTED in kinds:
        return tainted
    return _CHECK if kinds and kinds[-1] is _CHECK and _CHECK not in kinds[:-1] else _READS


def _kind_of_words(tokens: Sequence[_Token], depth: int) -> CommandKind | None:
    """Return the kind of one simple command; None if nothing after it can be trusted."""
    at = 0
    while at < len(tokens) and (assigned := _ASSIGNED.match(tokens[at].text)):
        if _MASKING.fullmatch(assigned[1]):
            return _TAINTED
        at += 1
    if at == len(tokens):
        return _READS
    program, *rest = tokens[at:]
    if not program.plain or not program.text:
        return _EDITS
    name = program.text.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")
    args = [token.text for token in rest]
    if name in _KEYWORDS or program.text.startswith(("/dev/", "/proc/")):
        return _EDITS
    return _kind_of(name, args, rest, depth)


def _kind_of(name: str, args: list[str], rest: Sequence[_Token], depth: int) -> CommandKind | None:
    if name in _WRAPPERS:
        return _kind_of_wrapped(name, rest, depth)
    if name in _SHELLS:
        return _kind_of_shell(args, depth)
    if name in _SETTERS:
        return _kind_of_setting(name, args)
    if name == "git":
        return _READS if args and args[0] in _SUBCOMMANDS_READ else _EDITS
    if name in _READERS_THAT_MAY_EDIT:
        return _EDITS if any(_READERS_THAT_MAY_EDIT[name].search(arg) for arg in args) else _READS
    if name in _TAINTING:
        return _TAINTED
    if name in _EDITORS:
        return _EDITS
    return _READS if name in _HARMLESS else _kind_of_program(name, args, rest, depth)


def _kind_of_program(name: str, args: list[str], rest: Sequence[_Token], depth: int) -> CommandKind | None:
    """Return the kind of a program that is expected to say something about the work."""
    if any(arg.startswith(("/dev/", "/proc/")) for arg in args) or not _NO_CHECK.isdisjoint(args):
        return _READS
    if any(_EDITING.fullmatch(arg) for arg in args) or ("-u" in args and name in _WITH_SNAPSHOTS):
        return _EDITS
    if name in _FORMATTERS:
        return _CHECK if "--check" in args else _EDITS
    if _INTERPRETERS.fullmatch(name):
        return _kind_of_interpreter(name, args, rest, depth)
    return _kind_of_tool(name, args, rest, depth)


def _kind_of_tool(name: str, args: list[str], rest: Sequence[_Token], depth: int) -> CommandKind | None:
    if name in ("make", "gmake", "just", "task"):
        if any(re.fullmatch(r"-[a-zA-Z]*[nqtip][a-zA-Z]*", arg) for arg in args):
            return _READS
        targets = {arg for arg in args if not arg.startswith("-") and "=" not in arg}
        return _READS if targets & {"help", "list"} else _EDITS if targets & _SUBCOMMANDS_EDIT else _CHECK
    name = re.sub(r"[\d.]+$", "", name)
    command = next((arg for arg in args if not arg.startswith("-")), None)
    if command is not None and f"{name}/{command}" in _RUNNERS:
        return _kind_of_following(rest[args.index(command) + 1 :], depth)
    if name in _WITH_SUBCOMMANDS:
        if command is None or command in _SUBCOMMANDS_READ:
            return _CHECK if command is None and name in ("gradle", "gradlew", "rake") else _READS
        if command == "format" and "--check" in args:
            return _CHECK
        if command == "run" and args[-1] == command:
            return _CHECK if name in ("cargo", "dotnet") else _READS
        scripts = args[args.index(command) + 1 :] if command == "run" else [command]
        return _EDITS if not _SUBCOMMANDS_EDIT.isdisjoint(scripts[:1]) else _CHECK
    return _CHECK


def _kind_of_following(tokens: Sequence[_Token], depth: int) -> CommandKind | None:
    """Return the kind of the command that another one runs."""
    if tokens and tokens[0].text == "--":
        tokens = tokens[1:]
    if not tokens or tokens[0].text.startswith("-"):
        return _READS
    if depth >= _DEEPEST:
        return _EDITS
    return _kind_of_words(tokens, depth + 1)


def _kind_of_wrapped(name: str, tokens: Sequence[_Token], depth: int) -> CommandKind | None:
    args = [token.text for token in tokens]
    skipped = {"timeout": 1}.get(name, 0)
    if name == "nice" and args[:1] == ["-n"]:
        skipped = 2
    if name == "stdbuf":
        skipped = next((number for number, arg in enumerate(args) if not arg.startswith("-")), len(args))
    if name == "command" and args[:1] in (["-v"], ["-V"]):
        return _READS
    return _kind_of_following(tokens[skipped:], depth)


def _kind_of_shell(args: list[str], depth: int) -> CommandKind | None:
    """`bash -c "…"`, or `bash script.sh`."""
    if not args:
        return _EDITS
    flags = args[0]
    if not flags.startswith("-"):
        return _READS if flags.startswith(("/dev/", "/proc/")) else _CHECK
    if re.fullmatch(r"-[leux]*c", flags):
        if len(args) < 2 or depth >= _DEEPEST:
            return _EDITS
        return _classify(args[1], depth + 1)
    return _EDITS if "c" in flags or flags == "-s" else _READS


def _kind_of_setting(name: str, args: list[str]) -> CommandKind | None:
    """What prepares the shell for the commands that follow."""
    if name == "set":
        return _READS if args and all(_SETTABLE.fullmatch(arg) for arg in args) else _TAINTED
    if name in ("source", "."):
        return _READS if args and args[0].endswith("bin/activate") else _EDITS
    names = [arg.partition("=")[0] for arg in args if not arg.startswith("-")]
    functions = any(re.match(r"-[a-zA-Z]*[fp]", arg) for arg in args)
    return _TAINTED if functions or any(_MASKING.fullmatch(each) for each in names) else _READS


def _kind_of_interpreter(name: str, args: list[str], rest: Sequence[_Token], depth: int) -> CommandKind | None:
    """A script is a check like any command; code in the command itself is none."""
    python = name.startswith(("py", "pypy"))
    at = 0
    while at < len(args):
        arg = args[at]
        if python and arg == "-m":
            module = args[at + 1] if at + 1 < len(args) else ""
            if module in _MODULES_READ:
                return _READS
            if not module or module in _MODULES_EDIT:
                return _EDITS
            return _kind_of(module.rpartition(".__main__")[0] or module, args[at + 2 :], rest[at + 2 :], depth + 1)
        if not python and arg in ("--test", "--check"):
            return _CHECK
        if _INLINE.fullmatch(arg) and not (python and not re.fullmatch(r"-[A-Za-z]*c", arg)):
            code = " ".join(args[at + 1 :])
            return _EDITS if _WRITES.search(code) else _READS
        if python and arg in ("-W", "-X"):
            at += 1
        elif arg == "-":
            return _EDITS
        elif not arg.startswith("-"):
            return _CHECK
        at += 1
    return _EDITS  # it reads its code from elsewhere
