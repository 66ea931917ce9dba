import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import { fromBase64, inflate, unpack } from "../src/data/payload.ts";

function packed(head: object, columns: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(JSON.stringify(head));
  const pieces: number[] = [0x73, 0x65, 0x69, 0x73, 0, 0, 0, 0, ...text];
  new DataView(new ArrayBuffer(4)).setUint32(0, text.length, true);
  for (let byte = 0; byte < 4; byte++) pieces[4 + byte] = (text.length >> (8 * byte)) & 255;
  for (const column of columns) {
    while (pieces.length % 8) pieces.push(0);
    pieces.push(...column);
  }
  return new Uint8Array(pieces);
}

const planes = new Uint8Array([1, 2, 3, 0, 0, 1]); // 1, 2, 259 as u16

test("columns come out of their planes", async () => {
  const head = { hello: "wörld", columns: [{ name: "x", type: "u16", length: 3 }] };
  const bytes = packed(head, [planes]);
  const sent = deflateSync(bytes).toString("base64");
  const payload = unpack<{ hello: string }>(await inflate(fromBase64(sent)));
  assert.equal(payload.head.hello, "wörld");
  assert.deepEqual([...payload.column("x")], [1, 2, 259]);
  assert.throws(() => payload.column("y"), /no column y/);
});

test("damaged data is an error that says so", async () => {
  const head = { columns: [{ name: "x", type: "f64", length: 9 }] };
  assert.throws(() => unpack(packed(head, [planes])), /cut short/);
  assert.throws(() => unpack(new Uint8Array(20)), /damaged/);
  await assert.rejects(inflate(new Uint8Array([1, 2, 3])));
});
