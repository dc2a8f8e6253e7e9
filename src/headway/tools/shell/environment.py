"""The environment of commands: what they need to work, by an allow-list, so that keys and tokens stay behind.

What a person names is passed as well, whatever it is called. The rest tells the command where it runs and keeps it
from waiting for anyone.
"""

from __future__ import annotations

import os
import re
import sysconfig
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headway.contracts.shared_rules import NAME as TODO_WRITE
from headway.core.secrets import is_secret_name, redact
from headway.project import IN_MEMORY, project_folder_of

if TYPE_CHECKING:
    from headway.tools.base import Context

MARK = "HEADWAY_CALL"
"""Set to a value of its own for every call, by which what the call has started can be told."""

_PERSON = "HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TMP TEMP EDITOR VISUAL HOSTNAME"
_PLACES = "PATH MANPATH INFOPATH LD_LIBRARY_PATH PKG_CONFIG_PATH CPATH LIBRARY_PATH CMAKE_PREFIX_PATH"
_LANGUAGES = """
    VIRTUAL_ENV PYENV_ROOT PYENV_VERSION PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PYTHONUTF8 PYTHONIOENCODING
    CONDA_PREFIX CONDA_DEFAULT_ENV CONDA_EXE CONDA_PYTHON_EXE MAMBA_ROOT_PREFIX
    PIP_FIND_LINKS PIP_NO_INDEX PIP_CACHE_DIR PIP_DISABLE_PIP_VERSION_CHECK PIPX_HOME PIPX_BIN_DIR
    UV_CACHE_DIR UV_PYTHON UV_PYTHON_INSTALL_DIR POETRY_HOME
    NODE_ENV NODE_PATH NODE_OPTIONS NVM_DIR NVM_BIN NVM_INC VOLTA_HOME FNM_DIR PNPM_HOME BUN_INSTALL DENO_DIR
    COREPACK_HOME
    JAVA_HOME JDK_HOME M2_HOME MAVEN_HOME GRADLE_HOME GRADLE_USER_HOME KOTLIN_HOME ANDROID_HOME ANDROID_SDK_ROOT
    GOPATH GOROOT GOBIN GOCACHE GOMODCACHE GOFLAGS GOTOOLCHAIN CARGO_HOME CARGO_TARGET_DIR RUSTUP_HOME
    RUSTUP_TOOLCHAIN RUSTFLAGS RUST_BACKTRACE GEM_HOME GEM_PATH BUNDLE_PATH RBENV_ROOT RBENV_VERSION
    ASDF_DIR ASDF_DATA_DIR SDKMAN_DIR DOTNET_ROOT DOTNET_CLI_TELEMETRY_OPTOUT COMPOSER_HOME OPAMROOT GHCUP_HOME
    CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS NIX_PATH NIX_PROFILES HOMEBREW_PREFIX
"""
_CERTIFICATES = """
    SSL_CERT_FILE SSL_CERT_DIR NIX_SSL_CERT_FILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO
    PIP_CERT AWS_CA_BUNDLE CARGO_HTTP_CAINFO
"""
_HEADWAY = "TODO_MAX_ITEMS TODO_MAX_CONTENT_LENGTH TODO_LOG_LANG"
_OTHERS = "CI NO_COLOR DEBIAN_FRONTEND SOURCE_DATE_EPOCH CUDA_HOME CUDA_VISIBLE_DEVICES OMP_NUM_THREADS"
_PROXIES = "http_proxy https_proxy ftp_proxy all_proxy no_proxy"
_NAMES = frozenset(" ".join((_PERSON, _PLACES, _LANGUAGES, _CERTIFICATES, _HEADWAY, _OTHERS)).split()) | {
    form for name in _PROXIES.split() for form in (name, name.upper())
}
_PREFIXES = ("LC_", "XDG_")
_LOGIN = re.compile(r"^[^/\s]*@|://[^/\s]*@")
"""A name and password before a host, as the address of a proxy may have."""

_UNATTENDED = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
}


def build_environment(
    context: Context, allowed: Sequence[str], mark: str, environ: Mapping[str, str] | None = None
) -> dict[str, str]:
    """All variables of one command."""
    environ = os.environ if environ is None else environ
    made = {name: value for name, value in environ.items() if name not in _UNATTENDED and _is_harmless(name, value)}
    made.update(_UNATTENDED)
    made.update({name: environ[name] for name in allowed if name in environ})
    made["PATH"] = _append_scripts_folder(made.get("PATH") or os.defpath)
    made.update(_list_variables_for_todo_write(context))
    made.update(context.variables)
    made[MARK] = mark
    return made


def _list_variables_for_todo_write(context: Context) -> dict[str, str]:
    """Where an installed `TodoWrite` finds the list; or that it cannot."""
    if context.session is None:
        return {"HEADWAY_PROJECT": os.path.abspath(context.project)}
    project = project_folder_of(context.session)
    where = {IN_MEMORY: "1"} if project is None else {"HEADWAY_PROJECT": os.path.abspath(project)}
    return {**where, "HEADWAY_SESSION": context.session.name, "HEADWAY_AGENT": context.session.agent_id}


def _is_harmless(name: str, value: str) -> bool:
    known = name in _NAMES or name.startswith(_PREFIXES)
    if not known or is_secret_name(name) or _LOGIN.search(value) is not None:
        return False
    return os.path.isabs(value) or redact(value, {}) == value  # folders may be called anything


def _append_scripts_folder(path: str) -> str:
    """The folder of `TodoWrite` comes last, so that it hides nothing of the person's own."""
    scripts = sysconfig.get_path("scripts")
    if scripts in path.split(os.pathsep) or not os.access(os.path.join(scripts, TODO_WRITE), os.X_OK):
        return path
    return f"{path}{os.pathsep}{scripts}"
