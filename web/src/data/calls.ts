// The data of a page of calls (seismo.report.calls.page): functions, and the paths of every thread.

import type { Declared } from "../table/functions.ts";
import type { Numbers, Payload } from "./payload.ts";

export interface Thread {
  name: string;
  process: number;
  folded: number;
}

/** The first lines of a function. more: the number of lines left out. problem: why the text may not be what ran. */
export interface Source {
  first: number;
  lines: string[];
  more: number;
  problem: string;
}

export interface CallsHead {
  kind: "calls";
  title: string;
  times: Times;
  timeless: boolean; // only calls were counted: all times are 0
  table: Declared[]; // the columns of the table of functions
  divided: boolean; // running and waiting are separate
  facts: [string, string][];
  modules: string[];
  names: string[];
  files: string[];
  places: string[];
  reasons: string[];
  wholes: Record<Times, number>; // own time of all functions in ns, shown or not
  folded: boolean | null; // true if libraries are folded at first; null if there is nothing to fold
  threads: Thread[];
  processes: string[]; // empty if there is only one
  sources: Record<number, Source>; // by function
  paths: number;
  leftOut: number;
}

/** The kinds of time that a report shows: running, elapsed, waiting. */
export type Times = "cpu" | "wall" | "wait";

/** The owner of a function, in the order of the legend. */
export enum Whose {
  Own,
  Installed,
  Standard,
  C,
  Other,
}

export const PYTHON = 0;
export const C = 1;
export const SYNTHETIC = 2;

const NOTHING = new Float64Array(0);

/** The functions as the report's table has them. */
export class Functions {
  readonly size: number;
  readonly calls: Numbers;
  readonly kind: Numbers;
  readonly whose: Numbers;
  readonly bound: Numbers;

  constructor(
    readonly head: CallsHead,
    private readonly payload: Payload<CallsHead>,
  ) {
    this.calls = payload.column("f.calls");
    this.kind = payload.column("f.kind");
    this.whose = payload.column("f.whose");
    this.bound = payload.column("f.bound");
    this.size = this.calls.length;
  }

  /** Return a column by its name without "f.". Times are in ns. */
  column(name: string): Numbers {
    return this.payload.has(`f.${name}`) ? this.payload.column(`f.${name}`) : NOTHING;
  }

  /** Return a time of all functions and its errors, in ns. */
  times(times: Times, of: string): [Numbers, Numbers] {
    return [this.column(`${times}.${of}`), this.column(`${times}.${of}_error`)];
  }

  /** Return the report's name of a function, `module:qualname` or `import module`, in two parts. */
  parts(row: number): { lead: string; name: string } {
    const module = this.head.modules[row];
    const name = this.head.names[row] ?? "?";
    const plain = this.kind[row] === SYNTHETIC || !module || name === `import ${module}`;
    return { lead: plain ? "" : `${module}:`, name };
  }

  name(row: number): string {
    const { lead, name } = this.parts(row);
    return lead + name;
  }

  /** Return the own time of all functions in ns: 100 % of a share. */
  whole(times: Times): number {
    return this.head.wholes[times];
  }
}
