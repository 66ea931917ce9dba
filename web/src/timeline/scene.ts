/** The state that drawing functions receive, and the fonts that they share. */
import type { Paint, Theme } from "./colours.ts";
import type { OfThread } from "./events.ts";
import type { Rows } from "./tiles.ts";
import type { Layout } from "./tracks.ts";
import type { Stretch, Viewport } from "./viewport.ts";

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
  readonly events: ReadonlyMap<number, OfThread>;
  readonly selected: Spot | null;
  readonly range: Stretch | null;
  readonly hover: Spot | null;
  readonly pointer: number | null;
}

export const FONT = "11px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
export const SMALL = "11px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
export const BOLD = "600 12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

/** Return the text, or its first letters with an ellipsis. */
export function cut(text: string, letters: number): string {
  return text.length > letters ? `${text.slice(0, Math.max(0, letters - 1))}…` : text;
}
