// Draws the frames in sight within 8 ms, the time of one animation frame. Frames narrower than a pixel are not opened,
// and adjacent ones are one grey rectangle. Frames are filled by colour, because setting a colour costs more than
// filling. The width of a text is the sum of its characters' widths, which are measured once.

import { dotted } from "../chrome/hatch.ts";
import type { Frames } from "./frames.ts";
import type { Palette } from "./palette.ts";

export const ROW = 20; // px
const LEAST = 1; // px; narrower frames are drawn together
const LEAST_TEXT = 26;
const PAD = 4;
const UNCERTAIN = 0.05; // share of a frame's width; smaller errors are not drawn

/** The part in sight (from 0 to 1), and the scroll position in px. */
export interface View {
  x0: number;
  x1: number;
  top: number;
}

export interface Look {
  palette: Palette;
  /** Return the colour number of a frame. */
  colour(frame: number): number;
  /** Return the labels of a frame, the longest first. */
  labels(frame: number): string[];
  /** 1 for each function that matches the search, or null without a search. */
  matches: Uint8Array | null;
  selected: number; // a function
  cursor: number; // a frame
  hovered: number; // a frame
}

/** The drawn frames, to find the one below the pointer. */
export class Drawn {
  readonly frames: number[] = [];
  readonly x: number[] = [];
  readonly y: number[] = [];
  readonly width: number[] = [];
  /** The right edges of the frames, in sight or not. */
  readonly end: number[] = [];

  at(x: number, y: number): number {
    for (let index = this.frames.length - 1; index >= 0; index--) {
      const top = this.y[index];
      if (y >= top && y < top + ROW && x >= this.x[index] && x < this.x[index] + this.width[index]) {
        return this.frames[index];
      }
    }
    return -1;
  }
}

const widths = new Map<string, number>();
let measured = "";

function widthOf(context: CanvasRenderingContext2D, text: string): number {
  if (measured !== context.font) {
    measured = context.font;
    widths.clear();
  }
  let width = 0;
  for (const char of text) {
    let one = widths.get(char);
    if (one === undefined) {
      one = context.measureText(char).width;
      widths.set(char, one);
    }
    width += one;
  }
  return width;
}

/** Return the first label that fits, else the end of the last one, or "" if nothing fits. */
export function fitting(labels: string[], room: number, width: (text: string) => number): string {
  for (const label of labels) if (width(label) <= room) return label;
  const last = Array.from(labels.at(-1) ?? "");
  let used = width("…");
  let from = last.length;
  while (from > 0 && used + width(last[from - 1]) <= room) used += width(last[--from]);
  return last.length - from > 1 ? `…${last.slice(from).join("")}` : "";
}

/** Return the number of rows of the frames in this part, without those narrower than a pixel. */
export function rowsOf(frames: Frames, { x0, x1 }: View, width: number): number {
  let deepest = 0;
  let budget = 400_000;
  visit(frames, x0, x1, width, (frame) => {
    deepest = Math.max(deepest, frames.depth[frame] + 1 - frames.skipped);
    return budget-- > 0;
  });
  return deepest;
}

/**
 * Calls `each` for wide frames, parents first, and `thin` for the others. If `each` returns false, children are
 * skipped.
 */
function visit(
  frames: Frames,
  x0: number,
  x1: number,
  width: number,
  each: (frame: number, x: number, wide: number) => boolean,
  thin?: (frame: number, x: number, wide: number) => void,
): void {
  const whole = frames.value[0];
  if (!(whole > 0)) return;
  const scale = width / (x1 - x0) / whole;
  const waiting: number[] = [0];
  const starts: number[] = [0];
  while (waiting.length) {
    const frame = waiting.pop() as number;
    const start = starts.pop() as number;
    if (!each(frame, start * scale - (x0 * width) / (x1 - x0), frames.value[frame] * scale)) continue;
    frames.open(frame);
    let at = start;
    const last = frames.lastChild[frame];
    for (let child = frames.firstChild[frame]; child < last; child++) {
      const value = frames.value[child];
      const x = at * scale - (x0 * width) / (x1 - x0);
      const wide = value * scale;
      if (x >= width - 0.01) break;
      if (x + wide > 0.01) {
        if (wide >= LEAST) {
          waiting.push(child);
          starts.push(at);
        } else thin?.(child, x, wide);
      }
      at += value;
    }
  }
}

