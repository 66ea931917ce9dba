/**
 * Draws the program's own events over its calls: marks, spans, counters, and gaps and pauses of the collector. Of
 * several events of a kind on one pixel only one is drawn, so that the cost depends on pixels, not on events.
 */

import type { Counter, Gap, Instant, OfThread } from "./events.ts";
import { BOLD, cut, type Scene, SMALL } from "./scene.ts";
import { COUNTER, HEADING, ROW, type Track } from "./tracks.ts";
import type { Viewport } from "./viewport.ts";

const NOTHING: OfThread = { marks: [], gaps: [], pauses: [], spans: [] };
const LETTER = 6.2; // pixels of a letter of a name, about
const LONGEST = 24; // letters of a mark's name

/** An event of the program, or a gap, below the pointer. */
export interface Pointed {
  readonly what: string;
  readonly from: number;
  /** The end; equal to `from` for a mark. */
  readonly to: number;
  readonly text: string;
}

const NEAR = 4; // pixels

/** Return the event that was drawn last at a place of a track's upper edge, or null. */
export function pointedAt(scene: Scene, track: Track, x: number): Pointed | null {
  const events = scene.events.get(track.index) ?? NOTHING;
  const { view } = scene;
  const hit = (from: number, to: number) => view.xOf(from) - NEAR <= x && x <= view.xOf(to) + NEAR;
  const mark = nearest(events.marks, view, x);
  if (mark) return { what: mark.name, from: mark.time, to: mark.time, text: mark.text };
  const gap = events.gaps.find(({ start, end }) => hit(start, end));
  if (gap) return { what: "events are missing", from: gap.start, to: gap.end, text: "" };
  const span = events.spans.findLast(({ from, to }) => view.xOf(from) <= x + 1 && x <= view.xOf(to) + 1);
  if (span) return { what: span.name, from: span.from, to: span.to, text: span.text };
  const pause = events.pauses.find(({ start, end }) => hit(start, end));
  return pause ? { what: "the cycle collector", from: pause.start, to: pause.end, text: "" } : null;
}

function nearest(marks: readonly Instant[], view: Viewport, x: number): Instant | null {
  let best: Instant | null = null;
  let off = NEAR + 1;
  for (const mark of marks) {
    const by = Math.abs(view.xOf(mark.time) - x);
    if (by < off) [best, off] = [mark, by];
  }
  return best;
}

/** Return the next mark after a time, or the one before, on any thread, or null. */
export function nextMark(events: Scene["events"], when: number, back: boolean): Instant | null {
  let best: Instant | null = null;
  for (const { marks } of events.values())
    for (const mark of marks) {
      if (back ? mark.time >= when : mark.time <= when) continue;
      if (!best || (back ? mark.time > best.time : mark.time < best.time)) best = mark;
    }
  return best;
}

/** title: the right edge of the track's title, after which names begin. */
export function drawSaid(context: CanvasRenderingContext2D, scene: Scene, track: Track, title: number): void {
  const events = scene.events.get(track.index) ?? NOTHING;
  const { view, theme } = scene;
  context.fillStyle = theme.gap;
  stretches(view, events.gaps, 2, (x, width) => {
    context.globalAlpha = 0.25;
    context.fillRect(x, track.top + HEADING, width, track.rows * ROW);
    context.globalAlpha = 1;
    context.fillRect(x, track.top + HEADING - 3, width, 2);
  });
  context.fillStyle = theme.pause;
  stretches(view, events.pauses, 1.5, (x, width) => context.fillRect(x, track.top + HEADING - 1, width, 3));
  context.font = SMALL;
  context.textBaseline = "middle";
  context.fillStyle = theme.accent;
  drawSpans(context, events, view, track, title);
  drawMarks(context, events, view, track, title);
}

/** Calls `each` for every range in sight; ranges that touch on the screen are one. */
function stretches(
  view: Viewport,
  list: readonly Gap[],
  least: number,
  each: (x: number, width: number) => void,
): void {
  let from = 0;
  let to = -1; // nothing is open
  for (const { start, end } of list) {
    if (end < view.from || start > view.to) continue;
    const x = Math.max(view.xOf(start), -least);
    const until = Math.max(Math.min(view.xOf(end), view.width + least), x + least);
    if (to >= from && x <= to + 0.5) {
      to = Math.max(to, until);
      continue;
    }
    if (to >= from) each(from, to - from);
    from = x;
    to = until;
  }
  if (to >= from) each(from, to - from);
}

