/**
 * The timeline: a canvas that shows threads over time, its navigation, and its selection. It draws once per animation
 * frame. It is independent of HTTP and the page: rows come from a TraceSource, and selections go to listeners.
 */
import { type Paint, paintOf, type Theme } from "./colours.ts";
import { AFTER, BEFORE, draw, RULER, spotAt, spotOf, titleEnd, titleTop } from "./draw.ts";
import { byThread, type Counter, countersOf, type Instant, type OfThread } from "./events.ts";
import { nextMark, type Pointed, pointedAt } from "./marks.ts";
import { type Density, drawMinimap, MINIMAP, timeOnMinimap } from "./minimap.ts";
import type { Scene, Spot } from "./scene.ts";
import { type Growth, labelOf, type ProgramEvents, type TraceSource } from "./source.ts";
import { covering, levelOf, type Rows, spanOf, THREADS_A_TILE, TILE_COLUMNS, Tiles } from "./tiles.ts";
import { type Fold, HEADING, inSight, type Layout, layOut, nextFold, ROW, type Track } from "./tracks.ts";
import { Viewport } from "./viewport.ts";

export interface Listener {
  /** Called when a call, a range or nothing is chosen. */
  chosen(spot: Spot | null, range: { from: number; to: number } | null): void;
  /** Called with the call or event below the pointer. */
  over(what: Spot | Pointed | null, x: number, y: number): void;
  /** Called when the part in sight has changed. */
  moved(view: Viewport): void;
}

type Drag = { kind: "pan" | "range" | "minimap"; x: number; y: number; far: boolean; at: number; scroll: number };

/** Time before the end of a growing recording in which events of some threads may still be missing. */
export const UNWRITTEN_NS = 2e9;

