/**
 * Draws the part in sight on a canvas. Rectangles are filled one by one, sorted by colour. A path of a thousand
 * rectangles takes a browser without a GPU tens of milliseconds, since it smooths every edge; a thousand calls of
 * fillRect take one. For the same reason hatching is a pattern, not lines. Names are cut by counting letters of a
 * fixed-width font.
 */

import { brushed, striped } from "../chrome/hatch.ts";
import { duration } from "../data/words.ts";
import type { Theme } from "./colours.ts";
import { drawCounters, drawSaid } from "./marks.ts";
import { BOLD, cut, FONT, type Scene, SMALL, type Spot } from "./scene.ts";
import type { Rows } from "./tiles.ts";
import { HEADING, inSight, PROCESS, ROW, type Track } from "./tracks.ts";
import { moment, ticks } from "./viewport.ts";

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

const LETTER = 6.62; // pixels of a letter of the font
const LABEL_FROM = 22; // pixels; narrower calls have no name

/** Return the call under a point. Narrow ones are drawn last, so the search goes backwards. */
export function spotAt(scene: Scene, x: number, y: number): Spot | null {
  const at = y - RULER + scene.scroll;
  const track = inSight(scene.layout, at, at)[0];
  if (!track || y < RULER) return null;
  const depth = Math.floor((at - track.top - HEADING) / ROW);
  if (depth < 0 || depth >= track.rows) return null;
  const { view } = scene;
  let best: Spot | null = null;
  let near = 1.5; // tolerance in pixels
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
  const soft: number[] = []; // uncertain edges: x, y, uncertainty, end, and which of both edges
  const waiting: number[] = [];
  const labels: Label[] = [];
  const { rows: tables } = scene.rowsOf(track.index);
  for (const rows of tables) collect(scene, track, rows, boxes, soft, waiting, labels);
  for (const [key, box] of boxes) {
    const [fill = "", alpha = "1"] = key.split("@");
    context.globalAlpha = Number(alpha);
    context.fillStyle = fill;
    for (let at = 0; at < box.length; at += 4)
      context.fillRect(box[at] ?? 0, box[at + 1] ?? 0, box[at + 2] ?? 0, box[at + 3] ?? 0);
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
  drawTitle(context, scene, track);
  drawSaid(context, scene, track, titleEnd(context, scene, track));
  if (titleTop(track, scene.scroll) > track.top) drawTitle(context, scene, track); // it covers the whole track
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
    const from = Math.max(first, rows.from); // neighbouring tiles draw the rest
    const until = Math.min(last, rows.to);
    if (until < from || (until === rows.from && first < until)) continue;
    const named = first >= rows.from || rows.from <= view.from;
    let x = Math.max((from - view.from) * scale, -4);
    let to = Math.min((until - view.from) * scale, view.width + 4);
    if (from > first) x = Math.round(x); // two half pixels side by side would show as a line
    if (until < last) to = Math.round(to);
    const wide = to - x;
    const width = Math.max(wide - (wide > 3 && last <= rows.to ? 1 : 0), 0.7);
    const which = fn[row] ?? 0;
    const paint = scene.paint(which);
    const many = (calls[row] ?? 1) > 1;
    const share = last > first ? Math.min(1, (busy[row] ?? 0) / (last - first)) : 1;
    let alpha = matches && !matches(which) ? 0.22 : 1;
    if (many) alpha *= 0.35 + 0.65 * share; // a run with little time in calls is pale
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
        labels.push({
          text: cut(text, room),
          x: left + 4,
          y: y + ROW / 2,
          colour: alpha < 0.5 ? scene.theme.quiet : paint.text,
        });
      }
    }
  }
}

