// The rows of a shown source: one for each line, and further ones below a line.

export const LINE = -1; // a row that is the line itself

/** The line of each row, and its kind: LINE, or a number of the caller's. */
export interface Rows {
  line: Int32Array;
  extra: Int32Array;
  /** The first row of each line. */
  of: Map<number, number>;
}

/** Return the rows of these lines. below: returns the kinds of further rows below a line. */
export function rowsOf(lines: Iterable<number>, below: (line: number) => readonly number[]): Rows {
  const line: number[] = [];
  const extra: number[] = [];
  const of = new Map<number, number>();
  for (const number of lines) {
    of.set(number, line.length);
    line.push(number);
    extra.push(LINE);
    for (const one of below(number)) {
      line.push(number);
      extra.push(one);
    }
  }
  return { line: Int32Array.from(line), extra: Int32Array.from(extra), of };
}

/** Return the lines that contain a text, ignoring case. words: "" for no search. */
export function linesWith(lines: readonly string[], words: string): Set<number> {
  const found = new Set<number>();
  if (!words.trim()) return found;
  let pattern: RegExp;
  try {
    pattern = new RegExp(words.trim(), "iu");
  } catch {
    return found;
  }
  lines.forEach((text, at) => {
    if (pattern.test(text)) found.add(at + 1);
  });
  return found;
}

/** Return the next or previous one of sorted places, wrapping at the ends. */
export function next(places: readonly number[], from: number, forth: boolean): number {
  if (!places.length) return 0;
  if (forth) return places.find((place) => place > from) ?? places[0];
  return places.findLast((place) => place < from) ?? places[places.length - 1];
}