export class Timeline {
  readonly view: Viewport;
  private readonly context: CanvasRenderingContext2D;
  private readonly mapContext: CanvasRenderingContext2D;
  private readonly tiles: Tiles;
  private readonly sizes: ResizeObserver;
  private order: number[] = [];
  private readonly groupOf = new Map<number, number>();
  private readonly folds = new Map<number, Fold>();
  private readonly seenDepth = new Map<number, number>();
  private readonly paints = new Map<number, Paint>();
  private layout: Layout;
  private scroll = 0;
  private height = 100;
  private frame = 0;
  private drag: Drag | null = null;
  private pinch: { apart: number; middle: number } | null = null;
  private readonly pointers = new Map<number, { x: number; y: number }>();
  private pointer: number | null = null;
  private hover: Spot | null = null;
  private resolved = new Map<number, { rows: Rows[]; exact: boolean; failed: string }>();
  selected: Spot | null = null;
  range: { from: number; to: number } | null = null;
  private instants: readonly Instant[] = [];
  private events: ReadonlyMap<number, OfThread> = new Map();
  private readonly measured = new WeakSet<Rows>(); // the deepest row seen on each thread
  private counters: readonly Counter[] = [];
  private atMark: number | null = null; // the mark that was shown last
  matches: ((fn: number) => boolean) | null = null;
  private busy: boolean | null = null; // true while calls in sight are being fetched
  private wish: (() => void) | null = null; // an action that waits for calls to arrive
  density: Density | null = null;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly map: HTMLCanvasElement,
    private readonly source: TraceSource,
    private theme: Theme,
    private readonly listener: Listener,
  ) {
    const context = canvas.getContext("2d", { alpha: false });
    const mapContext = map.getContext("2d", { alpha: false });
    if (!context || !mapContext) throw new Error("this browser has no canvas");
    this.context = context;
    this.mapContext = mapContext;
    this.view = new Viewport({ from: source.info.from, to: source.info.to });
    this.layout = layOut(source.info.threads, source.info.processes, this.folds, this.seenDepth);
    this.number();
    this.tiles = new Tiles(
      (place, signal) => {
        const span = spanOf(place.level);
        const from = place.index * span;
        return source.rows(from, from + span, TILE_COLUMNS, this.threadsOf(place.group), signal);
      },
      () => this.refresh(),
    );
    this.listen();
    this.sizes = new ResizeObserver(() => this.fit());
    this.sizes.observe(canvas.parentElement ?? canvas);
    this.fit();
  }

  /** Stops drawing and frees the tiles. */
  end(): void {
    this.sizes.disconnect();
    this.tiles.clear();
    cancelAnimationFrame(this.frame);
    this.frame = -1;
  }

  private threadsOf(group: number): number[] {
    return this.order.slice(group * THREADS_A_TILE, (group + 1) * THREADS_A_TILE);
  }

  private arrange(): void {
    this.layout = layOut(
      this.source.info.threads,
      this.source.info.processes,
      this.folds,
      this.seenDepth,
      this.counters,
    );
  }

  // ---- interface of the page ----

  /** Draws the program's own events, and where events are missing. */
  showEvents({ instants, gaps }: ProgramEvents): void {
    this.instants = instants;
    this.events = byThread(instants, gaps, this.source.info.to);
    this.counters = countersOf(instants);
    this.arrange();
    this.refresh();
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.paints.clear();
    this.refresh();
  }

  show(from: number, to: number): void {
    this.view.show(from, to);
    this.moved();
  }

  whole(): void {
    this.show(this.view.whole.from, this.view.whole.to);
  }

  zoom(factor: number, x = this.view.width / 2): void {
    this.view.zoom(factor, x);
    this.moved();
  }

  pan(pixels: number): void {
    this.view.pan(pixels);
    this.moved();
  }

  scrollBy(pixels: number): void {
    const most = Math.max(0, this.layout.height - (this.height - RULER));
    this.scroll = Math.min(Math.max(this.scroll + pixels, 0), most);
    this.refresh();
  }

  choose(spot: Spot | null, range: { from: number; to: number } | null = null): void {
    this.wish = null;
    this.selected = spot;
    this.range = range;
    this.listener.chosen(spot, range);
    this.refresh();
  }

  /** Brings a call into sight, with some room around it. */
  reveal(spot: Spot): void {
    const long = Math.max(spot.end - spot.start, 400);
    if (spot.start < this.view.from || spot.end > this.view.to || long < this.view.scale * 8)
      this.view.show(spot.start - long * 3, spot.end + long * 3);
    this.unfold(spot);
    this.scrollTo(spot);
    this.moved();
  }

  /** The distance of a call's row from the top of all rows, in pixels. */
  private topOf(spot: Spot): number {
    const track = this.layout.tracks.find((one) => one.index === spot.thread);
    return track ? track.top + HEADING + spot.depth * ROW : this.scroll;
  }

  private showsRow(spot: Spot): boolean {
    const below = this.topOf(spot) - this.scroll;
    return below >= 0 && below <= this.height - RULER - 40;
  }

  private scrollTo(spot: Spot): void {
    if (!this.showsRow(spot)) this.scroll = Math.max(0, this.topOf(spot) - 80);
  }

  /** Opens the track of a call whose row is folded away, or has not been seen yet. */
  private unfold(spot: Spot): void {
    if (spot.depth >= (this.seenDepth.get(spot.thread) ?? 0)) this.seenDepth.set(spot.thread, spot.depth + 1);
    this.arrange();
    const track = this.layout.tracks.find((one) => one.index === spot.thread);
    if (!track || spot.depth < track.rows) return;
    this.folds.set(spot.thread, "open");
    this.arrange();
  }

  /** Chooses a call next to the chosen one: its caller, a callee, the one before or after. */
  step(way: "up" | "down" | "left" | "right"): void {
    const from = this.selected;
    if (!from) return;
    const depth = from.depth + (way === "up" ? -1 : way === "down" ? 1 : 0);
    let best: Spot | null = null;
    for (const rows of this.rowsOf(from.thread).rows)
      for (let row = 0; row < rows.count; row++) {
        if (rows.thread[row] !== from.thread || rows.depth[row] !== depth) continue;
        const spot = spotOf(rows, row);
        const fits =
          way === "up"
            ? spot.start <= from.start && spot.end >= from.end
            : way === "down"
              ? spot.start >= from.start && spot.end <= from.end && (!best || spot.start < best.start)
              : way === "left"
                ? spot.end <= from.start && (!best || spot.end > best.end)
                : spot.start >= from.end && (!best || spot.start < best.start);
        if (fits) best = spot;
      }
    if (best) {
      this.choose(best);
      this.reveal(best);
    } else this.whenThere(() => this.step(way));
  }

  /** Takes in the growth of the recording. Tiles well before the old end are complete and kept. */
  grown({ to, moreThreads }: Growth): void {
    const { whole, span } = this.view;
    const all = span >= (whole.to - whole.from) * 0.98;
    const follows = this.view.to >= whole.to - span * 0.02;
    if (moreThreads) {
      this.tiles.clear();
      this.arrange();
      this.number();
    } else this.tiles.age(whole.to - UNWRITTEN_NS);
    (whole as { to: number }).to = to;
    this.paints.clear();
    if (all) this.view.show(whole.from, to);
    else if (follows) this.view.show(to - span, to);
    this.moved();
  }

  /** Assigns each thread to a group of tiles. */
  private number(): void {
    this.order = this.layout.tracks.map((track) => track.index);
    for (const [at, index] of this.order.entries()) this.groupOf.set(index, Math.floor(at / THREADS_A_TILE));
  }

  // ---- drawing ----

  refresh(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.paint();
    });
  }

  private fit(): void {
    const ratio = window.devicePixelRatio || 1;
    const shown = this.selected && this.showsRow(this.selected) ? this.selected : null;
    for (const [canvas, tall] of [
      [this.canvas, this.canvas.parentElement?.clientHeight ?? 400],
      [this.map, MINIMAP],
    ] as const) {
      const wide = canvas.parentElement?.clientWidth ?? 800;
      canvas.width = Math.max(1, Math.round(wide * ratio));
      canvas.height = Math.max(1, Math.round(tall * ratio));
      canvas.style.width = `${wide}px`;
      canvas.style.height = `${tall}px`;
    }
    this.height = this.canvas.parentElement?.clientHeight ?? 400;
    this.view.width = Math.max(1, this.canvas.parentElement?.clientWidth ?? 800);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.mapContext.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (shown) this.scrollTo(shown); // the panel of the chosen call covers a part of the rows
    this.moved();
  }

  private moved(): void {
    this.listener.moved(this.view);
    this.refresh();
  }

  private rowsOf(thread: number): { rows: Rows[]; exact: boolean; failed: string } {
    return this.resolved.get(thread) ?? { rows: [], exact: false, failed: "" };
  }

  private resolve(): void {
    this.tiles.begin();
    const level = levelOf(this.view.scale);
    const found = new Map<number, { rows: Rows[]; exact: boolean; failed: string }>();
    const tracks = inSight(this.layout, this.scroll, this.scroll + this.height - RULER);
    for (const group of new Set(tracks.map((track) => this.groupOf.get(track.index) ?? 0))) {
      const all: Rows[] = [];
      let exact = true;
      let failed = "";
      for (const place of covering(this.view.from, this.view.to, level, group)) {
        const part = this.tiles.at(place);
        for (const rows of part.rows) if (!all.includes(rows)) all.push(rows);
        exact &&= part.exact;
        failed ||= part.failed;
      }
      for (const thread of this.threadsOf(group)) found.set(thread, { rows: all, exact, failed });
    }
    this.tiles.go();
    this.resolved = found;
    const busy = [...found.values()].some((one) => !one.exact && !one.failed);
    if (busy !== this.busy) this.canvas.parentElement?.setAttribute("aria-busy", String(busy));
    this.busy = busy;
  }

  /** Repeats an action when the calls in sight have arrived, unless another one comes first. */
  private whenThere(again: () => void): void {
    if (this.busy !== false || this.frame) this.wish = again;
  }

  private grant(): void {
    const wish = this.busy ? null : this.wish;
    if (!wish) return;
    this.wish = null;
    wish();
  }

  private deepen(): void {
    let deeper = false;
    for (const { rows: tables } of new Set(this.resolved.values()))
      for (const rows of tables) {
        if (this.measured.has(rows)) continue;
        this.measured.add(rows);
        for (let row = 0; row < rows.count; row++) {
          const thread = rows.thread[row] ?? 0;
          const depth = (rows.depth[row] ?? 0) + 1;
          if (depth > (this.seenDepth.get(thread) ?? 0)) {
            this.seenDepth.set(thread, depth);
            deeper = true;
          }
        }
      }
    if (deeper) this.arrange();
  }

  private scene(): Scene {
    return {
      view: this.view,
      layout: this.layout,
      scroll: this.scroll,
      height: this.height,
      theme: this.theme,
      rowsOf: (thread) => this.rowsOf(thread),
      paint: (fn) => {
        let paint = this.paints.get(fn);
        if (!paint) {
          paint = paintOf(this.source.info, fn, this.theme);
          this.paints.set(fn, paint);
        }
        return paint;
      },
      name: (fn) => labelOf(this.source.info, fn),
      waits: this.source.info.waits,
      matches: this.matches,
      events: this.events,
      selected: this.selected,
      range: this.range,
      hover: this.hover,
      pointer: this.drag?.kind === "pan" ? null : this.pointer,
    };
  }

  private paint(): void {
    this.resolve();
    this.deepen();
    draw(this.context, this.scene());
    drawMinimap(this.mapContext, this.view, this.density, this.marks(), this.theme);
    this.grant();
  }

  private marks(): number[] {
    return this.instants.flatMap((mark) => (mark.kind === "mark" ? [mark.time] : []));
  }

  // ---- navigation ----

  private listen(): void {
    const { canvas, map } = this;
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.down(event, canvas));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event));
    canvas.addEventListener("pointercancel", (event) => this.up(event));
    canvas.addEventListener("pointerleave", () => this.leave());
    canvas.addEventListener("dblclick", (event) => this.dive(event));
    map.addEventListener("pointerdown", (event) => this.down(event, map));
    map.addEventListener("pointermove", (event) => this.move(event));
    map.addEventListener("pointerup", (event) => this.up(event));
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const size = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    const x = event.offsetX;
    if (event.ctrlKey || event.metaKey)
      this.zoom(Math.exp(Math.min(Math.max(event.deltaY * size, -120), 120) / 180), x);
    else if (event.shiftKey) this.pan((event.deltaY || event.deltaX) * size);
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan(event.deltaX * size);
    else this.scrollBy(event.deltaY * size);
  }

  private down(event: PointerEvent, on: HTMLCanvasElement): void {
    on.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    if (this.pointers.size === 2) {
      this.drag = null;
      this.pinch = this.fingers();
      return;
    }
    if (event.button !== 0) return;
    const kind = on === this.map ? "minimap" : event.shiftKey || event.offsetY < RULER ? "range" : "pan";
    this.drag = {
      kind,
      x: event.offsetX,
      y: event.offsetY,
      far: false,
      at: this.view.timeAt(event.offsetX),
      scroll: this.scroll,
    };
    if (kind === "minimap") this.centre(event.offsetX);
  }

  private fingers(): { apart: number; middle: number } {
    const [a, b] = [...this.pointers.values()];
    if (!a || !b) return { apart: 1, middle: 0 };
    return { apart: Math.max(20, Math.hypot(a.x - b.x, a.y - b.y)), middle: (a.x + b.x) / 2 };
  }

  private centre(x: number): void {
    const at = timeOnMinimap(this.view, x);
    this.show(at - this.view.span / 2, at + this.view.span / 2);
  }

  private move(event: PointerEvent): void {
    if (this.pointers.has(event.pointerId)) this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    if (this.pinch && this.pointers.size === 2) {
      const now = this.fingers();
      this.view.pan(this.pinch.middle - now.middle);
      this.zoom(this.pinch.apart / now.apart, now.middle);
      this.pinch = now;
      return;
    }
    const drag = this.drag;
    if (!drag) {
      if (event.currentTarget === this.canvas) this.point(event.offsetX, event.offsetY);
      return;
    }
    drag.far ||= Math.abs(event.offsetX - drag.x) + Math.abs(event.offsetY - drag.y) > 3;
    if (!drag.far) return;
    if (drag.kind === "minimap") this.centre(event.offsetX);
    else if (drag.kind === "range") {
      const here = this.view.timeAt(Math.min(Math.max(event.offsetX, 0), this.view.width));
      this.selected = null;
      this.range = { from: Math.min(drag.at, here), to: Math.max(drag.at, here) };
      this.refresh();
    } else {
      const by = drag.at - this.view.timeAt(event.offsetX);
      this.view.show(this.view.from + by, this.view.to + by);
      this.scroll = 0;
      this.scrollBy(drag.scroll + drag.y - event.offsetY);
      this.moved();
    }
  }

  private up(event: PointerEvent): void {
    this.pointers.delete(event.pointerId);
    this.pinch = null;
    const drag = this.drag;
    this.drag = null;
    if (!drag) return;
    if (drag.kind === "range" && drag.far) this.choose(null, this.range);
    else if (!drag.far && drag.kind !== "minimap") this.click(event.offsetX, event.offsetY);
  }

  private click(x: number, y: number): void {
    const track = this.titleAt(x, y);
    if (track) {
      this.folds.set(track.index, nextFold(track, this.folds.get(track.index) ?? "usual"));
      this.arrange();
      this.scrollBy(0);
      return;
    }
    const spot = spotAt(this.scene(), x, y);
    this.choose(spot);
    if (spot && spot.flags & (BEFORE | AFTER)) void this.complete(spot, this.view.timeAt(x));
  }

  /** Return the track whose title is at a point. */
  private titleAt(x: number, y: number): Track | undefined {
    const at = y - RULER + this.scroll;
    const track = inSight(this.layout, at, at)[0];
    if (!track || y < RULER) return undefined;
    const top = titleTop(track, this.scroll);
    return at >= top && at < top + HEADING && x < titleEnd(this.context, this.scene(), track) ? track : undefined;
  }

  private pointedAt(scene: Scene, x: number, y: number): Pointed | null {
    const at = y - RULER + this.scroll;
    const track = inSight(this.layout, at, at)[0];
    return track && y >= RULER && at >= track.top && at - track.top <= HEADING ? pointedAt(scene, track, x) : null;
  }

  /** Brings the next mark of the program into sight, or the one before, and returns it, or null. */
  toMark(back: boolean): Instant | null {
    const { from: first, to: last } = this.view;
    const at = this.atMark ?? Number.NaN; // from the mark shown last, unless the view has moved since
    const from = first <= at && at <= last ? at : back ? last : first - 1;
    const mark = nextMark(this.events, from, back);
    if (!mark) return null;
    this.atMark = mark.time;
    const { span } = this.view;
    this.view.show(mark.time - span / 2, mark.time + span / 2);
    const track = this.layout.tracks.find((one) => one.index === mark.thread);
    if (track && (track.top < this.scroll || track.top > this.scroll + this.height - RULER - 40)) {
      this.scroll = 0;
      this.scrollBy(track.top - 80);
    }
    this.moved();
    return mark;
  }

  /** Looks up the whole call if it reaches beyond the fetched range. */
  private async complete(spot: Spot, at: number): Promise<void> {
    const whole = await this.source.whole(spot, Math.min(Math.max(at, spot.start), spot.end)).catch(() => null);
    if (whole && this.selected === spot) this.choose(whole);
  }

  private dive(event: MouseEvent): void {
    const spot = this.selected ?? spotAt(this.scene(), event.offsetX, event.offsetY);
    if (!spot) return;
    const room = (spot.end - spot.start) * 0.06;
    this.show(spot.start - room, spot.end + room);
  }

  private point(x: number, y: number): void {
    this.pointer = x;
    const title = this.titleAt(x, y);
    const scene = this.scene();
    this.hover = title ? null : spotAt(scene, x, y);
    const pointed = this.hover ? null : this.pointedAt(scene, x, y);
    this.canvas.style.cursor = title || this.hover ? "pointer" : y < RULER ? "col-resize" : "grab";
    this.listener.over(this.hover ?? pointed, x, y);
    this.refresh();
  }

  private leave(): void {
    this.pointer = null;
    this.unhover();
  }

  unhover(): void {
    this.hover = null;
    this.listener.over(null, 0, 0);
    this.refresh();
  }

  /** Handles the keys of the canvas. Search and help belong to the page. */
  key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const far = this.view.width / 8;
    const arrow = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" }[event.key] as
      | "up"
      | "down"
      | "left"
      | "right"
      | undefined;
    const keys: Record<string, () => void> = {
      w: () => this.zoom(0.7, this.pointer ?? undefined),
      s: () => this.zoom(1 / 0.7, this.pointer ?? undefined),
      "+": () => this.zoom(0.7),
      "=": () => this.zoom(0.7),
      "-": () => this.zoom(1 / 0.7),
      a: () => this.pan(-far),
      d: () => this.pan(far),
      Home: () => this.show(this.view.whole.from, this.view.whole.from + this.view.span),
      End: () => this.show(this.view.whole.to - this.view.span, this.view.whole.to),
      PageUp: () => this.scrollBy(-this.height / 2),
      PageDown: () => this.scrollBy(this.height / 2),
      f: () => this.whole(),
      "0": () => this.whole(),
      Enter: () => this.frameChosen(),
      Escape: () => this.choose(null),
    };
    const does =
      keys[event.key.length === 1 ? event.key.toLowerCase() : event.key] ??
      (arrow
        ? () => {
            if (this.selected) this.step(arrow);
            else if (arrow === "left" || arrow === "right") this.pan(arrow === "left" ? -far : far);
            else this.scrollBy(arrow === "up" ? -51 : 51);
          }
        : undefined);
    if (!does) return;
    this.wish = null;
    does();
    event.preventDefault();
    event.stopPropagation();
  }

  private frameChosen(): void {
    const what = this.range ?? (this.selected && { from: this.selected.start, to: this.selected.end });
    if (what) {
      const room = (what.to - what.from) * 0.04;
      this.show(what.from - room, what.to + room);
    } else {
      this.chooseFirst();
    }
  }

  /** Return the outermost call in sight, where the keyboard starts. */
  private chooseFirst(): void {
    for (const track of inSight(this.layout, this.scroll, this.scroll + this.height - RULER))
      for (const rows of this.rowsOf(track.index).rows)
        for (let row = 0; row < rows.count; row++)
          if (rows.thread[row] === track.index && rows.depth[row] === 0 && (rows.end[row] ?? 0) > this.view.from) {
            this.choose(spotOf(rows, row));
            return;
          }
    this.whenThere(() => this.chooseFirst());
  }
}
