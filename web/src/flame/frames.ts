// The frames of a flame graph, made when they are drawn. A frame stands for a set of paths with the same end (or
// beginning), and is as wide as the sum of their weights. Its children are that set one step further, grouped by
// function: down to callees, or up to callers. So one mechanism makes the graph from the root, the one from the leaf,
// and both halves of a sandwich. A tree from the leaf may be far larger than the tree of paths, so only frames that are
// wide enough to be drawn are opened. A frame is a number, and its properties are columns. Its set is a range of
// `members`: the current paths, and for trees that go up, the paths whose weights count (`bases`).

import type { Paths, Weights } from "../data/paths.ts";

export type Order = "called" | "heavy";

const UNOPENED = -1;

/** Numbers that grow. */
class Pool {
  values = new Int32Array(1024);
  length = 0;

  reserve(count: number): number {
    const at = this.length;
    this.length += count;
    if (this.length > this.values.length) {
      const larger = new Int32Array(Math.max(this.length, 2 * this.values.length));
      larger.set(this.values);
      this.values = larger;
    }
    return at;
  }
}

export interface Label {
  /** The function that a frame shows; a negative number stands for what is no function. */
  fn: number;
  roots: number[];
  /** Frames between it and its roots. */
  below?: Label[];
}

export class Frames {
  fn = new Int32Array(256);
  parent = new Int32Array(256);
  depth = new Int32Array(256);
  firstChild = new Int32Array(256);
  lastChild = new Int32Array(256);
  value = new Float64Array(256);
  error = new Float64Array(256);
  /** The part of the value that is waiting. */
  waiting = new Float64Array(256);
  private from = new Int32Array(256);
  private until = new Int32Array(256);
  private holder = new Uint8Array(256); // 1 if the members are those of its children
  private readonly members = new Pool();
  private readonly bases = new Pool();
  private readonly slots: Int32Array;
  private readonly weightOf: Float64Array;
  private readonly errorOf: Float64Array;
  private readonly commonOf: Float64Array;
  private readonly waitingOf: ArrayLike<number> | undefined;
  size = 0;
  /** The number of rows that are not drawn: 1 if frame 0 has only one child. */
  skipped = 0;

  /** Frame 0 is the whole. up: children are callers. */
  private constructor(
    readonly paths: Paths,
    readonly weights: Weights,
    readonly up: boolean,
    own: boolean,
    readonly order: Order,
    functions: number,
  ) {
    this.slots = new Int32Array(functions);
    this.weightOf = own ? weights.own : weights.total;
    this.errorOf = own ? weights.ownError : weights.totalError;
    this.commonOf = own ? weights.ownError : weights.common;
    this.waitingOf = weights.waiting?.[own ? "own" : "total"];
  }

  /** Return the graph from the root. labels: frames above the roots, such as threads, or none to join all threads. */
  static fromRoot(paths: Paths, weights: Weights, order: Order, functions: number, labels: Label[] = []): Frames {
    const frames = new Frames(paths, weights, false, false, order, functions);
    frames.begin(paths.roots());
    frames.label(0, labels);
    return frames;
  }

  /** Adds frames above the roots, row by row. */
  private label(above: number, labels: Label[]): void {
    if (!labels.length) return;
    this.firstChild[above] = this.size;
    const made = labels.map(({ fn, roots }) => this.hold(fn, above, roots));
    this.lastChild[above] = this.size;
    for (const [at, { below }] of labels.entries()) if (below) this.label(made[at], below);
  }

  /**
   * Return the graph from the leaf: functions by own weight, with their callers below. known: the functions' own
   * errors.
   */
  static fromLeaf(paths: Paths, weights: Weights, functions: number, known: ArrayLike<number> = []): Frames {
    const frames = new Frames(paths, weights, true, true, "heavy", functions);
    const leaves: number[] = [];
    for (let path = 0; path < paths.size; path++) if (weights.own[path] > 0) leaves.push(path);
    frames.begin(leaves);
    frames.open(0);
    for (let at = frames.firstChild[0]; at < frames.lastChild[0]; at++)
      frames.error[at] = Math.min(frames.error[at], known[frames.fn[at]] ?? Number.POSITIVE_INFINITY);
    frames.error[0] = Frames.fromRoot(paths, weights, "called", functions).error[0];
    return frames;
  }

  /** Return the callers (up) or callees of a function, weighted by the totals of its outermost calls. */
  static around(paths: Paths, weights: Weights, fn: number, up: boolean, functions: number): Frames {
    const frames = new Frames(paths, weights, up, false, "heavy", functions);
    frames.begin(outermost(paths, fn));
    frames.open(0);
    frames.skipped = 1;
    return frames;
  }

  private begin(members: number[]): void {
    this.hold(-1, -1, members);
  }

  /** A frame whose members are those of its children. */
  private hold(fn: number, parent: number, members: number[]): number {
    const at = this.add(fn, parent, members.length);
    const { values } = this.members;
    const bases = this.bases.values;
    members.forEach((path, index) => {
      values[this.from[at] + index] = path;
      bases[this.from[at] + index] = path;
    });
    this.holder[at] = 1;
    this.weigh(at);
    return at;
  }

