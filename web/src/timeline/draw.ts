/**
 * Draws what is in sight on a canvas.
 *
 * Rectangles of one colour are filled in one path, since what costs on a canvas is to change its state. Names are cut by
 * counting letters: the font is one of fixed width, so nothing is measured while drawing.
 */

import { duration } from "../data/words.ts";
import type { Paint, Theme } from "./colours.ts";
import type { Gap } from "./said.ts";
import type { Rows } from "./tiles.ts";
import { COUNTER, HEADING, inSight, type Layout, PROCESS, ROW, type Track } from "./tracks.ts";
import { moment, type Stretch, ticks, type Viewport } from "./viewport.ts";

export const RULER = 30;

/** Flags of a call: CallFlags of src/seismo/model/kinds.py. */
export const BEFORE = 1;
export const AFTER = 2;
export const BEGAN_UNSEEN = 4;
export const ENDED_UNSEEN = 8;
export const PAUSED = 16;
export const UNWOUND = 32;
export const OPEN = 64;
export const RESUMED = 128;
export const UNSURE = 256;
export const GAP = 512;

export interface Instant {
  readonly time: number;
  readonly thread: number;
  readonly kind: string;
  readonly span: number;
  readonly name: string;
  readonly text: string;
  readonly value: number | null;
}

/** A span of the program's own: from where it began to where it ended, at a level below the spans around it. */
export interface SpanMark {
  readonly thread: number;
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

/** A value that the program counts: what it was from each time on. */
export interface Counter {
  readonly name: string;
  readonly times: readonly number[];
  readonly values: readonly number[];
  readonly least: number;
  readonly most: number;
}

export interface Spot {
  readonly thread: number;
  readonly depth: number;
  readonly start: number;
  readonly end: number;
  readonly bound: number;
  readonly busy: number;
  readonly fn: number;
  readonly node: number;
  readonly calls: number;
  readonly flags: number;
}

export interface Scene {
  readonly view: Viewport;
  readonly layout: Layout;
  readonly scroll: number;
  readonly height: number;
  readonly theme: Theme;
  readonly rowsOf: (thread: number) => { rows: Rows[]; exact: boolean; failed: string };
  readonly paint: (fn: number) => Paint;
  readonly name: (fn: number) => string;
  readonly waits: (node: number) => boolean;
  readonly matches: ((fn: number) => boolean) | null;
  readonly instants: readonly Instant[];
  readonly gaps: readonly Gap[];
  readonly pauses: readonly Gap[];
  readonly spans: readonly SpanMark[];
  readonly selected: Spot | null;
  readonly range: Stretch | null;
  readonly hover: Spot | null;
  readonly pointer: number | null;
}

export const FONT = "11px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
const SMALL = "11px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
const BOLD = "600 12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
const LETTER = 6.62; // pixels of a letter of the font
const LABEL_FROM = 22; // pixels: what is narrower has no name

/** Finds what is drawn under a point: the narrowest things are the last drawn. */
export function spotAt(scene: Scene, x: number, y: number): Spot | null {
  const at = y - RULER + scene.scroll;
  const track = inSight(scene.layout, at, at)[0];
  if (!track || y < RULER) return null;
  const depth = Math.floor((at - track.top - HEADING) / ROW);
  if (depth < 0 || depth >= track.rows) return null;
  const { view } = scene;
  let best: Spot | null = null;
  let near = 1.5; // pixels: one may miss by that much
  for (const rows of scene.rowsOf(track.index).rows) {
    for (let row = 0; row < rows.count; row++) {
      if (rows.depth[row] !== depth || rows.thread[row] !== track.index) continue;
      const from = view.xOf(rows.start[row] ?? 0);
      const to = view.xOf(rows.end[row] ?? 0);
      const off = x < from ? from - x : x > to ? x - to : 0;
      if (off < near || (off === 0 && near === 0)) {
        near = off;
        best = spotOf(rows, row);
      }
    }
  }
  return best;
}

export function spotOf(rows: Rows, row: number): Spot {
  return {
    thread: rows.thread[row] ?? 0,
    depth: rows.depth[row] ?? 0,
    start: rows.start[row] ?? 0,
    end: rows.end[row] ?? 0,
    bound: rows.bound[row] ?? 0,
    busy: rows.busy[row] ?? 0,
    fn: rows.fn[row] ?? 0,
    node: rows.node[row] ?? 0,
    calls: rows.calls[row] ?? 0,
    flags: rows.flags[row] ?? 0,
  };
}

interface Label {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly colour: string;
}

export function draw(context: CanvasRenderingContext2D, scene: Scene): void {
  const { view, theme, height } = scene;
  context.fillStyle = theme.ground;
  context.fillRect(0, 0, view.width, height);
  const marks = ticks(view);
  context.fillStyle = theme.line;
  for (const time of marks.times) context.fillRect(Math.round(view.xOf(time)), RULER, 1, height);
  context.save();
  context.beginPath();
  context.rect(0, RULER, view.width, height - RULER);
  context.clip();
  context.translate(0, RULER - scene.scroll);
  for (const track of inSight(scene.layout, scene.scroll, scene.scroll + height - RULER))
    drawTrack(context, scene, track);
  drawHeadings(context, scene);
  drawCounters(context, scene);
  context.restore();
  drawRange(context, scene);
  drawRuler(context, scene, marks);
}

function drawTrack(context: CanvasRenderingContext2D, scene: Scene, track: Track): void {
  const { view, theme } = scene;
  context.fillStyle = theme.line;
  context.fillRect(0, track.top, view.width, 1);
  const boxes = new Map<string, number[]>(); // by colour: x, y, width, height
  const soft: number[] = []; // uncertain: x, y, by how much, end, which of both
  const waiting: number[] = [];
  const labels: Label[] = [];
  const { rows: tables, failed } = scene.rowsOf(track.index);
  for (const rows of tables) collect(scene, track, rows, boxes, soft, waiting, labels);
  for (const [key, box] of boxes) {
    const [fill = "", alpha = "1"] = key.split("@");
    context.globalAlpha = Number(alpha);
    context.fillStyle = fill;
    context.beginPath();
    for (let at = 0; at < box.length; at += 4)
      context.rect(box[at] ?? 0, box[at + 1] ?? 0, box[at + 2] ?? 0, box[at + 3] ?? 0);
    context.fill();
  }
  context.globalAlpha = 1;
  drawWaiting(context, waiting, theme);
  drawSoft(context, soft, theme);
  context.font = FONT;
  context.textBaseline = "middle";
  let colour = "";
  for (const label of labels) {
    if (label.colour !== colour) {
      colour = label.colour;
      context.fillStyle = colour;
    }
    context.fillText(label.text, label.x, label.y);
  }
  drawMarks(context, scene, track);
  drawTitle(context, scene, track, failed);
}

function collect(
  scene: Scene,
  track: Track,
  rows: Rows,
  boxes: Map<string, number[]>,
  soft: number[],
  waiting: number[],
  labels: Label[],
): void {
  const { view, matches } = scene;
  const scale = 1 / view.scale;
  const { thread, depth, start, end, bound, busy, fn, node, calls } = rows;
  for (let row = 0; row < rows.count; row++) {
    const level = depth[row] ?? 0;
    if (thread[row] !== track.index || level >= track.rows) continue;
    const first = start[row] ?? 0;
    const last = end[row] ?? 0;
    if (last < view.from || first > view.to) continue;
    const from = Math.max(first, rows.from); // what lies beyond, its neighbours draw
    const until = Math.min(last, rows.to);
    if (until < from || (until === rows.from && first < until)) continue;
    const named = first >= rows.from || rows.from <= view.from;
    const x = Math.max((from - view.from) * scale, -4);
    const to = Math.min((until - view.from) * scale, view.width + 4);
    const wide = to - x;
    const width = Math.max(wide - (wide > 3 && last <= rows.to ? 1 : 0), 0.7);
    const which = fn[row] ?? 0;
    const paint = scene.paint(which);
    const many = (calls[row] ?? 1) > 1;
    const share = last > first ? Math.min(1, (busy[row] ?? 0) / (last - first)) : 1;
    let alpha = matches && !matches(which) ? 0.22 : 1;
    if (many) alpha *= 0.35 + 0.65 * share; // a run that was mostly something else is pale
    const key = alpha === 1 ? paint.fill : `${paint.fill}@${alpha.toFixed(1)}`;
    const y = track.top + HEADING + level * ROW;
    let box = boxes.get(key);
    if (!box) {
      box = [];
      boxes.set(key, box);
    }
    box.push(x, y, width, ROW - 1);
    if (!many && width > 6 && scene.waits(node[row] ?? 0)) waiting.push(x, y, width);
    const blur = (bound[row] ?? 0) * scale;
    if (blur > 1.5 && width > 3)
      soft.push(x, y, Math.min(blur, width / 2), x + width, first >= rows.from ? 1 : 0, last <= rows.to ? 1 : 0);
    if (width >= LABEL_FROM && named) {
      const text = many
        ? `${scene.name(which)} ×${Math.round(calls[row] ?? 0).toLocaleString("en")}`
        : scene.name(which);
      const left = Math.max(x, 0);
      const right = Math.min((last - view.from) * scale, view.width);
      const room = Math.floor((right - left - 7) / LETTER);
      if (room >= 2) {
        const cut = text.length > room ? `${text.slice(0, room - 1)}…` : text;
        labels.push({ text: cut, x: left + 4, y: y + ROW / 2, colour: alpha < 0.5 ? scene.theme.quiet : paint.text });
      }
    }
  }
}

/** What mostly waits is hatched: it takes time, and no processor. */
function drawWaiting(context: CanvasRenderingContext2D, boxes: number[], theme: Theme): void {
  context.strokeStyle = theme.dark ? "rgba(255,255,255,0.28)" : "rgba(0,0,0,0.22)";
  context.lineWidth = 1;
  context.beginPath();
  for (let at = 0; at < boxes.length; at += 3) {
    const x = Math.max(boxes[at] ?? 0, 0);
    const y = boxes[at + 1] ?? 0;
    const to = Math.min((boxes[at] ?? 0) + (boxes[at + 2] ?? 0), x + 4000);
    for (let from = x - (x % 8); from < to - ROW; from += 8) {
      if (from < x) continue;
      context.moveTo(from, y + ROW - 1);
      context.lineTo(from + ROW - 1, y);
    }
  }
  context.stroke();
}

/** A beginning or an end that may lie elsewhere has a brush across its doubt instead of an edge. */
function drawSoft(context: CanvasRenderingContext2D, soft: number[], theme: Theme): void {
  context.fillStyle = theme.dark ? "rgba(20,23,27,0.55)" : "rgba(255,255,255,0.6)";
  context.beginPath();
  for (let at = 0; at < soft.length; at += 6) {
    const x = soft[at] ?? 0;
    const y = soft[at + 1] ?? 0;
    const blur = soft[at + 2] ?? 0;
    const to = soft[at + 3] ?? 0;
    for (let line = 0; line < ROW - 1; line += 4) {
      if (soft[at + 4]) context.rect(x, y + line, blur, 2);
      if (soft[at + 5]) context.rect(to - blur, y + line, blur, 2);
    }
  }
  context.fill();
}

function drawMarks(context: CanvasRenderingContext2D, scene: Scene, track: Track): void {
  const { view, theme } = scene;
  for (const gap of scene.gaps) {
    if (gap.thread !== track.index || gap.end < view.from || gap.start > view.to) continue;
    const x = view.xOf(gap.start);
    const width = Math.max(view.xOf(gap.end) - x, 2);
    context.fillStyle = theme.gap;
    context.globalAlpha = 0.25;
    context.fillRect(x, track.top + HEADING, width, track.rows * ROW);
    context.globalAlpha = 1;
    context.fillRect(x, track.top + HEADING - 3, width, 2);
  }
  context.fillStyle = theme.pause;
  for (const pause of scene.pauses) {
    if (pause.thread !== track.index || pause.end < view.from || pause.start > view.to) continue;
    const x = view.xOf(pause.start);
    context.fillRect(x, track.top + HEADING - 1, Math.max(view.xOf(pause.end) - x, 1.5), 3);
  }
  context.font = SMALL;
  context.textBaseline = "middle";
  let free = 0;
  for (const span of scene.spans) {
    if (span.thread !== track.index || span.to < view.from || span.from > view.to) continue;
    const from = Math.max(view.xOf(span.from), -1);
    const to = Math.min(view.xOf(span.to), view.width + 1);
    context.fillStyle = theme.accent;
    context.fillRect(from, track.top + HEADING - 4, Math.max(to - from, 1.5), 3);
    context.fillRect(from, track.top + HEADING - 8, 1.5, 7);
    const x = Math.max(from + 5, titleWidth(track));
    const room = Math.floor((to - x) / 6.2);
    if (room < 3 || x < free) continue;
    const text = span.name.length > room ? `${span.name.slice(0, room - 1)}…` : span.name;
    context.fillText(text, x, track.top + HEADING - 10);
    free = x + 10 + text.length * 6.2;
  }
  for (const mark of scene.instants) {
    if (mark.kind !== "mark" || mark.thread !== track.index || mark.time < view.from || mark.time > view.to) continue;
    const x = view.xOf(mark.time);
    context.fillStyle = theme.accent;
    context.beginPath();
    context.moveTo(x - 4, track.top + HEADING - 9);
    context.lineTo(x + 4, track.top + HEADING - 9);
    context.lineTo(x, track.top + HEADING - 2);
    context.fill();
    if (x > free && x + 8 < view.width) {
      const text = mark.name.length > 24 ? `${mark.name.slice(0, 23)}…` : mark.name;
      context.fillText(text, x + 6, track.top + HEADING - 7);
      free = x + 14 + text.length * 6.2;
    }
  }
}

/** The pixels that a track's title takes, about. */
function titleWidth(track: Track): number {
  return 34 + Math.min(track.thread.name.length, 60) * 7.2;
}

function drawTitle(context: CanvasRenderingContext2D, scene: Scene, track: Track, failed: string): void {
  const { theme } = scene;
  context.font = BOLD;
  context.textBaseline = "middle";
  const title = `${track.hidden ? "▸" : "▾"} ${track.thread.name}`;
  const width = context.measureText(title).width + 12;
  context.fillStyle = theme.ground;
  context.globalAlpha = 0.85;
  context.fillRect(0, track.top + 3, width + 4, HEADING - 8);
  context.globalAlpha = 1;
  context.fillStyle = theme.ink;
  context.fillText(title, 6, track.top + 12);
  if (track.hidden) {
    context.font = SMALL;
    context.fillStyle = theme.quiet;
    const rows = track.hidden === 1 ? "1 row is" : `${track.hidden} rows are`;
    context.fillText(`${rows} folded: click to open`, width + 8, track.top + 12);
  }
  if (failed) {
    context.font = SMALL;
    context.fillStyle = theme.gap;
    context.fillText(`this stretch cannot be shown: ${failed}`, width + 8, track.top + 12);
  }
}

function drawCounters(context: CanvasRenderingContext2D, scene: Scene): void {
  const { theme, view } = scene;
  for (const { counter, top } of scene.layout.counters) {
    const { times, values, least, most } = counter;
    const tall = COUNTER - 14;
    const place = (value: number) => top + COUNTER - 5 - ((value - least) / (most - least || 1)) * (tall - 6);
    let at = after(times, view.from);
    let y = at > 0 ? place(values[at - 1] ?? 0) : -1;
    context.beginPath();
    if (at > 0) context.moveTo(0, y);
    let last = -1;
    for (; at < times.length && (times[at] ?? 0) <= view.to; at++) {
      const x = view.xOf(times[at] ?? 0);
      if (y >= 0) context.lineTo(x, y);
      const next = place(values[at] ?? 0);
      if (y < 0) context.moveTo(x, next);
      else if (x - last >= 0.5 || next !== y) context.lineTo(x, next);
      y = next;
      last = x;
    }
    if (y >= 0) context.lineTo(view.width, y);
    context.strokeStyle = theme.accent;
    context.lineWidth = 1.5;
    context.stroke();
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

/** The number of times that are not after the given one. */
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

function drawHeadings(context: CanvasRenderingContext2D, scene: Scene): void {
  const { theme, view } = scene;
  for (const { process, top } of scene.layout.headings) {
    context.fillStyle = theme.raised;
    context.fillRect(0, top, view.width, PROCESS - 4);
    context.font = BOLD;
    context.fillStyle = theme.ink;
    context.textBaseline = "middle";
    context.fillText(process.title, 6, top + (PROCESS - 4) / 2);
  }
}

function outline(context: CanvasRenderingContext2D, scene: Scene, spot: Spot, colour: string, width: number): void {
  const track = scene.layout.tracks.find((one) => one.index === spot.thread);
  if (!track || spot.depth >= track.rows) return;
  const x = Math.max(scene.view.xOf(spot.start), -3);
  const to = Math.min(scene.view.xOf(spot.end), scene.view.width + 3);
  const y = RULER - scene.scroll + track.top + HEADING + spot.depth * ROW;
  if (y < RULER) return;
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.strokeRect(x + 0.5, y + 0.5, Math.max(to - x - 2, 1), ROW - 2);
}

function drawRange(context: CanvasRenderingContext2D, scene: Scene): void {
  const { view, theme } = scene;
  if (scene.hover) outline(context, scene, scene.hover, theme.quiet, 1);
  if (scene.selected) outline(context, scene, scene.selected, theme.accent, 2);
  if (scene.range) {
    const from = view.xOf(scene.range.from);
    const to = view.xOf(scene.range.to);
    context.fillStyle = theme.selection;
    context.fillRect(from, RULER, to - from, scene.height);
    context.fillStyle = theme.accent;
    context.fillRect(from, RULER, 1, scene.height);
    context.fillRect(to, RULER, 1, scene.height);
  }
  if (scene.pointer !== null) {
    context.fillStyle = theme.accent;
    context.globalAlpha = 0.5;
    context.fillRect(Math.round(scene.pointer), RULER, 1, scene.height);
    context.globalAlpha = 1;
  }
}

function drawRuler(context: CanvasRenderingContext2D, scene: Scene, marks: { step: number; times: number[] }): void {
  const { view, theme } = scene;
  context.fillStyle = theme.raised;
  context.fillRect(0, 0, view.width, RULER);
  context.fillStyle = theme.line;
  context.fillRect(0, RULER - 1, view.width, 1);
  context.font = SMALL;
  context.textBaseline = "middle";
  context.fillStyle = theme.quiet;
  for (const time of marks.times) {
    const x = Math.round(view.xOf(time));
    context.fillRect(x, RULER - 7, 1, 6);
    context.fillText(moment(time, marks.step), x + 4, RULER / 2);
  }
  if (scene.range) {
    const from = view.xOf(scene.range.from);
    const to = view.xOf(scene.range.to);
    context.fillStyle = theme.accent;
    context.fillRect(from, RULER - 3, to - from, 3);
    const text = duration(scene.range.to - scene.range.from);
    const width = text.length * 6.4 + 10;
    const x = Math.min(Math.max((from + to) / 2 - width / 2, 2), view.width - width - 2);
    context.fillRect(x, 4, width, 17);
    context.fillStyle = theme.dark ? "#10141a" : "#ffffff";
    context.fillText(text, x + 5, 13);
  }
}
