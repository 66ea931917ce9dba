/** The whole recording in a strip: the density of calls, and the part in sight, which can be dragged. */
import type { Theme } from "./colours.ts";
import type { Viewport } from "./viewport.ts";

export const MINIMAP = 44;

export interface Density {
  /** Calls that began in each column, all threads together. */
  readonly calls: Float64Array;
  readonly from: number;
  readonly to: number;
}

export function drawMinimap(
  context: CanvasRenderingContext2D,
  view: Viewport,
  density: Density | null,
  marks: readonly number[],
  theme: Theme,
): void {
  const width = view.width;
  const whole = view.whole.to - view.whole.from || 1;
  context.fillStyle = theme.raised;
  context.fillRect(0, 0, width, MINIMAP);
  if (density?.calls.length) {
    let most = 0;
    for (const calls of density.calls) if (calls > most) most = calls;
    const each = ((density.to - density.from) / whole / density.calls.length) * width;
    const first = ((density.from - view.whole.from) / whole) * width;
    context.fillStyle = theme.quiet;
    context.globalAlpha = 0.55;
    density.calls.forEach((calls, column) => {
      if (calls <= 0) return;
      const tall = Math.max(2, Math.sqrt(calls / most) * (MINIMAP - 8)); // by area, so that quiet parts stay visible
      context.fillRect(first + column * each, MINIMAP - 2 - tall, Math.max(each, 0.6), tall);
    });
    context.globalAlpha = 1;
  }
  context.fillStyle = theme.accent;
  for (const time of marks) {
    context.fillRect(((time - view.whole.from) / whole) * width, 0, 1, 5);
  }
  const from = ((view.from - view.whole.from) / whole) * width;
  const to = Math.max(((view.to - view.whole.from) / whole) * width, from + 3);
  context.fillStyle = theme.dark ? "rgba(0,0,0,0.45)" : "rgba(255,255,255,0.65)";
  context.fillRect(0, 0, from, MINIMAP);
  context.fillRect(to, 0, width - to, MINIMAP);
  context.strokeStyle = theme.accent;
  context.lineWidth = 1.5;
  context.strokeRect(from + 0.75, 0.75, Math.max(to - from - 1.5, 1), MINIMAP - 1.5);
}

export function timeOnMinimap(view: Viewport, x: number): number {
  return view.whole.from + (x / view.width) * (view.whole.to - view.whole.from);
}