/** Hatches calls that mostly wait. boxes: x, y and width of each. */
function drawWaiting(context: CanvasRenderingContext2D, boxes: readonly number[], theme: Theme): void {
  if (boxes.length === 0) return;
  const stripes = striped(context, theme.dark ? "rgba(255,255,255,0.28)" : "rgba(0,0,0,0.22)", 1);
  if (!stripes) return;
  context.fillStyle = stripes;
  for (let at = 0; at < boxes.length; at += 3)
    context.fillRect(boxes[at] ?? 0, boxes[at + 1] ?? 0, boxes[at + 2] ?? 0, ROW - 1);
}

/** Draws a brush instead of an edge, as wide as the edge is uncertain. */
function drawSoft(context: CanvasRenderingContext2D, soft: readonly number[], theme: Theme): void {
  if (soft.length === 0) return;
  const brush = brushed(context, theme.dark ? "rgba(20,23,27,0.55)" : "rgba(255,255,255,0.6)");
  if (!brush) return;
  context.fillStyle = brush;
  for (let at = 0; at < soft.length; at += 6) {
    const x = soft[at] ?? 0;
    const y = soft[at + 1] ?? 0;
    const blur = soft[at + 2] ?? 0;
    const to = soft[at + 3] ?? 0;
    if (soft[at + 4]) context.fillRect(x, y, blur, ROW - 1);
    if (soft[at + 5]) context.fillRect(to - blur, y, blur, ROW - 1);
  }
}

/** Return the position of a track's title: at its top, or at the upper edge if the top is out of sight. */
export function titleTop(track: Track, scroll: number): number {
  return Math.min(Math.max(track.top, scroll), track.top + track.height - HEADING);
}

function titleOf(scene: Scene, track: Track): string {
  const stuck = titleTop(track, scene.scroll) > track.top; // the heading of its process is out of sight, too
  const heading = stuck ? scene.layout.headings.find((one) => one.process.id === track.thread.process) : undefined;
  const of = heading ? `${cut(heading.process.title, 40)} › ` : "";
  return `${track.hidden ? "▸" : "▾"} ${of}${track.thread.name}`;
}

/** Return the remark behind a track's title: why nothing is drawn, or that rows are folded. */
function hintOf(scene: Scene, track: Track): { text: string; colour: string } | null {
  const { failed } = scene.rowsOf(track.index);
  if (failed) return { text: `this stretch cannot be shown: ${failed}`, colour: scene.theme.gap };
  if (!track.hidden) return null;
  return { text: `${track.hidden === 1 ? "1 row" : `${track.hidden} rows`} folded`, colour: scene.theme.quiet };
}

const measured = new Map<string, number>();

function widthOf(context: CanvasRenderingContext2D, font: string, text: string): number {
  const key = `${font} ${text}`;
  let width = measured.get(key);
  if (width === undefined) {
    if (measured.size > 5000) measured.clear();
    context.font = font;
    width = context.measureText(text).width;
    measured.set(key, width);
  }
  return width;
}

/** Return the right edge of a track's title and remark, in pixels. */
export function titleEnd(context: CanvasRenderingContext2D, scene: Scene, track: Track): number {
  const hint = hintOf(scene, track);
  const title = widthOf(context, BOLD, titleOf(scene, track)) + 16;
  return hint ? title + widthOf(context, SMALL, hint.text) + 10 : title;
}

function drawTitle(context: CanvasRenderingContext2D, scene: Scene, track: Track): void {
  const { theme } = scene;
  const title = titleOf(scene, track);
  const hint = hintOf(scene, track);
  const top = titleTop(track, scene.scroll);
  context.fillStyle = theme.ground;
  context.fillRect(0, top + 1, titleEnd(context, scene, track), HEADING - (top > track.top ? 2 : 9));
  context.font = BOLD;
  context.textBaseline = "middle";
  context.fillStyle = theme.ink;
  context.fillText(title, 6, top + 10);
  if (!hint) return;
  context.font = SMALL;
  context.fillStyle = hint.colour;
  context.fillText(hint.text, widthOf(context, BOLD, title) + 20, top + 10);
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
