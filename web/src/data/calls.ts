// A recording of calls as its page carries it (seismo.report.calls.page): functions, and the paths of every thread.

import type { Declared } from "../table/functions.ts";
import type { Numbers, Payload } from "./payload.ts";

export interface Thread {
  name: string;
  process: number;
  folded: number;
}

/** A function's lines, of a long one the first; more: how many are left out. problem: why it may not be what ran. */
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
  wholes: Record<Times, number>; // own time of all functions, in ns, those that are not shown among them
  folded: boolean | null; // whether libraries are folded at first; null: there is nothing to fold
  threads: Thread[];
  processes: string[]; // none: there is one only
  sources: Record<number, Source>; // by function
  paths: number;
  leftOut: number;
}

/** The times that a report shows: of running, of the wall, of waiting. */
export type Times = "cpu" | "wall" | "wait";

/** Whose a function is, in the order of the legend. */
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

  /** A column by its name without "f."; of times in ns. */
  column(name: string): Numbers {
    return this.payload.has(`f.${name}`) ? this.payload.column(`f.${name}`) : NOTHING;
  }

  /** Some time of the functions, and its errors, in ns. */
  times(times: Times, of: string): [Numbers, Numbers] {
    return [this.column(`${times}.${of}`), this.column(`${times}.${of}_error`)];
  }

  /** `module:qualname` or `import module`, as the report names it, in two parts. */
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

  /** All own time of the functions, in ns: what shares are of. */
  whole(times: Times): number {
    return this.head.wholes[times];
  }
}
