// The search for functions.

export interface Found {
  matches: Uint8Array | null; // 1 for each function that matches; null without a search
  count: number;
  problem: string;
}

/** Find functions with a line that matches a regular expression, ignoring case. text: returns a function's lines. */
export function search(words: string, size: number, text: (fn: number) => string): Found {
  if (!words.trim()) return { matches: null, count: 0, problem: "" };
  let pattern: RegExp;
  try {
    pattern = new RegExp(words.trim(), "imu");
  } catch {
    return { matches: null, count: 0, problem: "this is no regular expression yet" };
  }
  const matches = new Uint8Array(size);
  let count = 0;
  for (let fn = 0; fn < size; fn++) {
    if (pattern.test(text(fn))) {
      matches[fn] = 1;
      count++;
    }
  }
  return { matches, count, problem: "" };
}

/** Return the weight of the matching functions with their callees, each path counted once. */
export function part(
  paths: { size: number; fn: ArrayLike<number>; end: ArrayLike<number> },
  total: ArrayLike<number>,
  matches: Uint8Array,
): number {
  let found = 0;
  for (let path = 0; path < paths.size; ) {
    if (matches[paths.fn[path]]) {
      found += total[path];
      path = paths.end[path];
    } else path++;
  }
  return found;
}
