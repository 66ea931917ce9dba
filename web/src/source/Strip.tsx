// A strip that shows all of a source at once: its hot or missing lines. Tables and keys give the same access without
// sight.

import { useEffect, useRef } from "preact/hooks";

interface Props {
  size: number; // rows
  row: number; // px of a row
  mark(row: number): number;
  colours: string[];
  theme: number;
  top: number;
  height: number;
  go(top: number): void;
}

export function Strip({ size, row, mark, colours, theme, top, height, go }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const whole = size * row;
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    const ratio = devicePixelRatio || 1;
    const [wide, high] = [element.clientWidth, element.clientHeight];
    element.width = wide * ratio;
    element.height = high * ratio;
    context.scale(ratio, ratio);
    const style = getComputedStyle(element);
    const drawn = colours.map((name) => style.getPropertyValue(name));
    const scale = high / Math.max(whole, high);
    const most = new Uint8Array(Math.ceil(high) + 1); // the most important mark of each pixel
    for (let at = 0; at < size; at++) {
      const found = mark(at);
      if (!found) continue;
      const from = Math.floor(at * row * scale);
      const to = Math.max(from + 1, Math.floor((at + 1) * row * scale));
      for (let y = from; y < to && y < most.length; y++) most[y] = Math.max(most[y], found);
    }
    most.forEach((found, y) => {
      if (!found) return;
      context.fillStyle = drawn[found];
      context.fillRect(2, y, wide - 4, 1);
    });
  }, [size, mark, colours, theme, height]);
  const scroll = (event: PointerEvent) => {
    if (event.type === "pointermove" && !event.buttons) return;
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    go(((event.clientY - box.top) / box.height) * Math.max(whole, height) - height / 2);
  };
  const part = 100 / Math.max(whole, height);
  return (
    <div class="strip" aria-hidden="true" onPointerDown={scroll} onPointerMove={scroll}>
      <canvas ref={canvas} />
      <span class="window" style={{ top: `${top * part}%`, height: `${Math.min(100, height * part)}%` }} />
    </div>
  );
}
