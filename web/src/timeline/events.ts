/** The program's own events as they are drawn: spans from begin to end, counters over time. */

export interface Instant {
  readonly time: number;
  readonly thread: number;
  readonly kind: string;
  readonly span: number;
  readonly name: string;
  readonly text: string;
  readonly value: number | null;
}

/** A span of the program, at a level below the spans around it. */
export interface SpanMark {
  readonly thread: number;
  readonly name: string;
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

/** A counter of the program: its value from each time on. */
export interface Counter {
  readonly name: string;
  readonly times: readonly number[];
  readonly values: readonly number[];
  readonly least: number;
  readonly most: number;
}

export interface Gap {
  readonly thread: number;
  readonly start: number;
  readonly end: number;
}

/** The events over the calls of a thread, each list in the order of its beginnings. */
export interface OfThread {
  readonly marks: Instant[];
  readonly gaps: Gap[];
  readonly pauses: Gap[];
  readonly spans: SpanMark[];
}

const MOST_COUNTERS = 12;

/** Return the events of each thread. end: of the recording, at which spans without an end are cut. */
export function byThread(instants: readonly Instant[], gaps: readonly Gap[], end: number): Map<number, OfThread> {
  const found = new Map<number, OfThread>();
  const of = (thread: number): OfThread => {
    let one = found.get(thread);
    if (!one) {
      one = { marks: [], gaps: [], pauses: [], spans: [] };
      found.set(thread, one);
    }
    return one;
  };
  for (const mark of instants) if (mark.kind === "mark") of(mark.thread).marks.push(mark);
  for (const gap of gaps) of(gap.thread).gaps.push(gap);
  for (const pause of pausesOf(instants, end)) of(pause.thread).pauses.push(pause);
  for (const span of spansOf(instants, end)) of(span.thread).spans.push(span);
  for (const { marks, gaps: missing, pauses } of found.values()) {
    marks.sort((a, b) => a.time - b.time);
    missing.sort((a, b) => a.start - b.start);
    pauses.sort((a, b) => a.start - b.start);
  }
  return found;
}

/** Return spans from their begin and end events; one without an end reaches to the end of the recording. */
export function spansOf(instants: readonly Instant[], end: number): SpanMark[] {
  const open = new Map<number, Instant>();
  const found: SpanMark[] = [];
  const add = (begin: Instant, to: number) =>
    found.push({ thread: begin.thread, name: begin.name, text: begin.text, from: begin.time, to });
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

/** Return the pauses of the cycle collector, from "collect" to "collected" on each thread. */
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

/** Return the counters by name, the most often changed first. */
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
