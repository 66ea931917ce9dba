// A flame graph in its pane, with its text for a screen reader.

import { useEffect, useRef } from "preact/hooks";
import type { Look } from "./draw.ts";
import { type FlameListener, FlameView } from "./FlameView.ts";
import type { Frames } from "./frames.ts";

interface Props {
  frames: Frames;
  look: Omit<Look, "cursor" | "hovered">;
  listener: FlameListener;
  label: string;
  flip?: boolean;
  /** Receives the view, for the controls around it. */
  attach?(view: FlameView | null): void;
}

export function Flame({ frames, look, listener, label, flip = false, attach }: Props) {
  const pane = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const spacer = useRef<HTMLDivElement>(null);
  const view = useRef<FlameView | null>(null);
  const latest = useRef(listener);
  latest.current = listener;

  useEffect(() => {
    if (!pane.current || !canvas.current || !spacer.current) return undefined;
    const made = new FlameView(
      pane.current,
      canvas.current,
      spacer.current,
      {
        hover: (...where) => latest.current.hover(...where),
        choose: (frame) => latest.current.choose(frame),
        reach: (frame) => latest.current.reach(frame),
        zoomed: (part) => latest.current.zoomed(part),
      },
      flip,
    );
    view.current = made;
    attach?.(made);
    return () => {
      made.end();
      attach?.(null);
    };
  }, []);
  useEffect(() => view.current?.show(frames), [frames]);
  useEffect(() => view.current?.dress(look), [look, frames]);

  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it takes keys
    <div class="flame" ref={pane} tabIndex={0} role="application" aria-roledescription="flame graph" aria-label={label}>
      <canvas ref={canvas} />
      <div ref={spacer} />
    </div>
  );
}