  private add(fn: number, parent: number, members: number): number {
    const at = this.size++;
    if (at >= this.fn.length) this.grow();
    this.fn[at] = fn;
    this.parent[at] = parent;
    this.depth[at] = parent < 0 ? 0 : this.depth[parent] + 1;
    this.firstChild[at] = UNOPENED;
    this.lastChild[at] = UNOPENED;
    this.from[at] = this.members.reserve(members);
    this.bases.reserve(members);
    this.until[at] = this.from[at] + members;
    return at;
  }

  private grow(): void {
    const larger = <T extends Int32Array | Float64Array | Uint8Array>(old: T): T => {
      const made = new (old.constructor as new (length: number) => T)(2 * old.length);
      made.set(old);
      return made;
    };
    this.fn = larger(this.fn);
    this.parent = larger(this.parent);
    this.depth = larger(this.depth);
    this.firstChild = larger(this.firstChild);
    this.lastChild = larger(this.lastChild);
    this.value = larger(this.value);
    this.error = larger(this.error);
    this.waiting = larger(this.waiting);
    this.from = larger(this.from);
    this.until = larger(this.until);
    this.holder = larger(this.holder);
  }

  /**
   * Sums up the members. Shared parts of errors are added, the rest in quadrature, as in Recording.total_error(). Own
   * times of one function share all of their errors; for several functions the sum is a bound.
   */
  private weigh(at: number): void {
    let value = 0;
    let plain = 0;
    let common = 0;
    let square = 0;
    let waiting = 0;
    const bases = this.bases.values;
    for (let member = this.from[at]; member < this.until[at]; member++) {
      const path = bases[member];
      const error = this.errorOf[path];
      const shared = this.commonOf[path];
      value += this.weightOf[path];
      plain += error;
      common += shared;
      waiting += this.waitingOf?.[path] ?? 0;
      square += error * error - shared * shared;
    }
    this.value[at] = value;
    this.waiting[at] = waiting;
    this.error[at] = Math.min(plain, Math.hypot(Math.sqrt(Math.max(0, square)), common));
  }

  /** Return the paths of a frame: those that end in it, or in a tree that goes up, those whose weight it has. */
  basesOf(at: number): Int32Array {
    return this.bases.values.subarray(this.from[at], this.until[at]);
  }

  /** Makes the children of a frame once, as frames firstChild[at] up to lastChild[at]. */
  open(at: number): void {
    if (this.firstChild[at] !== UNOPENED) return;
    const from = this.from[at];
    const until = this.until[at];
    const step: number[] = [];
    const base: number[] = [];
    const { parent, end } = this.paths;
    const members = this.members.values;
    const bases = this.bases.values;
    for (let member = from; member < until; member++) {
      const path = members[member];
      if (this.holder[at]) {
        step.push(path);
        base.push(bases[member]);
      } else if (this.up) {
        if (parent[path] < 0) continue;
        step.push(parent[path]);
        base.push(bases[member]);
      } else {
        for (let child = path + 1; child < end[path]; child = end[child]) {
          if (!(this.weightOf[child] > 0)) continue;
          step.push(child);
          base.push(child);
        }
      }
    }
    this.group(at, step, base);
  }

  /** Sorts the members of the children by function in three passes: count, weigh, place. */
  private group(at: number, step: number[], base: number[]): void {
    const { fn } = this.paths;
    const { slots } = this; // for each function 1 + its group
    const groups: number[] = [];
    const counts: number[] = [];
    const values: number[] = [];
    for (let index = 0; index < step.length; index++) {
      const function_ = fn[step[index]];
      let slot = slots[function_];
      if (!slot) {
        slot = slots[function_] = groups.push(function_);
        counts.push(0);
        values.push(0);
      }
      counts[slot - 1]++;
      values[slot - 1] += this.weightOf[base[index]];
    }
    const order = groups.map((_, index) => index);
    if (this.order === "heavy") order.sort((a, b) => values[b] - values[a] || groups[a] - groups[b]);
    this.firstChild[at] = this.size;
    const next = new Int32Array(groups.length);
    const made: number[] = [];
    for (const index of order) {
      const child = this.add(groups[index], at, counts[index]);
      next[index] = this.from[child];
      made.push(child);
    }
    this.lastChild[at] = this.size;
    const members = this.members.values;
    const bases = this.bases.values;
    for (let index = 0; index < step.length; index++) {
      const to = next[slots[fn[step[index]]] - 1]++;
      members[to] = step[index];
      bases[to] = base[index];
    }
    for (const child of made) this.weigh(child);
    for (const function_ of groups) slots[function_] = 0;
  }

  /** Return the frames from the outermost to this one. */
  pathTo(at: number): number[] {
    const found: number[] = [];
    for (let frame = at; frame >= 0; frame = this.parent[frame]) found.unshift(frame);
    return found;
  }
}

/** Return the outermost paths of a function, whose totals can be added. */
export function outermost(paths: Paths, fn: number): number[] {
  const found: number[] = [];
  let path = 0;
  while (path < paths.size) {
    if (paths.fn[path] === fn) {
      found.push(path);
      path = paths.end[path];
    } else path++;
  }
  return found;
}
