// A flame graph on a canvas: the part in sight, and its control by pointer and keyboard.

import { type Drawn, draw, type Look, ROW, rowsOf, type View } from "./draw.ts";
import type { Frames } from "./frames.ts";

export interface FlameListener {
  /** Called with the frame below the pointer, or -1, and the pointer's position. */
  hover(frame: number, x: number, y: number): void;
  /** Called when a frame is chosen. */
  choose(frame: number): void;
  /** Called when the keyboard's cursor moves to a frame. */
  reach(frame: number): void;
  /** Called when the graph is zoomed, or shown whole again. */
  zoomed(part: boolean): void;
}

const MOST_ZOOM = 1e-7; // of all
const GLIDE = 160; // ms
const FEWEST = 5; // rows that a pane has room for
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

export class FlameView {
  private frames: Frames | null = null;
  private look: Look | null = null;
  private readonly view: View = { x0: 0, x1: 1, top: 0 };
  private goal: { x0: number; x1: number; from: View; began: number } | null = null;
  private drawn: Drawn | null = null;
  private width = 0;
  private height = 0;
  private waiting = 0;
  private resting: ReturnType<typeof setTimeout> | undefined;
  private cursor = -1;
  private hovered = -1;
  private readonly context: CanvasRenderingContext2D;
  private readonly watcher: ResizeObserver;
  /** Durations of the last drawings in ms, for the benchmark. */
  took: number[] = [];

