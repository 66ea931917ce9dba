/** Tables as the viewer's server sends them: src/seismo/view/columns.py has the layout. */

export type Typed = Float64Array | Int32Array | Uint32Array | Uint8Array;

export interface Columns {
  readonly info: Readonly<Record<string, unknown>>;
  column(name: string): Typed;
}

interface Head {
  info: Record<string, unknown>;
  columns: Record<string, [string, number, number]>;
}

export function unpack(buffer: ArrayBuffer): Columns {
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))) as Head;
  const base = 4 + length;
  return {
    info: head.info,
    column(name) {
      const place = head.columns[name];
      if (!place) throw new Error(`the table has no column ${name}`);
      const [code, count, at] = place;
      if (code === "d") return new Float64Array(buffer, base + at, count);
      if (code === "i") return new Int32Array(buffer, base + at, count);
      if (code === "I") return new Uint32Array(buffer, base + at, count);
      return new Uint8Array(buffer, base + at, count);
    },
  };
}
