// The data of a page of changes between recordings (seismo.report.calls.changes_page).

import { Paths, type Sums } from "./paths.ts";
import type { Payload } from "./payload.ts";

export interface DiffHead {
  kind: "diff";
  title: string;
  facts: [string, string][];
  timeless: boolean; // true if a side has no times, so that only calls are compared
  runs: [number, number];
  names: string[];
  modules: string[];
  places: string[];
  states: ("both" | "new" | "gone" | "sometimes")[];
  /** The cells that `seismo diff` prints: change, error or an empty cell, old, new, growth. */
  calls: string[][];
  times: string[][];
  leftOut: number;
  paths: number;
}

/** The side that gives the widths. "both" is their mean, so that nothing of either is missing. */
export type Side = "both" | "old" | "new";

/** The paths of both sides, with the numbers of one side or with the means. */
export class Sides {
  private readonly made = new Map<Side, Paths>();

  constructor(private readonly payload: Payload<DiffHead>) {}

  of(side: Side): Paths {
    const known = this.made.get(side);
    if (known) return known;
    const { payload } = this;
    const depth = payload.column("t.depth");
    const parent = new Int32Array(depth.length);
    const open: number[] = [];
    for (let path = 0; path < depth.length; path++) {
      parent[path] = depth[path] > 0 ? open[depth[path] - 1] : -1;
      open[depth[path]] = path;
    }
    const none = new Float64Array(depth.length);
    const column = (name: string) => (payload.has(`t.${name}`) ? payload.column(`t.${name}`) : none);
    const numbers = (name: string) => {
      if (side !== "both") return column(`${name}_${side}`);
      const [old, now] = [column(`${name}_old`), column(`${name}_new`)];
      return Float64Array.from(none, (_, path) => (old[path] + now[path]) / 2);
    };
    const sums: Sums = {
      calls: numbers("calls"),
      own: numbers("own"),
      own_error: column("own_error"),
      total_error: column("total_error"),
      common: none.map(() => 255),
      exceptions: none,
      wait: none,
      wait_error: none,
    };
    const paths = new Paths(parent, Int32Array.from(payload.column("t.function")), sums);
    this.made.set(side, paths);
    return paths;
  }
}

/** Return the change as a part of the larger value, from -1 (gone) to 1 (new), or 0 if it is within the error. */
export function change(old: number, now: number, error: number): number {
  const most = Math.max(old, now);
  if (!(most > 0) || Math.abs(now - old) <= error) return 0;
  return (now - old) / most;
}

const STEPS = [0.02, 0.2, 0.5];

/** Return the colour number of a change: 0 for much less, 3 for none, 6 for much more. */
export function colourOf(part: number): number {
  const size = STEPS.filter((step) => Math.abs(part) >= step).length;
  return 3 + Math.sign(part) * size;
}
