// What is shown of a document in one editor: which lines get words, how hot they are, what a hover says, what the status
// bar does. Pure functions, so that they are tested without an editor.

import type { Gutter, Note, NotedFile, State } from "./gutter.ts";

/** Steps of heat that have a background of their own. */
export const STEPS = 6;

/** What stands at a line. `line` is from 0, as editors have it. `step` 0: no background. */
export interface Mark {
  line: number;
  words: string;
  step: number;
  state: State | undefined;
  hover: string;
}

export interface Shown {
  marks: Mark[];
  /** Why nothing is shown, or what is doubtful about it; empty: nothing. */
  problem: string;
}

/** The notes about a file, whichever way its path is written; undefined: there are none. */
export function fileFor(
  gutter: Gutter,
  path: string,
  same: (path: string) => string = (one) => one,
): NotedFile | undefined {
  return gutter.files.find((one) => one.path === path) ?? gutter.files.find((one) => same(one.path) === same(path));
}

/** The step of a line's heat, from 0 (none) to STEPS. Heat spans orders of magnitude: a step is a factor of about 3. */
export function step(heat: number | undefined): number {
  if (heat === undefined || heat <= 0) {
    return 0;
  }
  return Math.max(0, Math.ceil(STEPS + 2 * Math.log10(heat) - 1e-9));
}

/** What a document with so many lines shows. least: heat below which a line has no words. dirty: it has been edited. */
export function decide(file: NotedFile | undefined, lines: number, least: number, dirty = false): Shown {
  if (file === undefined) {
    return { marks: [], problem: "" };
  }
  const byLine = new Map<number, Note[]>();
  for (const note of file.notes) {
    if (note.line <= lines) {
      byLine.set(note.line, [...(byLine.get(note.line) ?? []), note]);
    }
  }
  const problem = file.problem || (dirty ? "the file has been edited since it was read: lines may have moved" : "");
  // A cold line has nothing beside it, but tells what there is to who points at it.
  return { marks: [...byLine].map(([line, notes]) => mark(line, notes, least)), problem };
}

function mark(line: number, notes: Note[], least: number): Mark {
  const hottest = notes.reduce((best, one) => ((one.heat ?? 0) > (best.heat ?? 0) ? one : best));
  const cold = hottest.heat !== undefined && hottest.heat < least;
  const more = notes.length > 1 && !cold ? `  (and ${notes.length - 1} more)` : "";
  return {
    line: line - 1,
    words: cold ? "" : hottest.words + more,
    step: cold ? 0 : step(hottest.heat),
    state: hottest.state,
    hover: notes.map(hover).join("\n\n"),
  };
}

/** What a note says in full, as plain text: labels, then what they are about. */
export function hover(note: Note): string {
  const widest = Math.max(0, ...note.details.map(([label]) => label.length));
  return note.details.map(([label, words]) => `${label.padEnd(widest)}  ${words}`).join("\n");
}

/** What the status bar says, and more of it for who points there; plain text. */
export function status(gutter: Gutter, name: string): { text: string; tooltip: string } {
  const lost = gutter.lost.length > 0;
  const of = gutter.program ? ` of ${gutter.program}` : "";
  return {
    text: `seismo: ${gutter.kind}${lost ? ", incomplete" : ""}`,
    tooltip: [`${name}: ${gutter.kind}${of}`, gutter.words, ...gutter.lost.map((one) => `lost: ${one}`)].join("\n"),
  };
}

/** A text in which an editor's status bar sees no icon: it reads $(name) as one. */
export function plain(text: string): string {
  return text.replaceAll("$(", "$ (");
}
