"""Keys, tokens and passwords are taken out of what is kept; everything else stays as it is."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.counts import some
from tests.support.growth import bounded
from tests.support.tables import check_rows

from headway.core.secrets import HIDDEN, is_secret_name, redact

LETTERS = "aB3dE5gH1jK2mN4pQ6sT8vW0xY7z"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N"
BODY = ("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n") * 20

SHAPES = [
    f"sk-{LETTERS}",
    f"sk-proj-{LETTERS}_{LETTERS}-x",
    f"sk-ant-api03-{LETTERS}",
    f"AIza{LETTERS}_-1234567",
    f"ghp_{LETTERS}",
    f"gho_{LETTERS}",
    f"github_pat_{LETTERS}_{LETTERS}",
    f"glpat-{LETTERS}",
    f"hf_{LETTERS}",
    f"npm_{LETTERS}",
    f"gsk_{LETTERS}",
    f"xai-{LETTERS}",
    f"tvly-{LETTERS}",
    f"tvly-dev-{LETTERS}",
    f"pypi-{LETTERS}{LETTERS}",
    f"sk_live_{LETTERS}",
    f"ya29.{LETTERS}",
    "xoxb-123456789012-abcdefGHIJ",
    "AKIAIOSFODNN7EXAMPLE",
    JWT,
    f"-----BEGIN PRIVATE KEY-----\n{BODY}-----END PRIVATE KEY-----",
    f"-----BEGIN OPENSSH PRIVATE KEY-----\n{BODY}-----END OPENSSH PRIVATE KEY-----",
]
AROUND = [
    "{}",
    "a {} b",
    "'{}'",
    '{{"k": "{}"}}',
    "k: {}\n",
    "({})",
    "x={};",
    "\\n{}\\n",
    "first\n{}\nlast",
    "修{}修"[1:-1],
]


def test_a_key_is_known_by_its_shape_wherever_it_stands():
    def check(secret: str, around: str) -> None:
        assert redact(around.format(secret), {}) == around.format(HIDDEN)

    check_rows(product(SHAPES, AROUND), check)


def test_what_a_name_says_is_secret_is_hidden_and_the_rest_stays():
    def check(text: str, hidden: str) -> None:
        assert redact(text, {}) == hidden

    check_rows(
        [
            ("password=hunter2x", "password=[redacted]"),
            ("password: 12345678", "password: [redacted]"),
            ("PASSWORD = 'p@ss;w0rd,&x'", "PASSWORD = '[redacted]'"),
            ('{"api_key": "abcd1234", "n": 1}', '{"api_key": "[redacted]", "n": 1}'),
            (r'"{\"token\": \"abcd1234\"}"', r'"{\"token\": \"[redacted]\"}"'),
            ("db:\n  password: hunter2x\n  host: a", "db:\n  password: [redacted]\n  host: a"),
            ("client_secret=abcd1234&code=1", "client_secret=[redacted]&code=1"),
            ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY=[redacted]"),
            ("export DB_PASS=abc12345", "export DB_PASS=[redacted]"),
            ("curl -H 'Authorization: Bearer abcd1234efgh' x", "curl -H 'Authorization: Bearer [redacted]' x"),
            ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic dXNlcjpwYXNz"),
            ("Authorization: Basic dXNlcjpwYXNzd29yZDE=", "Authorization: Basic [redacted]"),
            ("tool --token abcd1234 --password=hunter2x y", "tool --token [redacted] --password=[redacted] y"),
            (
                "postgres://me:pw@db/x and redis://:s3cret@h:6379",
                "postgres://me:[redacted]@db/x and redis://:[redacted]@h:6379",
            ),
            ("token=abcd1234 token=efgh5678", "token=[redacted] token=[redacted]"),
            ("fetch(password=abcd1234)", "fetch(password=[redacted])"),
            ("call(f(token=abcd1234))", "call(f(token=[redacted]))"),
            ("passphrase: correct-Horse+battery/staple", "passphrase: [redacted]"),
            (f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}MIIE", "[redacted]"),
            (
                "key " + f"-----BEGIN PRIVATE KEY-----\n{BODY}".replace("\n", "\\n") + "-----END PRIVATE KEY-----.",
                "key [redacted].",
            ),
        ],
        check,
    )


def test_ordinary_text_and_code_stay_as_they_are():
    def check(text: str) -> None:
        assert redact(text, {}) == text

    check_rows(
        [
            "",
            "The token is checked before the password: then the secret, if there is one.",
            "A bearer of good news; basic authorization: required",
            "token = get_token()",
            "token = get_a_token_that_is_rather_long(now)",
            "token: str",
            "password: str | None = None",
            "password: SecretStr = Field(default=None)",
            "const token: AuthenticationTokenProvider = provide();",
            "token = settings.auth.access_token",
            "token = tokens[0].value",
            "secret = some_long_variable_name_in_snake_case",
            "api_key = os.environ['OPENAI_API_KEY']",
            "api_key: ${OPENAI_API_KEY_1}",
            "password: <your password here 123>",
            "password=$PASSWORD1",
            "password: ********",
            "max_tokens=4096000, tokens: 123456789",
            "token: 128000",
            "commit d16bf79c0ffee1234567890abcdef1234567890ab",
            "id 123e4567-e89b-12d3-a456-426614174000",
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "http://localhost:8080/index.html?x=12345678",
            "https://example.com:443/a@b and ssh://git@github.com:22/x and http://[::1]:8000/abc12345",
            "git@github.com:org/repo-12345678.git",
            "class sk-folding-cube-container-of-things and task-1234567890123456789",
            "npm_config_registry_of_the_project npm-run-all-and-everything-else",
            "test_authentication_token_is_refreshed_after_3600_seconds",
            "eyJ is how JSON begins in base64",
            'if line.startswith("-----BEGIN PRIVATE KEY-----"): return read(line, 12345678)',
            "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----",
            "PWD=/home/someone/project12345",
            "密码：这里没有",
        ],
        check,
    )


ENVIRON = {
    "OPENAI_API_KEY": "correct horse battery",
    "LONGER_TOKEN": "correct horse battery staple",
    "SHORT_TOKEN": "short",
    "KEY_FILE": "/etc/keys/mine.pem",
    "DATABASE_URL": "postgres://me:n0t-a-shape@db/x",
    "HIDDEN_TOKEN": "redacted",
    "LANG": "en_GB.UTF-8",
}


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("it is correct horse battery!", "it is [redacted]!"),
        ("it is correct horse battery staple!", "it is [redacted]!"),
        ("login with n0t-a-shape", "login with [redacted]"),
        ("a short one in /etc/keys/mine.pem with en_GB.UTF-8", "a short one in /etc/keys/mine.pem with en_GB.UTF-8"),
        ("what was redacted stays [redacted]", "what was redacted stays [redacted]"),
    ],
)
def test_values_of_secret_variables_are_hidden_wherever_they_stand(text: str, hidden: str):
    assert redact(text, ENVIRON) == hidden


def test_the_own_environment_is_looked_at(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOME_API_KEY", "no shape at all")
    assert redact("this has no shape at all") == "this has [redacted]"


PIECES = st.sampled_from(
    [
        *SHAPES,
        "token",
        "password",
        "=",
        ":",
        " ",
        "\n",
        "'",
        '"',
        "\\",
        "(",
        ")",
        "://",
        "@",
        "bearer ",
        "--token ",
        "x1",
        "-----",
    ]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=30).map("".join))
def test_redacting_never_fails_and_doing_it_twice_changes_nothing(text: str):
    once = redact(text, ENVIRON)
    assert redact(once, ENVIRON) == once


@pytest.mark.full
@pytest.mark.parametrize(
    "hostile",
    [
        *(
            "-eyJ",
            "eyJ-",
            "eyJaaaaaaaa.",
            "sk-",
            "-",
            "--",
            "--token ",
            "token=",
            "token=(",
            "token='",
            "password:",
            "://a:",
        ),
        *(
            "://",
            "bearer ",
            "AKIA",
            "a ",
            "\n",
            "\\n",
            "-----BEGIN PRIVATE KEY-----",
            "-----BEGIN ",
            "ghp_",
            "0",
            "'\"",
            "[_-]",
        ),
        *(
            "-----BEGIN PRIVATE KEY-----\n" + "A" * 60 + "\n",
            "authorization: bearer ",
            "api_key",
            "=" * 7,
            "token=a.b[c]",
        ),
    ],
)
def test_hostile_text_is_read_to_its_end(hostile: str):
    with bounded():  # a pattern that takes quadratic time would not come back from this
        assert redact(hostile * (some(300_000, 3) // len(hostile)), {}) is not None


NAMES: list[Any] = [
    *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GITHUB_TOKEN", "GH_TOKEN", "AWS_SECRET_ACCESS_KEY"),
    *("AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "DATABASE_PASSWORD", "NPM_TOKEN", "PGPASSWORD", "MYSQL_PWD", "DB_PASS"),
    *("REDISCLI_AUTH", "SENTRY_DSN", "AZURE_STORAGE_CONNECTION_STRING", "GOOGLE_APPLICATION_CREDENTIALS", "SECRET_KEY"),
    *(
        "DJANGO_SECRET_KEY",
        "APIKEY",
        "MY_APIKEY",
        "HF_TOKEN",
        "SLACK_BOT_TOKEN",
        "VAULT_TOKEN",
        "api_key",
        "CI_JOB_JWT",
    ),
    *("SSH_KEY_PASSPHRASE", "STRIPE_SECRET", "AUTH_TOKEN", "API_KEY_2", "TWINE_PASSWORD", "AUTHTOKEN"),
]
PLAIN = [
    *("PATH", "HOME", "USER", "LANG", "TERM", "SHELL", "PWD", "OLDPWD", "KEYBOARD", "TOKENIZERS_PARALLELISM", "MONKEY"),
    *(
        "AUTHOR",
        "GIT_AUTHOR_NAME",
        "XAUTHORITY",
        "SSH_AUTH_SOCK",
        "COMPASS",
        "PASSENGER",
        "KEYMAP",
        "MAX_TOKENS",
        "TURKEY",
    ),
    *("DATABASE_URL", "HTTP_PROXY", "VIRTUAL_ENV", "PYTHONPATH", "CI", "BYPASS", "DONKEY_HOME", "SECRETARY", ""),
]


def test_secret_variables_are_known_by_their_names():
    assert [name for name in NAMES if not is_secret_name(name)] == []
    assert [name for name in PLAIN if is_secret_name(name)] == []


def test_possessive_groups_mean_the_same_in_every_version_of_python():
    """The first versions of 3.11 have them wrong in `re`."""
    from headway.core import secrets

    patterns = [secrets._SHAPES, secrets._NAMED, secrets._CODE]  # pyright: ignore[reportPrivateUsage]
    assert {type(pattern).__module__ for pattern in patterns} == {"_regex"}
    key = f"-----BEGIN PRIVATE KEY-----\\n{'A' * 64}\\n{'B' * 64}\\nCC=="
    assert redact(f"before {key} after", {}) == f"before {HIDDEN} after"
