import assert from "node:assert/strict";
import { test } from "node:test";
import { LIGHT } from "../src/timeline/colours.ts";
import { draw, titleTop } from "../src/timeline/draw.ts";
import { byThread, countersOf, type Instant } from "../src/timeline/events.ts";
import { drawMinimap } from "../src/timeline/minimap.ts";
import type { Scene } from "../src/timeline/scene.ts";
import { labelOf, type TraceInfo } from "../src/timeline/source.ts";
import type { Rows } from "../src/timeline/tiles.ts";
import { layOut } from "../src/timeline/tracks.ts";
import { Viewport } from "../src/timeline/viewport.ts";

const WIDTH = 1000;
const HEIGHT = 600;
const END = 1e9;

/** A canvas that writes down what is asked of it. */
class Canvas {
  readonly asked = new Map<string, number>();
  readonly texts: { text: string; x: number; y: number }[] = [];
  readonly context = new Proxy({} as Record<string, unknown>, {
    get: (target, name: string) => {
      if (name in target) return target[name];
      return (...words: unknown[]) => {
        this.asked.set(name, (this.asked.get(name) ?? 0) + 1);
        if (name === "fillText") this.texts.push({ text: String(words[0]), x: Number(words[1]), y: Number(words[2]) });
        return name === "measureText" ? { width: String(words[0]).length * 7 } : undefined;
      };
    },
  }) as unknown as CanvasRenderingContext2D;

  times(name: string): number {
    return this.asked.get(name) ?? 0;
  }
}

function calls(count: number): Rows {
  const each = END / count;
  const column = <T>(fill: (row: number) => number, make: (list: number[]) => T): T =>
    make(Array.from({ length: count }, (_, row) => fill(row)));
  const ints = (list: number[]) => Int32Array.from(list);
  const floats = (list: number[]) => Float64Array.from(list);
  return {
    from: 0,
    to: END,
    count,
    thread: column(() => 0, ints),
    depth: column((row) => row % 10, ints),
    start: column((row) => row * each, floats),
    end: column((row) => (row + 0.8) * each, floats),
    bound: column(() => 0, floats),
    busy: column(() => each, floats),
    fn: column((row) => row % 3, ints),
    node: column(() => 0, ints),
    calls: column(() => 1, floats),
    flags: column(() => 0, ints),
  };
}

function instants(kind: string, count: number): Instant[] {
  return Array.from({ length: count }, (_, at) => ({
    time: (at * END) / count,
    thread: 0,
    kind,
    span: at,
    name: "noted",
    text: "",
    value: kind === "counter" ? at % 100 : null,
  }));
}

function scene(rows: Rows, instants: Instant[] = [], depth = 10, scroll = 0): Scene {
  const view = new Viewport({ from: 0, to: END });
  view.width = WIDTH;
  const threads = [0, 1].map((id) => ({ id, name: `thread ${id}`, process: 0, start: 0, end: END, depth }));
  const layout = layOut(threads, [{ id: 0, title: "" }], new Map(), new Map([[0, depth]]), countersOf(instants));
  return {
    view,
    layout,
    scroll,
    height: HEIGHT,
    theme: LIGHT,
    rowsOf: (thread) => ({ rows: thread === 0 ? [rows] : [], exact: true, failed: "" }),
    paint: () => LIGHT.c,
    name: (fn) => `function${fn}`,
    waits: () => false,
    matches: null,
    events: byThread(instants, [], END),
    selected: null,
    range: null,
    hover: null,
    pointer: null,
  };
}

test("no path is made of rectangles: without a graphics processor, one of a thousand takes tens of milliseconds", () => {
  const canvas = new Canvas();
  const what = scene(calls(5000));
  draw(canvas.context, what);
  const density = { calls: Float64Array.from({ length: 1000 }, (_, at) => at % 7), from: 0, to: END };
  drawMinimap(canvas.context, what.view, density, [], LIGHT);
  assert.ok(canvas.times("fillRect") > 5000 + 800);
  assert.equal(canvas.times("rect"), 1, "only what is clipped");
  assert.equal(canvas.times("lineTo"), 0);
});

test("an event of the program that comes a hundred thousand times costs a frame no more than its pixels", () => {
  for (const kind of ["mark", "begin", "counter", "collect"]) {
    const canvas = new Canvas();
    draw(canvas.context, scene(calls(1), instants(kind, 100_000)));
    const all = [...canvas.asked.values()].reduce((sum, times) => sum + times, 0);
    assert.ok(all > 0 && all < 6 * WIDTH, `${kind}: ${all}`);
  }
});

test("a track's title stays in sight while any of its calls are", () => {
  const where = (scroll: number) => {
    const canvas = new Canvas();
    draw(canvas.context, scene(calls(100), [], 60, scroll));
    return canvas.texts.find(({ text }) => text.endsWith("thread 0"))?.y;
  };
  const top = where(0) ?? Number.NaN;
  assert.equal(where(200), top + 200, "at the upper edge, where the canvas is shifted by what is scrolled");
  const { layout } = scene(calls(1), [], 60);
  const [first, second] = layout.tracks;
  assert.ok(first && second);
  assert.ok(titleTop(first, second.top) < second.top, "the next one pushes it out");
});

test("names of marks begin behind the title and its remark on folded rows", () => {
  const canvas = new Canvas();
  const marks = instants("mark", 3).map((mark, at) => ({ ...mark, time: [5e7, 3.3e8, 6e8][at] ?? 0 }));
  draw(canvas.context, scene(calls(100), marks, 60));
  const hint = canvas.texts.find(({ text }) => text.includes("folded"));
  assert.ok(hint);
  const names = canvas.texts.filter(({ text }) => text === "noted").map(({ x }) => x);
  assert.ok(names.length > 0);
  assert.ok(Math.min(...names) >= hint.x + hint.text.length * 7);
});

test("the body of a module is labelled with the module, any other function with its name alone", () => {
  const info = {
    names: ["<module>", "Loop.run", "<module>"],
    modules: ["asyncio", "asyncio", ""],
  } as unknown as TraceInfo;
  assert.deepEqual(
    [0, 1, 2, 3].map((fn) => labelOf(info, fn)),
    ["asyncio:<module>", "Loop.run", "<module>", "?"],
  );
});
