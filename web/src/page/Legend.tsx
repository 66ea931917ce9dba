// The legend of a flame graph: colours, shades and dots.

import type { ComponentChildren } from "preact";
import { count } from "../data/words.ts";
import type { Graph } from "../flame/graph.ts";

const WORDS = ["own code", "installed packages", "standard library", "C functions"];

interface Props {
  graph: Graph;
  leftOut: number;
  uncertain: boolean;
  waiting: boolean;
  children: ComponentChildren;
}

export function Legend({ graph, leftOut, uncertain, waiting, children }: Props) {
  const there = new Set(graph.functions.whose);
  return (
    <p class="legend">
      {WORDS.map(
        (words, whose) =>
          there.has(whose) && (
            <span key={words} class={`swatch whose${whose}`}>
              {words}
            </span>
          ),
      )}
      {waiting && graph.head.divided && (
        <span class="swatch pale" title="The paler end of a frame is as wide as its waiting">
          waiting
        </span>
      )}
      {uncertain && (
        <span
          class="swatch dots"
          title="The true end lies within the dots in 19 of 20 cases; for a folded library from the leaf, or more often"
        >
          within the error
        </span>
      )}
      {leftOut > 0 && <span class="warn">{count(leftOut)} smaller paths are summed up, not shown</span>}
      {children}
    </p>
  );
}
