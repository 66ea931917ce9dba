// The data of a page of coverage (seismo.report.coverage.page). A file's lines are unpacked on demand.

import { fromBase64, inflate, type Numbers, type Payload, unpack } from "./payload.ts";

export interface Totals {
  statements: number;
  missing: number;
  excluded: number;
  branches: number;
  partial: number;
  untaken: number;
}

export interface CoverageHead {
  kind: "coverage";
  title: string;
  precision: number;
  branch: boolean;
  facts: [string, string][];
  below: string; // the folder that all paths begin with
  paths: string[];
  missing: string[];
  of: number; // the number of files, including those left out
  totals: Totals;
  problems: [string, string][];
}

export interface FileHead {
  lines: string[];
  why: [line: number, to: number, text: string][];
  names: string[];
  sets: [first: number, last: number][][];
}

export const NUMBERS = ["statements", "missing", "excluded", "branches", "partial", "untaken"] as const;

/** The state of a line's statement. MORE is added for its second and later lines. */
export enum Mark {
  None,
  Ran,
  Partial,
  Missing,
  Excluded,
}
export const MORE = 8;

/** Return the percentage of executed statements and branches; 100 if there is nothing to execute. */
export function covered(of: Totals): number {
  const whole = of.statements + of.branches;
  return whole > 0 ? (100 * (whole - of.missing - of.untaken)) / whole : 100;
}

export function grade(percent: number): string {
  return percent >= 90 ? "good" : percent >= 70 ? "fair" : "poor";
}

/** A file, or a folder with its entries. */
export interface Entry {
  name: string; // the last part of the path; of several parts if a folder holds only one folder
  row: number;
  depth: number;
  file: number; // -1 for a folder
  totals: Totals;
  children: Entry[];
}

export class Files {
  readonly columns: Record<(typeof NUMBERS)[number], Numbers>;

  constructor(
    readonly head: CoverageHead,
    private readonly payload: Payload<CoverageHead>,
  ) {
    this.columns = Object.fromEntries(NUMBERS.map((name) => [name, payload.column(name)])) as typeof this.columns;
  }

  get size(): number {
    return this.head.paths.length;
  }

  changed(file: number): boolean {
    return this.payload.column("changed")[file] > 0;
  }

  totals(file: number): Totals {
    return Object.fromEntries(NUMBERS.map((name) => [name, this.columns[name][file]])) as unknown as Totals;
  }

  /** Return the path without the common beginning of all. */
  name(file: number): string {
    return this.head.paths[file].slice(this.head.below.length);
  }

  /** Return the tree of these files. The row of a file is its number; rows of folders follow. */
  tree(files: number[]): Entry {
    const root = this.folder("", -1);
    const folders = new Map<string, Entry>();
    for (const file of files) {
      const parts = this.name(file).split("/");
      let at = root;
      for (const [depth, part] of parts.slice(0, -1).entries()) {
        const path = parts.slice(0, depth + 1).join("/");
        let into = folders.get(path);
        if (!into) {
          into = this.folder(part, at.depth + 1);
          folders.set(path, into);
          at.children.push(into);
        }
        at = into;
      }
      const entry = { ...this.folder(parts.at(-1) ?? "", at.depth + 1), file, totals: this.totals(file) };
      at.children.push(entry);
    }
    joined(root, -1);
    summed(root);
    numbered(root, this.size);
    return root;
  }

  private folder(name: string, depth: number): Entry {
    const totals = Object.fromEntries(NUMBERS.map((one) => [one, 0])) as unknown as Totals;
    return { name, row: -1, depth, file: -1, totals, children: [] };
  }
}

/** Join folders that hold only one folder with it. */
function joined(entry: Entry, depth: number): void {
  entry.depth = depth;
  while (entry.name && entry.children.length === 1 && entry.children[0].file < 0) {
    const [only] = entry.children;
    entry.name += `/${only.name}`;
    entry.children = only.children;
  }
  for (const child of entry.children) joined(child, depth + 1);
}

function summed(entry: Entry): void {
  for (const child of entry.children) {
    summed(child);
    for (const name of NUMBERS) entry.totals[name] += child.totals[name];
  }
}

function numbered(root: Entry, first: number): void {
  let next = first;
  const walk = (entry: Entry) => {
    entry.row = entry.file < 0 ? next++ : entry.file;
    entry.children.forEach(walk);
  };
  root.children.forEach(walk);
}

/** Return the lines of a file. Throws an Error if its data is damaged. */
export async function read(file: number): Promise<Payload<FileHead>> {
  const text = document.getElementById(`file-${file}`)?.textContent;
  if (text === undefined || text === null) throw new Error("the page has no data of this file");
  return unpack<FileHead>(await inflate(fromBase64(text)));
}
