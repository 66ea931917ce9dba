// The data of a page of lines (seismo.report.lines.page): files, functions, and their lines.

import { rowsOf } from "../source/rows.ts";
import { largest, sum } from "./numbers.ts";
import type { Numbers, Payload } from "./payload.ts";
import { count, duration, error, rank, share, time } from "./words.ts";

export type Times = "cpu" | "wall" | "wait";

export interface TimedFile {
  name: string;
  path: string;
  whose: string; // "" for the program's own
  problem: string;
  lines: string[] | null; // null if the page had no room for them
}

export interface LinesHead {
  kind: "lines";
  title: string;
  times: Times;
  there: Times[];
  facts: [string, string][];
  files: TimedFile[];
  modules: string[];
  names: string[];
  places: string[];
  reasons: string[];
  instructions: string[];
}

const NOTABLE = 0.01; // share of the time; with less waiting on every line there is no column for it
const LEAST = 0.1; // share of a notable wait; smaller waits are not shown beside notable ones
export const HEATS = 9;

/** Return the number of an instruction, in the range after those of rows. */
export const instructionAt = (extra: number) => -2 - extra;

/** The lines as the page shows them for one kind of time. A row is a line of a function. */
export class Lines {
  readonly size: number;
  readonly fn: Numbers;
  readonly line: Numbers;
  readonly hits: Numbers;
  readonly wait: Numbers;
  readonly await: Numbers;
  readonly own: Numbers;
  readonly ownError: Numbers;
  readonly inner: Numbers;
  readonly innerError: Numbers;
  readonly total: Numbers;
  readonly totalError: Numbers;
  readonly whole: number;
  readonly hottest: number;
  readonly notable: number;
  readonly rowsOfFile: number[][];

  constructor(
    readonly head: LinesHead,
    readonly payload: Payload<LinesHead>,
    readonly times: Times,
  ) {
    const column = (name: string) => payload.column(name);
    this.fn = column("l.function");
    this.line = column("l.line");
    this.hits = column("l.hits");
    this.wait = column("l.wait");
    this.await = column("l.await");
    this.own = column(`l.${times}.own`);
    this.ownError = column(`l.${times}.own_error`);
    this.inner = column(`l.${times}.inner`);
    this.innerError = column(`l.${times}.inner_error`);
    this.total = column(`l.${times}.total`);
    this.totalError = column(`l.${times}.total_error`);
    this.size = this.fn.length;
    this.whole = sum(this.own);
    this.hottest = largest(this.own);
    const everything = this.whole + (times === "cpu" ? sum(this.wait) : 0);
    this.notable = times === "wait" ? Number.POSITIVE_INFINITY : Math.max(1, NOTABLE * everything);
    this.rowsOfFile = head.files.map(() => []);
    const files = column("f.file");
    for (let row = 0; row < this.size; row++) this.rowsOfFile[files[this.fn[row]]].push(row);
    const order = Array.from(head.names, (_, fn) => fn);
    for (const rows of this.rowsOfFile) {
      rows.sort((a, b) => this.line[a] - this.line[b] || order[this.fn[a]] - order[this.fn[b]]);
    }
  }

  get functions(): number {
    return this.head.names.length;
  }

  fileOf(fn: number): number {
    return this.payload.column("f.file")[fn];
  }

  firstLine(fn: number): number {
    return this.payload.column("f.line")[fn];
  }

  functionOwn(fn: number): [number, number] {
    return [this.payload.column(`f.${this.times}.own`)[fn], this.payload.column(`f.${this.times}.own_error`)[fn]];
  }

  /** Return `module:qualname`, the report's name of a function. */
  functionName(fn: number): string {
    const module = this.head.modules[fn];
    return module ? `${module}:${this.head.names[fn]}` : this.head.names[fn];
  }

  foreign(file: number): boolean {
    return this.head.files[file].whose !== "";
  }

  /** Return the text of a line, or undefined if the page does not have it. */
  text(row: number): string | undefined {
    return this.head.files[this.fileOf(this.fn[row])].lines?.[this.line[row] - 1];
  }

  /** Return the heat of a line, from 0 to HEATS: the root of its share, so that lesser heat is visible, too. */
  heat(row: number): number {
    if (!(this.own[row] > 0) || !(this.hottest > 0)) return 0;
    return Math.round(Math.sqrt(this.own[row] / this.hottest) * HEATS);
  }

  // ---- cells with the report's texts ----

  ownText = (row: number) => timed(this.own[row], this.ownError[row]);
  errorText = (row: number) => error(this.ownError[row], this.own[row]);
  shareText = (row: number) => share(this.own[row], this.ownError[row], this.whole);
  innerText = (row: number) => timed(this.inner[row], this.innerError[row]);
  hitsText = (row: number) => (this.hits[row] ? count(this.hits[row]) : "");
  awaitText = (row: number) => timed(this.await[row], 0);
  waitText = (row: number) => (this.wait[row] > LEAST * this.notable ? timed(this.wait[row], 0) : "");
  whyText = (row: number) =>
    this.wait[row] >= this.notable ? this.head.reasons[this.payload.column("l.reason")[row]] : "";
  eachText = (row: number) => {
    const hits = this.hits[row];
    return hits ? timed(this.total[row] / hits, this.totalError[row] / hits) : "";
  };
  rank = (row: number) => rank(this.own[row], this.ownError[row]);

  get waits(): boolean {
    return Array.prototype.some.call(this.wait, (one: number) => one >= this.notable);
  }

  /** Return the rows of a file's source: each line, and below it other functions on that line and instructions. */
  source(file: number) {
    const lines = this.head.files[file].lines ?? [];
    const at = new Map<number, number[]>();
    for (const row of this.rowsOfFile[file]) {
      const known = at.get(this.line[row]);
      if (known) known.push(row);
      else at.set(this.line[row], [row]);
    }
    const instructions = this.instructions();
    const numbers = new Set(lines.map((_, at) => at + 1));
    for (const line of at.keys()) numbers.add(line);
    const below = (line: number) => {
      const there = at.get(line) ?? [];
      return [...there.slice(1), ...there.flatMap((row) => instructions.get(row) ?? [])];
    };
    const rows = rowsOf(
      [...numbers].sort((a, b) => a - b),
      below,
    );
    return { rows, main: (line: number) => at.get(line)?.[0] ?? -1, lines };
  }

  /** The instructions of each row, as extras. */
  private instructions(): Map<number, number[]> {
    const found = new Map<number, number[]>();
    this.payload.column("i.row").forEach((row: number, at: number) => {
      const known = found.get(row);
      if (known) known.push(instructionAt(at));
      else found.set(row, [instructionAt(at)]);
    });
    return found;
  }
}

/** Return a time, or "" for none. */
export function timed(ns: number, errorNs: number): string {
  return ns > 0 || errorNs > 0 ? time(ns, errorNs) : "";
}

/** Return the time of the libraries' lines in a few words, or "" if there are none. */
export function libraryWords(lines: Lines): string {
  const times = new Map<string, number>();
  lines.head.files.forEach((file, at) => {
    if (!file.whose) return;
    times.set(file.whose, (times.get(file.whose) ?? 0) + sum(lines.rowsOfFile[at].map((row) => lines.own[row])));
  });
  return [...times]
    .sort(([, a], [, b]) => b - a)
    .map(([library, ns]) => `${duration(ns)} (${share(ns, 0, lines.whole) || "0 %"}) in lines of ${library}`)
    .join(", ");
}
