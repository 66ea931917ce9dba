"""Prints a script that completes verbs, options, their values and files.

bash, in ~/.bashrc:               source <(seismo completion bash)
zsh, in ~/.zshrc after compinit:  source <(seismo completion zsh)
fish:  seismo completion fish > ~/.config/fish/completions/seismo.fish
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

SHELLS = ("bash", "zsh", "fish")
SCRIPT, RECORDING = "script", "recording"


class Flag(NamedTuple):
    """An option. values: what can stand after it; files: files can; takes: whether anything does."""

    names: list[str]
    help: str
    takes: bool
    values: list[str]
    files: bool


class Command(NamedTuple):
    """A verb. subject: what it is about, SCRIPT, RECORDING or ""; words: what can stand there instead of files.

    before: how many words stand before the script.
    """

    verb: str
    summary: str
    flags: list[Flag]
    subject: str
    words: list[str]
    before: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `seismo completion`."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help="the shell: bash, zsh or fish")


def run(args: argparse.Namespace) -> int:
    """Prints the script."""
    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell]
    sys.stdout.write("\n".join(write(commands())) + "\n")
    return 0


# ---- what there is ----


def commands() -> list[Command]:
    """All verbs, from the tables that they themselves read."""
    from seismo.cli.main import VERBS
    from seismo.cli.parsing import Parser

    found = []
    for verb, summary in VERBS.items():
        module = __import__(f"seismo.cli.{verb}", fromlist=["_"])
        help_ = Flag(["-h", "--help"], "say what the verb takes", False, [], False)
        if hasattr(module, "VERB"):
            flags = [Flag(["-m"], "run a module", True, [], False), Flag(["-c"], "run code", True, [], False)]
            for option in module.VERB.options:
                values = _values(option.names[-1], option.metavar, option.choices)
                flags.append(Flag(option.names, option.help, not option.is_flag, *values))
            found.append(Command(verb, summary, [help_, *flags], SCRIPT, [], int(bool(module.VERB.before))))
            continue
        parser = Parser(add_help=False)
        module.add_arguments(parser)
        flags, subject, words = [help_], "", []
        for action in parser._actions:
            if action.option_strings:
                values = _values(action.option_strings[-1], str(action.metavar or ""), action.choices or ())
                flags.append(Flag(list(action.option_strings), action.help or "", action.nargs != 0, *values))
            elif action.choices:
                words = [str(choice) for choice in action.choices]
            else:
                subject = RECORDING
        found.append(Command(verb, summary, flags, subject, words, 0))
    return found


def _values(name: str, metavar: str, choices: Iterable[object]) -> tuple[list[str], bool]:
    """What can stand after an option, and whether files can."""
    from seismo import formats
    from seismo.cli.report import orders
    from seismo.report.calls.functions import COLUMNS
    from seismo.report.kind import OF_PSTATS

    values = [str(choice) for choice in choices]
    known = {
        "--sort": [*orders(), *OF_PSTATS],
        "--columns": list(COLUMNS),
        "--format": formats.names(),
        "--weight": list(formats.WEIGHTS),
    }
    values = values or known.get(name, [])
    return values, not values and any(word in metavar for word in ("FILE", "OUT", "DIR", "GLOB"))


def _suffixes() -> list[str]:
    """The ends of the names of files that the reading verbs read."""
    from seismo import formats

    return list(dict.fromkeys(suffix for entry in formats.FORMATS if entry.reader for suffix in entry.suffixes))


def _quoted(text: str) -> str:
    """For bash and zsh."""
    return "'" + text.replace("'", "'\\''") + "'"


# ---- bash ----

_BASH = r"""
# Fills COMPREPLY with the files that match one of the patterns, and folders; where none does, with all files.
_seismo_files() {
    local file pattern
    compopt -o filenames 2>/dev/null
    while IFS= read -r file; do
        for pattern in "${@:2}"; do
            if [[ -d $file || $file == $pattern ]]; then
                COMPREPLY+=("$file")
                break
            fi
        done
    done < <(compgen -f -- "$1")
    ((${#COMPREPLY[@]})) || compopt -o default 2>/dev/null
}

_seismo() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]}
    local index word count=0 skip=0 begins=0 options='' subject='' preceding=0 values=''
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        [[ $current == -* ]] && options='--help --version' || options=$_seismo_verbs
        COMPREPLY=($(compgen -W "$options" -- "$current"))
        return
    fi
    if [[ $current == = ]]; then # bash has --option=value as three words
        current=''
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    _seismo_verb "$verb"
    for ((index = 2; index < COMP_CWORD; index++)); do
        word=${COMP_WORDS[index]}
        if [[ $word == = ]]; then
            continue
        elif ((skip)); then
            skip=0
        elif [[ $subject == script && ( $word == -m || $word == -c ) ]]; then
            skip=1 begins=1 # the program; what it is comes next
        elif [[ $word == -* ]]; then
            _seismo_value "$verb" "$word" && skip=1
        else
            count=$((count + 1))
        fi
        if [[ $subject == script ]] && ((count > preceding || (begins && !skip))); then
            compopt -o default 2>/dev/null # the program's own words
            return
        fi
    done
    if [[ $before == -* ]] && _seismo_value "$verb" "$before"; then
        case $values in
        @files) compopt -o default 2>/dev/null ;;
        *) COMPREPLY=($(compgen -W "$values" -- "$current")) ;;
        esac
    elif [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$current"))
    elif [[ $subject == script ]]; then
        ((count == preceding)) && _seismo_files "$current" '*.py'
    elif [[ $subject == recording ]]; then
        _seismo_files "$current" SUFFIXES
    else
        COMPREPLY=($(compgen -W "$subject" -- "$current"))
    fi
}

