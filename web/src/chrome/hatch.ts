/** Fill patterns for canvases, drawn once for each colour and pixel density. */
const made = new Map<string, HTMLCanvasElement>();

function tiled(
  context: CanvasRenderingContext2D,
  key: string,
  size: number,
  paint: (brush: CanvasRenderingContext2D) => void,
): CanvasPattern | null {
  const ratio = Math.max(1, Math.round(devicePixelRatio || 1));
  const name = `${key} ${ratio}`;
  let tile = made.get(name);
  if (!tile) {
    tile = document.createElement("canvas");
    tile.width = tile.height = size * ratio;
    const brush = tile.getContext("2d");
    if (!brush) return null;
    brush.scale(ratio, ratio);
    paint(brush);
    made.set(name, tile);
  }
  const pattern = context.createPattern(tile, "repeat");
  pattern?.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
}

/** Slanted lines, 8 pixels apart. */
export function striped(context: CanvasRenderingContext2D, colour: string, line: number): CanvasPattern | null {
  return tiled(context, `stripes ${colour} ${line}`, 8, (brush) => {
    brush.strokeStyle = colour;
    brush.lineWidth = line;
    brush.beginPath();
    for (const shift of [-8, 0, 8]) {
      brush.moveTo(shift - 1, 9);
      brush.lineTo(shift + 9, -1);
    }
    brush.stroke();
  });
}

/** A dot every four pixels. */
export function dotted(context: CanvasRenderingContext2D, colour: string): CanvasPattern | null {
  return tiled(context, `dots ${colour}`, 4, (brush) => {
    brush.fillStyle = colour;
    brush.fillRect(1, 1, 1, 1);
  });
}

/** Level lines of two pixels, as far apart. */
export function brushed(context: CanvasRenderingContext2D, colour: string): CanvasPattern | null {
  return tiled(context, `brush ${colour}`, 4, (brush) => {
    brush.fillStyle = colour;
    brush.fillRect(0, 0, 4, 2);
  });
}
