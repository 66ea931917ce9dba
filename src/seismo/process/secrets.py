"""What looks secret by its name (password, token, cookie ...), in a program's variables and among its arguments."""

from __future__ import annotations

from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

MASK = "***"

# Parts of a name that say that its value is nobody's business; compared without _ - and case.
_SECRET_PARTS = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "authorization",
    "cookie",
    "privatekey",
    "accesskey",
    "credential",
    "sessionid",
)
_SECRET_WORDS = {"pwd", "pw", "auth", "jwt", "bearer", "otp", "pin", "cvv", "ssn"}  # too short to be parts


def looks_secret(name: str) -> bool:
    """Whether a value of this name is to be hidden: api_key, X-Auth-Token, dbPassword, pwd."""
    name = name[:200].lower()
    together = name.replace("_", "").replace("-", "").replace(" ", "").replace(".", "")
    if any(part in together for part in _SECRET_PARTS):
        return True
    return not _SECRET_WORDS.isdisjoint(name.replace("-", "_").replace(".", "_").split("_"))


def masked(words: list[str]) -> list[str]:
    """A command line without what looks secret.

    That is the value of --password=VALUE, PASSWORD=VALUE and 'Authorization: VALUE', the word after --password, and the
    password of a URL. What a program's own text (-c) holds stays.
    """
    shown: list[str] = []
    hide = False
    for word in words:
        if hide and not word.startswith("-"):
            shown.append(MASK)
            hide = False
            continue
        name, sign, _ = _named(word)
        secret = looks_secret(name)
        hide = secret and not sign and word.startswith("-")
        shown.append(f"{word[: len(name)]}{sign}{MASK}" if secret and sign else _without_password(word))
    return shown


def _named(word: str) -> tuple[str, str, str]:
    """The name that a word gives a value to, the sign between, the value; without a sign, an option is a name alone."""
    for sign in ("=", ":"):
        name, found, value = word.partition(sign)
        if found and name and name.replace("-", "_").replace(".", "_").isidentifier():
            return name, found, value
        if found and name.startswith("-") and name.lstrip("-").replace("-", "_").replace(".", "_").isidentifier():
            return name, found, value
    return (word, "", "") if word.startswith("-") else ("", "", "")


def _without_password(word: str) -> str:
    """scheme://user:password@host without the password."""
    scheme, found, rest = word.partition("://")
    host, slash, path = rest.partition("/")
    login, at, host = host.rpartition("@")
    user, colon, _ = login.partition(":")
    return f"{scheme}{found}{user}{colon}{MASK}{at}{host}{slash}{path}" if found and at and colon else word