/** Draws the frames in sight. height: of the canvas, in px. flip: callers are above. */
export function draw(
  context: CanvasRenderingContext2D,
  frames: Frames,
  view: View,
  look: Look,
  width: number,
  height: number,
  flip: boolean,
): Drawn {
  const { palette, matches } = look;
  const drawn = new Drawn();
  context.fillStyle = palette.paper;
  context.fillRect(0, 0, width, height);
  const buckets = new Map<number, number[]>();
  const grey = new Map<number, [number, number]>(); // for each row the current run of thin frames
  const stretches: number[] = [];
  const yOf = (frame: number) => {
    const row = (frames.depth[frame] - frames.skipped) * ROW;
    return flip ? height - ROW - row + view.top : row - view.top;
  };
  const flush = (y: number, [from, until]: [number, number]) => stretches.push(from, y, Math.max(1, until - from));
  visit(
    frames,
    view.x0,
    view.x1,
    width,
    (frame, x, wide) => {
      const y = yOf(frame);
      if (flip ? y + ROW < 0 : y > height) return false;
      if (y + ROW <= 0 || y >= height || frames.depth[frame] < frames.skipped) return true;
      const left = Math.max(0, x);
      const colour = look.colour(frame);
      const dim = matches && frames.fn[frame] >= 0 && !matches[frames.fn[frame]] ? 1000 : 0;
      let bucket = buckets.get(colour + dim);
      if (!bucket) {
        bucket = [];
        buckets.set(colour + dim, bucket);
      }
      bucket.push(drawn.frames.length);
      drawn.frames.push(frame);
      drawn.x.push(left);
      drawn.y.push(y);
      drawn.width.push(Math.min(width, x + wide) - left);
      drawn.end.push(x + wide);
      return true;
    },
    (frame, x, wide) => {
      const y = yOf(frame);
      if (y + ROW <= 0 || y >= height) return;
      const open = grey.get(y);
      if (open && x - open[1] < 1.5) open[1] = x + wide;
      else {
        if (open) flush(y, open);
        grey.set(y, [x, x + wide]);
      }
    },
  );
  for (const [y, open] of grey) flush(y, open);
  context.fillStyle = palette.line;
  for (let at = 0; at < stretches.length; at += 3) {
    context.fillRect(stretches[at], stretches[at + 1], stretches[at + 2], ROW - 1);
  }
  for (const [colour, bucket] of buckets) {
    context.fillStyle = colour >= 1000 ? palette.dim[colour - 1000] : palette.fills[colour];
    for (const at of bucket) {
      const gap = drawn.width[at] > 3 ? 1 : drawn.width[at] > 1.5 ? 0.5 : 0;
      context.fillRect(drawn.x[at], drawn.y[at], drawn.width[at] - gap, ROW - 1);
    }
  }
  const scale = width / (view.x1 - view.x0) / (frames.value[0] || 1);
  waits(context, frames, drawn, palette, scale);
  uncertain(context, frames, drawn, scale);
  write(context, frames, drawn, look);
  mark(context, frames, drawn, look);
  return drawn;
}

/** Draws a paler end of each frame, as wide as its waiting. */
function waits(context: CanvasRenderingContext2D, frames: Frames, drawn: Drawn, palette: Palette, scale: number): void {
  context.fillStyle = palette.waiting;
  for (let at = 0; at < drawn.frames.length; at++) {
    const right = drawn.x[at] + drawn.width[at];
    const from = Math.max(drawn.x[at], drawn.end[at] - frames.waiting[drawn.frames[at]] * scale);
    if (right - from >= 1) context.fillRect(from, drawn.y[at], right - from - 1, ROW - 1);
  }
}

/** Draws dots at a frame's end, as wide as its error, or all over if only an upper bound is known. */
function uncertain(context: CanvasRenderingContext2D, frames: Frames, drawn: Drawn, scale: number): void {
  const dots = dotted(context, "rgba(20,16,8,0.3)");
  if (!dots) return;
  context.fillStyle = dots;
  for (let at = 0; at < drawn.frames.length; at++) {
    const frame = drawn.frames[at];
    const part = frames.error[frame] / (frames.value[frame] || 1);
    if (part < UNCERTAIN) continue;
    const right = drawn.x[at] + drawn.width[at];
    const from = Math.max(drawn.x[at], drawn.end[at] - frames.error[frame] * scale);
    if (right - from >= 3) context.fillRect(from, drawn.y[at], right - from - 1, ROW - 1);
  }
}

function write(context: CanvasRenderingContext2D, frames: Frames, drawn: Drawn, look: Look): void {
  const { palette, matches } = look;
  context.textBaseline = "middle";
  const width = (text: string) => widthOf(context, text);
  for (let at = 0; at < drawn.frames.length; at++) {
    if (drawn.width[at] < LEAST_TEXT) continue;
    const frame = drawn.frames[at];
    const fn = frames.fn[frame];
    context.fillStyle = matches && fn >= 0 && !matches[fn] ? palette.quiet : palette.ink;
    const label = fitting(look.labels(frame), drawn.width[at] - 2 * PAD, width);
    if (label) context.fillText(label, drawn.x[at] + PAD, drawn.y[at] + ROW / 2);
  }
}

/** Draws lines around the selected function's frames, the keyboard's frame, and the one below the pointer. */
function mark(context: CanvasRenderingContext2D, frames: Frames, drawn: Drawn, look: Look): void {
  for (let at = 0; at < drawn.frames.length; at++) {
    const frame = drawn.frames[at];
    const chosen = look.selected >= 0 && frames.fn[frame] === look.selected;
    const here = frame === look.cursor;
    if (!chosen && !here && frame !== look.hovered) continue;
    const line = here ? 2.5 : chosen ? 2 : 1;
    context.lineWidth = line;
    context.strokeStyle = here || chosen ? look.palette.accent : look.palette.ink;
    const wide = Math.max(line, drawn.width[at] - 1 - line);
    context.strokeRect(drawn.x[at] + line / 2, drawn.y[at] + line / 2, wide, ROW - 1 - line);
  }
}