  /** pane: scrolls; it holds the canvas, which stays in sight, and a spacer as high as all rows. */
  constructor(
    private readonly pane: HTMLElement,
    private readonly canvas: HTMLCanvasElement,
    private readonly spacer: HTMLElement,
    private readonly listener: FlameListener,
    private readonly flip: boolean,
  ) {
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) throw new Error("this browser cannot draw on a canvas");
    this.context = context;
    this.watcher = new ResizeObserver(() => this.resize());
    this.watcher.observe(pane);
    pane.addEventListener("scroll", () => this.request(), { passive: true });
    pane.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerleave", () => this.hover(-1, 0, 0));
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    pane.addEventListener("keydown", (event) => this.key(event));
    this.resize();
    Object.assign(pane, { view: this }); // for tests and benchmarks, which cannot read a canvas
  }

  /** Return the frames in sight: name, value, error, and position in px. */
  seen(): { name: string; value: number; error: number; x: number; y: number; width: number; row: number }[] {
    const { frames, look, drawn } = this;
    if (!frames || !look || !drawn) return [];
    return drawn.frames.map((frame, at) => ({
      name: look.labels(frame)[0],
      value: frames.value[frame],
      error: frames.error[frame],
      x: drawn.x[at],
      y: drawn.y[at],
      width: drawn.width[at],
      row: frames.depth[frame],
    }));
  }

  end(): void {
    this.watcher.disconnect();
    cancelAnimationFrame(this.waiting);
    clearTimeout(this.resting);
  }

  /** Shows other frames, unzoomed. */
  show(frames: Frames): void {
    this.frames = frames;
    this.goal = null;
    this.cursor = -1;
    this.hovered = -1;
    this.view.x0 = 0;
    this.view.x1 = 1;
    this.measure();
    this.pane.scrollTop = this.flip ? this.pane.scrollHeight : 0;
    this.listener.zoomed(false);
    this.request();
  }

  dress(look: Omit<Look, "cursor" | "hovered">): void {
    this.look = { ...look, cursor: this.cursor, hovered: this.hovered };
    this.request();
  }

  request(): void {
    if (!this.waiting) this.waiting = requestAnimationFrame((now) => this.paint(now));
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.pane;
    if (!clientWidth || !clientHeight) return;
    const ratio = window.devicePixelRatio || 1;
    this.width = clientWidth;
    this.height = clientHeight;
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    this.canvas.style.width = `${clientWidth}px`;
    this.canvas.style.height = `${clientHeight}px`;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.measure();
    this.request();
  }

  /** Makes the pane as high as the rows of what is seen. */
  private measure(): void {
    if (!this.frames || !this.width) return;
    const rows = rowsOf(this.frames, this.goal ? { ...this.view, ...this.goal } : this.view, this.width);
    if (!this.goal && this.view.x0 === 0 && this.view.x1 === 1) {
      this.pane.style.flexBasis = `${Math.max(FEWEST, rows) * ROW}px`; // a pane as high as its content
    }
    const height = `${Math.max(0, rows * ROW - this.height)}px`;
    if (this.spacer.style.height !== height) this.spacer.style.height = height;
  }

  private paint(now: number): void {
    this.waiting = 0;
    if (!this.frames || !this.look || !this.width) return;
    const began = performance.now();
    this.glide(now);
    const { scrollTop, scrollHeight, clientHeight } = this.pane;
    this.view.top = this.flip ? scrollHeight - clientHeight - scrollTop : scrollTop;
    this.context.font = FONT;
    const look = { ...this.look, cursor: this.cursor, hovered: this.hovered };
    this.drawn = draw(this.context, this.frames, this.view, look, this.width, this.height, this.flip);
    this.took.push(performance.now() - began);
    if (this.took.length > 1000) this.took.splice(0, 500);
  }

  private glide(now: number): void {
    if (!this.goal) return;
    const { x0, x1, from, began } = this.goal;
    const part = Math.min(1, Math.max(0, (now - began) / GLIDE));
    const eased = 1 - (1 - part) ** 3;
    this.view.x0 = from.x0 + (x0 - from.x0) * eased;
    this.view.x1 = from.x1 + (x1 - from.x1) * eased;
    if (part < 1) this.request();
    else this.goal = null;
  }

  /** Shows a part of the whole width. */
  private look_at(x0: number, x1: number, glide: boolean): void {
    const wide = Math.min(1, Math.max(MOST_ZOOM, x1 - x0));
    const left = Math.min(1 - wide, Math.max(0, x0));
    if (glide && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.goal = { x0: left, x1: left + wide, from: { ...this.view }, began: performance.now() };
    } else {
      this.goal = null;
      this.view.x0 = left;
      this.view.x1 = left + wide;
    }
    this.later();
    this.listener.zoomed(wide < 0.9999);
    this.request();
  }

  /** Measures after zooming ends: a change of height means a layout, for which an animation frame has no time. */
  private later(): void {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.measure(), 120);
  }

  /** Zooms around a point (px) by a factor; above 1 magnifies. */
  zoom(factor: number, about = this.width / 2, glide = false): void {
    const { x0, x1 } = this.goal ?? this.view;
    const at = x0 + ((x1 - x0) * about) / this.width;
    this.look_at(at - (at - x0) / factor, at + (x1 - at) / factor, glide);
  }

  /** Moves by a part of the width in sight. */
  pan(part: number, glide = false): void {
    const { x0, x1 } = this.goal ?? this.view;
    const by = part * (x1 - x0);
    this.look_at(x0 + by, x1 + by, glide);
  }

  reset(): void {
    this.look_at(0, 1, true);
  }

  /** Return the left and right edge of a frame, as parts of the whole. */
  private span(frame: number): [number, number] {
    const frames = this.frames as Frames;
    let start = 0;
    for (let at = frame; frames.parent[at] >= 0; at = frames.parent[at]) {
      for (let child = frames.firstChild[frames.parent[at]]; child < at; child++) start += frames.value[child];
    }
    const whole = frames.value[0] || 1;
    return [start / whole, (start + frames.value[frame]) / whole];
  }

  /** Zooms to a frame. */
  focus(frame: number): void {
    if (!this.frames) return;
    this.look_at(...this.span(frame), true);
    this.measure();
    this.reveal(frame);
  }

  private reveal(frame: number): void {
    const row = this.frames ? (this.frames.depth[frame] - this.frames.skipped) * ROW : 0;
    const top = this.flip ? this.pane.scrollHeight - row - ROW : row;
    if (top < this.pane.scrollTop || top + 2 * ROW > this.pane.scrollTop + this.height) {
      this.pane.scrollTop = Math.max(0, top - this.height / 3);
    }
  }

  /** Moves the keyboard's cursor to a frame and brings it into sight. */
  put(frame: number): void {
    this.cursor = frame;
    const [from, until] = this.span(frame);
    const { x0, x1 } = this.goal ?? this.view;
    const pixels = ((until - from) / (x1 - x0)) * this.width;
    if (from < x0 - 1e-9 || until > x1 + 1e-9 || pixels < 3) {
      const above = this.frames ? Math.max(0, this.frames.parent[frame]) : 0;
      const [left, right] = this.span(above);
      const wide = Math.min(right - left, Math.max(until - from, ((until - from) * this.width) / 40));
      this.look_at(Math.max(left, from - wide / 2), Math.max(left, from - wide / 2) + wide, true);
    }
    this.measure();
    this.reveal(frame);
    this.listener.reach(frame);
    this.request();
  }

  private wheel(event: WheelEvent): void {
    const along = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (event.ctrlKey || event.metaKey || event.altKey) {
      this.zoom(2 ** (-event.deltaY / (event.deltaMode ? 6 : 120)), event.offsetX);
    } else if (along || event.shiftKey) this.pan((along ? event.deltaX : event.deltaY) / this.width);
    else return; // the pane scrolls
    event.preventDefault();
  }

  private hover(frame: number, x: number, y: number): void {
    if (frame !== this.hovered) this.request();
    this.hovered = frame;
    this.listener.hover(frame, x, y);
  }

  private move(event: PointerEvent): void {
    this.hover(this.drawn?.at(event.offsetX, event.offsetY) ?? -1, event.clientX, event.clientY);
  }

  /** A drag moves, a click chooses and zooms. */
  private press(event: PointerEvent): void {
    if (event.button !== 0) return;
    const began = event.clientX;
    let moved = false;
    let last = began;
    const drag = (now: PointerEvent) => {
      if (Math.abs(now.clientX - began) > 4) moved = true;
      if (moved && event.pointerType !== "touch") this.pan((last - now.clientX) / this.width);
      last = now.clientX;
    };
    const drop = () => {
      this.canvas.removeEventListener("pointermove", drag);
      const frame = this.drawn?.at(event.offsetX, event.offsetY) ?? -1;
      if (moved || frame < 0) return;
      this.cursor = frame;
      this.focus(frame);
      this.listener.choose(frame);
    };
    this.canvas.setPointerCapture(event.pointerId);
    this.canvas.addEventListener("pointermove", drag);
    this.canvas.addEventListener("pointerup", drop, { once: true });
    this.canvas.addEventListener("pointercancel", () => this.canvas.removeEventListener("pointermove", drag), {
      once: true,
    });
  }

  private key(event: KeyboardEvent): void {
    if (!this.frames || event.ctrlKey || event.metaKey || event.altKey) return;
    const { frames } = this;
    const at = Math.max(0, this.cursor);
    const up = this.flip ? "ArrowDown" : "ArrowUp";
    const down = this.flip ? "ArrowUp" : "ArrowDown";
    const actions: Record<string, () => void> = {
      [up]: () => this.put(Math.max(frames.skipped, frames.parent[at])),
      [down]: () => this.put(this.heaviest(at)),
      ArrowLeft: () => this.put(this.beside(at, -1)),
      ArrowRight: () => this.put(this.beside(at, 1)),
      Enter: () => {
        this.focus(at);
        this.listener.choose(at);
      },
      "+": () => this.zoom(2, undefined, true),
      "=": () => this.zoom(2, undefined, true),
      "-": () => this.zoom(0.5, undefined, true),
      a: () => this.pan(-0.25, true),
      d: () => this.pan(0.25, true),
      Home: () => this.put(frames.skipped),
      Escape: () => this.reset(),
    };
    const action = actions[event.key];
    if (!action) return;
    this.hover(-1, 0, 0); // another frame may be below the pointer now
    action();
    event.preventDefault();
  }

  private heaviest(frame: number): number {
    const frames = this.frames as Frames;
    frames.open(frame);
    let found = frame;
    let most = 0;
    for (let child = frames.firstChild[frame]; child < frames.lastChild[frame]; child++) {
      if (frames.value[child] > most) {
        most = frames.value[child];
        found = child;
      }
    }
    return found;
  }

  private beside(frame: number, by: number): number {
    const frames = this.frames as Frames;
    const above = frames.parent[frame];
    if (above < 0) return frame;
    return Math.min(frames.lastChild[above] - 1, Math.max(frames.firstChild[above], frame + by));
  }
}
