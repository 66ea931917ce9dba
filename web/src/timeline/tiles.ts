/**
 * A cache of the drawn rows in tiles. A tile has the calls of some threads in a range of time, at one level of detail.
 * A level is a power of two of nanoseconds per column, so that a tile serves every zoom near it, and panning requests
 * only new tiles. Until a tile arrives, coarser or finer ones are drawn.
 */
import type { Payload } from "../data/payload.ts";

export const TILE_COLUMNS = 1024;
export const THREADS_A_TILE = 8;
const KEPT = 300;
const AT_ONCE = 4;

export interface Rows {
  /** The requested range. Calls that reach beyond it are in its neighbours, too. */
  readonly from: number;
  readonly to: number;
  readonly count: number;
  readonly thread: Int32Array;
  readonly depth: Int32Array;
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly bound: Float64Array;
  readonly busy: Float64Array;
  readonly fn: Int32Array;
  readonly node: Int32Array;
  readonly calls: Float64Array;
  readonly flags: Int32Array;
}

export interface Place {
  readonly level: number;
  readonly index: number;
  readonly group: number;
}

export type Tile = { readonly place: Place; rows: Rows | null; failed: string; used: number; old: boolean };

/** Fetches the rows of a tile. */
export type Load = (place: Place, signal: AbortSignal) => Promise<Rows>;

const keyOf = (place: Place): string => `${place.level}/${place.index}/${place.group}`;

/** Return the level at which a column is about a pixel. */
export function levelOf(scale: number): number {
  return Math.max(0, Math.floor(Math.log2(Math.max(scale, 1))));
}

/** Return the length of a tile of the level in ns. */
export function spanOf(level: number): number {
  return TILE_COLUMNS * 2 ** level;
}

/** Return the tiles that cover a range, for one group of threads. */
export function covering(from: number, to: number, level: number, group: number): Place[] {
  const span = spanOf(level);
  const places: Place[] = [];
  for (let index = Math.floor(from / span); index * span < to; index++) places.push({ level, index, group });
  return places;
}

export class Tiles {
  private readonly kept = new Map<string, Tile>();
  private readonly wanted: Tile[] = [];
  private under = new Map<string, AbortController>();
  private clock = 0;

  constructor(
    private readonly fill: Load,
    private readonly arrived: () => void,
  ) {}

  /** Drops all tiles after the recording has grown. */
  clear(): void {
    for (const control of this.under.values()) control.abort();
    this.under.clear();
    this.kept.clear();
    this.wanted.length = 0;
  }

  /** Marks tiles that end after a time as outdated; they are drawn until they have been fetched again. */
  age(from: number): void {
    for (const [key, tile] of this.kept) {
      const { level, index } = tile.place;
      if ((index + 1) * spanOf(level) <= from) continue;
      this.under.get(key)?.abort();
      this.under.delete(key);
      tile.old = true;
      tile.failed = "";
    }
  }

  /** Return the rows to draw for a place, from its tile or from others until that arrives. */
  at(place: Place): { rows: Rows[]; exact: boolean; failed: string } {
    const tile = this.ask(place);
    if (tile.rows) return { rows: [tile.rows], exact: true, failed: "" };
    for (let up = 1; up <= 12; up++) {
      const over = this.kept.get(
        keyOf({ level: place.level + up, index: Math.floor(place.index / 2 ** up), group: place.group }),
      );
      if (over?.rows) return { rows: [over.rows], exact: false, failed: tile.failed };
    }
    const finer: Rows[] = [];
    for (const index of [place.index * 2, place.index * 2 + 1]) {
      const half = this.kept.get(keyOf({ level: place.level - 1, index, group: place.group }));
      if (half?.rows) finer.push(half.rows);
    }
    return { rows: finer, exact: false, failed: tile.failed };
  }

  /** Called before at() when the part in sight has changed: drops pending requests for tiles out of sight. */
  begin(): void {
    this.wanted.length = 0;
  }

  /** Called after at(): fetches the missing tiles in the order of their requests. */
  go(): void {
    while (this.under.size < AT_ONCE) {
      const tile = this.wanted.shift();
      if (!tile) return;
      void this.load(tile);
    }
  }

  private ask(place: Place): Tile {
    const key = keyOf(place);
    let tile = this.kept.get(key);
    if (!tile) {
      tile = { place, rows: null, failed: "", used: 0, old: false };
      this.kept.set(key, tile);
      this.forget();
    }
    tile.used = ++this.clock;
    if ((!tile.rows || tile.old) && !tile.failed && !this.under.has(key)) this.wanted.push(tile);
    return tile;
  }

  private async load(tile: Tile): Promise<void> {
    const key = keyOf(tile.place);
    const control = new AbortController();
    this.under.set(key, control);
    try {
      const rows = await this.fill(tile.place, control.signal);
      if (control.signal.aborted) return; // it was requested again since
      tile.rows = rows;
      tile.old = false;
    } catch (error) {
      if (!control.signal.aborted) tile.failed = error instanceof Error ? error.message : String(error);
    }
    if (this.under.get(key) === control) this.under.delete(key);
    if (!control.signal.aborted) {
      this.arrived();
      this.go();
    }
  }

  private forget(): void {
    if (this.kept.size <= KEPT) return;
    const oldest = [...this.kept.entries()].sort((a, b) => a[1].used - b[1].used).slice(0, KEPT / 4);
    for (const [key] of oldest) if (!this.under.has(key)) this.kept.delete(key);
  }
}

/** Return the rows of a server's answer. from, to: the requested range. */
export function rowsOf(table: Payload<unknown>, from: number, to: number): Rows {
  const floats = (name: string): Float64Array => Float64Array.from(table.column(name));
  const ints = (name: string): Int32Array => Int32Array.from(table.column(name));
  return {
    from,
    to,
    count: table.column("start").length,
    thread: ints("thread"),
    depth: ints("depth"),
    start: floats("start"),
    end: floats("end"),
    bound: floats("bound"),
    busy: floats("busy"),
    fn: ints("function"),
    node: ints("node"),
    calls: floats("calls"),
    flags: ints("flags"),
  };
}
