// Highlighting of keywords, strings, comments and numbers in Python. It may misjudge a part, but never changes the
// text.

export type Piece = [kind: "" | "k" | "s" | "c" | "d", text: string];

const KEYWORDS = new Set(
  (
    "False None True and as assert async await break class continue def del elif else except finally for from global " +
    "if import in is lambda nonlocal not or pass raise return try while with yield match case type"
  ).split(" "),
);
const TOKEN =
  /(#.*)|([rbfut]{0,3}(?:"""|'''))|([rbfut]{0,3}(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?))|(\b\d[\w.]*)|([^\W\d]\w*)|(\s+|.)/giu;
const LONGEST = 2_000;

/** Return the lines as pieces. A string may span several lines. */
export function highlighted(lines: string[]): Piece[][] {
  let open = ""; // the quotes that end the open string
  return lines.map((line) => {
    if (line.length > LONGEST) return [["", line]];
    const pieces: Piece[] = [];
    const add = (kind: Piece[0], text: string) => {
      const last = pieces.at(-1);
      if (last && last[0] === kind) last[1] += text;
      else if (text) pieces.push([kind, text]);
    };
    let at = 0;
    while (at < line.length) {
      if (open) {
        const end = line.indexOf(open, at);
        const until = end < 0 ? line.length : end + open.length;
        add("s", line.slice(at, until));
        if (end >= 0) open = "";
        at = until;
        continue;
      }
      TOKEN.lastIndex = at;
      const found = TOKEN.exec(line);
      if (!found) break;
      const [text, comment, triple, string, number, word] = found;
      if (triple) open = triple.slice(-3);
      add(comment ? "c" : triple || string ? "s" : number ? "d" : word && KEYWORDS.has(word) ? "k" : "", text);
      at = TOKEN.lastIndex;
    }
    return pieces;
  });
}
