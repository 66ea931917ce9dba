// The data of a page: a head (JSON) and columns of numbers, packed by seismo.report.page.payload.
//
// The bytes are: "seis", the length of the head in UTF-8 (u32), the head, then the columns one behind the other, each
// at a multiple of 8. The head's `columns` has for each its name, its type and how many numbers it has. The bytes of a
// column stand in planes: all lowest bytes, then all second ones ..., because such planes deflate to half the size. All
// of it is deflated (zlib) and written as base64. Numbers are little-endian, as every machine is that has a browser.

export type Numbers = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float32Array | Float64Array;
type Type = "u8" | "u16" | "u32" | "i32" | "f32" | "f64";

interface Column {
  name: string;
  type: Type;
  length: number;
}

const TYPES = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  f64: Float64Array,
};

const MAGIC = 0x73696573; // "seis"

export class Payload<Head> {
  constructor(
    readonly head: Head,
    private readonly columns: Map<string, Numbers>,
  ) {}

  /** Return a column by its name. Throws an Error if there is none. */
  column(name: string): Numbers {
    const found = this.columns.get(name);
    if (!found) throw new Error(`the page has no column ${name}`);
    return found;
  }

  has(name: string): boolean {
    return this.columns.has(name);
  }
}

/** Decode base64. Throws an Error if the text is damaged. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (native) return native.call(Uint8Array, text);
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

export async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser is too old for this page: it cannot inflate data (it needs one of 2023 or later)");
  }
  const stream = new DecompressionStream("deflate");
  const writer = stream.writable.getWriter();
  // The reading side reports damaged data; the same error of the writing side would be an unhandled rejection.
  const written = writer
    .write(bytes)
    .then(() => writer.close())
    .catch(() => undefined);
  const pieces: Uint8Array[] = [];
  let size = 0;
  const reader = stream.readable.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
    size += value.length;
  }
  await written;
  const whole = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

function inPlace(bytes: Uint8Array<ArrayBuffer>, at: number, { type, length }: Column): Numbers {
  const width = TYPES[type].BYTES_PER_ELEMENT;
  if (at + width * length > bytes.length) throw new Error("the page's data is cut short");
  const joined = new Uint8Array(width * length);
  for (let plane = 0; plane < width; plane++) {
    const from = at + plane * length;
    for (let row = 0; row < length; row++) joined[row * width + plane] = bytes[from + row];
  }
  return new TYPES[type](joined.buffer);
}

/** Read the bytes that inflate() returned. Throws an Error if they are damaged. */
export function unpack<Head>(bytes: Uint8Array<ArrayBuffer>): Payload<Head> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 8 || view.getUint32(0, true) !== MAGIC) throw new Error("the page's data is damaged");
  const size = view.getUint32(4, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + size)));
  const columns = new Map<string, Numbers>();
  let at = 8 + size;
  for (const column of head.columns as Column[]) {
    at = (at + 7) & ~7;
    columns.set(column.name, inPlace(bytes, at, column));
    at += TYPES[column.type].BYTES_PER_ELEMENT * column.length;
  }
  return new Payload<Head>(head as Head, columns);
}

/** Read the data in the element with this id. Throws an Error if it is damaged or the browser is too old. */
export async function load<Head>(id = "seismo-data"): Promise<Payload<Head>> {
  const element = document.getElementById(id);
  if (!element) throw new Error("the page has no data");
  const bytes = await inflate(fromBase64(element.textContent ?? ""));
  element.textContent = ""; // free megabytes of text
  return unpack<Head>(bytes);
}
