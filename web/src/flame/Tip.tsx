// The tooltip of the frame below the pointer.

import { useLayoutEffect, useRef } from "preact/hooks";
import type { Metric } from "../data/paths.ts";
import { count, percent } from "../data/words.ts";
import type { Frames } from "./frames.ts";
import { amount, type Graph, isTime, wordsOf } from "./graph.ts";

export interface Tipped {
  x: number;
  y: number;
  frames: Frames;
  frame: number;
  graph: Graph;
  metric: Metric;
}

export function Tip({ x, y, frames, frame, graph, metric, whole }: Tipped & { whole: number }) {
  const fn = frames.fn[frame];
  const value = frames.value[frame];
  const errorNs = frames.error[frame];
  const rows: [string, string][] = [[wordsOf(metric, graph.head.divided), amount(metric, value, errorNs)]];
  const share = percent(value, whole);
  if (share) rows[0][1] += `, ${share} of all`;
  if (frames.weights.waiting) rows.push(["waiting", amount("wait", frames.waiting[frame], 0)]);
  if (!frames.up && fn >= 0) {
    const bases = frames.basesOf(frame);
    const sum = (values: ArrayLike<number>) => bases.reduce((all, path) => all + values[path], 0);
    if (isTime(metric)) {
      const { own, ownError } = frames.weights;
      rows.push(["its own", amount(metric, sum(own), sum(ownError))]);
    }
    if (metric !== "calls") rows.push(["calls", count(sum(frames.paths.sums.calls))]);
  }
  return <TipBox {...{ x, y, rows }} name={graph.name(fn)} place={graph.place(fn)} />;
}

interface BoxProps {
  x: number;
  y: number;
  name: string;
  place: string;
  rows: [string, string][];
}

/** A name, its place, and numbers with their labels, beside the pointer and inside of the window. */
export function TipBox({ x, y, name, place, rows }: BoxProps) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!box.current) return;
    const { offsetWidth, offsetHeight } = box.current;
    box.current.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - offsetWidth - 8))}px`;
    box.current.style.top = `${y + 18 + offsetHeight > innerHeight ? y - offsetHeight - 10 : y + 18}px`;
  });
  return (
    <div class="tip" ref={box} aria-hidden="true">
      <b>
        <bdi>{name}</bdi>
      </b>
      {place && <bdi class="place">{place}</bdi>}
      <dl>
        {rows.map(([label, text]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
