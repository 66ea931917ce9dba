"""The parser: recursive descent, with one method per rule of the grammar in docs/expressions.md.

Every error describes the problem in terms of the expression and points at the column. If there is a likely meaning, the
hint shows it.
"""

from __future__ import annotations

from seismo.expression.compiler import MOST
from seismo.expression.lexer import END, NUMBER, SIGN, STRING, WORD, Token, fail, quoted, tokens
from seismo.expression.terms import KINDS, UNITS, Join, Kind, Not, Number, Text, Variable
from seismo.original_builtins import builtins as __builtins__  # type: ignore[no-redef]  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn, TypeVar

    from seismo.expression.terms import Literal, Term

    One = TypeVar("One")

DEEPEST = 50  # the deepest nesting of parentheses and nots
MOST_TERMS = 500

TEXTS = {  # with an example of a pattern
    "module": "app.*",
    "function": "save",
    "qualname": "Order.*",
    "file": "app/pay.py",
    "thread": "worker-*",
    "task": "fetch-*",
    "exception": "KeyError",
}
NUMBERS = {"line": "100", "depth": "10", "calls": "1000", "duration": "50ms", "own": "5ms"}  # with an example
LISTS = {"line": "(10-20, 30)", "depth": "(1-3)", "calls": "(1, 1000)", "duration": "(1ms-5ms)", "own": "(1ms-5ms)"}
VARIABLES = ("arg", "value")
JOINERS = ("and", "or", "not", "in", "is")
CONSTANTS = {"True": True, "False": False, "None": None}
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
UNIT_NAMES = {**UNITS, "µs": 1000, "μs": 1000}  # the micro sign and the Greek letter
NEARLY = {
    "time": "duration",
    "total": "duration",
    "self": "own",
    "name": "function",
    "func": "function",
    "filename": "file",
    "path": "file",
    "lineno": "line",
    "error": "exception",
    "ncalls": "calls",
    "enter": "call",
    "exit": "return",
    "args": "arg",
    "var": "value",
    "local": "value",
    "true": "True",
    "false": "False",
    "none": "None",
    "null": "None",
}


