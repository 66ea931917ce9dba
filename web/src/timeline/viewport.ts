/** The range of time in sight, and its position on the screen. Times are nanoseconds, positions CSS pixels. */

export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** The closest zoom: times of calls are known to some tens of nanoseconds at best. */
export const CLOSEST_NS = 200;

export class Viewport {
  from: number;
  to: number;
  width = 1;

  constructor(readonly whole: Stretch) {
    this.from = whole.from;
    this.to = Math.max(whole.to, whole.from + CLOSEST_NS);
  }

  get span(): number {
    return this.to - this.from;
  }

  /** Nanoseconds per pixel. */
  get scale(): number {
    return this.span / this.width;
  }

  timeAt(x: number): number {
    return this.from + x * this.scale;
  }

  xOf(time: number): number {
    return (time - this.from) / this.scale;
  }

  /** Shows a range, within the limits of zoom and inside the recording. */
  show(from: number, to: number): void {
    const most = Math.max(this.whole.to - this.whole.from, CLOSEST_NS);
    const span = Math.min(Math.max(to - from, CLOSEST_NS), most);
    const middle = (from + to) / 2;
    const first = Math.min(Math.max(middle - span / 2, this.whole.from), this.whole.from + most - span);
    this.from = first;
    this.to = first + span;
  }

  /** Zooms around x. factor: below 1 shows less. */
  zoom(factor: number, x: number): void {
    const at = this.timeAt(x);
    const span = Math.min(
      Math.max(this.span * factor, CLOSEST_NS),
      Math.max(this.whole.to - this.whole.from, CLOSEST_NS),
    );
    const from = at - (x / this.width) * span;
    this.show(from, from + span);
  }

  pan(pixels: number): void {
    const by = pixels * this.scale;
    this.show(this.from + by, this.to + by);
  }
}

/** Return a time from the start in the precision of a step: `1.204 035 s`. */
export function moment(ns: number, step: number): string {
  const digits = Math.min(9, Math.max(0, -Math.floor(Math.log10(step / 1e9) + 1e-9)));
  const [whole = "0", rest = ""] = (ns / 1e9).toFixed(digits).split(".");
  const grouped = rest.replace(/(\d{3})(?=\d)/g, "$1\u2009");
  return `${whole}${rest ? `.${grouped}` : ""} s`;
}

/** Return the times of a ruler's marks, 1, 2 or 5 times a power of ten apart, with some pixels for each. */
export function ticks(view: Viewport, apart = 110): { step: number; times: number[] } {
  const least = view.scale * apart;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((by) => by * power).find((size) => size >= least) ?? 10 * power;
  const times: number[] = [];
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) times.push(at);
  return { step, times };
}