function drawSpans(
  context: CanvasRenderingContext2D,
  events: OfThread,
  view: Viewport,
  track: Track,
  title: number,
): void {
  let free = title;
  let reached = -1; // the right edge of the drawn part without a gap
  let begun = -10;
  for (const span of events.spans) {
    if (span.to < view.from || span.from > view.to) continue;
    const from = Math.max(view.xOf(span.from), -1);
    const to = Math.max(Math.min(view.xOf(span.to), view.width + 1), from + 1.5);
    if (to > reached) {
      context.fillRect(from, track.top + HEADING - 4, to - from, 3);
      reached = to;
    }
    if (from - begun >= 1.5) {
      context.fillRect(from, track.top + HEADING - 8, 1.5, 7);
      begun = from;
    }
    const x = Math.max(from + 5, title);
    const room = Math.floor((to - x) / LETTER);
    if (room < 3 || x < free) continue;
    const text = cut(span.name, room);
    context.fillText(text, x, track.top + HEADING - 10);
    free = x + 10 + text.length * LETTER;
  }
}

function drawMarks(
  context: CanvasRenderingContext2D,
  events: OfThread,
  view: Viewport,
  track: Track,
  title: number,
): void {
  let free = title;
  let last = -10;
  const top = track.top + HEADING;
  for (const mark of events.marks) {
    if (mark.time < view.from) continue;
    if (mark.time > view.to) break;
    const x = view.xOf(mark.time);
    if (x - last < 1.5) continue;
    last = x;
    context.beginPath();
    context.moveTo(x - 4, top - 9);
    context.lineTo(x + 4, top - 9);
    context.lineTo(x, top - 2);
    context.fill();
    if (x < free || x + 8 >= view.width) continue;
    const text = cut(mark.name, LONGEST);
    context.fillText(text, x + 6, top - 7);
    free = x + 14 + text.length * LETTER;
  }
}

export function drawCounters(context: CanvasRenderingContext2D, scene: Scene): void {
  const { theme, view } = scene;
  for (const { counter, top } of scene.layout.counters) {
    const { times, values, least, most } = counter;
    context.fillStyle = theme.accent;
    drawSeries(context, counter, view, top);
    context.font = BOLD;
    context.textBaseline = "middle";
    context.fillStyle = theme.ink;
    context.fillText(counter.name, 6, top + 9);
    const end = values[after(times, scene.pointer === null ? view.to : view.timeAt(scene.pointer)) - 1];
    context.font = SMALL;
    context.fillStyle = theme.quiet;
    if (end !== undefined) context.fillText(end.toLocaleString("en"), 16 + counter.name.length * 7.2, top + 9);
    context.fillText(`${least.toLocaleString("en")} to ${most.toLocaleString("en")}`, view.width - 150, top + 9);
  }
}

const LINE = 1.5;

/** Draws the value over time in steps: level lines, and one upright line in each column of pixels. */
function drawSeries(context: CanvasRenderingContext2D, counter: Counter, view: Viewport, top: number): void {
  const { times, values, least, most } = counter;
  const place = (value: number) => top + COUNTER - 5 - ((value - least) / (most - least || 1)) * (COUNTER - 20);
  let at = after(times, view.from);
  let y = at > 0 ? place(values[at - 1] ?? 0) : -1; // -1 before the first value
  let column = 0;
  let high = y;
  let low = y;
  const level = (to: number) => {
    if (low > high) context.fillRect(column - LINE / 2, high - LINE / 2, LINE, low - high + LINE);
    if (y >= 0) context.fillRect(column, y - LINE / 2, to - column, LINE);
  };
  for (; at < times.length && (times[at] ?? 0) <= view.to; at++) {
    const x = Math.round(view.xOf(times[at] ?? 0));
    if (x > column) {
      level(x);
      column = x;
      high = low = y;
    }
    y = place(values[at] ?? 0);
    high = high < 0 ? y : Math.min(high, y);
    low = Math.max(low, y);
  }
  level(view.width);
}

/** Return the number of times up to the given one. */
function after(times: readonly number[], when: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) <= when) low = middle + 1;
    else high = middle;
  }
  return low;
}
