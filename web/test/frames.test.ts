import assert from "node:assert/strict";
import { test } from "node:test";
import { folded, IMPORT, Paths } from "../src/data/paths.ts";
import { fitting } from "../src/flame/draw.ts";
import { Frames, outermost } from "../src/flame/frames.ts";

// main -> a -> b -> a ; main -> b ; another thread: main -> b
const PARENT = [-1, 0, 1, 2, 0, -1, 5];
const FN = [0, 1, 2, 1, 2, 0, 2];
const OWN = [1, 2, 4, 8, 16, 32, 64];

function paths(): Paths {
  const nothing = new Float64Array(7);
  return new Paths(Int32Array.from(PARENT), Int32Array.from(FN), {
    calls: [1, 1, 1, 1, 1, 1, 1],
    exceptions: nothing,
    own: OWN,
    own_error: [0, 0, 2, 0, 0, 0, 0],
    total_error: [2, 2, 2, 0, 0, 0, 0],
    common: nothing,
    wait: nothing,
    wait_error: nothing,
  });
}

function children(frames: Frames, frame: number): [number, number][] {
  frames.open(frame);
  const found: [number, number][] = [];
  for (let at = frames.firstChild[frame]; at < frames.lastChild[frame]; at++)
    found.push([frames.fn[at], frames.value[at]]);
  return found;
}

test("totals and ends are those of the tree", () => {
  const tree = paths();
  const { total, whole, totalError } = tree.weights("cpu");
  assert.deepEqual([...tree.end], [5, 4, 4, 4, 5, 7, 7]);
  assert.deepEqual([...total], [31, 14, 12, 8, 16, 96, 64]);
  assert.equal(whole, 127);
  assert.deepEqual([...totalError], [2, 2, 2, 0, 0, 0, 0]);
  assert.equal(tree.weights("calls").whole, 7);
  assert.equal(tree.weights("exceptions").whole, 0);
});

test("from the root, all threads as one, and apart", () => {
  const tree = paths();
  const one = Frames.fromRoot(tree, tree.weights("cpu"), "called", 3);
  assert.equal(one.value[0], 127);
  assert.deepEqual(children(one, 0), [[0, 127]]);
  assert.deepEqual(children(one, one.firstChild[0]), [
    [1, 14],
    [2, 80],
  ]);
  const heavy = Frames.fromRoot(tree, tree.weights("cpu"), "heavy", 3);
  heavy.open(0);
  assert.deepEqual(children(heavy, heavy.firstChild[0]), [
    [2, 80],
    [1, 14],
  ]);
  const labels = [
    { fn: -2, roots: [0] },
    { fn: -3, roots: [5] },
  ];
  const apart = Frames.fromRoot(tree, tree.weights("cpu"), "called", 3, labels);
  assert.deepEqual(children(apart, 0), [
    [-2, 31],
    [-3, 96],
  ]);
  assert.deepEqual(children(apart, 2), [[0, 96]]);
});

test("from the leaf: own times by who called", () => {
  const tree = paths();
  const frames = Frames.fromLeaf(tree, tree.weights("cpu"), 3);
  assert.deepEqual(children(frames, 0), [
    [2, 84],
    [0, 33],
    [1, 10],
  ]);
  assert.deepEqual(children(frames, frames.firstChild[0]), [
    [0, 80],
    [1, 4],
  ]);
  assert.equal(frames.error[frames.firstChild[0]], 2);
});

test("a process stands above its threads", () => {
  const tree = paths();
  const labels = [
    { fn: -4, roots: [0], below: [{ fn: -2, roots: [0] }] },
    { fn: -5, roots: [5], below: [{ fn: -3, roots: [5] }] },
  ];
  const frames = Frames.fromRoot(tree, tree.weights("cpu"), "called", 3, labels);
  assert.deepEqual(children(frames, 0), [
    [-4, 31],
    [-5, 96],
  ]);
  assert.deepEqual(children(frames, 1), [[-2, 31]]);
  assert.deepEqual(children(frames, 2), [[-3, 96]]);
  assert.deepEqual(children(frames, frames.firstChild[2]), [[0, 96]]);
});

test("errors of summed paths: what they share is added up, the rest in quadrature", () => {
  const nothing = new Float64Array(2);
  const two = (common: number[]) =>
    new Paths(Int32Array.from([-1, -1]), Int32Array.from([0, 0]), {
      calls: [1, 1],
      exceptions: nothing,
      own: [50, 50],
      own_error: [3, 4],
      total_error: [3, 4],
      common,
      wait: [10, 10],
      wait_error: [6, 8],
    });
  const error = (tree: Paths, metric: "cpu" | "wait" | "wall") =>
    Frames.fromRoot(tree, tree.weights(metric), "called", 1).error[0];
  assert.equal(error(two([0, 0]), "cpu"), 5);
  assert.equal(error(two([255, 255]), "cpu"), 7);
  const half = error(two([0, 255]), "cpu");
  assert.ok(half > 4.9 && half <= 7);
  assert.equal(error(two([0, 0]), "wait"), 10);
  assert.ok(Math.abs(error(two([0, 0]), "wall") - Math.hypot(5, 10)) < 1e-9);
  const tree = two([255, 255]);
  const leaf = Frames.fromLeaf(tree, tree.weights("cpu"), 1, [6]);
  assert.deepEqual([leaf.error[0], leaf.error[1]], [7, 6]); // all; the function, whose own error is known
  assert.equal(Frames.fromLeaf(tree, tree.weights("cpu"), 1).error[1], 7);
});

test("a sandwich weighs the outermost calls", () => {
  const tree = paths();
  assert.deepEqual(outermost(tree, 1), [1]);
  const callees = Frames.around(tree, tree.weights("cpu"), 1, false, 3);
  assert.deepEqual(children(callees, 0), [[1, 14]]);
  assert.deepEqual(children(callees, 1), [[2, 12]]);
  const callers = Frames.around(tree, tree.weights("cpu"), 2, true, 3);
  assert.deepEqual(children(callers, 0), [[2, 92]]);
  assert.deepEqual(children(callers, 1), [
    [0, 80],
    [1, 12],
  ]);
});

test("libraries are folded until own code is called back", () => {
  // a is a library's; b inside it is own code again
  const [tree, to] = folded(paths(), [0, 1, 0], (fn) => 10 + fn);
  assert.deepEqual([...tree.fn], [0, 11, 2, 11, 2, 0, 2]);
  assert.deepEqual([...to], [0, 1, 2, 3, 4, 5, 6]);
  // b belongs to whoever calls it: below a it is part of the library
  const [less] = folded(paths(), [0, 1, 2], (fn) => 10 + fn);
  assert.deepEqual([...less.fn], [0, 11, 2, 0, 2]);
  assert.deepEqual([...(less.sums.own as Float64Array)], [1, 14, 16, 32, 64]);
  assert.equal(less.weights("cpu").whole, 127);
  assert.equal(less.sums.total_error[1], 2);
  // b is a module's body: a fold of its own in a library, with what it calls there
  const [imports] = folded(paths(), [0, 1, IMPORT], (fn) => 10 + fn);
  assert.deepEqual([...imports.fn], [0, 11, 12, 12, 0, 12]);
});

test("labels are cut to what fits", () => {
  const width = (text: string) => text.length;
  assert.equal(fitting(["module:name", "name"], 20, width), "module:name");
  assert.equal(fitting(["module:name", "name"], 5, width), "name");
  assert.equal(fitting(["module:name", "longname"], 5, width), "…name");
  assert.equal(fitting(["module:name", "longname"], 1, width), "");
});
