/**
 * A trace whose calls are all in the page. The calls of a thread and depth do not overlap, so bisection finds those of
 * a range. Calls narrower than a column are summed, as the server does for larger traces.
 */
import type { Payload } from "../data/payload.ts";
import type { Gap, Instant } from "./events.ts";
import type { Spot } from "./scene.ts";
import type { FoundCall, ProgramEvents, RangeSums, TraceInfo, TraceSource } from "./source.ts";
import type { Rows } from "./tiles.ts";
import type { ProcessInfo, ThreadInfo } from "./tracks.ts";

export interface TraceHead {
  readonly to: number;
  readonly processes: readonly ProcessInfo[];
  readonly threads: readonly ThreadInfo[];
  readonly instants: readonly Instant[];
  readonly left: number;
  readonly gaps: readonly Gap[];
}

/** The functions of the page of calls, which its timeline needs, too. */
export interface FunctionInfo {
  readonly names: readonly string[];
  readonly modules: readonly string[];
  readonly places: readonly string[];
  readonly kinds: ArrayLike<number>;
  readonly foreign: ArrayLike<number>;
}

interface Lane {
  readonly thread: number;
  readonly depth: number;
  readonly rows: Uint32Array;
}

export class PageTrace implements TraceSource {
  readonly info: TraceInfo;
  readonly steps = 1;
  private readonly start: Float64Array;
  private readonly end: Float64Array;
  private readonly bound: ArrayLike<number>;
  private readonly fn: ArrayLike<number>;
  private readonly depth: ArrayLike<number>;
  private readonly flags: ArrayLike<number>;
  private readonly thread: Uint32Array;
  private readonly waiting: ArrayLike<number>;
  private readonly lanes: readonly (readonly Lane[])[];

  constructor(
    private readonly head: TraceHead,
    payload: Payload<unknown>,
    functions: FunctionInfo,
  ) {
    const size = payload.column("c.length").length;
    const steps = payload.column("c.step"); // from the start of the previous call, or from 0 for a thread's first
    const lengths = payload.column("c.length");
    const sizes = payload.column("c.threads"); // the number of calls of each thread
    this.bound = payload.column("c.bound");
    this.fn = payload.column("c.function");
    this.depth = payload.column("c.depth");
    this.flags = payload.column("c.flags");
    this.waiting = payload.column("c.waits");
    this.start = new Float64Array(size);
    this.end = new Float64Array(size);
    this.thread = new Uint32Array(size);
    let row = 0;
    for (let thread = 0; thread < sizes.length; thread++) {
      let at = 0;
      for (let left = sizes[thread]; left > 0; left--, row++) {
        at += steps[row];
        this.start[row] = at;
        this.end[row] = at + lengths[row];
        this.thread[row] = thread;
      }
    }
    this.lanes = this.sorted(sizes.length);
    this.info = {
      ...functions,
      from: 0,
      to: head.to,
      processes: head.processes,
      threads: head.threads,
      waits: (mark) => mark === 1,
    };
  }

  private sorted(threads: number): Lane[][] {
    const lists: number[][][] = Array.from({ length: threads }, () => []);
    for (let row = 0; row < this.start.length; row++) {
      const lanes = lists[this.thread[row]];
      const depth = this.depth[row];
      if (!lanes[depth]) lanes[depth] = [];
      lanes[depth].push(row);
    }
    return lists.map((lanes, thread) =>
      lanes.flatMap((rows, depth) => (rows ? [{ thread, depth, rows: Uint32Array.from(rows) }] : [])),
    );
  }

  /** Return the first call in a lane that ends after a time. */
  private place(lane: Lane, when: number): number {
    let low = 0;
    let high = lane.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end[lane.rows[middle]] < when) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  async rows(from: number, to: number, columns: number, threads: readonly number[]): Promise<Rows> {
    const found = new Found(from, to);
    const width = (to - from) / columns;
    for (const thread of threads) {
      for (const lane of this.lanes[thread] ?? []) this.addLane(found, lane, from, to, width);
    }
    return found.rows();
  }

  private addLane(found: Found, lane: Lane, from: number, to: number, width: number): void {
    let run: Run | null = null;
    for (let at = this.place(lane, from); at < lane.rows.length; at++) {
      const row = lane.rows[at];
      const start = this.start[row];
      const end = this.end[row];
      if (start > to) break;
      if (end - start >= width) {
        if (run) found.add(lane, run);
        run = null;
        found.addCall(lane, start, end, this.bound[row], this.fn[row], this.flags[row], this.waiting[row]);
        continue;
      }
      if (run && (end > run.start + width || start > run.end + width)) {
        found.add(lane, run);
        run = null;
      }
      run ??= { start, end, busy: 0, calls: 0, most: 0, fn: this.fn[row], flags: 0 };
      run.end = end;
      run.busy += end - start;
      run.calls++;
      if (end - start >= run.most) {
        run.most = end - start;
        run.fn = this.fn[row];
      }
    }
    if (run) found.add(lane, run);
  }

