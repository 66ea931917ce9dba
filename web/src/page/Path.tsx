// Paths of files: as they are shown, and as a place in the address of a page.

/** A path of which the folders give way first. */
export function Path({ path }: { path: string }) {
  const at = path.lastIndexOf("/") + 1;
  return (
    <bdi class="whole path" title={path}>
      <span class="module">{path.slice(0, at)}</span>
      <span class="short">{path.slice(at)}</span>
    </bdi>
  );
}

/** The path and the line that `#path:line` names; null for anything else. */
export function placed(hash: string): { path: string; line: number } | null {
  const found = /^#(.*?)(?::(\d+))?$/s.exec(hash);
  if (!found?.[1]) return null;
  try {
    return { path: decodeURI(found[1]), line: Number(found[2] ?? 1) };
  } catch {
    return null; // no address of ours
  }
}
