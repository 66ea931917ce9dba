/** Where a timeline has its data from: a server that is asked for what is drawn, or the page itself. */

import type { Gap, Instant } from "./events.ts";
import type { Spot } from "./scene.ts";
import type { Rows } from "./tiles.ts";
import type { ProcessInfo, ThreadInfo } from "./tracks.ts";

/** What is known of a trace before any of its calls. `whose` a function is: 0 the program's own, else a library's. */
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
  /** For each path whether it mostly waits. */
  readonly waits: (node: number) => boolean;
}

/** `module:name`; the body of an imported module, whose name has the module, is called that alone. */
export function nameOf({ modules, names }: TraceInfo, fn: number): string {
  const [module, name] = [modules[fn], names[fn] ?? "?"];
  return module && name !== `import ${module}` ? `${module}:${name}` : name;
}

/** What a call is labelled with: the function alone, but for the bodies of modules, which all have the same name. */
export function labelOf(info: TraceInfo, fn: number): string {
  const name = info.names[fn] ?? "?";
  return name === "<module>" && info.modules[fn] ? `${info.modules[fn]}:${name}` : name;
}

export interface ProgramEvents {
  readonly instants: readonly Instant[];
  /** How many more there are than are drawn. */
  readonly left: number;
  readonly gaps: readonly Gap[];
}

/** The paths of a stretch: each its caller's path (-1: none), function, calls, total and own time in ns. */
export interface RangeSums {
  readonly estimated: boolean;
  readonly left: number;
  readonly parent: readonly number[];
  readonly function: readonly number[];
  readonly calls: readonly number[];
  readonly total: readonly number[];
  readonly own: readonly number[];
}

/** What a step of a search found: a call, or how far it looked. */
export interface FoundCall {
  readonly row: Spot | null;
  readonly to: number;
  readonly done: boolean;
}

/** The growth of a recording that is still written. moreThreads: there are new threads, so that the tracks have moved. */
export interface Growth {
  readonly to: number;
  readonly moreThreads: boolean;
}

export interface TraceSource {
  /** Another one after grown(). */
  readonly info: TraceInfo;
  /** What to draw of a stretch, so many columns wide, on some threads. */
  rows(from: number, to: number, columns: number, threads: readonly number[], signal: AbortSignal): Promise<Rows>;
  /** How many calls began in each part of the whole. */
  density(columns: number): Promise<Float64Array>;
  /** The program's events in a stretch. */
  events(from: number, to: number): Promise<ProgramEvents>;
  /** In how many steps the whole is asked for it: what is long must not keep others waiting. */
  readonly steps: number;
  /** The call of which a part is known, whole, or null if it cannot be separated from others. */
  whole(part: Spot, at: number): Promise<Spot | null>;
  range(from: number, to: number, signal: AbortSignal): Promise<RangeSums>;
  /** The first call of one of the functions after a time, or before it. */
  find(functions: readonly number[], from: number, back: boolean): Promise<FoundCall>;
  /** What is recorded by now, if that has grown; `info` knows it then, too. */
  grown?(): Promise<Growth | null>;
}
