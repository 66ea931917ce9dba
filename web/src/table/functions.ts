// The table of functions: its declared columns, and the report's texts and order (seismo.report.calls.functions).

import type { Functions, Times } from "../data/calls.ts";
import { count, duration, error, rank, share, time } from "../data/words.ts";

const NOTABLE = 0.01; // share of the time; with less waiting in every row there is no column for it
const LEAST = 0.1; // share of a notable wait; smaller waits are not shown beside notable ones

export interface Cells {
  title: string;
  /** The column's tooltip, also for a screen reader. */
  about: string;
  text(row: number): string;
  /** Return the value to sort by, the largest first. */
  value(row: number): number;
}

export interface Columns {
  names: string[];
  of: Record<string, Cells>;
}

/** A declared column: see Column and FORMS of seismo.report.calls.functions. */
export interface Declared {
  name: string;
  form: string;
  of: string;
  about: string;
  title: string;
  waiting: string; // its title for waiting times
}

/** The cells of a column. there: true if any of them has something to show. */
type Form = Omit<Cells, "title" | "about"> & { there: boolean };

function some(values: ArrayLike<number>, least = 1): boolean {
  return Array.prototype.some.call(values, (one) => one >= least);
}

function counted(values: ArrayLike<number>): Form {
  return {
    text: (row) => (values[row] ? count(values[row]) : ""),
    value: (row) => values[row],
    there: some(values),
  };
}

function waits(functions: Functions, times: Times): { wait: ArrayLike<number>; notable: number; there: boolean } {
  const wait = functions.column("wait.own");
  const notable = NOTABLE * (functions.whole(times) + (times === "cpu" ? functions.whole("wait") : 0));
  return { wait, notable, there: some(wait, Math.max(1, notable)) };
}

const FORMS: Record<string, (functions: Functions, times: Times, of: string) => Form> = {
  time(functions, times, of) {
    const [ns, errors] = functions.times(times, of);
    const value = (row: number) => rank(ns[row], errors[row]);
    return { text: (row) => time(ns[row], errors[row]), value, there: !functions.head.timeless };
  },
  share(functions, times, of) {
    const [ns, errors] = functions.times(times, of);
    const whole = functions.whole(times);
    const value = (row: number) => rank(ns[row], errors[row]);
    return { text: (row) => share(ns[row], errors[row], whole), value, there: !functions.head.timeless };
  },
  error(functions, times, of) {
    const [ns, errors] = functions.times(times, of);
    const text = (row: number) => error(errors[row], ns[row]);
    const there = Array.from(ns, (_, row) => text(row)).some(Boolean);
    return { text, value: (row) => errors[row] / (ns[row] || 1), there };
  },
  waiting(functions, times) {
    const { wait, notable, there } = waits(functions, times);
    const text = (row: number) => (wait[row] > LEAST * notable ? duration(wait[row]) : "");
    return { text, value: (row) => wait[row], there: there && times !== "wait" };
  },
  reasons(functions, times) {
    const { wait, notable, there } = waits(functions, times);
    const { reasons } = functions.head;
    const text = (row: number) => (wait[row] >= notable ? reasons[row] : "");
    return { text, value: (row) => wait[row], there: there && reasons.some(Boolean) };
  },
  calls(functions) {
    const text = (row: number) => (functions.bound[row] ? "≥" : "") + count(functions.calls[row]);
    return { ...counted(functions.calls), text };
  },
  span(functions, _, of) {
    const ns = functions.column(of);
    return { ...counted(ns), text: (row) => (ns[row] ? duration(ns[row]) : "") };
  },
  count: (functions, _, of) => counted(functions.column(of)),
};

/** Return the columns for these functions, without empty ones. */
export function columns(functions: Functions, times: Times): Columns {
  const made = functions.head.table.map(({ name, form, of, about, title, waiting }) => ({
    ...FORMS[form](functions, times, of),
    name,
    about,
    title: times === "wait" ? waiting : title,
  }));
  const names = made.filter((one) => one.there).map((one) => one.name);
  return { names, of: Object.fromEntries(made.map((one) => [one.name, one])) };
}

/** Return the rows of functions that ran, by a column, then by calls and name as in the report. */
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
