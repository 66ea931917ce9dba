// Paths of files: as they are shown, and as a place in the address of a page.

import { Name } from "../table/Name.tsx";

/** A path of which the folders are cut first. */
export function Path({ path }: { path: string }) {
  const at = path.lastIndexOf("/") + 1;
  return <Name lead={path.slice(0, at)} name={path.slice(at)} title={path} />;
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