def read(text: str) -> Term:
    """Parse the text and return its term. Raise ExpressionError."""
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.at = 0
        self.depth = 0
        self.count = 0

    # ---- the tokens ----

    @property
    def token(self) -> Token:
        """Return the next token without consuming it."""
        return self.tokens[self.at]

    def take(self) -> Token:
        """Consume the next token and return it. END is never consumed."""
        token = self.tokens[self.at]
        self.at += token.kind != END
        return token

    def sees(self, *signs: str) -> bool:
        return self.token.kind in (SIGN, WORD) and self.token.text in signs

    def skip(self, sign: str) -> bool:
        """Consume this sign or word if it is next, and return True if it was."""
        seen = self.sees(sign)
        self.at += seen
        return seen

    def fail(self, token: Token, what: str, hint: str = "") -> NoReturn:
        fail(self.text, token.column, what, hint)

    def close(self, opened: Token) -> None:
        """Consume the closing parenthesis, or raise ExpressionError."""
        if self.skip(")"):
            return
        if self.token.kind == END:
            self.fail(opened, "the parenthesis that opens here is not closed", 'add a ")" where it ends')
        self.fail(self.token, f'a ")" or a comma is missing before {self.shown(self.token)}')

    def several(self, opened: Token, one: Callable[[], One]) -> tuple[One, ...]:
        found = [one()]
        while self.skip(","):
            found.append(one())
        self.close(opened)
        return tuple(found)

    @staticmethod
    def shown(token: Token) -> str:
        if token.kind == END:
            return "the end"
        if token.kind == STRING:
            return quoted(token.text if len(token.text) <= 40 else token.text[:40] + "…")
        return repr(token.text[:40] + token.unit[:40])

    # ---- and, or, not ----

    def whole(self) -> Term:
        """Parse an expression that is followed by nothing else."""
        if self.token.kind == END:
            self.fail(self.token, "the expression is empty", 'such as: call and module("app.*")')
        term = self.either()
        if self.token.kind == END:
            return term
        if self.skip(")"):
            self.fail(self.tokens[self.at - 1], 'this ")" closes nothing', 'remove it, or add a "(" before it')
        if self.sees(*COMPARISONS, "in", "is"):
            last = self.tokens[self.at - 1]
            if last.kind == NUMBER or isinstance(term, Number):
                hint = "line in (10-20), or: line >= 10 and line <= 20"
                self.fail(self.token, "comparisons cannot be chained", hint)
            kind = term.kind if isinstance(term, Kind) else ""
            what = "the number of calls: calls > 100" if kind == "call" else f"its duration: {kind} and duration > 50ms"
            hint = f"this is a kind of event, not a number; to compare {what}" if kind else ""
            self.fail(self.token, "the term before this sign cannot be compared", hint)
        return self.fail(self.token, f'"and" or "or" is missing before {self.shown(self.token)}')

    def either(self) -> Term:
        """Parse conjunction { "or" conjunction }, where a conjunction is negation { "and" negation }."""
        return self.joined("or", lambda: self.joined("and", self.negation))

    def joined(self, word: str, one: Callable[[], Term]) -> Term:
        column = self.token.column
        operands = [one()]
        while self.skip(word):
            operands.append(one())
        return operands[0] if len(operands) == 1 else Join(column, word, operands)

    def negation(self) -> Term:
        """Parse a term, or "not" and a negation, or an expression in parentheses."""
        token = self.token
        if not self.sees("not", "("):
            return self.term()
        self.take()
        self.depth += 1
        if self.depth > DEEPEST:
            limit = f"the limit is {DEEPEST} parentheses and nots inside one another"
            self.fail(token, f"this is nested too deeply: {limit}")
        term: Term
        if token.text == "not":
            term = Not(token.column, self.negation())
        elif self.sees(")"):
            self.fail(self.token, "there is nothing between the parentheses")
        else:
            term = self.either()
            self.close(token)
        self.depth -= 1
        return term

    # ---- terms ----

    def term(self) -> Term:
        """Parse a kind, a predicate or a comparison."""
        token = self.take()
        self.count += 1
        if self.count > MOST_TERMS:
            self.fail(token, f"there are too many terms: the limit is {MOST_TERMS}")
        if token.kind == NUMBER:
            return self.flipped(token)
        if token.kind == STRING:
            self.fail(token, "a string cannot be used alone", f"did you mean: function({quoted(token.text[:40])})")
        if token.kind != WORD or token.text in JOINERS:
            self.nothing(token)
        word = token.text
        if word in NUMBERS and (word != "line" or self.sees(*COMPARISONS, "in")):
            return self.number(token)
        if word in KINDS:
            return self.kind(token)
        if word in TEXTS:
            return Text(token.column, word, self.patterns(token))
        if word in VARIABLES:
            return self.variable(token)
        return self.unknown(token)

    def nothing(self, token: Token) -> NoReturn:
        is_end = token.kind == END
        before = self.at - (1 if is_end else 2)  # the end is never consumed
        after = f" after {self.shown(self.tokens[before])}" if before >= 0 else ""
        useless = "" if is_end else f"{self.shown(token)} cannot be used here: "
        hint = 'a kind of event, or a term such as module("app.*")'
        self.fail(token, f"{useless}something is missing{after}", hint)

    def unknown(self, token: Token) -> NoReturn:
        word = token.text
        if word in CONSTANTS:
            self.fail(token, f"{word} cannot be used alone", f'such as: arg("flag") is {word}')
        words = (*KINDS, *TEXTS, *NUMBERS, *VARIABLES, "and", "or", "not")
        from difflib import get_close_matches  # only for an error, because it imports re

        near = NEARLY.get(word.lower()) or next(iter(get_close_matches(word[:30].lower(), words, 1)), "")
        terms = f"the terms are {', '.join(dict.fromkeys(words))}"
        hint = f"did you mean: {near}" if near else f'the calls of a function: call("{word[:40]}"); {terms}'
        self.fail(token, f"there is no term {word[:40]!a}", hint)

    def kind(self, token: Token) -> Term:
        """Parse a kind of event, with optional patterns for its name, or files and lines for "line"."""
        word = token.text
        if not self.sees("("):
            return Kind(token.column, word)
        if word in ("raise", "stop_iteration"):
            hint = 'for its type: raise and exception("KeyError"); for its place: raise and function("save")'
            self.fail(self.token, f"{word} takes no pattern", hint)
        if word == "line":
            return self.place(token)
        fact = "callee" if word.startswith("c_") else "name"
        return Kind(token.column, word, (Text(token.column, fact, self.patterns(token)),))

    def place(self, token: Token) -> Term:
        """Parse the arguments of line("app/pay.py", 100-120)."""
        files: list[str] = []
        ranges: list[tuple[int, int]] = []

        def one() -> None:
            if self.token.kind == STRING and not ranges:
                files.append(self.pattern())
            elif self.token.kind == NUMBER:
                ranges.append(self.range("line"))
            else:
                self.fail(self.token, "a file or a line is missing here", 'such as: line("app/pay.py", 100-120)')

        self.several(self.take(), one)
        parts: list[Text | Number] = [Text(token.column, "file", tuple(files))] if files else []
        if ranges:
            parts.append(Number(token.column, "line", "in", tuple(ranges)))
        return Kind(token.column, "line", tuple(parts))

    def patterns(self, token: Token) -> tuple[str, ...]:
        """Parse ( STRING { , STRING } )."""
        word, opened = token.text, self.token
        if not self.skip("("):
            if self.sees(*COMPARISONS, "in", "is"):
                value = self.tokens[self.at + 1]
                text = quoted(value.text[:40]) if value.kind in (STRING, WORD) else '"..."'
                self.fail(opened, f"{word} takes a pattern and cannot be compared", f"write {word}({text})")
            self.fail(token, f"{word} needs a pattern", f'such as: {word}("{TEXTS[word]}")')
        return self.several(opened, self.pattern)

    def pattern(self) -> str:
        token = self.token
        if token.kind != STRING:
            hint = f'write names in quotes: "{token.text[:40]}"' if token.kind == WORD else "write patterns in quotes"
            self.fail(token, "a pattern is missing here", hint)
        if not token.text:
            self.fail(token, "an empty pattern matches nothing", '"*" matches everything')
        self.take()
        return token.text

    # ---- numbers ----

    def number(self, token: Token) -> Term:
        """Parse duration > 50ms, or line in (10-20, 30)."""
        word, sign = token.text, self.take()
        if sign.text == "in" and sign.kind == WORD:
            opened = self.token
            if not self.skip("("):
                self.fail(opened, "a list is missing here", f"such as: {word} in {LISTS[word]}")
            return Number(token.column, word, "in", self.several(opened, lambda: self.range(word)))
        if sign.kind != SIGN or sign.text not in COMPARISONS:
            place = sign if sign.text == "(" and sign.kind == SIGN else token
            self.fail(place, f"{word} is a number and has to be compared", f"such as: {word} > {NUMBERS[word]}")
        value = self.amount(word)
        return Number(token.column, word, sign.text, ((value, value),))

    def flipped(self, token: Token) -> Term:
        """Parse 50ms < duration."""
        sign = self.token
        word = self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        if not self.sees(*COMPARISONS) or word.kind != WORD or word.text not in NUMBERS:
            self.fail(token, "a number cannot be used alone", "compare something with it, such as: duration > 50ms")
        self.at -= 1
        value = self.amount(word.text)
        self.at += 2
        return Number(token.column, word.text, FLIPPED[sign.text], ((value, value),))

    def range(self, word: str) -> tuple[int, int]:
        """Parse 10 or 10-20, and return both ends, which are inclusive."""
        first = self.token
        low = high = self.amount(word)
        if self.skip("-"):
            high = self.amount(word)
            if high < low:
                self.fail(first, "the range ends before it begins")
        return low, high

    def amount(self, word: str) -> int:
        """Parse a whole number, or a duration with its unit, which is returned in nanoseconds."""
        token = self.take()
        if token.kind != NUMBER:
            self.fail(token, f"{word} can only be compared with a number", f"such as: {word} > {NUMBERS[word]}")
        if word in ("duration", "own"):
            value = self.nanoseconds(token, word)
        elif token.unit:
            self.fail(token, f"{word} has no unit", f"such as: {word} > {NUMBERS[word]}")
        elif token.text.isdecimal():
            value = int(token.text)
        else:
            self.fail(token, f"{word} is a whole number")
        if value > MOST:
            self.fail(token, "the number is too large")
        return value

    def nanoseconds(self, token: Token, word: str) -> int:
        if not token.unit:
            hint = f"such as: {word} > {token.text}ms (units: ns, us, ms, s)"
            self.fail(token, f"a unit is missing after {token.text}", hint)
        if token.unit not in UNIT_NAMES:
            self.fail(token, f"there is no unit {token.unit[:20]!a}", "the units are ns, us, ms, s")
        whole, _, part = token.text.partition(".")
        if not (whole + part).isdecimal():
            self.fail(token, "an exponent cannot be used here", f"such as: {word} > 50ms")
        value, rest = divmod(int(whole + part) * UNIT_NAMES[token.unit], int("1" + "0" * len(part)))
        if rest:
            self.fail(token, "this is finer than a nanosecond")
        return value

    # ---- variables ----

    def variable(self, token: Token) -> Term:
        """Parse arg("user").id == 7."""
        word, opened = token.text, self.token
        if not self.skip("("):
            self.fail(token, f"{word} needs the name of a variable", f'such as: {word}("user").id == 7')
        name = self.token
        if name.kind != STRING:
            hint = f'write names in quotes: "{name.text[:40]}"' if name.kind == WORD else ""
            self.fail(name, "the name of a variable is missing here", hint)
        if not name.text.isidentifier():
            self.fail(name, f"{self.shown(name)} is not the name of a variable", "patterns cannot be used here")
        self.take()
        self.close(opened)
        term = Variable(token.column, word, name.text, self.path())
        self.comparison(term)
        return term

    def path(self) -> tuple[tuple[str, str | int], ...]:
        """Parse { . NAME | [ LITERAL ] }."""
        path: list[tuple[str, str | int]] = []
        while self.sees(".", "["):
            sign = self.take()
            key = self.token
            if sign.text == ".":
                if key.kind != WORD:
                    self.fail(key, "the name of an attribute is missing here")
                path.append((".", self.take().text))
                if self.sees("("):
                    self.fail(self.token, "methods cannot be called: that would run code of the program")
                continue
            literal = self.literal()
            if type(literal) is not str and type(literal) is not int:
                self.fail(key, "only a string or a whole number can be used here")
            path.append(("[", literal))
            if not self.skip("]"):
                self.fail(self.token, 'a "]" is missing here')
        return tuple(path)

    def comparison(self, term: Variable) -> None:
        sign = self.take()
        word = sign.text if sign.kind in (SIGN, WORD) else ""
        if word == "not" and self.skip("in"):
            word = "not in"
        elif word == "is" and self.skip("not"):
            word = "is not"
        if word not in (*COMPARISONS, "in", "not in", "is", "is not"):
            hint = f'such as: {term.fact}("{term.name}") == 7, or: {term.fact}("{term.name}") is not None'
            self.fail(sign, "a comparison is missing here", hint)
        term.operator = word
        first = self.token
        if word not in ("in", "not in"):
            term.literals = (self.literal(),)
            if word.startswith("is") and not (term.literals[0] is None or isinstance(term.literals[0], bool)):
                self.fail(first, "only None, True and False can be compared with is", "use ==")
            if term.literals[0] is None and word.startswith(("<", ">")):
                self.fail(first, "None is neither less nor greater", "write: is None, or: is not None")
            return
        if not self.skip("("):
            self.fail(first, "a list is missing here", f'such as: {term.fact}("{term.name}") in (1, 2)')
        term.literals = self.several(first, self.literal)

    def literal(self) -> Literal:
        token = self.take()
        negative = token.kind == SIGN and token.text == "-"
        if negative:
            token = self.take()
        if token.kind == NUMBER:
            if token.unit:
                self.fail(token, "no unit can be used here", "to compare durations, use duration or own")
            value = int(token.text) if token.text.isdecimal() else float(token.text)
            if value - value != 0:
                self.fail(token, "the number is too large")
            return -value if negative else value
        if token.kind == STRING and not negative:
            return token.text
        if token.kind == WORD and token.text in CONSTANTS and not negative:
            return CONSTANTS[token.text]
        hint = f'write strings in quotes: "{token.text[:40]}"' if token.kind == WORD else ""
        return self.fail(token, "a value is missing here: a number, a string, True, False or None", hint)
