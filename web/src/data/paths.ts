// The paths of a call tree as columns, in the order of a walk from the root: a path's callees stand right behind it.
//
// So `end[path]` says where what is below a path ends, and its children are found by stepping from end to end; a sum
// over everything below is one pass from the back. Nothing here is an object for each path.

import type { Numbers, Payload } from "./payload.ts";

/** What the width of a frame can be. */
export type Metric = "cpu" | "wait" | "wall" | "calls" | "exceptions";

export const METRICS: Metric[] = ["cpu", "wait", "wall", "calls", "exceptions"];

/** A metric of every path: its own, and with all that is below it; of times the errors. */
export interface Weights {
  own: Float64Array;
  total: Float64Array;
  ownError: Float64Array;
  totalError: Float64Array;
  /** The part of a total's error that it shares with those of other paths; the rest is its own. */
  common: Float64Array;
  /** The part of the totals, and of the own values, that is waiting; null: there is no such part. */
  waiting: { own: ArrayLike<number>; total: ArrayLike<number> } | null;
  whole: number;
}

export interface Sums {
  calls: ArrayLike<number>;
  exceptions: ArrayLike<number>;
  own: ArrayLike<number>;
  own_error: ArrayLike<number>;
  total_error: ArrayLike<number>;
  common: ArrayLike<number>; // of the total's error, in 255ths
  wait: ArrayLike<number>;
  wait_error: ArrayLike<number>;
}

const SUMS = ["calls", "exceptions", "own", "own_error", "total_error", "common", "wait", "wait_error"] as const;

export class Paths {
  readonly size: number;
  readonly end: Int32Array;
  private readonly weighed = new Map<Metric, Weights>();

  /** parent: -1 for a root; before its children. fn: the function of each path. */
  constructor(
    readonly parent: Int32Array,
    readonly fn: Int32Array,
    readonly sums: Sums,
  ) {
    this.size = parent.length;
    this.end = new Int32Array(this.size);
    for (let path = this.size - 1; path >= 0; path--) {
      this.end[path] = Math.max(this.end[path], path + 1);
      const above = parent[path];
      if (above >= 0 && this.end[above] < this.end[path]) this.end[above] = this.end[path];
    }
  }

  /** The roots, in order. */
  roots(): number[] {
    const found: number[] = [];
    for (let path = 0; path < this.size; path = this.end[path]) found.push(path);
    return found;
  }

  /** A metric of every path. Computed once. */
  weights(metric: Metric): Weights {
    const known = this.weighed.get(metric);
    if (known) return known;
    const { size, sums, parent } = this;
    const own = new Float64Array(size);
    const ownError = new Float64Array(size);
    const totalError = new Float64Array(size);
    const common = new Float64Array(size);
    const plus = (to: Float64Array, from: ArrayLike<number>) => {
      for (let path = 0; path < from.length; path++) to[path] += from[path];
    };
    if (metric === "calls" || metric === "exceptions") plus(own, sums[metric]);
    if (metric === "cpu" || metric === "wall") {
      plus(own, sums.own);
      plus(ownError, sums.own_error);
    }
    if (metric === "wait" || metric === "wall") {
      plus(own, sums.wait);
      for (let path = 0; path < size; path++) {
        const error = sums.wait_error[path] ?? 0;
        ownError[path] = Math.hypot(ownError[path], error);
        totalError[path] = error * error; // the errors of waits are independent: as squares, up to below
      }
    }
    const total = own.slice();
    for (let path = size - 1; path >= 0; path--) {
      const above = parent[path];
      if (above < 0) continue;
      total[above] += total[path];
      totalError[above] += totalError[path];
    }
    for (let path = 0; path < size; path++) totalError[path] = Math.sqrt(totalError[path]);
    if (metric === "cpu" || metric === "wall") {
      for (let path = 0; path < size; path++) {
        const error = sums.total_error[path] ?? 0;
        common[path] = (error * (sums.common[path] ?? 0)) / 255;
        totalError[path] = Math.hypot(totalError[path], error);
      }
    }
    let whole = 0;
    for (let path = 0; path < size; path++) if (parent[path] < 0) whole += total[path];
    const { own: waited, total: waitedBelow } = metric === "wall" ? this.weights("wait") : { own: null, total: null };
    const waiting = waited && waitedBelow && { own: waited, total: waitedBelow };
    const weights = { own, total, ownError, totalError, common, waiting, whole };
    this.weighed.set(metric, weights);
    return weights;
  }
}

/** The paths of a page. prefix: of the columns' names. */
export function pathsOf(payload: Payload<unknown>, prefix: string): Paths {
  const depth = payload.column(`${prefix}depth`);
  const parent = new Int32Array(depth.length);
  const open: number[] = [];
  for (let path = 0; path < depth.length; path++) {
    parent[path] = depth[path] > 0 ? open[depth[path] - 1] : -1;
    open[depth[path]] = path;
  }
  const none = new Float64Array(depth.length);
  const column = (name: string): Numbers => (payload.has(prefix + name) ? payload.column(prefix + name) : none);
  const sums = Object.fromEntries(SUMS.map((name) => [name, column(name)])) as unknown as Sums;
  return new Paths(parent, Int32Array.from(payload.column(`${prefix}function`)), sums);
}

// Whose a function is where libraries are folded, and where a path is: in own code, in a library that own code called,
// above both, in a library that no own code called. Libraries are odd. As in seismo.report.calls.library_folding.
const TOP = 2;
const STEPS = [
  [0, 0, 0, 0],
  [1, 1, 3, 3],
  [0, 1, 2, 3],
  [1, 1, 3, 3],
];

export const IMPORT = 3; // the body of a library's module: a library's, but never a part of the fold around it

/**
 * The paths with what lies together in libraries as one path, under which the program's own code that they call stands.
 *
 * group: for each function 0, the program's own; 1, a library's; 2, of whoever calls it; or IMPORT. foldOf: the function that
 * stands for a library which is entered by this function. Returns the paths, and for each old one the new one.
 */
export function folded(paths: Paths, group: ArrayLike<number>, foldOf: (fn: number) => number): [Paths, Int32Array] {
  const { size, parent, fn } = paths;
  const place = new Uint8Array(size);
  const to = new Int32Array(size);
  const newParent = new Int32Array(size);
  const newFn = new Int32Array(size);
  let count = 0;
  for (let path = 0; path < size; path++) {
    const above = parent[path];
    const here = STEPS[group[fn[path]] ?? TOP][above < 0 ? TOP : place[above]];
    place[path] = here;
    if (here & 1 && above >= 0 && place[above] & 1 && group[fn[path]] !== IMPORT) {
      to[path] = to[above];
      continue;
    }
    to[path] = count;
    newParent[count] = above < 0 ? -1 : to[above];
    newFn[count++] = here & 1 ? foldOf(fn[path]) : fn[path];
  }
  const gather = (values: ArrayLike<number>) => {
    const sums = new Float64Array(count);
    for (let path = 0; path < size; path++) sums[to[path]] += values[path];
    return sums;
  };
  const sums = Object.fromEntries(SUMS.map((name) => [name, gather(paths.sums[name])])) as unknown as Sums;
  // A total holds what is below already, so that of a fold is that of its first path.
  for (const name of ["total_error", "common"] as const) {
    const totals = new Float64Array(count);
    for (let path = size - 1; path >= 0; path--) totals[to[path]] = paths.sums[name][path];
    sums[name] = totals;
  }
  return [new Paths(newParent.slice(0, count), newFn.slice(0, count), sums), to];
}
