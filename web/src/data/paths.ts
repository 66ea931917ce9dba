// The paths of a call tree as columns in pre-order: a path's descendants follow it, up to `end[path]`. Stepping from
// end to end finds its children. A sum over all descendants is one pass from the back. There is no object for each
// path.

import type { Numbers, Payload } from "./payload.ts";

/** The metrics that the width of a frame can show. */
export type Metric = "cpu" | "wait" | "wall" | "calls" | "exceptions";

export const METRICS: Metric[] = ["cpu", "wait", "wall", "calls", "exceptions"];

/** A metric of every path: own values, totals with all descendants, and the errors of times. */
export interface Weights {
  own: Float64Array;
  total: Float64Array;
  ownError: Float64Array;
  totalError: Float64Array;
  /** The part of a total's error that it shares with other paths; the rest is independent. */
  common: Float64Array;
  /** The waiting within own values and totals, or null if the metric has none. */
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

  /** parent: -1 for a root; parents come before their children. fn: the function of each path. */
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

  /** Return the roots, in order. */
  roots(): number[] {
    const found: number[] = [];
    for (let path = 0; path < this.size; path = this.end[path]) found.push(path);
    return found;
  }

  /** Return a metric of every path, computed once. */
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
        totalError[path] = error * error; // errors of waits are independent, so their squares are summed
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

/** Return the paths of a page. prefix: of the columns' names. */
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

// The owners of functions, and the positions of paths: in own code, in a library called by own code, above both, or in
// a library that no own code called. Positions in libraries are odd (seismo.report.calls.library_folding).
const TOP = 2;
const STEPS = [
  [0, 0, 0, 0],
  [1, 1, 3, 3],
  [0, 1, 2, 3],
  [1, 1, 3, 3],
];

export const IMPORT = 3; // the body of a library's module, which starts its own fold

/**
 * Fold adjacent library frames into one path each, with the own code that they call below it. group: 0 for own
 * functions, 1 for a library's, 2 for functions that belong to their callers, or IMPORT. foldOf: returns the function
 * that stands for the library entered by a function. Returns the paths, and for each old path the new one.
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
  // A total includes all descendants, so the total of a fold is that of its first path.
  for (const name of ["total_error", "common"] as const) {
    const totals = new Float64Array(count);
    for (let path = size - 1; path >= 0; path--) totals[to[path]] = paths.sums[name][path];
    sums[name] = totals;
  }
  return [new Paths(newParent.slice(0, count), newFn.slice(0, count), sums), to];
}
