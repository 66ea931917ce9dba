// The table of functions: its columns, cells and order, to the letter as the report's (seismo.report.calls.functions).

import type { Functions, Times } from "../data/calls.ts";
import { count, duration, error, rank, share, time } from "../data/words.ts";

const NOTABLE = 0.01; // of the time: with less waiting anywhere there is no column of it
const LEAST = 0.1; // of what is notable: a wait that is shown beside notable ones

export interface Cells {
  title: string;
  /** What a screen reader and a hover say of the column. */
  about: string;
  text(row: number): string;
  /** What rows are sorted by, the largest first. */
  value(row: number): number;
}

export interface Columns {
  names: string[];
  of: Record<string, Cells>;
}

/** The columns that these functions call for: those that would be empty are left out. */
export function columns(functions: Functions, times: Times): Columns {
  const own = functions.column(`${times}.own`);
  const ownError = functions.column(`${times}.own_error`);
  const total = functions.column(`${times}.total`);
  const totalError = functions.column(`${times}.total_error`);
  const wait = functions.column("wait.own");
  const resumes = functions.column("resumes");
  const raised = functions.column("exceptions");
  const whole = functions.whole(times);
  const notable = NOTABLE * (whole + (times === "cpu" ? functions.whole("wait") : 0));
  const counted = (values: ArrayLike<number>) => (row: number) => (values[row] ? count(values[row]) : "");
  const of: Record<string, Cells> = {
    own: {
      title: times === "wait" ? "waiting" : "own",
      about: "time that the function itself took",
      text: (row) => time(own[row], ownError[row]),
      value: (row) => rank(own[row], ownError[row]),
    },
    error: {
      title: "±",
      about: "error of the own time, in 19 of 20 cases",
      text: (row) => error(ownError[row], own[row]),
      value: (row) => ownError[row] / (own[row] || 1),
    },
    percent: {
      title: times === "wait" ? "waiting %" : "own %",
      about: "share of all own time",
      text: (row) => share(own[row], ownError[row], whole),
      value: (row) => rank(own[row], ownError[row]),
    },
    waiting: {
      title: "waiting",
      about: "time of its own in which it did not run",
      text: (row) => (wait[row] > LEAST * notable ? duration(wait[row]) : ""),
      value: (row) => wait[row],
    },
    for: {
      title: "for",
      about: "what it mostly waited for",
      text: (row) => (wait[row] >= notable ? functions.head.reasons[row] : ""),
      value: (row) => wait[row],
    },
    total: {
      title: "total",
      about: "time that the function and all that it called took",
      text: (row) => time(total[row], totalError[row]),
      value: (row) => rank(total[row], totalError[row]),
    },
    calls: {
      title: "calls",
      about: "how often it was called",
      text: (row) => (functions.bound[row] ? "≥" : "") + count(functions.calls[row]),
      value: (row) => functions.calls[row],
    },
    resumes: {
      title: "resumes",
      about: "how often a generator or coroutine went on",
      text: counted(resumes),
      value: (row) => resumes[row],
    },
    raised: {
      title: "raised",
      about: "how often it ended with an exception",
      text: counted(raised),
      value: (row) => raised[row],
    },
  };
  const some = (values: ArrayLike<number>, least = 1) => Array.prototype.some.call(values, (one) => one >= least);
  const timed = !functions.head.timeless;
  const there: Record<string, boolean> = {
    own: timed,
    percent: timed,
    total: timed,
    error: Array.from(own, (_, row) => of.error.text(row)).some(Boolean),
    waiting: times !== "wait" && some(wait, Math.max(1, notable)),
    for: some(wait, Math.max(1, notable)) && functions.head.reasons.some(Boolean),
    calls: some(functions.calls),
    resumes: some(resumes),
    raised: some(raised),
  };
  const names = ["own", "error", "percent", "total", "calls", "waiting", "for", "resumes", "raised"];
  return { names: names.filter((name) => there[name] ?? true), of };
}

/** The rows of functions that ran, ordered by a column; equal ones by their calls, then by name, as in the report. */
export function ordered(functions: Functions, cells: Cells, descending: boolean, times: Times): number[] {
  const own = functions.column(`${times}.own`);
  const resumes = functions.column("resumes");
  const rows: number[] = [];
  for (let row = 0; row < functions.size; row++) {
    if (functions.calls[row] || resumes[row] || own[row]) rows.push(row);
  }
  const values = Float64Array.from({ length: functions.size }, (_, row) => cells.value(row));
  const sign = descending ? -1 : 1;
  const { calls, head } = functions;
  const name = (a: number, b: number) =>
    head.names[a] < head.names[b] ? -1 : head.names[a] > head.names[b] ? 1 : a - b;
  return rows.sort((a, b) => sign * (values[a] - values[b]) || calls[b] - calls[a] || name(a, b));
}
