/**
 * The layout of tracks from top to bottom: counters, then each process's heading (if there are several) and threads.
 */
import type { Counter } from "./events.ts";

export interface ThreadInfo {
  readonly id: number;
  readonly name: string;
  readonly process: number;
  readonly start: number;
  readonly end: number;
  /** The number of rows that the thread may have: the depth of its deepest path. */
  readonly depth: number;
}

export interface ProcessInfo {
  readonly id: number;
  readonly title: string;
}

export const ROW = 17;
export const HEADING = 24;
export const PROCESS = 28;
export const COUNTER = 44;
/** Most rows of a track until it is opened, so that one thread does not push the others out of sight. */
export const USUAL_ROWS = 24;
export const FOLDED_ROWS = 2;

export type Fold = "usual" | "open" | "folded";
const SPACE = 10;

export interface Track {
  readonly thread: ThreadInfo;
  readonly index: number;
  readonly top: number;
  readonly rows: number;
  /** Rows that are folded away. */
  readonly hidden: number;
  readonly height: number;
}

export interface Heading {
  readonly process: ProcessInfo;
  readonly top: number;
}

export interface CounterTrack {
  readonly counter: Counter;
  readonly top: number;
}

export interface Layout {
  readonly counters: readonly CounterTrack[];
  readonly tracks: readonly Track[];
  readonly headings: readonly Heading[];
  readonly height: number;
}

export function layOut(
  threads: readonly ThreadInfo[],
  processes: readonly ProcessInfo[],
  folds: ReadonlyMap<number, Fold>,
  seenDepth: ReadonlyMap<number, number>,
  counts: readonly Counter[] = [],
): Layout {
  const tracks: Track[] = [];
  const headings: Heading[] = [];
  const counters = counts.map((counter, at) => ({ counter, top: at * COUNTER }));
  let top = counters.length * COUNTER;
  const several = processes.length > 1;
  const order = [...threads.keys()].sort((a, b) => (threads[a]?.process ?? 0) - (threads[b]?.process ?? 0) || a - b);
  let last = -1;
  for (const index of order) {
    const thread = threads[index];
    if (!thread) continue;
    if (several && thread.process !== last) {
      const process = processes.find((one) => one.id === thread.process);
      if (process) {
        headings.push({ process, top });
        top += PROCESS;
      }
      last = thread.process;
    }
    const deepest = Math.max(1, Math.min(thread.depth, seenDepth.get(index) ?? 1));
    const fold = folds.get(index) ?? "usual";
    const most = fold === "folded" ? FOLDED_ROWS : fold === "usual" && threads.length > 1 ? USUAL_ROWS : deepest;
    const rows = Math.min(deepest, most);
    const height = HEADING + rows * ROW + SPACE;
    tracks.push({ thread, index, top, rows, hidden: deepest - rows, height });
    top += height;
  }
  return { counters, tracks, headings, height: top };
}

/** Return the state of a track after a click on its title: opened if rows are hidden, else folded, and back. */
export function nextFold(track: Track, fold: Fold): Fold {
  if (fold === "folded") return "usual";
  return track.hidden > 0 ? "open" : "folded";
}

/** Return the tracks in sight, from top to bottom. */
export function inSight(layout: Layout, top: number, bottom: number): Track[] {
  const { tracks } = layout;
  let low = 0;
  let high = tracks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const track = tracks[middle];
    if (track && track.top + track.height < top) low = middle + 1;
    else high = middle;
  }
  const found: Track[] = [];
  for (let at = low; at < tracks.length; at++) {
    const track = tracks[at];
    if (!track || track.top > bottom) break;
    found.push(track);
  }
  return found;
}
