// Paths of files as text and in the address of a page.

import { Name } from "../table/Name.tsx";

/** A path whose folders are cut first. */
export function Path({ path }: { path: string }) {
  const at = path.lastIndexOf("/") + 1;
  return <Name lead={path.slice(0, at)} name={path.slice(at)} title={path} />;
}

/** Return the path and the line of `#path:line`, or null for another address. */
export function placed(hash: string): { path: string; line: number } | null {
  const found = /^#(.*?)(?::(\d+))?$/s.exec(hash);
  if (!found?.[1]) return null;
  try {
    return { path: decodeURI(found[1]), line: Number(found[2] ?? 1) };
  } catch {
    return null; // not an address of this page
  }
}