  async density(columns: number): Promise<Float64Array> {
    const began = new Float64Array(columns);
    const width = Math.max(1, this.head.to) / columns;
    for (const start of this.start) began[Math.min(columns - 1, Math.max(0, Math.floor(start / width)))]++;
    return began;
  }

  async events(): Promise<ProgramEvents> {
    return { instants: this.head.instants, left: this.head.left, gaps: this.head.gaps };
  }

  async whole(part: Spot): Promise<Spot | null> {
    return part; // a call in the page has its own times
  }

  async range(from: number, to: number): Promise<RangeSums> {
    const known = new Map<string, number>();
    const sums = {
      parent: [] as number[],
      function: [] as number[],
      calls: [] as number[],
      total: [] as number[],
      own: [] as number[],
    };
    const open: { path: number; depth: number }[] = [];
    let thread = -1;
    for (let row = 0; row < this.start.length; row++) {
      if (this.thread[row] !== thread) open.length = 0;
      thread = this.thread[row];
      const depth = this.depth[row];
      while (open.length && open[open.length - 1].depth >= depth) open.pop();
      if (this.end[row] < from || this.start[row] > to) continue;
      const parent = open.length ? open[open.length - 1].path : -1;
      const key = `${parent} ${this.fn[row]}`;
      let path = known.get(key) ?? -1;
      if (path < 0) {
        path = sums.parent.length;
        known.set(key, path);
        for (const [list, value] of [
          [sums.parent, parent],
          [sums.function, this.fn[row]],
        ] as const)
          list.push(value);
        for (const list of [sums.calls, sums.total, sums.own]) list.push(0);
      }
      const busy = Math.min(this.end[row], to) - Math.max(this.start[row], from);
      if (this.start[row] >= from) sums.calls[path]++;
      sums.total[path] += busy;
      sums.own[path] += busy;
      if (parent >= 0) sums.own[parent] -= busy;
      open.push({ path, depth });
    }
    return { estimated: false, left: 0, ...sums };
  }

  async find(functions: readonly number[], from: number, back: boolean): Promise<FoundCall> {
    const wanted = new Set(functions);
    let best = -1;
    for (let row = 0; row < this.start.length; row++) {
      const start = this.start[row];
      if (!wanted.has(this.fn[row]) || (back ? start >= from : start <= from)) continue;
      if (best < 0 || (back ? start > this.start[best] : start < this.start[best])) best = row;
    }
    return { row: best < 0 ? null : this.spot(best), to: from, done: best < 0 };
  }

  private spot(row: number): Spot {
    const start = this.start[row];
    const end = this.end[row];
    return {
      thread: this.thread[row],
      depth: this.depth[row],
      start,
      end,
      bound: this.bound[row],
      busy: end - start,
      fn: this.fn[row],
      node: this.waiting[row],
      calls: 1,
      flags: this.flags[row],
    };
  }
}

interface Run {
  start: number;
  end: number;
  busy: number;
  calls: number;
  most: number;
  fn: number;
  flags: number;
}

/** The rows of an answer. A row's "node" is 1 if it mostly waits. */
class Found {
  private readonly columns = {
    thread: [] as number[],
    depth: [] as number[],
    start: [] as number[],
    end: [] as number[],
    bound: [] as number[],
    busy: [] as number[],
    fn: [] as number[],
    node: [] as number[],
    calls: [] as number[],
    flags: [] as number[],
  };

  constructor(
    private readonly from: number,
    private readonly to: number,
  ) {}

  add(lane: Lane, run: Run): void {
    this.push(lane, run.start, run.end, 0, run.busy, run.fn, 0, run.calls, run.flags);
  }

  addCall(lane: Lane, start: number, end: number, bound: number, fn: number, flags: number, waits: number): void {
    this.push(lane, start, end, bound, end - start, fn, waits, 1, flags);
  }

  private push(
    lane: Lane,
    start: number,
    end: number,
    bound: number,
    busy: number,
    fn: number,
    node: number,
    calls: number,
    flags: number,
  ): void {
    const { columns } = this;
    columns.thread.push(lane.thread);
    columns.depth.push(lane.depth);
    columns.start.push(start);
    columns.end.push(end);
    columns.bound.push(bound);
    columns.busy.push(busy);
    columns.fn.push(fn);
    columns.node.push(node);
    columns.calls.push(calls);
    columns.flags.push(flags);
  }

  rows(): Rows {
    const { columns } = this;
    return {
      from: this.from,
      to: this.to,
      count: columns.start.length,
      thread: Int32Array.from(columns.thread),
      depth: Int32Array.from(columns.depth),
      start: Float64Array.from(columns.start),
      end: Float64Array.from(columns.end),
      bound: Float64Array.from(columns.bound),
      busy: Float64Array.from(columns.busy),
      fn: Int32Array.from(columns.fn),
      node: Int32Array.from(columns.node),
      calls: Float64Array.from(columns.calls),
      flags: Int32Array.from(columns.flags),
    };
  }
}
