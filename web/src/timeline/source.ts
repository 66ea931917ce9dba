/** The source of a timeline's data: a server, or the page itself. */

import type { Gap, Instant } from "./events.ts";
import type { Spot } from "./scene.ts";
import type { Rows } from "./tiles.ts";
import type { ProcessInfo, ThreadInfo } from "./tracks.ts";

/** The threads and functions of a trace. foreign: 1 for a library's function. */
export interface TraceInfo {
  readonly from: number;
  readonly to: number;
  readonly processes: readonly ProcessInfo[];
  readonly threads: readonly ThreadInfo[];
  readonly names: readonly string[];
  readonly modules: readonly string[];
  readonly places: readonly string[];
  readonly kinds: ArrayLike<number>;
  readonly foreign: ArrayLike<number>;
  /** Return true if a path mostly waits. */
  readonly waits: (node: number) => boolean;
}

/** Return `module:name`, or the name alone if it has the module. */
export function nameOf({ modules, names }: TraceInfo, fn: number): string {
  const [module, name] = [modules[fn], names[fn] ?? "?"];
  return module && name !== `import ${module}` ? `${module}:${name}` : name;
}

/** Return the label of a call: its function's name, with the module for the body of a module. */
export function labelOf(info: TraceInfo, fn: number): string {
  const name = info.names[fn] ?? "?";
  return name === "<module>" && info.modules[fn] ? `${info.modules[fn]}:${name}` : name;
}

export interface ProgramEvents {
  readonly instants: readonly Instant[];
  /** The number of events left out. */
  readonly left: number;
  readonly gaps: readonly Gap[];
}

/** The paths of a range: the caller's path (-1 for none), function, calls, total and own time in ns. */
export interface RangeSums {
  readonly estimated: boolean;
  readonly left: number;
  readonly parent: readonly number[];
  readonly function: readonly number[];
  readonly calls: readonly number[];
  readonly total: readonly number[];
  readonly own: readonly number[];
}

/** The result of one step of a search: a call, or the time that it reached. */
export interface FoundCall {
  readonly row: Spot | null;
  readonly to: number;
  readonly done: boolean;
}

/** The growth of a live recording. moreThreads: there are new threads, so that the tracks have moved. */
export interface Growth {
  readonly to: number;
  readonly moreThreads: boolean;
}

export interface TraceSource {
  /** Replaced by grown(). */
  readonly info: TraceInfo;
  /** Return the rows to draw of a range, for a number of columns, on some threads. */
  rows(from: number, to: number, columns: number, threads: readonly number[], signal: AbortSignal): Promise<Rows>;
  /** Return the number of calls that began in each part of the recording. */
  density(columns: number): Promise<Float64Array>;
  /** Return the program's events in a range. */
  events(from: number, to: number): Promise<ProgramEvents>;
  /** The number of requests for all events: one long request would block the others. */
  readonly steps: number;
  /** Return the whole call of which a part is known, or null if it cannot be separated from others. */
  whole(part: Spot, at: number): Promise<Spot | null>;
  range(from: number, to: number, signal: AbortSignal): Promise<RangeSums>;
  /** Return the first call of one of the functions after a time, or before it. */
  find(functions: readonly number[], from: number, back: boolean): Promise<FoundCall>;
  /** Return the growth of the recording and update `info`, or return null. */
  grown?(): Promise<Growth | null>;
}
