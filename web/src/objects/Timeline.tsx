// Live objects over time as an area, births per second as a line, and the program's marks. Pointer and arrow keys move
// a cursor, whose values are shown as text.

import { useEffect, useRef, useState } from "preact/hooks";
import { largest } from "../data/numbers.ts";
import { count, duration, numberOf } from "../data/words.ts";

export interface TimelineHead {
  took: number; // ns
  highest: number;
  marks: [name: string, at: number][];
}

interface Props {
  head: TimelineHead;
  live: ArrayLike<number>;
  births: ArrayLike<number>;
  theme: number;
}

const TOP = 18; // px, for the names of marks
const BOTTOM = 4;

export function Timeline({ head, live, births, theme }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [at, setAt] = useState(-1);
  const [width, setWidth] = useState(0);
  const parts = live.length;
  const most = Math.max(1, largest(live));
  const fastest = largest(births);
  useEffect(() => {
    const watcher = new ResizeObserver(() => setWidth(canvas.current?.clientWidth ?? 0));
    if (canvas.current) watcher.observe(canvas.current);
    return () => watcher.disconnect();
  }, []);
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (element && context) draw(element, context, head, live, births, at);
  }, [width, theme, at, head]);

  const point = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    setAt(Math.min(parts - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * parts))));
  };
  const move = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -parts, End: parts }[event.key];
    if (by === undefined) return;
    setAt(Math.min(parts - 1, Math.max(0, at + by)));
    event.preventDefault();
  };
  const rate = (value: number) => `${count(value)} born a second`;
  const valueText = (part: number) =>
    `${duration((head.took * (part + 0.5)) / parts)}: ${numberOf(live[part], "object")} alive, ${rate(births[part])}`;
  const named = head.marks.filter(([, share]) => Math.floor(share * parts) === at).map(([name]) => name);
  return (
    <div class="object-time">
      <p class="readout">
        <span class="key live">live objects, up to {count(most)}</span>
        <span class="key births">births a second, up to {count(fastest)}</span>
        <span class="cursor">{at >= 0 && [valueText(at), ...named].join("; ")}</span>
      </p>
      <div
        class="time-pane"
        role="slider"
        tabIndex={0}
        aria-label="live objects over time: the arrow keys choose a moment"
        aria-valuemin={0}
        aria-valuemax={parts - 1}
        aria-valuenow={Math.max(0, at)}
        aria-valuetext={valueText(Math.max(0, at))}
        onPointerMove={point}
        onPointerDown={point}
        onKeyDown={move}
      >
        <canvas ref={canvas} />
      </div>
      <p class="axis" aria-hidden="true">
        {[0, 0.25, 0.5, 0.75, 1].map((share) => (
          <span key={share}>{duration(head.took * share)}</span>
        ))}
      </p>
      {head.marks.length > 0 && (
        <p class="quiet">
          Marks: {head.marks.map(([name, share]) => `${name} at ${duration(head.took * share)}`).join(", ")}
        </p>
      )}
    </div>
  );
}

function draw(
  element: HTMLCanvasElement,
  context: CanvasRenderingContext2D,
  head: TimelineHead,
  live: ArrayLike<number>,
  births: ArrayLike<number>,
  at: number,
): void {
  const ratio = devicePixelRatio || 1;
  const [wide, high] = [element.clientWidth, element.clientHeight];
  element.width = wide * ratio;
  element.height = high * ratio;
  context.scale(ratio, ratio);
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name);
  const parts = live.length;
  const [most, fastest] = [Math.max(1, largest(live)), Math.max(1, largest(births))];
  const x = (part: number) => (wide * part) / parts;
  const y = (share: number) => TOP + (high - TOP - BOTTOM) * (1 - share);
  context.strokeStyle = colour("--line");
  context.lineWidth = 1;
  for (const share of [0, 0.5, 1]) {
    context.beginPath();
    context.moveTo(0, Math.round(y(share)) + 0.5);
    context.lineTo(wide, Math.round(y(share)) + 0.5);
    context.stroke();
  }
  context.fillStyle = colour("--installed");
  context.globalAlpha = 0.55;
  context.beginPath();
  context.moveTo(0, y(0));
  for (let part = 0; part < parts; part++) {
    context.lineTo(x(part), y(live[part] / most));
    context.lineTo(x(part + 1), y(live[part] / most));
  }
  context.lineTo(wide, y(0));
  context.fill();
  context.globalAlpha = 1;
  context.strokeStyle = colour("--own");
  context.lineWidth = 1.5;
  context.beginPath();
  for (let part = 0; part < parts; part++) context.lineTo(x(part + 0.5), y(births[part] / fastest));
  context.stroke();
  context.font = "11px sans-serif";
  let free = 0; // the right edge of the last mark's name
  for (const [name, share] of head.marks) {
    const place = Math.round(share * wide) + 0.5;
    context.strokeStyle = colour("--quiet");
    context.lineWidth = 1;
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(place, TOP - 4);
    context.lineTo(place, high);
    context.stroke();
    context.setLineDash([]);
    const length = context.measureText(name).width;
    if (place < free || place + length + 4 > wide) continue;
    context.fillStyle = colour("--quiet");
    context.fillText(name, place + 3, TOP - 6);
    free = place + length + 10;
  }
  if (at >= 0) {
    context.fillStyle = colour("--accent");
    context.fillRect(Math.round(x(at + 0.5)), TOP, 1.5, high - TOP);
  }
}
