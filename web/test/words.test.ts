import assert from "node:assert/strict";
import { test } from "node:test";
import { count, duration, error, isUnknown, percent, rank, share, time } from "../src/data/words.ts";

test("durations have three digits and a unit", () => {
  const shown = [0, 0.4, 1, 9.994, 999.4, 999.6, 12_345, 1.5e6, 59.95e9, 2e12].map(duration);
  assert.deepEqual(shown, [
    "0",
    "<1 ns",
    "1.00 ns",
    "9.99 ns",
    "999 ns",
    "1.00 µs",
    "12.3 µs",
    "1.50 ms",
    "60.0 s",
    "2,000 s",
  ]);
});

test("halves go to even, and what only looks like a half does not", () => {
  assert.equal(duration(1815), "1.81 µs"); // 1.815 is 1.81499... in binary
  assert.equal(duration(1125), "1.12 µs");
  assert.equal(duration(1375), "1.38 µs");
});

test("a time that is not known is its upper bound", () => {
  assert.equal(time(2e6, 2e6), "< 4 ms");
  assert.equal(time(2e6, 1e6), "2.00 ms");
  assert.equal(time(0, 26), "< 26 ns");
  assert.equal(rank(2e6, 2e6), 0);
  assert.ok(isUnknown(0, 1) && !isUnknown(0, 0));
});

test("errors and shares", () => {
  assert.equal(error(3, 100), "±3 %");
  assert.equal(error(0.5, 100), "");
  assert.equal(error(100, 100), "");
  assert.equal(percent(1, 3), "33.3 %");
  assert.equal(percent(1, 1000), "<1 %");
  assert.equal(percent(0, 5), "0 %");
  assert.equal(percent(1, 0), "");
  assert.equal(share(1, 1, 100), "< 2 %");
});

test("halves go to the even digit, as Python's do", () => {
  assert.deepEqual([0.5, 1.5, 2.5, 1234.5].map(count), ["0", "2", "2", "1,234"]);
  assert.equal(count(1_234_567), "1,234,567");
});
