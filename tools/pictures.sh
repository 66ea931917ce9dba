#!/bin/sh
# Draw docs/images/report.svg, or $2, anew: the program of docs/user-guide.md, on the Python of $1 (3.12 or later).
# The machine should do nothing else meanwhile; look at the picture before it is committed.
set -eu
cd "$(dirname "$0")/.."
python=$(realpath -s "$(command -v "${1:-python3}")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
awk '/^```python file=shop.py/ { on = 1; next } /^```$/ { on = 0 } on' docs/user-guide.md >"$folder/shop.py"
(cd "$folder" && "$python" -m seismo profile -q -o shop.seismo shop.py 60000)
"$python" tools/picture.py "$folder/shop.seismo" "${2:-docs/images/report.svg}" \
    --title "seismo report shop.seismo" --limit 6 --depth 7
