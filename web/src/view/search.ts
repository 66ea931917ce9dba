/** What a search matches: a regular expression, or, where it is none, the text itself. */
export function matcher(text: string): { test: ((name: string) => boolean) | null; wrong: string } {
  const wanted = text.trim();
  if (!wanted) return { test: null, wrong: "" };
  try {
    const pattern = new RegExp(wanted, "i");
    return { test: (name) => pattern.test(name), wrong: "" };
  } catch {
    const plain = wanted.toLowerCase();
    return { test: (name) => name.toLowerCase().includes(plain), wrong: "no regular expression: searched as text" };
  }
}
