#!/bin/sh
# `make demo`: profile a program that is not ours, Pygments turning a module of the standard library into a web page,
# and show what seismo makes of it. Leaves everything in demo/.
set -eu

mkdir -p demo
module=$(python -c 'import argparse; print(argparse.__file__)')

show() {
    printf '\n$ %s\n' "$*"
    "$@"
}

show seismo profile -q -o demo/pygments.seismo -m pygments -f html -O full,linenos=table -o demo/page.html "$module"
show seismo report demo/pygments.seismo --limit 15
show seismo export demo/pygments.seismo -o demo/pygments.speedscope.json
printf '\nThe recording is demo/pygments.seismo; https://www.speedscope.app opens demo/pygments.speedscope.json.\n'
