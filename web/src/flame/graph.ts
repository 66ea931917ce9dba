// The functions and paths of a page of calls, with libraries folded or not, and their names.

import { type CallsHead, Functions, Whose } from "../data/calls.ts";
import { folded, IMPORT, type Metric, type Paths, pathsOf } from "../data/paths.ts";
import type { Payload } from "../data/payload.ts";
import { count, error, isUnknown, percent, time } from "../data/words.ts";
import type { Label } from "./frames.ts";

const METRIC_WORDS: Record<Metric, string> = {
  cpu: "running time",
  wait: "waiting time",
  wall: "elapsed time",
  calls: "calls",
  exceptions: "exceptions",
};

/** Return the metric in words. divided: running and waiting are separate, unlike in a part of a trace. */
export function wordsOf(metric: Metric, divided: boolean): string {
  return metric === "cpu" && !divided ? "time" : METRIC_WORDS[metric];
}

export function isTime(metric: Metric): boolean {
  return metric === "cpu" || metric === "wait" || metric === "wall";
}

/** Return a value of a metric with its error. */
export function amount(metric: Metric, value: number, errorNs: number): string {
  if (!isTime(metric)) return count(value);
  return [time(value, errorNs), error(errorNs, value)].filter(Boolean).join(" ");
}

export class Graph {
  readonly functions: Functions;
  readonly paths: Paths;
  private less: Paths | null = null;
  private readonly folds: string[] = [];
  private readonly foldWhose: number[] = [];

  constructor(
    readonly head: CallsHead,
    readonly payload: Payload<CallsHead>,
  ) {
    this.functions = new Functions(head, payload);
    this.paths = pathsOf(payload, "t.");
  }

  /** The number of values that a path's function can have: functions, stand-ins and folds. */
  get size(): number {
    return this.head.names.length + this.folds.length;
  }

  get canFold(): boolean {
    return this.head.folded !== null;
  }

  /** Return the paths, with libraries folded or not. */
  of(fold: boolean): Paths {
    if (!fold || !this.canFold) return this.paths;
    if (!this.less) {
      const known = new Map<string, number>();
      const { modules, names } = this.head;
      const group = this.payload.column("f.group");
      const foldOf = (fn: number) => {
        const library =
          group[fn] === IMPORT ? this.functions.name(fn) : (modules[fn] ?? "").split(".")[0] || "libraries";
        let made = known.get(library);
        if (made === undefined) {
          made = names.length + this.folds.push(library) - 1;
          this.foldWhose.push(this.functions.whose[fn] ?? Whose.Other);
          known.set(library, made);
        }
        return made;
      };
      this.less = folded(this.paths, group, foldOf)[0];
    }
    return this.less;
  }

  isFold(fn: number): boolean {
    return fn >= this.head.names.length;
  }

  /** Return the name of a function, or of the frame that a negative number stands for. */
  name(fn: number): string {
    if (fn < -1) return this.aboveName(-2 - fn);
    if (fn < 0) return "all";
    if (this.isFold(fn)) return `${this.folds[fn - this.head.names.length]} …`;
    return this.functions.name(fn);
  }

  /** Return the possible labels of a frame, the longest first. */
  labels(fn: number): string[] {
    const name = this.name(fn);
    const short = fn >= 0 && !this.isFold(fn) ? this.head.names[fn] : name;
    if (short === "<module>") return [name, this.head.modules[fn] ?? name]; // all modules' bodies have the same name
    const imported = short.replace(/^import /, "");
    const shortest = imported.slice(imported.lastIndexOf(".") + 1);
    // A cut label keeps its end, and the dots of a fold are not a part of its name.
    return [...new Set([name, short, imported, shortest, shortest.split(" …")[0]])];
  }

  place(fn: number): string {
    return fn < 0 || this.isFold(fn) ? "" : (this.head.places[fn] ?? "");
  }

  whose(fn: number): Whose {
    if (fn < 0) return Whose.Other;
    return this.isFold(fn) ? this.foldWhose[fn - this.head.names.length] : (this.functions.whose[fn] as Whose);
  }

  /** Return the lines that a search matches. */
  searched(fn: number): string {
    return `${this.name(fn)}\n${this.place(fn)}`;
  }

  get severalThreads(): boolean {
    return this.head.threads.length > 1;
  }

  private aboveName(number: number): string {
    const { threads, processes } = this.head;
    const thread = threads[number];
    if (!thread) return processes[number - threads.length] ?? "?";
    return thread.name + (thread.folded > 1 ? ` × ${count(thread.folded)}` : "");
  }

  /** Return the frames above the roots if threads are separate: threads, below processes if there are several. */
  above(paths: Paths): Label[] {
    const threads = this.payload.column("t.thread");
    const roots = paths.roots();
    const of = new Map<number, number[]>();
    roots.forEach((root, at) => {
      const thread = threads[at];
      const found = of.get(thread);
      if (found) found.push(root);
      else of.set(thread, [root]);
    });
    const labels = [...of].map(([thread, found]) => ({ fn: -2 - thread, roots: found }));
    if (!this.head.processes.length) return labels;
    const processes = new Map<number, Label>();
    for (const label of labels) {
      const process = this.head.threads[-2 - label.fn]?.process ?? 0;
      let above = processes.get(process);
      if (!above) {
        above = { fn: -2 - this.head.threads.length - process, roots: [], below: [] };
        processes.set(process, above);
      }
      above.roots.push(...label.roots);
      above.below?.push(label);
    }
    return [...processes.values()];
  }
}

/** Return `12.3 ms ±3 %, 45.6 % of all`. */
export function amountOf(metric: Metric, value: number, errorNs: number, whole: number): string {
  const of = `${isUnknown(value, errorNs) && isTime(metric) ? "" : percent(value, whole)}`;
  const unit = isTime(metric) ? "" : metric === "calls" ? " calls" : " exceptions";
  return `${amount(metric, value, errorNs)}${unit}${of ? `, ${of} of all` : ""}`;
}
