/**
 * What is drawn, fetched in tiles and kept.
 *
 * A tile is what happened on some threads in a stretch of time, at one level of detail. Levels are powers of two of
 * nanoseconds a column, so that the same tile serves every zoom near it, and panning asks only for what comes into
 * sight. While a tile is on its way, what is known of a coarser or finer one is drawn in its place.
 */
import type { Payload } from "../data/payload.ts";

export const TILE_COLUMNS = 1024;
export const THREADS_A_TILE = 8;
const KEPT = 300;
const AT_ONCE = 4;

export interface Rows {
  /** The stretch that was asked for. What reaches beyond it is in its neighbours, too. */
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

/** The level at which a column is about a pixel. */
export function levelOf(scale: number): number {
  return Math.max(0, Math.floor(Math.log2(Math.max(scale, 1))));
}

/** The nanoseconds of a tile of the level. */
export function spanOf(level: number): number {
  return TILE_COLUMNS * 2 ** level;
}

/** The tiles that cover a stretch, for one group of threads. */
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

  /** Forgets all, since the recording has grown. */
  clear(): void {
    for (const control of this.under.values()) control.abort();
    this.under.clear();
    this.kept.clear();
    this.wanted.length = 0;
  }

  /** What ends after a time is out of date: it is drawn until it has been fetched again. What is before stays. */
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

  /** What is to be drawn for a place: its own rows, or those of others that cover it while it is on its way. */
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

  /** To be called when what is in sight has changed, before at(): what was wanted and is not any more is not fetched. */
  begin(): void {
    this.wanted.length = 0;
  }

  /** To be called after at(): fetches what is wanted, the first asked first. */
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
      if (control.signal.aborted) return; // it was asked for again since
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

/** Rows as the server sends them. from, to: the stretch that it was asked for. */
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
