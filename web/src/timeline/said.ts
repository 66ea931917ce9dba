/** What the program said of itself, as it is drawn: spans from begin to end, counters over time. */
import type { Counter, Instant, SpanMark } from "./draw.ts";

export interface Gap {
  readonly thread: number;
  readonly start: number;
  readonly end: number;
}

const MOST_COUNTERS = 12;

/** Spans by their begin and end; one that has no end reaches to the end of the recording. */
export function spansOf(instants: readonly Instant[], end: number): SpanMark[] {
  const open = new Map<number, Instant>();
  const found: SpanMark[] = [];
  const add = (begin: Instant, to: number) =>
    found.push({ thread: begin.thread, name: begin.name, from: begin.time, to });
  for (const mark of [...instants].sort((a, b) => a.time - b.time)) {
    if (mark.kind === "begin") open.set(mark.span, mark);
    const begin = mark.kind === "end" ? open.get(mark.span) : undefined;
    if (begin) {
      open.delete(mark.span);
      add(begin, mark.time);
    }
  }
  for (const begin of open.values()) add(begin, end);
  return found.sort((a, b) => a.from - b.from || b.to - a.to);
}

/** The pauses of the cycle collector, thread by thread from "collect" to "collected". */
export function pausesOf(instants: readonly Instant[], end: number): Gap[] {
  const open = new Map<number, number>();
  const found: Gap[] = [];
  for (const mark of [...instants].sort((a, b) => a.time - b.time)) {
    const start = open.get(mark.thread);
    if (mark.kind === "collect") open.set(mark.thread, mark.time);
    if (mark.kind !== "collected" || start === undefined) continue;
    open.delete(mark.thread);
    found.push({ thread: mark.thread, start, end: mark.time });
  }
  for (const [thread, start] of open) found.push({ thread, start, end });
  return found;
}

/** The counters by name, those that were counted most often first. */
export function countersOf(instants: readonly Instant[]): Counter[] {
  const series = new Map<string, [number, number][]>();
  for (const mark of instants) {
    if (mark.kind !== "counter" || mark.value === null) continue;
    let points = series.get(mark.name);
    if (!points) {
      points = [];
      series.set(mark.name, points);
    }
    points.push([mark.time, mark.value]);
  }
  return [...series.entries()]
    .sort((a, b) => b[1].length - a[1].length)
    .slice(0, MOST_COUNTERS)
    .map(([name, points]) => {
      points.sort((a, b) => a[0] - b[0]);
      const values = points.map(([, value]) => value);
      return {
        name,
        times: points.map(([time]) => time),
        values,
        least: values.reduce((least, value) => Math.min(least, value), 0),
        most: values.reduce((most, value) => Math.max(most, value), 0),
      };
    });
}
