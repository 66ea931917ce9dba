"""Names that suggest secrets (password, token, cookie ...), in a program's variables and arguments."""

from __future__ import annotations

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

MASK = "***"

# Parts of a name that mark its value as secret; compared without case, _ and -.
_SECRET_PARTS = (
    *("password", "passwd", "passphrase", "secret", "token", "apikey"),
    *("authorization", "cookie", "privatekey", "accesskey", "credential", "sessionid"),
)
# Matched as whole words, because they are too short to be parts.
_SECRET_WORDS = {"pwd", "pw", "auth", "jwt", "bearer", "otp", "pin", "cvv", "ssn"}


def looks_secret(name: str) -> bool:
    """Return True if a value of this name must be hidden: api_key, X-Auth-Token, dbPassword, pwd."""
    name = name[:200].lower()
    together = name.replace("_", "").replace("-", "").replace(" ", "").replace(".", "")
    if any(part in together for part in _SECRET_PARTS):
        return True
    return not _SECRET_WORDS.isdisjoint(name.replace("-", "_").replace(".", "_").split("_"))


def masked(words: list[str]) -> list[str]:
    """Return a command line with secrets masked.

    Masked are the value of --password=VALUE, PASSWORD=VALUE and 'Authorization: VALUE', the word after --password, and
    the password in a URL. The text of a program (-c) is not searched.
    """
    shown: list[str] = []
    hide = False
    for word in words:
        if hide and not word.startswith("-"):
            shown.append(MASK)
            hide = False
            continue
        name, sign = _named(word)
        secret = looks_secret(name)
        hide = secret and not sign and word.startswith("-")
        shown.append(f"{word[: len(name)]}{sign}{MASK}" if secret and sign else _without_password(word))
    return shown


def _named(word: str) -> tuple[str, str]:
    """Return the name that a word sets, and the sign after it; an option without a sign is only a name."""
    for sign in ("=", ":"):
        name, found, _ = word.partition(sign)
        if found and name.replace("-", "_").replace(".", "_").isidentifier():
            return name, sign
    return (word, "") if word.startswith("-") else ("", "")


def _without_password(word: str) -> str:
    """Return scheme://user:password@host with the password masked."""
    scheme, found, rest = word.partition("://")
    host, slash, path = rest.partition("/")
    login, at, host = host.rpartition("@")
    user, colon, _ = login.partition(":")
    return f"{scheme}{found}{user}{colon}{MASK}{at}{host}{slash}{path}" if found and at and colon else word