complete -F _seismo seismo
"""


def _bash(commands: list[Command]) -> list[str]:
    lines = ["# bash completion of seismo: source <(seismo completion bash)"]
    lines += [f"_seismo_verbs={_quoted(' '.join(command.verb for command in commands))}", ""]
    lines += [
        "# Sets what a verb takes: options, subject, and how many words come before the script.",
        "_seismo_verb() {",
    ]
    lines += ["    preceding=0", "    case $1 in"]
    for command in commands:
        options = " ".join(name for flag in command.flags for name in flag.names)
        subject = command.subject or " ".join(command.words)
        lines += [
            f"    {command.verb}) options={_quoted(options)} subject={_quoted(subject)} preceding={command.before} ;;"
        ]
    lines += ["    help) subject=$_seismo_verbs ;;", "    esac", "}", ""]
    lines += ["# Sets values, and succeeds, if something has to stand after an option of a verb.", "_seismo_value() {"]
    lines += ["    values=''", '    case "$1 $2" in']
    for command in commands:
        for flag in command.flags:
            if flag.takes:
                names = " | ".join(_quoted(f"{command.verb} {name}") for name in flag.names)
                values = "@files" if flag.files else " ".join(flag.values)
                lines += [f"    {names}) values={_quoted(values)} ;;"]
    lines += ["    *) return 1 ;;", "    esac", "}"]
    suffixes = " ".join(_quoted(f"*{suffix}") for suffix in _suffixes())
    return [*lines, *_BASH.replace("SUFFIXES", suffixes).rstrip().split("\n")]


# ---- zsh ----


def _zsh(commands: list[Command]) -> list[str]:
    lines = ["#compdef seismo", "# zsh completion of seismo: source <(seismo completion zsh)", "", "_seismo() {"]
    lines += ["    local -a verbs", "    verbs=("]
    lines += [
        f"        {_quoted(command.verb + ':' + command.summary.replace(':', chr(92) + ':'))}" for command in commands
    ]
    lines += [
        "    )",
        "    if ((CURRENT == 2)); then",
        "        _describe -t verbs verb verbs",
        "        return",
        "    fi",
    ]
    lines += ["    shift words", "    ((CURRENT--))", "    case $words[1] in"]
    for command in commands:
        stop = " -A '-*'" if command.subject == SCRIPT and not command.before else ""
        lines += [f"    {command.verb})", f"        _arguments -S{stop} \\"]
        specs = [spec for flag in command.flags for spec in _zsh_flag(flag)]
        specs += _zsh_subject(command)
        lines += [f"            {spec} \\" for spec in specs[:-1]] + [f"            {specs[-1]}", "        ;;"]
    lines += ["    help) _describe -t verbs verb verbs ;;", "    esac", "}", ""]
    return [*lines, 'if [[ $funcstack[1] == _seismo ]]; then _seismo "$@"; else compdef _seismo seismo; fi']


def _zsh_flag(flag: Flag) -> list[str]:
    help_ = "".join(f"\\{char}" if char in "[]:\\" else char for char in flag.help)
    what = ""
    if flag.takes:
        values = "_files" if flag.files else f"({' '.join(flag.values)})" if flag.values else " "
        what = f":value:{values}"
    names = [name + ("=" if flag.takes and name.startswith("--") else "") for name in flag.names]
    return [_quoted(f"*{name}[{help_}]{what}") for name in names]


def _zsh_subject(command: Command) -> list[str]:
    if command.subject == SCRIPT:
        before = [_quoted(":expression: ")] * command.before
        return [*before, _quoted(':script:_files -g "*.py(-.)"'), _quoted("*:argument:_files")]
    if command.subject == RECORDING:
        globs = "|".join(suffix.lstrip(".") for suffix in _suffixes())
        return [_quoted(f'*:recording:_files -g "*.({globs})(-.)"')]
    return [_quoted(f"1:word:({' '.join(command.words)})")]


# ---- fish ----

_FISH = r"""
function __seismo_begins
    test (count (commandline -opc)) -eq 1
end

# Whether the verb is one of these, and, of one that runs a program, the program has not begun.
function __seismo_verb
    set -l words (commandline -opc)
    test (count $words) -gt 1; and contains -- $words[2] $argv; or return 1
    contains -- $words[2] $__seismo_programs; or return 0
    set -l preceding 0
    contains -- $words[2] $__seismo_preceded; and set preceding 1
    set -l skip 0
    for word in $words[3..-1]
        if test $skip -eq 1
            set skip 0
        else if contains -- $word -m -c
            return 1
        else if contains -- "$words[2] $word" $__seismo_takes
            set skip 1
        else if not string match -q -- '-*' $word
            test $preceding -eq 0; and return 1
            set preceding 0
        end
    end
    return 0
end
"""


def _fish(commands: list[Command]) -> list[str]:
    takes = [
        f"{command.verb} {name}" for command in commands for flag in command.flags if flag.takes for name in flag.names
    ]
    programs = [command.verb for command in commands if command.subject == SCRIPT]
    lines = ["# fish completion of seismo: seismo completion fish > ~/.config/fish/completions/seismo.fish"]
    lines += [f"set -g __seismo_takes {' '.join(map(_fish_word, takes))}"]
    lines += [f"set -g __seismo_programs {' '.join(programs)}"]
    lines += [f"set -g __seismo_preceded {' '.join(command.verb for command in commands if command.before)}"]
    lines += [*_FISH.rstrip().split("\n"), ""]
    for command in commands:
        lines += [f"complete -c seismo -f -n __seismo_begins -a {command.verb} -d {_fish_word(command.summary)}"]
    for command in commands:
        condition = _fish_word(f"__seismo_verb {command.verb}")
        suffix = {SCRIPT: ".py", RECORDING: ".seismo"}.get(command.subject)
        words = f"(__fish_complete_suffix {suffix})" if suffix else " ".join(command.words)
        lines += [
            f"complete -c seismo -f -n {condition} -a {_fish_word(words)}"
            if words
            else f"complete -c seismo -f -n {condition}"
        ]
        lines += [f"complete -c seismo -n {condition} {_fish_flag(flag)}" for flag in command.flags]
    lines += [
        f"complete -c seismo -f -n '__seismo_verb help' -a {_fish_word(' '.join(command.verb for command in commands))}"
    ]
    return lines


def _fish_flag(flag: Flag) -> str:
    names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names]
    value = []
    if flag.takes:
        value = ["-rF"] if flag.files else ["-x", f"-a {_fish_word(' '.join(flag.values))}"] if flag.values else ["-x"]
    return " ".join([*names, *value, f"-d {_fish_word(flag.help)}"])


def _fish_word(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
